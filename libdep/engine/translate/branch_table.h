/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Branch tables: from an address to the first landing of its bucket.
 *
 * The index is the upper k bits of the low table_bits() of nine times the address, where k is
 * what *table_scale() has the power of two of.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_BRANCH_TABLE_H
#define ADEPT_ENGINE_TRANSLATE_BRANCH_TABLE_H

#include "libdep/engine/base/runtime.h"
#include "libdep/x86/emit.h"

/* Of jumps, which share their landings with calls, and of returns. */
enum table { T_JUMP, T_RETURN, NTABLES };

struct landing_place {
	u8 *addr;
	u64 *lit;		/* where a mismatch goes */
};

/**
 * table_init() - tables that lead nowhere
 * @plain: they have as many entries as 16 bits choose from the start, and never more
 */
void table_init(int plain);
u32 table_bits(enum table t);
/**
 * table_scale() - how many entries there are: a power of two that grows
 *
 * Tables and scales are below 2 GiB.  It is right to look up by any value that the scale has
 * had: who does so with an old one may find nothing, and comes to the dispatcher.
 */
u64 *table_scale(enum table t);
u64 *table_jump(void);
/** table_call() - what calls go through: 5 bytes in front of the landing of jumps */
u64 *table_call(void);
u64 *table_return(void);
/** table_has() - is there a landing for @pc? */
int table_has(enum table t, u64 pc);
/** table_set() - who looks for @pc finds the landing @at from now on, and no other */
void table_set(enum table t, u64 pc, const struct landing_place *at);

/* branch_lookup.c */
/** lookup_init() - make the tables; without BMI2 they do not grow */
void lookup_init(int with_bmi2);
/* Through the tables, with the target in rcx: jump, call, or mov rdx, the landing. */
void lookup_jump(struct emit *e);
void lookup_call(struct emit *e);
void lookup_return(struct emit *e);

#endif
