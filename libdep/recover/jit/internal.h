/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by jit.c and the files that emit code: shared_code.c, record_code.c, derive_code.c. */
#ifndef ADEPT_RECOVER_JIT_INTERNAL_H
#define ADEPT_RECOVER_JIT_INTERNAL_H

#include <stdbool.h>

#include "libdep/x86/emit.h"
#include "libdep/recover/program/program.h"

struct dep_interp;

/* Addresses to which the code of records jumps, and functions that it calls. */
struct dep_jit_exits {
	bool bmi;		/* the processor has shrx and bextr */
	const u8 *record;	/* leave before the current record */
	const u8 *quiet;	/* the same, and undo the increment of dep_filter.quiet */
	const u8 *end;		/* leave before the next record */
	const u8 *middle;	/* leave in the middle; eax: dep_jit_left() */
	/* Function; rax: address, rsi: dep_jit_look; result in eax: dep_jit_call_interp() */
	const u8 *slow;
	/* Function; rsi: program, edx: operation; result in eax: dep_jit_one() */
	const u8 *one;
};

/**
 * struct dep_jit_look - references that are looked up together
 * @pc: of the first reference
 * @read: a bit for each byte that is only read; bit 0 is the byte at the address
 * @wrote: a bit for each byte that is written
 * @origin: enum dep_code
 */
struct dep_jit_look {
	u64 pc;
	u64 read;
	u64 wrote : 58, origin : 6;
};

/**
 * dep_jit_call_interp() - handle references of which some byte is new
 *
 * Return: 0: they are deferred or dropped; 1: the interpreter must handle them.
 */
u32 dep_jit_call_interp(struct dep_interp *r, const struct dep_jit_look *look, u64 addr);

/**
 * dep_jit_one() - interpret operation @op of @p, then return to the code
 *
 * Return: 0, or 1 on error: the interpreter must run the rest.
 */
u32 dep_jit_one(struct dep_interp *r, const struct dep_program *p, u32 op);

/** dep_jit_derives() - can dep_jit_derive() emit code for @d?  That code changes rax and rcx. */
bool dep_jit_derives(const struct x86_dop *d);
void dep_jit_derive(struct emit *e, const struct x86_dop *d);

/* Maximum size of an exit's code. */
#define DEP_JIT_MAX	(24u << 10)

/**
 * dep_jit_emit_shared() - emit the code that all records share, at the beginning of the space
 *
 * Return: its entry.
 */
const u8 *dep_jit_emit_shared(struct emit *e, struct dep_jit_exits *x);

/**
 * dep_jit_emit() - emit the code for records of @p that end at @x
 *
 * Return: its entry, or NULL if code is not possible or useless.
 */
const u8 *dep_jit_emit(struct emit *e, const struct dep_jit_exits *exits,
		       const struct dep_program *p, const struct dep_exit_info *x);

#endif
