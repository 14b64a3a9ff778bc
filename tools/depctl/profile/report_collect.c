// SPDX-License-Identifier: GPL-2.0-or-later
/* Sort and add up what depctl report prints. */
#include <errno.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "report_parts.h"

#define COLUMNS	80u	/* of the picture of time */

struct ranked {
	uint64_t insns;
	uint32_t i;
};

static int by_insns(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

static int sort_functions(struct report *r)
{
	const struct function *f;
	size_t n = functions_all(r->v.f, &f), i;
	struct ranked *rank = calloc(n + 1, sizeof(*rank));

	r->function = calloc(n + 1, sizeof(*r->function));
	if (!rank || !r->function) {
		free(rank);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		rank[i] = (struct ranked){ f[i].insns, (uint32_t)i };
	qsort(rank, n, sizeof(*rank), by_insns);
	for (i = 0; i < n; i++)
		r->function[i] = rank[i].i;
	r->nfunctions = n;
	free(rank);
	return 0;
}

/* ---- processes and threads ---- */

static int by_thread_insns(const void *pa, const void *pb)
{
	const struct dep_thread_count *a = pa, *b = pb;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int by_process_insns(const void *pa, const void *pb)
{
	const struct process_sum *a = pa, *b = pb;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	return a->process->serial < b->process->serial ? -1 :
	       a->process->serial > b->process->serial;
}

static int by_serial(const void *pa, const void *pb)
{
	const struct process_sum *a = pa, *b = pb;

	return a->process->serial < b->process->serial ? -1 :
	       a->process->serial > b->process->serial;
}

static struct process_sum *sum_of(struct report *r, uint32_t serial)
{
	const struct dep_process key = { .serial = serial };
	const struct process_sum k = { .process = &key };

	return bsearch(&k, r->process, r->nprocesses, sizeof(*r->process), by_serial);
}

static int sum_threads(struct report *r)
{
	const struct dep_process *p;
	const struct dep_thread *t;
	struct process_sum *sum;
	size_t i;

	r->nprocesses = dep_store_processes(r->v.store, &p);
	r->nthreads = r->v.p->nthreads;
	r->process = calloc(r->nprocesses + 1, sizeof(*r->process));
	r->thread = calloc(r->nthreads + 1, sizeof(*r->thread));
	if (!r->process || !r->thread)
		return -ENOMEM;
	for (i = 0; i < r->nprocesses; i++)
		r->process[i].process = &p[i];
	qsort(r->process, r->nprocesses, sizeof(*r->process), by_serial);
	for (i = 0; i < r->nthreads; i++) {
		r->thread[i] = r->v.p->thread[i];
		t = thread_of(r->v.store, r->thread[i].thread);
		sum = t ? sum_of(r, t->process) : NULL;
		if (!sum)
			continue;
		sum->threads++;
		sum->insns += r->thread[i].insns;
	}
	qsort(r->thread, r->nthreads, sizeof(*r->thread), by_thread_insns);
	qsort(r->process, r->nprocesses, sizeof(*r->process), by_process_insns);
	while (r->nprocesses && !r->process[r->nprocesses - 1].threads)
		r->nprocesses--;
	return 0;
}

/* ---- contexts ---- */

static int sort_contexts(struct report *r)
{
	const struct dep_contexts *c = r->v.c;
	struct ranked *rank = calloc(c->ncontexts + 1, sizeof(*rank));
	size_t i, n = 0;

	for (i = 1; rank && i < c->ncontexts; i++)
		if (c->context[i].insns)
			rank[n++] = (struct ranked){ c->context[i].insns, (uint32_t)i };
	r->context = calloc(n + 1, sizeof(*r->context));
	if (!rank || !r->context) {
		free(rank);
		return -ENOMEM;
	}
	qsort(rank, n, sizeof(*rank), by_insns);
	for (i = 0; i < n; i++)
		r->context[i] = rank[i].i;
	r->ncontexts = n;
	free(rank);
	return 0;
}

/* ---- time ---- */

/* A damaged store can have segments that end before they start. */
static uint64_t end_of(const struct dep_time_count *t)
{
	return t->end_ns > t->start_ns ? t->end_ns : t->start_ns;
}

/* Add the instructions of a segment to the columns that it covers, without losing one. */
static void add_segment(struct report *r, const struct dep_time_count *t)
{
	double width = (double)(r->end_ns - r->start_ns) / (double)r->ncolumns;
	double from = (double)(t->start_ns - r->start_ns) / width;
	double to = (double)(end_of(t) - r->start_ns) / width;
	size_t first = (size_t)from, last = (size_t)to, i;
	uint64_t done = 0, sum;

	first = first < r->ncolumns ? first : r->ncolumns - 1;
	last = last < r->ncolumns ? last : r->ncolumns - 1;
	for (i = first; i < last; i++) {
		sum = (uint64_t)((double)t->insns * ((double)(i + 1) - from) / (to - from));
		sum = sum < t->insns ? sum : t->insns;
		r->column[i] += sum - done;
		done = sum;
	}
	r->column[last] += t->insns - done;
}

static int sum_time(struct report *r)
{
	const struct dep_profile *p = r->v.p;
	size_t i;

	r->start_ns = UINT64_MAX;
	for (i = 0; i < p->ntimes; i++) {
		if (p->time[i].start_ns < r->start_ns)
			r->start_ns = p->time[i].start_ns;
		if (end_of(&p->time[i]) > r->end_ns)
			r->end_ns = end_of(&p->time[i]);
	}
	if (r->end_ns <= r->start_ns) {
		r->end_ns = 0;
		return 0;
	}
	r->ncolumns = COLUMNS;
	r->column = calloc(r->ncolumns, sizeof(*r->column));
	if (!r->column)
		return -ENOMEM;
	for (i = 0; i < p->ntimes; i++)
		add_segment(r, &p->time[i]);
	return 0;
}

int report_collect(struct report *r)
{
	int err = sort_functions(r);

	if (!err)
		err = profile_loops(&r->v, &r->loops);
	if (!err && r->paths)
		err = hot_paths_find(&r->hot, r->paths, r->v.f);
	if (!err)
		err = sort_contexts(r);
	if (!err)
		err = sum_threads(r);
	if (!err)
		err = sum_time(r);
	if (!err)
		err = guesses_count(&r->guesses, r->v.c, NULL, NULL);
	profile_reasons(&r->v, &r->why);
	return err;
}

void report_free(struct report *r)
{
	loops_free(&r->loops);
	hot_paths_free(&r->hot);
	dep_path_profile_free(r->paths);
	free(r->context);
	free(r->function);
	free(r->process);
	free(r->thread);
	free(r->column);
	profile_close(&r->v);
}
