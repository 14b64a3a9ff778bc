// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Profiles of a recording that is still running.
 *
 * Counters are kept from one look to the next.  Rows are made from a copy of them, to which the
 * ends of all threads are added.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/fold/code.h"
#include "libdep/fold/follow.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "pass.h"

#define EXITS_MIN	(1u << 16)	/* rows of exits before the first compaction */

struct dep_profile_follow {
	struct dep_store *store;
	struct dep_fragments *code;
	struct dep_fold_options options;
	struct dep_fold_follow *fold;
	struct dep_counts_all all;	/* of the segments that were folded for good */
	size_t compact_at;		/* number of rows of exits */
	bool complete;
};

/* Forget all counts.  The segments are read again. */
static int begin_anew(struct dep_profile_follow *f)
{
	dep_fold_follow_free(f->fold);
	dep_counts_all_free(&f->all);
	f->all.threads.may_move = DEP_TABLE_MOVES;
	f->compact_at = EXITS_MIN;
	f->fold = dep_fold_follow_new(f->store, f->code, &f->options);
	return f->fold ? 0 : dep_fail(-ENOMEM, "profile");
}

int dep_profile_follow_new(struct dep_store *store, const struct dep_fold_options *options,
			   struct dep_profile_follow **out)
{
	struct dep_profile_follow *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return dep_fail(-ENOMEM, "profile");
	f->store = store;
	if (options)
		f->options = *options;
	err = dep_code_make(store, &f->code);
	if (!err)
		err = begin_anew(f);
	if (err)
		dep_profile_follow_free(f);
	else
		*out = f;
	return err;
}

void dep_profile_follow_free(struct dep_profile_follow *f)
{
	if (!f)
		return;
	dep_fold_follow_free(f->fold);
	dep_counts_all_free(&f->all);
	dep_code_free(f->code);
	free(f);
}

static int count(struct dep_profile_follow *f)
{
	int err = dep_fold_follow_more(f->fold, &dep_count_fold, &f->all, f->complete);

	if (!err)
		err = dep_counts_settle_known(&f->all);
	if (err || f->all.exits.n < f->compact_at)
		return err;
	err = dep_counts_compact(&f->all, f->store);
	f->compact_at = 2 * f->all.exits.n > EXITS_MIN ? 2 * f->all.exits.n : EXITS_MIN;
	return err;
}

int dep_profile_follow_more(struct dep_profile_follow *f, bool over)
{
	struct dep_numbers *numbers;
	int err;

	if (f->complete)
		return 0;
	err = over ? dep_store_finish_tail(f->store) : dep_store_grow(f->store);
	if (!err && (f->store->model.is_last || f->store->model.first_file))
		err = dep_fail(-EOPNOTSUPP, "parts of the recording are dropped while it runs");
	if (!err)
		err = dep_code_grow(f->code);
	if (err)
		return err;
	f->complete = over;
	numbers = &((struct dep_code_made *)f->code)->numbers;
	/* What was counted for the id has to count for the other exit. */
	if (numbers->again)
		err = begin_anew(f);
	numbers->again = false;
	if (!err)
		err = count(f);
	if (err != -ESTALE)
		return err;
	err = begin_anew(f);
	return err ? err : count(f);
}

int dep_profile_follow_rows(struct dep_profile_follow *f, struct dep_profile **out)
{
	struct dep_pass pass = { 0 };
	int err = dep_pass_begin(&pass);

	if (!err && dep_counts_join(&pass.all, &f->all))
		err = dep_fail(-ENOMEM, "counters");
	if (!err)
		err = dep_fold_follow_rest(f->fold, &dep_count_fold, &pass.all,
					   &pass.profile->loss);
	if (!err)
		err = dep_pass_end(&pass, f->store, f->code);
	if (!err) {
		*out = pass.profile;
		pass.profile = NULL;
	}
	dep_pass_free(&pass);
	return err;
}

const struct dep_fragments *dep_profile_follow_code(const struct dep_profile_follow *f)
{
	return f->code;
}
