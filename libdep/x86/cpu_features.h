/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Optional processor features that libdep uses.  The engine in the recorded process does not use
 * them.
 */
#ifndef ADEPT_X86_CPU_FEATURES_H
#define ADEPT_X86_CPU_FEATURES_H

#include <stdbool.h>

/** x86_has_bmi() - whether there are BMI 1 and 2; all processors with these also have lzcnt */
static inline bool x86_has_bmi(void)
{
	return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

/** x86_has_vbmi2() - whether there are AVX-512 BW and VBMI2 (byte expansion), and x86_has_bmi() */
static inline bool x86_has_vbmi2(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2") &&
	       x86_has_bmi();
}

#endif
