/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Machine code for filtered programs (filtered_program.h).
 *
 * Exits that run often get machine code.  It stores values in their slots, computes derived
 * values, and looks up each reference in the access set of the filter.  At the end of a record it
 * jumps to the code of the next one.  For hooked functions and masked moves it calls the
 * interpreter.  For all other rare operations, and for a reference that cannot be deferred, it
 * returns in the middle of the record and the interpreter continues.
 *
 * Whatever the store contains, the code writes only to its dep_interp, to the record's values, and
 * to two fields of its filter.  All else that is computed from values is only compared.  The code
 * decodes the differences that the columns have (codec/delta.h) when it consumes them.
 */
#ifndef ADEPT_RECOVER_JIT_JIT_H
#define ADEPT_RECOVER_JIT_JIT_H

#include <stdbool.h>

#include "libdep/recover/program/program.h"

#define DEP_JIT_IDS	(1u << 24)	/* exits with higher ids have no code */
#define DEP_JIT_RUNS	16u		/* executions after which an exit gets its code */

struct dep_interp;
struct dep_store;

/** struct dep_jit - machine code of a store's programs */
struct dep_jit {
	u32 *table;		/* offset of each exit's code, by id; 0: none */
	const u8 *code;
	const u8 *enter;
	struct dep_jit_space *space;
};

/** dep_jit_of() - the machine code of @s, made by the first call; NULL if it is not possible */
struct dep_jit *dep_jit_of(struct dep_store *s);
/** dep_jit_lookup() - the same without BMI instructions, to compare */
struct dep_jit *dep_jit_lookup(struct dep_store *s);

/** dep_jit_ran() - count an interpreted record, and compile @x when due; any thread may call it */
void dep_jit_ran(struct dep_jit *n, const struct dep_program *p,
		 const struct dep_exit_info *x);

/**
 * dep_jit_run() - run records from @*control on; the first one must have code
 *
 * Afterwards @r->value is at the values of the record at @*control, or of the last record if that
 * one is unfinished.  @r->state.ran is the number of records; @r->counts includes them.
 *
 * Return: 0, or where the interpreter must continue in the last record: dep_jit_op() and
 * dep_jit_words().
 */
u32 dep_jit_run(struct dep_interp *r, const u32 **control, const u32 *control_end,
		const u64 *value_end);

/** dep_jit_has() - does exit @id have code?  Any thread may call it. */
static inline bool dep_jit_has(const struct dep_jit *n, u32 id)
{
	return id < DEP_JIT_IDS && __atomic_load_n(&n->table[id], __ATOMIC_ACQUIRE);
}

static inline u32 dep_jit_left(u32 filtered_op, u32 words)
{
	return words << 16 | (filtered_op + 1);
}

/** dep_jit_op() - index in the filtered program of the operation to continue with */
static inline u32 dep_jit_op(u32 left)
{
	return (left & 0xffff) - 1;
}

/** dep_jit_words() - number of the record's values that are consumed */
static inline u32 dep_jit_words(u32 left)
{
	return left >> 16;
}

#endif
