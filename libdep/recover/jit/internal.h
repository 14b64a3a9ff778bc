/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between jit.c and those who emit: shared_code.c, record_code.c, derive_code.c. */
#ifndef ADEPT_RECOVER_JIT_INTERNAL_H
#define ADEPT_RECOVER_JIT_INTERNAL_H

#include <stdbool.h>

#include "libdep/x86/emit.h"
#include "libdep/recover/program/program.h"

struct dep_interp;

/* Places that records' code leaves by. */
struct dep_jit_exits {
	bool bmi;		/* there are shrx and bextr */
	const u8 *record;	/* in front of the record that was begun */
	const u8 *quiet;	/* the same, and it did not count as a quiet one */
	const u8 *end;		/* in front of the next one, not begun */
	const u8 *middle;	/* eax: dep_jit_left() */
	/*
	 * To be called; rax: address, rsi: dep_jit_look; eax afterwards: dep_jit_call_interp()
	 */
	const u8 *slow;
	/* To be called; rsi: program, edx: operation; eax afterwards: dep_jit_one() */
	const u8 *one;
};

/**
 * struct dep_jit_look - what is looked up together
 * @pc: of the first of them
 * @read, @wrote: bytes of it, bit 0 is the one at the address
 * @whose: enum dep_code
 */
struct dep_jit_look {
	u64 pc;
	u64 read;
	u64 wrote : 58, origin : 6;
};

/**
 * dep_jit_call_interp() - not all has been seen
 *
 * Return: 0: it is noted, to be told later; 1: the interpreter has to see to it.
 */
u32 dep_jit_call_interp(struct dep_interp *r, const struct dep_jit_look *look, u64 addr);

/**
 * dep_jit_one() - do operation @op of @p, for which the interpreter need not stay
 *
 * Return: 0, or 1: it did not work, and all else is left to the interpreter.
 */
u32 dep_jit_one(struct dep_interp *r, const struct dep_program *p, u32 op);

/** dep_jit_derives() - is there code for @d?  dep_jit_derive() emits it, over rax and rcx. */
bool dep_jit_derives(const struct x86_dop *d);
void dep_jit_derive(struct emit *e, const struct x86_dop *d);

/* Whole code is limited to that. */
#define DEP_JIT_MAX	(24u << 10)

/**
 * dep_jit_emit_shared() - what all records have in common, in front of all code
 *
 * Return: where it is entered.
 */
const u8 *dep_jit_emit_shared(struct emit *e, struct dep_jit_exits *x);

/**
 * dep_jit_emit() - the code for records of @p that end at @x
 *
 * Return: where it begins, or NULL if there is no use in it.
 */
const u8 *dep_jit_emit(struct emit *e, const struct dep_jit_exits *exits,
		       const struct dep_program *p, const struct dep_exit_info *x);

#endif
