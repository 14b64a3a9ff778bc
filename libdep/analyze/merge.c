// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One order of all threads' items: the thread with the lowest ticket is always next, and
 * goes on up to its next one.
 *
 * A heap has the threads by the ticket at which they go on.  Of a thread that has not been
 * reached only its first segment's header is read; of one that is under way a segment is in
 * memory, and the next one is loaded meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../format/error.h"
#include "../format/store.h"
#include "../recover/run.h"
#include "load.h"

#define MAX_JOBS	64u

struct lane {
	const struct dep_thread *thread;
	const struct dep_segment *seg, *end;	/* the one at hand or to come; behind the last */
	struct dep_sieve *sieve;		/* NULL: all references are shown */
	struct dep_loaded *now;			/* NULL: @seg has not been begun */
	void *asked;				/* the loading of @seg, or of @seg + 1 if @now.. */
	struct dep_loaded *next;		/* ..which may have come to this already */
	size_t mark;				/* of @now: the run at hand.. */
	size_t item;				/* ..and how far it has been shown */
	bool begun;
	bool late;				/* its rest was put off to @key */
	uint64_t key;
	uint64_t next_seq;
};

struct merge {
	struct dep_store *store;
	const struct dep_analyzer *a;
	void *self;
	struct dep_loader *loader;
	struct dep_analysis *out;
	struct lane *lane;
	size_t nlanes;
	struct lane **heap;
	size_t nheap;
};

/* ---- the heap ---- */

static bool before(const struct lane *a, const struct lane *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	return a->thread->serial < b->thread->serial;
}

static void sift_down(struct merge *m, size_t i)
{
	struct lane *l = m->heap[i];
	size_t k;

	for (; (k = 2 * i + 1) < m->nheap; i = k) {
		if (k + 1 < m->nheap && before(m->heap[k + 1], m->heap[k]))
			k++;
		if (!before(m->heap[k], l))
			break;
		m->heap[i] = m->heap[k];
	}
	m->heap[i] = l;
}

static void make_heap(struct merge *m)
{
	size_t i = m->nheap / 2;

	while (i--)
		sift_down(m, i);
}

static void pop(struct merge *m)
{
	m->heap[0] = m->heap[--m->nheap];
	if (m->nheap)
		sift_down(m, 0);
}

/* ---- a thread's segments ---- */

static int gap(struct merge *m, const struct lane *l)
{
	m->out->gaps++;
	return m->a->gap ? m->a->gap(m->self, l->thread) : 0;
}

/* Never back: what follows from damage stays where it can be understood.  0: not known. */
static void set_key(struct merge *m, struct lane *l, uint64_t ticket)
{
	if (!ticket)
		return;
	if (ticket < l->key)
		m->out->disorder++;
	else
		l->key = ticket;
}

/* Wait for the segment that is being loaded, @seg if that is not yet. */
static struct dep_loaded *take_next(struct merge *m, struct lane *l, const struct dep_segment *seg)
{
	if (l->next)
		return l->next;
	if (!l->asked)
		l->asked = dep_loader_ask(m->loader, seg, l->sieve);
	if (l->asked)
		l->next = dep_loader_take(m->loader, l->asked);
	l->asked = NULL;
	if (!l->next)
		dep_fail(-ENOMEM, "segments");
	return l->next;
}

/* What of the thread's references is wanted, before its first segment. */
static int begin_lane(struct merge *m, struct lane *l)
{
	const struct dep_scope *scope = m->a->scope ? m->a->scope(m->self, l->thread) : NULL;

	l->begun = true;
	if (!scope)
		return 0;
	l->sieve = malloc(sizeof(*l->sieve));
	return l->sieve ? dep_sieve_init(l->sieve, scope) : dep_fail(-ENOMEM, "threads");
}

static void end_lane(struct merge *m, struct lane *l)
{
	if (l->sieve) {
		dep_loader_forget(m->loader, l->sieve);
		dep_sieve_free(l->sieve);
	}
	free(l->sieve);
	l->sieve = NULL;
}

static int begin_segment(struct merge *m, struct lane *l)
{
	int err = l->begun ? 0 : begin_lane(m, l);

	if (err)
		return err;
	l->now = take_next(m, l, l->seg);
	if (!l->now)
		return -ENOMEM;
	l->next = NULL;
	l->mark = l->item = 0;
	dep_counts_add(&m->out->counts, &l->now->counts);
	if (l->seg + 1 < l->end)
		l->asked = dep_loader_ask(m->loader, l->seg + 1, l->sieve);
	if (l->seg->seq != l->next_seq)
		err = gap(m, l);
	l->next_seq = l->seg->seq + 1;
	return err;
}

/*
 * When @seg began, which is to come.  The kernel module does not know; and a system call that
 * was under way then has the ticket from before it.
 */
static int go_on_with(struct merge *m, struct lane *l, const struct dep_segment *seg)
{
	const struct dep_loaded *next = take_next(m, l, seg);
	uint64_t ticket, first;

	if (!next)
		return -ENOMEM;
	ticket = next->mark[0].ticket;
	first = next->nmarks > 1 ? next->mark[1].ticket : 0;
	set_key(m, l, !ticket || (first && first < ticket) ? first : ticket);
	return 0;
}

