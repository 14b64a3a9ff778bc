/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of test_budget share. */
#ifndef TESTS_UNIT_FORMAT_TEST_BUDGET_H
#define TESTS_UNIT_FORMAT_TEST_BUDGET_H

/** read_store() - open a store, judge it, and recover all of its segments with one thread */
int read_store(const char *dir);
/** resume_store() - go on with a store, and leave it again */
int resume_store(const char *dir);

/* test_budget_time.c */
void many_mappings(void **state);
void mappings_end(void **state);
void fork_chain(void **state);
void processes_without_parents(void **state);
void threads_in_disorder(void **state);
void frames_overlap(void **state);
void build_ids_missing(void **state);

#endif
