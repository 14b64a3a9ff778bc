/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about the memory words of a process, kept from pass to pass: words that locked instructions
 * access, words that threads wait for in loops, and words that may race.
 */
#ifndef ADEPT_ANALYZE_SYNC_MEMORY_FACTS_H
#define ADEPT_ANALYZE_SYNC_MEMORY_FACTS_H

#include "libdep/recover/filter/filter.h"

struct sync_events;
struct sync_process;

/**
 * struct sync_facts - facts of a process
 * @seen: parameters of its filters
 * @raced: words that may race, found by the first pass
 * @wanted: words whose accesses the exact passes get
 */
struct sync_facts {
	struct sync_facts *next;
	struct dep_process_filter seen;
	struct dep_word_set locked, spin_words, raced, wanted;
	struct dep_atomic_counters counters;
};

/** sync_facts_of() - find or make the facts of @process; NULL: no memory */
struct sync_facts *sync_facts_of(struct sync_events *f, u32 process);
/** sync_facts_note() - get the filter parameters of @process; NULL: no filter, or no memory */
const struct dep_process_filter *sync_facts_note(struct sync_events *f, u32 process);
/**
 * sync_facts_learn_process() - keep the words that are atomic in @p for later passes; 0 or -ENOMEM
 */
int sync_facts_learn_process(struct sync_process *p);
/**
 * sync_facts_learn() - call sync_facts_learn_process() for all processes, after the first pass; 0
 * or -ENOMEM
 */
int sync_facts_learn(struct sync_events *f);
/**
 * sync_facts_want() - make the next pass get the words that may race, and those that order threads
 *
 * Return: 0; 1 if no word may race; or -ENOMEM.
 */
int sync_facts_want(struct sync_events *f);
void sync_facts_free(struct sync_events *f);

#endif
