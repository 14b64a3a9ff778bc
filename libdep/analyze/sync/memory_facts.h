/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is learned of a process's memory, from one pass to the next: the words that locked
 * instructions access, those that threads wait for in loops, and those that may be in races.
 */
#ifndef ADEPT_ANALYZE_SYNC_MEMORY_FACTS_H
#define ADEPT_ANALYZE_SYNC_MEMORY_FACTS_H

#include "libdep/recover/filter/filter.h"

struct sync_events;
struct sync_process;

/** struct sync_facts - @raced: found by the first pass; @wanted: in the passes after it */
struct sync_facts {
	struct sync_facts *next;
	struct dep_process_filter seen;		/* by the filter */
	struct dep_word_set locked, spin_words, raced, wanted;
	struct dep_atomic_counters counters;
};

/** sync_facts_of() - made if it is new; NULL: no memory */
struct sync_facts *sync_facts_of(struct sync_events *f, u32 process);
/** sync_facts_note() - what of @process's references is wanted; NULL: all, or no memory */
const struct dep_process_filter *sync_facts_note(struct sync_events *f, u32 process);
/** sync_facts_learn_process() - what is known of @p's words; 0 or -ENOMEM */
int sync_facts_learn_process(struct sync_process *p);
/** sync_facts_learn() - what is known after the first pass; 0 or -ENOMEM */
int sync_facts_learn(struct sync_events *f);
/**
 * sync_facts_want() - the next pass is shown what may race and what orders threads
 *
 * Return: 0, 1: nothing may race, or -ENOMEM.
 */
int sync_facts_want(struct sync_events *f);
void sync_facts_free(struct sync_events *f);

#endif
