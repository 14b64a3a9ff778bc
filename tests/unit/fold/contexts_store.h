/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores that keep contexts, and what is true of these whether they are kept or not. */
#ifndef TESTS_UNIT_FOLD_CONTEXTS_STORE_H
#define TESTS_UNIT_FOLD_CONTEXTS_STORE_H

#include "dep/contexts.h"
#include "kept_bytes.h"
#include "libdep/contexts/kept.h"

/**
 * struct contexts_store - an open store and its file of contexts
 * @whole: the contexts without the file, with rows of time
 */
struct contexts_store {
	struct fold_store f;
	struct kept_bytes file;
	struct dep_contexts *whole;
};

/** contexts_store_set_up() - for cmocka, with fold_tear_down() */
int contexts_store_set_up(void **state);

/** contexts_store_begin() - a store of three threads; @more: number of further segments */
void contexts_store_begin(struct contexts_store *s, u64 more);
/** contexts_store_begin_attached() - a store of a thread that was attached to */
void contexts_store_begin_attached(struct contexts_store *s);
void contexts_store_end(struct contexts_store *s);

/** contexts_store_make() - dep_contexts_make_kept(), which must not fail */
struct dep_contexts *contexts_store_make(struct contexts_store *s,
					 const struct dep_contexts_options *o);
/** contexts_store_check() - fails unless the contexts are right, whatever is in the file */
void contexts_store_check(struct contexts_store *s, bool times);

/** contexts_store_mark() - make one number of the file larger, which no other one contradicts */
void contexts_store_mark(struct contexts_store *s);
/** contexts_store_is_marked() - do the contexts come from a file that was marked? */
bool contexts_store_is_marked(struct contexts_store *s, bool times);

#endif
