/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dep_contexts_make() with a look at each call, for tests, or at all that is executed. */
#ifndef ADEPT_CONTEXTS_MAKE_H
#define ADEPT_CONTEXTS_MAKE_H

#include "walk.h"

/** dep_contexts_watched() - dep_contexts_make() that reports each call to @watch, unless NULL */
int dep_contexts_watched(struct dep_store *store, const struct dep_fragments *code,
			 const struct dep_contexts_options *options,
			 void (*watch)(void *arg, const struct dep_watched_call *call), void *arg,
			 struct dep_contexts **out);

/**
 * dep_contexts_follow() - run the walk for @follower, and keep no contexts
 * @loss, @not_counted: as in struct dep_contexts
 *
 * Return: 0, what @follower returned, or a negative errno with dep_error().
 */
int dep_contexts_follow(struct dep_store *store, const struct dep_fragments *code,
			const struct dep_contexts_options *options,
			struct dep_follower *follower, struct dep_fold_loss *loss,
			u64 *not_counted);

#endif
