// SPDX-License-Identifier: LGPL-2.1-or-later
/* Make a profile: one pass, then its rows. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "rows.h"

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

static void fill(struct dep_profile *p, struct dep_rows *r, struct dep_counts_all *all)
{
	const struct dep_thread_count *t = all->threads.row;
	size_t i;

	if (all->times.n)
		qsort(all->times.row, all->times.n, sizeof(struct dep_time_count), by_time);
	p->insn = r->insns.row;
	p->ninsns = r->insns.n;
	p->edge = r->edges.row;
	p->nedges = r->edges.n;
	p->thread = all->threads.row;
	p->nthreads = all->threads.n;
	p->time = all->times.row;
	p->ntimes = all->times.n;
	p->refs = r->refs;
	for (i = 0; i < p->nthreads; i++)
		p->insns += t[i].insns;
	r->insns.row = r->edges.row = all->threads.row = all->times.row = NULL;
}

int dep_profile_make(struct dep_store *store, const struct dep_fragments *code,
		     const struct dep_fold_options *options, struct dep_profile **out)
{
	const struct dep_fold *fold = &dep_count_fold;
	struct dep_counts_all all = { .threads.may_move = DEP_TABLE_MOVES };
	struct dep_rows r = { .store = store, .code = code, .counts = &all };
	struct dep_profile *p = calloc(1, sizeof(*p));
	void *self = &all;
	int err = p ? 0 : dep_fail(-ENOMEM, "profile");

	if (!err)
		err = dep_fold_run(store, code, &fold, &self, 1, options, &p->loss);
	if (!err)
		err = dep_counts_settle(&all, store);
	if (!err)
		err = dep_rows_make(&r);
	if (!err)
		fill(p, &r, &all);
	dep_images_free(&r.images);
	free(r.insns.row);
	free(r.edges.row);
	dep_counts_all_free(&all);
	if (err)
		free(p);
	else
		*out = p;
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
