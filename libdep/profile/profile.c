// SPDX-License-Identifier: LGPL-2.1-or-later
/* Make a profile: one pass, or the counters that the store keeps, then its rows. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "kept.h"
#include "pass.h"

int dep_profile_check(struct dep_store *store, u64 bytes)
{
	u64 input;

	if (bytes <= dep_budget_profile(0))
		return 0;
	input = dep_store_input(store, bytes);
	if (bytes <= dep_budget_profile(input))
		return 0;
	return dep_fail(-EFBIG, "the profile of a store of %llu KiB would take more than %llu MiB",
			(unsigned long long)input >> 10,
			(unsigned long long)dep_budget_profile(input) >> 20);
}

static int by_time(const void *pa, const void *pb)
{
	const struct dep_time_count *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return a->insns < b->insns ? -1 : a->insns > b->insns;
}

void dep_pass_take_rows(struct dep_pass *pass, struct dep_profile *p)
{
	struct dep_rows *r = &pass->rows;

	p->insn = r->insns.row;
	p->ninsns = r->insns.n;
	p->edge = r->edges.row;
	p->nedges = r->edges.n;
	p->refs = r->refs;
	r->insns = r->edges = (struct dep_table){ 0 };
	r->refs = 0;
}

static void fill(struct dep_pass *pass, struct dep_profile *p)
{
	struct dep_counts_all *all = &pass->all;
	const struct dep_thread_count *t = all->threads.row;
	size_t i;

	dep_pass_take_rows(pass, p);
	if (all->times.n)
		qsort(all->times.row, all->times.n, sizeof(struct dep_time_count), by_time);
	p->thread = all->threads.row;
	p->nthreads = all->threads.n;
	p->time = all->times.row;
	p->ntimes = all->times.n;
	for (i = 0; i < p->nthreads; i++)
		p->insns += t[i].insns;
	all->threads.row = all->times.row = NULL;
}

int dep_pass_begin(struct dep_pass *pass)
{
	pass->all.threads.may_move = DEP_TABLE_MOVES;
	pass->profile = calloc(1, sizeof(*pass->profile));
	return pass->profile ? 0 : dep_fail(-ENOMEM, "profile");
}

static int take_counters(struct dep_pass *pass, struct dep_store *store)
{
	int err = dep_counts_settle(&pass->all, store);

	return err ? err : dep_counted_take(&pass->counted, &pass->all);
}

static int make_rows(struct dep_pass *pass, struct dep_store *store,
		     const struct dep_fragments *code)
{
	int err = dep_images_make(&pass->rows.images, store);

	pass->rows.store = store;
	pass->rows.code = code;
	pass->rows.counts = &pass->counted;
	if (!err)
		err = dep_rows_make(&pass->rows);
	if (!err)
		fill(pass, pass->profile);
	return err;
}

int dep_pass_end(struct dep_pass *pass, struct dep_store *store, const struct dep_fragments *code)
{
	int err = take_counters(pass, store);

	return err ? err : make_rows(pass, store, code);
}

/* Read all segments and add up. */
static int fold(struct dep_pass *pass, struct dep_store *store, const struct dep_fragments *code,
		const struct dep_fold_options *options)
{
	const struct dep_fold *fold = &dep_count_fold;
	void *self = &pass->all;
	int err = dep_fold_run(store, code, &fold, &self, 1, options, &pass->profile->loss);

	return err ? err : take_counters(pass, store);
}

/* Take the counters that are kept in the store, or count, and keep them. */
static int fold_or_read(struct dep_pass *pass, struct dep_store *store,
			const struct dep_fragments *code, const struct dep_fold_options *options)
{
	struct dep_kept_key key;
	struct dep_kept_counts k;
	bool keep = dep_kept_key(&key, store, code, options);
	int err;

	if (keep && dep_kept_counts_read(&k, store, code, &key)) {
		pass->counted = k.counted;
		pass->all.threads = k.threads;
		pass->all.times = k.times;
		pass->profile->loss.gaps = k.gaps;
		return 0;
	}
	err = fold(pass, store, code, options);
	if (err || !keep || pass->profile->loss.segments)
		return err;
	k = (struct dep_kept_counts){ pass->counted, pass->all.threads, pass->all.times,
				      pass->profile->loss.gaps };
	dep_kept_counts_write(&k, store, code, &key);
	return 0;
}

int dep_pass_run(struct dep_pass *pass, struct dep_store *store, const struct dep_fragments *code,
		 const struct dep_fold_options *options)
{
	int err = dep_pass_begin(pass);

	if (!err)
		err = pass->keep ? fold_or_read(pass, store, code, options) :
				   fold(pass, store, code, options);
	return err ? err : make_rows(pass, store, code);
}

void dep_pass_free(struct dep_pass *pass)
{
	dep_images_free(&pass->rows.images);
	free(pass->rows.insns.row);
	free(pass->rows.edges.row);
	dep_counted_free(&pass->counted);
	dep_counts_all_free(&pass->all);
	dep_profile_free(pass->profile);
}

static int make(struct dep_store *store, const struct dep_fragments *code,
		const struct dep_fold_options *options, bool keep, struct dep_profile **out)
{
	struct dep_pass pass = { .keep = keep };
	int err = dep_pass_run(&pass, store, code, options);

	if (!err) {
		*out = pass.profile;
		pass.profile = NULL;
	}
	dep_pass_free(&pass);
	return err;
}

int dep_profile_make(struct dep_store *store, const struct dep_fragments *code,
		     const struct dep_fold_options *options, struct dep_profile **out)
{
	return make(store, code, options, false, out);
}

int dep_profile_make_kept(struct dep_store *store, const struct dep_fragments *code,
			  const struct dep_fold_options *options, struct dep_profile **out)
{
	return make(store, code, options, true, out);
}

void dep_profile_free(struct dep_profile *p)
{
	if (!p)
		return;
	free((void *)p->insn);
	free((void *)p->edge);
	free((void *)p->thread);
	free((void *)p->time);
	free(p);
}
