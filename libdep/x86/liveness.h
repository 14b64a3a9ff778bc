/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dead registers and flags: those that straight-line code overwrites before reading them.
 */
#ifndef ADEPT_X86_LIVENESS_H
#define ADEPT_X86_LIVENESS_H

#include "decode.h"

/**
 * x86_dead_gprs() - find registers that are not read before they are overwritten
 * @in: consecutive instructions
 * @n: their number
 *
 * Stops at the first branch, system call or other change of control, which is not examined.  A
 * register in the result can be used as scratch before in[0].  Faults are ignored: if one of the
 * instructions faults, a handler sees the scratch value.
 *
 * Return: mask of X86_BIT.
 */
u16 x86_dead_gprs(const struct x86_insn *in, unsigned int n);

/** x86_dead_flags() - the same for X86_ARITH_FLAGS */
u16 x86_dead_flags(const struct x86_insn *in, unsigned int n);

#endif
