/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is learned of a process's memory, from one pass to the next: the words that locked
 * instructions access, those that threads wait for in loops, and those that may be in races.
 */
#ifndef ADEPT_ANALYZE_SYNC_MEMORY_FACTS_H
#define ADEPT_ANALYZE_SYNC_MEMORY_FACTS_H

#include "libdep/recover/filter/filter.h"

struct order_feed;
struct order_process;

/** struct order_scope - @raced: found by the first pass; @wanted: in the passes behind it */
struct order_scope {
	struct order_scope *next;
	struct dep_scope seen;		/* by the filter */
	struct dep_places locked, spun, raced, wanted;
	struct dep_counters counters;
};

/** order_scope_of() - made if it is new; NULL: no memory */
struct order_scope *order_scope_of(struct order_feed *f, u32 process);
/** order_scope_seen() - what of @process's references is wanted; NULL: all, or no memory */
const struct dep_scope *order_scope_seen(struct order_feed *f, u32 process);
/** order_scope_learn() - what is known of @p's words; 0 or -ENOMEM */
int order_scope_learn(struct order_process *p);
/** order_scopes_learn() - what is known behind the first pass; 0 or -ENOMEM */
int order_scopes_learn(struct order_feed *f);
/**
 * order_scopes_want() - the next pass is shown what may race and what orders threads
 *
 * Return: 0, 1: nothing may race, or -ENOMEM.
 */
int order_scopes_want(struct order_feed *f);
void order_scopes_free(struct order_feed *f);

#endif
