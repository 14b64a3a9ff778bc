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
 * to two fields of its filter.  Addresses that it computes from a record's values are only compared
 * with entries of the access set, never written to.  The value column has differences
 * (codec/delta.h), which the code decodes when it consumes them.
 */
#ifndef ADEPT_RECOVER_JIT_JIT_H
#define ADEPT_RECOVER_JIT_JIT_H

#include <stdbool.h>

#include "libdep/recover/program/program.h"

#define DEP_JIT_IDS	(1u << 24)	/* exits with this id or a higher one are not compiled */
#define DEP_JIT_RUNS	16u		/* an exit is compiled after this number of executions */

struct dep_interp;
struct dep_store;

/**
 * struct dep_jit - machine code of a store's filtered programs
 * @table: offset of each exit's code in @code, by exit id; 0: none
 * @code: executable mapping of the code memory
 * @enter: function that enters the code of a record
 * @space: writable mapping, and the state of compilation
 */
struct dep_jit {
	u32 *table;
	const u8 *code;
	const u8 *enter;
	struct dep_jit_space *space;
};

/** dep_jit_of() - get the dep_jit of @s, which the first call creates; NULL: no memory for it */
struct dep_jit *dep_jit_of(struct dep_store *s);
/** dep_jit_lookup() - as dep_jit_of(), but the code has no BMI instructions; for tests */
struct dep_jit *dep_jit_lookup(struct dep_store *s);

/** dep_jit_ran() - count an interpreted record; compile exit @x if it runs often; thread-safe */
void dep_jit_ran(struct dep_jit *n, const struct dep_program *p,
		 const struct dep_exit_info *x);

/**
 * dep_jit_run() - run records by machine code, from @*control on; the first one must have code
 *
 * Afterwards @*control is the next record, and @r->value is at its values.  If the last record is
 * unfinished, @r->value is at the beginning of that record's values.  @r->state.ran is the number
 * of records, including an unfinished one; @r->counts includes them, too.
 *
 * Return: 0, or the position at which the interpreter must continue the last record, to be decoded
 * by dep_jit_op() and dep_jit_words().
 */
u32 dep_jit_run(struct dep_interp *r, const u32 **control, const u32 *control_end,
		const u64 *value_end);

/** dep_jit_has() - does exit @id have machine code?  Any thread may call it. */
static inline bool dep_jit_has(const struct dep_jit *n, u32 id)
{
	return id < DEP_JIT_IDS && __atomic_load_n(&n->table[id], __ATOMIC_ACQUIRE);
}

static inline u32 dep_jit_left(u32 filtered_op, u32 words)
{
	return words << 16 | (filtered_op + 1);
}

/** dep_jit_op() - index of the operation of the filtered program to continue with */
static inline u32 dep_jit_op(u32 left)
{
	return (left & 0xffff) - 1;
}

/** dep_jit_words() - number of values of the record that the machine code has consumed */
static inline u32 dep_jit_words(u32 left)
{
	return left >> 16;
}

#endif
