/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about words of a process, kept from pass to pass: the words that locked instructions
 * access, the words that threads wait for in loops, and the words that may race.
 */
#ifndef ADEPT_ANALYZE_SYNC_MEMORY_FACTS_H
#define ADEPT_ANALYZE_SYNC_MEMORY_FACTS_H

#include "libdep/recover/filter/filter.h"

struct sync_events;
struct sync_process;

/** struct sync_facts - @raced: found by the first pass; @wanted: words that later passes get */
struct sync_facts {
	struct sync_facts *next;
	struct dep_process_filter seen;	/* what the filter uses */
	struct dep_word_set locked, spin_words, raced, wanted;
	struct dep_atomic_counters counters;
};

/** sync_facts_of() - find or make; NULL: no memory */
struct sync_facts *sync_facts_of(struct sync_events *f, u32 process);
/** sync_facts_note() - filter parameters of @process; NULL: no filter, or no memory */
const struct dep_process_filter *sync_facts_note(struct sync_events *f, u32 process);
/** sync_facts_learn_process() - keep what is known of @p's words; 0 or -ENOMEM */
int sync_facts_learn_process(struct sync_process *p);
/** sync_facts_learn() - sync_facts_learn_process() of all, after the first pass; 0 or -ENOMEM */
int sync_facts_learn(struct sync_events *f);
/**
 * sync_facts_want() - let the next pass get the words that may race and the words that order
 *
 * Return: 0; 1 if no word may race; or -ENOMEM.
 */
int sync_facts_want(struct sync_events *f);
void sync_facts_free(struct sync_events *f);

#endif
