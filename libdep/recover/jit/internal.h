/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by jit.c and the files that emit code: shared_code.c, record_code.c, derive_code.c. */
#ifndef ADEPT_RECOVER_JIT_INTERNAL_H
#define ADEPT_RECOVER_JIT_INTERNAL_H

#include <stdbool.h>

#include "libdep/x86/emit.h"
#include "libdep/recover/program/program.h"

struct dep_interp;

/* Shared code (shared_code.c) to which the code of a record jumps, or which it calls. */
struct dep_jit_exits {
	bool bmi;		/* the processor has shrx and bextr */
	const u8 *record;	/* returns to C before the current record is executed */
	const u8 *quiet;	/* as @record, and undoes the increment of dep_filter.quiet */
	const u8 *end;		/* returns to C after the current record, before the next one */
	const u8 *middle;	/* returns to C inside the current record; eax: dep_jit_left() */
	/* calls dep_jit_call_interp(); rax: address, rsi: dep_jit_look; result in eax */
	const u8 *slow;
	/* calls dep_jit_one(); rsi: program, edx: index of the operation; result in eax */
	const u8 *one;
};

/**
 * struct dep_jit_look - references that are looked up together in the access set
 * @pc: pc of the first reference
 * @read: bit i: byte i from the lowest address on is read, and not written
 * @wrote: bit i: byte i is written
 * @origin: enum dep_code of all of these references
 */
struct dep_jit_look {
	u64 pc;
	u64 read;
	u64 wrote : 58, origin : 6;
};

/**
 * dep_jit_call_interp() - handle references with a byte that was not found in the access set
 * @addr: lowest address of the references
 *
 * Return: 0: the references are deferred or dropped; 1: the interpreter must handle them.
 */
u32 dep_jit_call_interp(struct dep_interp *r, const struct dep_jit_look *look, u64 addr);

/**
 * dep_jit_one() - interpret operation @op of @p for the machine code
 *
 * Return: 0, or 1 on error: the machine code must return in the middle of the record.
 */
u32 dep_jit_one(struct dep_interp *r, const struct dep_program *p, u32 op);

/** dep_jit_derives() - can dep_jit_derive() emit code for @d?  Such code changes rax and rcx. */
bool dep_jit_derives(const struct x86_dop *d);
void dep_jit_derive(struct emit *e, const struct x86_dop *d);

/* Maximum size of the machine code of one exit, in bytes. */
#define DEP_JIT_MAX	(24u << 10)

/**
 * dep_jit_emit_shared() - emit the code that all records share, at the beginning of code memory
 * @x: receives the addresses in it
 *
 * Return: the function that dep_jit_run() calls to enter the code of a record.
 */
const u8 *dep_jit_emit_shared(struct emit *e, struct dep_jit_exits *x);

/**
 * dep_jit_emit() - emit the code for records of @p that end at @x
 *
 * Return: where the code begins, or NULL if it is not possible or would do nothing.
 */
const u8 *dep_jit_emit(struct emit *e, const struct dep_jit_exits *exits,
		       const struct dep_program *p, const struct dep_exit_info *x);

#endif
