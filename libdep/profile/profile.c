// SPDX-License-Identifier: LGPL-2.1-or-later
/* Make a profile: one pass, then its rows. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
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

int dep_pass_run(struct dep_pass *pass, struct dep_store *store, const struct dep_fragments *code,
		 const struct dep_fold_options *options)
{
	const struct dep_fold *fold = &dep_count_fold;
	struct dep_profile *p = calloc(1, sizeof(*p));
	void *self = &pass->all;
	int err = p ? 0 : dep_fail(-ENOMEM, "profile");

	pass->profile = p;
	pass->all.threads.may_move = DEP_TABLE_MOVES;
	pass->rows = (struct dep_rows){ .store = store, .code = code, .counts = &pass->counted };
	if (!err)
		err = dep_fold_run(store, code, &fold, &self, 1, options, &p->loss);
	if (!err)
		err = dep_counts_settle(&pass->all, store);
	if (!err)
		err = dep_counted_take(&pass->counted, &pass->all);
	if (!err)
		err = dep_images_make(&pass->rows.images, store);
	if (!err)
		err = dep_rows_make(&pass->rows);
	if (!err)
		fill(pass, p);
	return err;
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

int dep_profile_make(struct dep_store *store, const struct dep_fragments *code,
		     const struct dep_fold_options *options, struct dep_profile **out)
{
	struct dep_pass pass = { 0 };
	int err = dep_pass_run(&pass, store, code, options);

	if (!err) {
		*out = pass.profile;
		pass.profile = NULL;
	}
	dep_pass_free(&pass);
	return err;
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
