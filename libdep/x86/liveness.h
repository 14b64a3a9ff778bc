/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dead registers and flags: those that straight-line code overwrites before reading them. */
#ifndef ADEPT_X86_LIVENESS_H
#define ADEPT_X86_LIVENESS_H

#include "decode.h"

/**
 * x86_dead_gprs() - find registers that are overwritten before they are read
 * @in: consecutive instructions
 * @n: number of instructions
 *
 * Stops at the first branch, system call or other change of control, which is not examined.  A
 * register in the result can be used as scratch register before in[0].  Faults are ignored: if one
 * of the instructions faults, a signal handler sees the scratch value.
 *
 * Return: mask of X86_BIT.
 */
u16 x86_dead_gprs(const struct x86_insn *in, unsigned int n);

/** x86_dead_flags() - find flags of X86_ARITH_FLAGS that are overwritten before they are read */
u16 x86_dead_flags(const struct x86_insn *in, unsigned int n);

#endif
