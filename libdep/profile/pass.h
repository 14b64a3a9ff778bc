/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One pass over a store: its counters and the profile made from them. */
#ifndef ADEPT_PROFILE_PASS_H
#define ADEPT_PROFILE_PASS_H

#include "rows.h"

/**
 * struct dep_pass - begin with zeros, or with the intervals of @all set, or with @keep
 * @keep: take the counters that the store has, if any, or else keep them there
 * @counted: all counters
 * @rows: what rows are made with; it has none left
 * @profile: the profile of all intervals together, owned by the pass
 */
struct dep_pass {
	bool keep;
	struct dep_counts_all all;
	struct dep_counted counted;
	struct dep_rows rows;
	struct dep_profile *profile;
};

/** dep_pass_run() - count and make the profile; 0 or a negative errno with dep_error() */
int dep_pass_run(struct dep_pass *pass, struct dep_store *store, const struct dep_fragments *code,
		 const struct dep_fold_options *options);

/*
 * The steps of dep_pass_run(), for a caller that counts into @all and @profile->loss in between.
 * They return the same.
 */
int dep_pass_begin(struct dep_pass *pass);
int dep_pass_end(struct dep_pass *pass, struct dep_store *store, const struct dep_fragments *code);

/** dep_pass_free() - needed also after errors */
void dep_pass_free(struct dep_pass *pass);

/** dep_pass_take_rows() - move the rows of instructions and branches to @p */
void dep_pass_take_rows(struct dep_pass *pass, struct dep_profile *p);

#endif
