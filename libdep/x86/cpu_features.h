/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the processor can do that not all can.  Not for the engine in the profiled process. */
#ifndef ADEPT_X86_CPU_FEATURES_H
#define ADEPT_X86_CPU_FEATURES_H

#include <stdbool.h>

/** x86_has_bmi() - BMI 1 and 2; there is no processor with these and without lzcnt */
static inline bool x86_has_bmi(void)
{
	return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

/** x86_has_vbmi2() - AVX-512 with what takes bytes apart, and what x86_has_bmi() says */
static inline bool x86_has_vbmi2(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2") &&
	       x86_has_bmi();
}

#endif
