/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Machine code for filtered programs (filtered_program.h).
 *
 * Records that are run often get code of their own, which does what the interpreter does as long
 * as nothing is to be shown: values go to their slots, what follows from them is computed,
 * and each reference is looked up in what the filter has seen.  From the end of one record's
 * code it goes straight on to that of the next one.  For watched functions and masked moves it
 * calls the interpreter.  Whatever else is not simple, and each reference that cannot be put off,
 * is left to that, which takes over in the middle of the record.
 *
 * The code writes to nothing but its dep_interp, the record's values, and two numbers of its
 * filter, whatever the store says: all else that is computed from values is only compared. It takes
 * the differences that the columns have (codec/delta.h) for values as it comes to them.
 */
#ifndef ADEPT_RECOVER_JIT_JIT_H
#define ADEPT_RECOVER_JIT_JIT_H

#include <stdbool.h>

#include "libdep/recover/program/program.h"

#define DEP_JIT_IDS	(1u << 24)	/* exits with higher ids have no code */
#define DEP_JIT_RUNS	16u		/* when one gets its code */

struct dep_interp;
struct dep_store;

/** struct dep_jit - the code of a store's programs */
struct dep_jit {
	u32 *table;		/* where that of an exit is, by id; 0: there is none */
	const u8 *code;
	const u8 *enter;
	struct dep_jit_space *space;
};

/** dep_jit_of() - that of @s, made by the first who asks, or NULL if there can be none */
struct dep_jit *dep_jit_of(struct dep_store *s);
/** dep_jit_lookup() - the same, made of instructions that every processor has; to compare */
struct dep_jit *dep_jit_lookup(struct dep_store *s);

/** dep_jit_ran() - the interpreter runs a record of @p that ends at @x; any thread */
void dep_jit_ran(struct dep_jit *n, const struct dep_program *p,
		 const struct dep_exit_info *x);

/**
 * dep_jit_run() - run records from @*control on, the first of which has code
 *
 * Afterwards @r->value is in front of the values of the record that @*control is at, or
 * of the last one if that was left in the middle.  @r->state.ran says how many there were, and
 * @r->counts has them all.
 *
 * Return: 0, or where the interpreter has to go on in the last one: dep_jit_op() and
 * dep_jit_words().
 */
u32 dep_jit_run(struct dep_interp *r, const u32 **control, const u32 *control_end,
		const u64 *value_end);

/** dep_jit_has() - is there code for the exit @id?  Any thread. */
static inline bool dep_jit_has(const struct dep_jit *n, u32 id)
{
	return id < DEP_JIT_IDS && __atomic_load_n(&n->table[id], __ATOMIC_ACQUIRE);
}

static inline u32 dep_jit_left(u32 filtered_op, u32 words)
{
	return words << 16 | (filtered_op + 1);
}

/** dep_jit_op() - of the filtered program, where it goes on */
static inline u32 dep_jit_op(u32 left)
{
	return (left & 0xffff) - 1;
}

/** dep_jit_words() - how many values of the record are in front of that */
static inline u32 dep_jit_words(u32 left)
{
	return left >> 16;
}

#endif
