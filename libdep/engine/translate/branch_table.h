/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Branch tables: map the target of an indirect branch to the first landing of its bucket.
 *
 * A table has *table_scale() = 2^k entries.  Its index is computed from the low table_bits() bits
 * of nine times the address; the upper k of these bits are the index.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_BRANCH_TABLE_H
#define ADEPT_ENGINE_TRANSLATE_BRANCH_TABLE_H

#include "libdep/engine/base/runtime.h"
#include "libdep/x86/emit.h"

/* Tables of jumps, which share their landings with calls, and of returns. */
enum table { T_JUMP, T_RETURN, NTABLES };

struct landing_place {
	u8 *addr;
	u64 *lit;		/* literal: address at which a mismatch continues */
};

/**
 * table_init() - make empty tables
 * @plain: tables have 2^16 entries from the start and do not grow
 */
void table_init(int plain);
u32 table_bits(enum table t);
/**
 * table_scale() - the variable with the number of entries, a power of two that grows
 *
 * Tables and scales are below 2 GiB.  A thread that looks an address up with an older value of the
 * scale reaches the landing or the dispatcher.
 */
u64 *table_scale(enum table t);
u64 *table_jump(void);
/** table_call() - table of calls: call entries, 5 bytes before the landings of jumps */
u64 *table_call(void);
u64 *table_return(void);
/** table_has() - whether @pc has a landing */
int table_has(enum table t, u64 pc);
/** table_set() - add the landing @at of @pc, or replace the present one by it */
void table_set(enum table t, u64 pc, const struct landing_place *at);

/* branch_lookup.c */
/** lookup_init() - make the tables; without BMI2 they do not grow */
void lookup_init(int with_bmi2);
/* Emit a table lookup of the target in rcx, and: a jump, a call, or mov to rdx. */
void lookup_jump(struct emit *e);
void lookup_call(struct emit *e);
void lookup_return(struct emit *e);

#endif
