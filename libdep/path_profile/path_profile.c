// SPDX-License-Identifier: LGPL-2.1-or-later
/* dep_path_profile_make(): two passes, then rows. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "libdep/contexts/make.h"
#include "libdep/format/file/error.h"
#include "pass.h"

/* Part of the memory that stacks get; the rest is for graphs and counters. */
#define STACKS_PART	2

static int pass(struct dep_path_pass *p, const struct dep_contexts_options *o, bool counts,
		struct dep_path_profile *out)
{
	struct dep_fold_loss loss = { 0 };
	u64 not_counted = 0;
	int err;

	p->counts = counts;
	free(p->follower.begin);
	p->follower.begin = NULL;
	p->used -= p->follower.contexts * sizeof(*p->follower.begin);
	p->follower.contexts = 0;
	err = dep_contexts_follow(p->store, p->code, o, &p->follower, &loss, &not_counted);
	if (counts) {
		out->loss = loss;
		out->not_counted += not_counted;
	}
	if (!err)
		err = p->err;
	return err ? err : dep_path_settle(p);
}

static int run(struct dep_path_pass *p, const struct dep_path_profile_options *options,
	       struct dep_path_profile *out)
{
	u64 memory = options->memory ? options->memory : DEP_PATH_PROFILE_MEMORY;
	struct dep_contexts_options o = {
		.fold = options->fold, .symbols = options->symbols, .counts = options->counts,
		.memory = memory / STACKS_PART,
	};
	u64 steps = p->code->nsteps + 1ull;
	s64 first;
	int err;

	p->iterations = options->iterations ? options->iterations : 1;
	if (p->iterations > DEP_PATH_ITERATIONS)
		return dep_fail(-EINVAL, "paths over %u iterations", p->iterations);
	/* Without it, forged stores can make it slow, and no more. */
	if (p->iterations > 1 && getrandom(&p->seed, sizeof(p->seed), 0) != sizeof(p->seed))
		p->seed = 0;
	p->limit = memory - memory / STACKS_PART;
	err = dep_path_files(p);
	if (!err)
		err = dep_path_charge(p, steps * (sizeof(*p->run_of_step) +
						  sizeof(*p->code_of_step)));
	if (err)
		return err;
	p->run_of_step = calloc(steps, sizeof(*p->run_of_step));
	p->code_of_step = calloc(steps, sizeof(*p->code_of_step));
	p->recent = calloc(DEP_PATH_RECENT, sizeof(*p->recent));
	if (!p->run_of_step || !p->code_of_step || !p->recent)
		return dep_fail(-ENOMEM, "paths");
	/* Number 0 is no stretch. */
	first = dep_path_stretch_begin(p, DEP_PATH_NO);
	if (first < 0)
		return (int)first;
	dep_path_follower(p);
	err = pass(p, &o, false, out);
	if (!err)
		err = dep_path_graphs(p);
	/* It says the same of a segment that cannot be read. */
	o.fold.failed = NULL;
	if (!err)
		err = pass(p, &o, true, out);
	return err ? err : dep_path_rows(p, out);
}

int dep_path_profile_make(struct dep_store *store, const struct dep_fragments *code,
			  const struct dep_path_profile_options *options,
			  struct dep_path_profile **out)
{
	static const struct dep_path_profile_options defaults;
	struct dep_path_profile *result = calloc(1, sizeof(*result));
	struct dep_path_pass *p = calloc(1, sizeof(*p));
	int err;

	if (!result || !p) {
		free(result);
		free(p);
		return dep_fail(-ENOMEM, "paths");
	}
	p->store = store;
	p->code = code;
	result->own = p;
	err = run(p, options ? options : &defaults, result);
	if (err)
		dep_path_profile_free(result);
	else
		*out = result;
	return err;
}

void dep_path_profile_free(struct dep_path_profile *p)
{
	if (!p)
		return;
	free((void *)p->row);
	free((void *)p->function);
	dep_path_pass_free(p->own);
	free(p);
}
