/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs single instructions on the processor with chosen registers.
 */
#ifndef TESTS_UNIT_X86_RUN_NATIVE_H
#define TESTS_UNIT_X86_RUN_NATIVE_H

#include "libdep/abi/types.h"

#define NATIVE_STACK	4096	/* bytes of scratch memory on both sides of native_scratch() */

struct native_regs {
	u64 gpr[16];
	u64 flags;
};

/** native_init() - map code and scratch memory; 0 or -1 */
int native_init(void);

/** native_scratch() - middle of the scratch memory */
u64 native_scratch(void);

/** native_pc() - address at which the instruction will be executed */
u64 native_pc(void);

/**
 * native_run() - run one instruction
 * @code: its bytes; control must arrive after it
 * @len: their number
 * @in: registers before it, all sixteen, and the flags
 * @out: registers after it
 */
void native_run(const u8 *code, unsigned int len, const struct native_regs *in,
		struct native_regs *out);

#endif
