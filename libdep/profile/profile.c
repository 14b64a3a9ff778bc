// SPDX-License-Identifier: LGPL-2.1-or-later
/* Make a profile: one pass, then its rows. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "rows.h"

static int by_thread(const void *pa, const void *pb)
{
	const struct dep_time_count *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_time(const void *pa, const void *pb)
{
	const struct dep_time_count *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static u64 end_of(struct dep_store *store, u32 thread)
{
	const struct dep_thread *t = dep_table_find(&store->model.threads, sizeof(*t), thread);

	return t ? t->end_ns : 0;
}

/* A segment ends where the thread's next one begins; the last one, when the thread ended. */
static void set_ends(struct dep_store *store, struct dep_table *times)
{
	struct dep_time_count *t = times->row;
	size_t i, n = times->n;

	if (!n)
		return;
	qsort(t, n, sizeof(*t), by_thread);
	for (i = 0; i < n; i++) {
		if (i + 1 < n && t[i + 1].thread == t[i].thread)
			t[i].end_ns = t[i + 1].start_ns;
		else
			t[i].end_ns = end_of(store, t[i].thread);
		if (t[i].end_ns < t[i].start_ns)
			t[i].end_ns = t[i].start_ns;
	}
	qsort(t, n, sizeof(*t), by_time);
}

static void fill(struct dep_profile *p, struct dep_rows *r, struct dep_counts_all *all)
{
	const struct dep_thread_count *t = all->threads.row;
	size_t i;

	set_ends(r->store, &all->times);
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

int dep_profile_make(struct dep_store *store, const struct dep_code *code,
		     const struct dep_fold_options *options, struct dep_profile **out)
{
	const struct dep_fold *fold = &dep_count_fold;
	struct dep_counts_all all = {
		.processes.may_move = DEP_TABLE_MOVES, .threads.may_move = DEP_TABLE_MOVES,
	};
	struct dep_rows r = { .store = store, .code = code, .counts = &all };
	struct dep_profile *p = calloc(1, sizeof(*p));
	void *self = &all;
	int err = p ? 0 : dep_fail(-ENOMEM, "profile");

	if (!err)
		err = dep_fold_run(store, code, &fold, &self, 1, options, &p->loss);
	if (!err)
		err = dep_counts_settle(&all);
	if (!err)
		err = dep_rows_make(&r);
	if (!err)
		fill(p, &r, &all);
	dep_images_free(&r.images);
	free(r.insns.row);
	free(r.edges.row);
	dep_counts_all_free(&all, code->nexits);
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
