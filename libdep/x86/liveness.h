/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dead registers and flags: what straight-line code overwrites before reading it.
 */
#ifndef ADEPT_X86_LIVENESS_H
#define ADEPT_X86_LIVENESS_H

#include "decode.h"

/**
 * x86_dead_gprs() - registers whose values are provably not read before they are replaced
 * @in: instructions that follow each other
 * @n: how many
 *
 * Looks no further than the first branch, system call or other change of control;
 * that instruction itself counts for nothing.  A register in the result may be
 * used as scratch in front of in[0].  Faults are left out of account: a handler
 * sees what is in the registers when one of the instructions faults.
 *
 * Return: mask of X86_BIT.
 */
u16 x86_dead_gprs(const struct x86_insn *in, unsigned int n);

/** x86_dead_flags() - the same for X86_ARITH_FLAGS */
u16 x86_dead_flags(const struct x86_insn *in, unsigned int n);

#endif