/* Return: 1 if that was the thread's last. */
static int end_segment(struct merge *m, struct lane *l)
{
	int err = 0;

	if (l->now->err || l->now->lost_bytes)
		err = gap(m, l);
	dep_loaded_free(l->now);
	l->now = NULL;
	l->seg++;
	if (err)
		return err;
	if (l->seg < l->end)
		return go_on_with(m, l, l->seg);
	end_lane(m, l);
	if (l->thread->end != DEP_END_WHOLE || l->thread->null_bytes)
		err = gap(m, l);
	if (!err && m->a->end)
		err = m->a->end(m->self, l->thread);
	return err ? err : 1;
}

/* ---- runs ---- */

static size_t run_end(const struct lane *l)
{
	const struct dep_loaded *now = l->now;

	return l->mark + 1 < now->nmarks ? now->mark[l->mark + 1].item : now->nitems;
}

/* Show the rest of the run at hand; what the analyzer does not take waits for the next ticket. */
static int show(struct merge *m, struct lane *l)
{
	size_t end = run_end(l);
	ssize_t n = 0;

	if (l->item < end)
		n = m->a->items(m->self, l->thread, l->now->item + l->item, end - l->item, l->late);
	if (n < 0)
		return (int)n;
	l->late = !l->late && l->item + (size_t)n < end;
	l->item = l->late ? l->item + (size_t)n : end;
	return 0;
}

/* The call that made a process is in its own stream as well, behind its beginning. */
static bool is_copied(const struct lane *l)
{
	const struct dep_mark *k = &l->now->mark[l->mark];
	const struct dep_item *it = l->now->item;

	return l->mark && it[k[0].item].kind == DEP_ITEM_EVENT &&
	       it[k[0].item].event.id == ADEPT_EV_THREAD_START &&
	       it[k[1].item].kind == DEP_ITEM_EVENT &&
	       it[k[1].item].event.id == (ADEPT_EV_SYSCALL | DEP_EV_ENTER);
}

/* One run of the thread, or what was put off.  Return: 1 if it was its last. */
static int step(struct merge *m, struct lane *l)
{
	int err = 0;

	if (!l->now)
		err = begin_segment(m, l);
	if (!err)
		err = show(m, l);
	if (err)
		return err;
	if (l->mark + 1 < l->now->nmarks) {
		if (!is_copied(l))
			set_key(m, l, l->now->mark[l->mark + 1].ticket);
		l->mark += !l->late;
		return 0;
	}
	if (!l->late)
		return end_segment(m, l);
	/* Late is when the next segment begins, or at once if there is none. */
	return l->seg + 1 < l->end ? go_on_with(m, l, l->seg + 1) : 0;
}

/* ---- all of it ---- */

/* They are sorted by thread. */
static const struct dep_segment *first_of(const struct dep_segment *segs,
					  const struct dep_segment *end, uint32_t thread)
{
	size_t half, n = (size_t)(end - segs);

	while (n) {
		half = n / 2;
		if (segs[half].thread < thread) {
			segs += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return segs;
}

static int make_lanes(struct merge *m)
{
	const struct dep_thread *threads;
	const struct dep_segment *segs, *end;
	size_t i, nsegs, n = dep_store_threads(m->store, &threads);

	nsegs = dep_store_segments(m->store, &segs);
	end = nsegs ? segs + nsegs : segs;
	m->lane = calloc(n + 1, sizeof(*m->lane));
	m->heap = calloc(n + 1, sizeof(*m->heap));
	if (!m->lane || !m->heap)
		return dep_fail(-ENOMEM, "threads");
	for (i = 0; i < n; i++) {
		struct lane *l = &m->lane[m->nlanes];

		l->thread = &threads[i];
		l->seg = first_of(segs, end, threads[i].serial);
		for (l->end = l->seg; l->end < end && l->end->thread == threads[i].serial; l->end++)
			;
		if (l->seg == l->end)
			continue;
		l->key = dep_segment_ticket(m->store, l->seg);
		m->heap[m->nheap++] = l;
		m->nlanes++;
	}
	make_heap(m);
	return 0;
}

static void free_all(struct merge *m)
{
	size_t i;

	for (i = 0; i < m->nlanes; i++) {
		if (m->lane[i].asked)
			dep_loaded_free(dep_loader_take(m->loader, m->lane[i].asked));
		dep_loaded_free(m->lane[i].now);
		dep_loaded_free(m->lane[i].next);
		end_lane(m, &m->lane[i]);
	}
	if (m->loader)
		dep_loader_stop(m->loader);
	free(m->lane);
	free(m->heap);
}

int dep_analyze(struct dep_store *store, const struct dep_analyzer *a, void *self,
		unsigned int jobs, void (*progress)(size_t done, size_t all),
		struct dep_analysis *out)
{
	struct merge m = { .store = store, .a = a, .self = self, .out = out };
	const struct dep_segment *segs;
	size_t done = 0, all = dep_store_segments(store, &segs);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int ret;

	memset(out, 0, sizeof(*out));
	if (!jobs)
		jobs = cpus > 1 ? (unsigned int)cpus : 1;
	if (jobs > MAX_JOBS)
		jobs = MAX_JOBS;
	/* This thread is one of them. */
	m.loader = dep_loader_start(store, a->want, jobs - 1);
	ret = m.loader ? make_lanes(&m) : dep_fail(-ENOMEM, "threads");
	while (!ret && m.nheap) {
		struct lane *l = m.heap[0];
		const struct dep_segment *at = l->seg;

		ret = step(&m, l);
		if (ret == 1) {
			ret = 0;
			pop(&m);
		} else {
			sift_down(&m, 0);
		}
		if (l->seg != at && progress)
			progress(++done, all);
	}
	free_all(&m);
	return ret;
}
