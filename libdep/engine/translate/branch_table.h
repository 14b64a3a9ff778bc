/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Branch tables: map the target of an indirect branch to the first landing stub of its bucket.
 *
 * A table has *table_scale() = 2^k entries.  The index of an address is computed from the low
 * table_bits() bits of nine times the address; the upper k of these bits are the index.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_BRANCH_TABLE_H
#define ADEPT_ENGINE_TRANSLATE_BRANCH_TABLE_H

#include "libdep/engine/base/runtime.h"
#include "libdep/x86/emit.h"

/*
 * Indirect jumps and calls share landing stubs; T_JUMP stands for their tables, table_jump() and
 * table_call().  Returns have landing stubs and a table of their own.
 */
enum table { T_JUMP, T_RETURN, NTABLES };

struct landing_place {
	u8 *addr;
	u64 *lit;		/* literal with the address to which the stub jumps on a mismatch */
};

/**
 * table_init() - initialise empty tables
 * @plain: 1: tables have 2^16 entries from the start and do not grow
 */
void table_init(int plain);
u32 table_bits(enum table t);
/**
 * table_scale() - pointer to the number of entries, a power of two that grows
 *
 * Tables and scales are below 2 GiB.  A thread that uses an older value of the scale in a lookup
 * still reaches the right landing stub or the dispatcher.
 */
u64 *table_scale(enum table t);
u64 *table_jump(void);
/**
 * table_call() - table of indirect calls
 *
 * Its entries lead 5 bytes before the landing stubs, to code that drops the return address that the
 * native call has pushed.
 */
u64 *table_call(void);
u64 *table_return(void);
/** table_has() - whether @pc has a landing stub */
int table_has(enum table t, u64 pc);
/** table_set() - add landing stub @at for @pc, or replace the present stub of @pc by it */
void table_set(enum table t, u64 pc, const struct landing_place *at);

/* Functions of branch_lookup.c. */
/** lookup_init() - initialise the tables; without the BMI2 instructions they do not grow */
void lookup_init(int with_bmi2);
/*
 * Emit a table lookup of the target in rcx, followed by a jump or call to the result, or a mov of
 * the result to rdx.
 */
void lookup_jump(struct emit *e);
void lookup_call(struct emit *e);
void lookup_return(struct emit *e);

#endif
