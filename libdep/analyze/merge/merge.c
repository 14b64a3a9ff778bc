// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Merge the items of all threads into one order: always take the thread with the lowest timestamp,
 * and emit its items up to its next timestamp (a run).
 *
 * A heap orders the streams by the timestamps at which they continue (streams.c). Of a thread whose
 * first segment has not been reached, only that segment's header is read. A thread whose items are
 * being emitted has one segment in memory while the next one is being loaded. tail.c adds what is
 * needed while the store still grows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "libdep/recover/interp/run.h"
#include "merge.h"

#define MAX_JOBS	64u

/* ---- the segments of a thread ---- */

static int gap(struct merge *m, const struct stream *l)
{
	m->out->gaps++;
	return m->a->gap ? m->a->gap(m->self, l->thread) : 0;
}

/* Return the items of the next segment @seg: wait for its request, or make one and wait for it. */
static struct dep_segment_items *take_next(struct merge *m, struct stream *l,
					   const struct dep_segment *seg)
{
	if (l->next)
		return l->next;
	if (!l->asked)
		l->asked = stream_prefetch(m, l, seg);
	if (l->asked)
		l->next = dep_loader_take(m->loader, l->asked);
	l->asked = NULL;
	if (!l->next)
		dep_fail(-ENOMEM, "segments");
	return l->next;
}

static int begin_segment(struct merge *m, struct stream *l)
{
	int err = l->begun ? 0 : merge_begin_stream(m, l);
	const struct dep_segment *first;
	uint64_t seq;

	if (err)
		return err;
	l->now = take_next(m, l, l->seg);
	if (!l->now)
		return -ENOMEM;
	l->next = NULL;
	l->mark = l->item = 0;
	/* A prefix is not counted: the stored segment that replaces it later is. */
	if (!l->now->prefix)
		dep_counts_add(&m->out->counts, &l->now->counts);
	if (stream_next_segment(l))
		l->asked = stream_prefetch(m, l, stream_next_segment(l));
	seq = l->now->prefix ? l->now->seq : l->seg->seq;
	if (seq != l->next_seq)
		err = gap(m, l);
	l->next_seq = seq + 1;
	if (!err && m->a->segment && !m->follower) {
		dep_store_segments(m->store, &first);
		err = m->a->segment(m->self, l->thread, (uint32_t)(l->seg - first));
	}
	return err;
}

/*
 * Set the stream's time to the begin of its next segment @seg. A segment recorded by the kernel
 * module has no begin timestamp: its first timestamp counts. If the segment before ended within a
 * system call, that call's first timestamp is lower than the begin timestamp, and counts.
 */
static int go_on_with(struct merge *m, struct stream *l, const struct dep_segment *seg)
{
	const struct dep_segment_items *next = take_next(m, l, seg);
	uint64_t timestamp, first;

	if (!next)
		return -ENOMEM;
	timestamp = next->mark[0].timestamp;
	first = next->nmarks > 1 ? next->mark[1].timestamp : 0;
	stream_set_time(m, l, !timestamp || (first && first < timestamp) ? first : timestamp);
	return 0;
}

/* Free the current segment. Return: 1 if it was the thread's last one, 0 or a negative errno. */
static int end_segment(struct merge *m, struct stream *l)
{
	int err = 0;

	if (l->now->err || l->now->lost_bytes)
		err = gap(m, l);
	dep_loaded_free(l->now);
	l->now = NULL;
	l->seg++;
	if (err)
		return err;
	if (l->seg < l->end || l->next)
		return go_on_with(m, l, l->seg);
	stream_end(m, l);
	if (l->thread->end != DEP_END_WHOLE || l->thread->null_bytes)
		err = gap(m, l);
	if (!err && m->a->end)
		err = m->a->end(m->self, l->thread);
	return err ? err : 1;
}

/* ---- emitting runs of items ---- */

static size_t run_end(const struct stream *l)
{
	const struct dep_segment_items *now = l->now;

	return l->mark + 1 < now->nmarks ? now->mark[l->mark + 1].item : now->nitems;
}

/*
 * Emit the remaining items of the current run (items between two timestamps). Items that the
 * analyzer does not consume are emitted again at the thread's next timestamp.
 */
static int show(struct merge *m, struct stream *l)
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

/*
 * Is the next timestamp that of a copied fork call? A forked child's stream repeats its parent's
 * fork call after its own thread start. The call's earlier timestamp is not disorder.
 */
static bool is_copied(const struct stream *l)
{
	const struct dep_sync_index *k = &l->now->mark[l->mark];
	const struct dep_item *it = l->now->item;

	return l->mark && it[k[0].item].kind == DEP_ITEM_EVENT &&
	       it[k[0].item].event.id == ADEPT_EV_THREAD_START &&
	       it[k[1].item].kind == DEP_ITEM_EVENT &&
	       it[k[1].item].event.id == (ADEPT_EV_SYSCALL | DEP_EV_ENTER);
}

/* Emit one run, or the deferred items of one. Return: 1 if the stream is complete. */
static int step(struct merge *m, struct stream *l)
{
	int err = 0;

	if (!l->now) {
		err = begin_segment(m, l);
		/* In a growing store, check first whether the segment after this one is stored. */
		if (m->follower)
			return err;
	}
	if (!err)
		err = show(m, l);
	if (err)
		return err;
	if (l->mark + 1 < l->now->nmarks) {
		if (!is_copied(l))
			stream_set_time(m, l, l->now->mark[l->mark + 1].timestamp);
		l->mark += !l->late;
		return 0;
	}
	/*
	 * The run was the beginning of the system call at the prefix's end. The rest of the call is
	 * emitted from the segment that will replace the prefix.
	 */
	if (l->now->prefix) {
		l->entered = true;
		return 0;
	}
	if (!l->late)
		return end_segment(m, l);
	/* Emit deferred items when the next segment begins, or at once if no segment follows. */
	return l->seg + 1 < l->end || l->next ? go_on_with(m, l, l->seg + 1) : 0;
}

/* ---- merging all threads ---- */

/* Find the first segment of @thread by binary search: segments are sorted by thread. */
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

static int make_streams(struct merge *m)
{
	const struct dep_thread *threads;
	const struct dep_segment *segs, *end;
	size_t i, nsegs, n = dep_store_threads(m->store, &threads);

	nsegs = dep_store_segments(m->store, &segs);
	end = nsegs ? segs + nsegs : segs;
	m->stream = calloc(n + 1, sizeof(*m->stream));
	m->heap = calloc(n + 1, sizeof(*m->heap));
	if (!m->stream || !m->heap)
		return dep_fail(-ENOMEM, "threads");
	for (i = 0; i < n; i++) {
		struct stream *l = &m->stream[m->nstreams];

		l->thread = &threads[i];
		l->seg = first_of(segs, end, threads[i].serial);
		for (l->end = l->seg; l->end < end && l->end->thread == threads[i].serial; l->end++)
			;
		if (l->seg == l->end)
			continue;
		l->key = dep_segment_timestamp(m->store, l->seg);
		l->next_seq = dep_store_first(m->store, l->thread->serial);
		m->heap[m->nheap++] = l;
		m->nstreams++;
	}
	merge_heap(m);
	return 0;
}

static void free_all(struct merge *m)
{
	size_t i;

	for (i = 0; i < m->nstreams; i++)
		merge_stream_free(m, &m->stream[i]);
	for (i = 0; i < m->ngrown; i++) {
		merge_stream_free(m, m->grown[i]);
		free(m->grown[i]->own);
		free(m->grown[i]);
	}
	free(m->grown);
	tail_close(m);
	if (m->loader)
		dep_loader_stop(m->loader);
	free(m->stream);
	free(m->heap);
}

static int begin(struct merge *m, const struct dep_live_options *live)
{
	if (!m->loader)
		return dep_fail(-ENOMEM, "threads");
	return live ? tail_open(m, live) : make_streams(m);
}

/* Return: the number of threads that recover the @n segments, including the calling thread. */
static unsigned int jobs_of(struct dep_store *store, const struct dep_segment *segs, size_t n,
			    unsigned int jobs)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!jobs)
		jobs = cpus > 1 ? (unsigned int)cpus : 1;
	return dep_store_jobs(store, segs, n, jobs > MAX_JOBS ? MAX_JOBS : jobs);
}

int dep_analyze(struct dep_store *store, const struct dep_analyzer *a, void *self,
		const struct dep_analyze_options *options, struct dep_analysis *out)
{
	return dep_analyze_live(store, a, self, options, NULL, out);
}

int dep_analyze_live(struct dep_store *store, const struct dep_analyzer *a, void *self,
		     const struct dep_analyze_options *options,
		     const struct dep_live_options *live, struct dep_analysis *out)
{
	static const struct dep_analyze_options defaults;
	const struct dep_analyze_options *o = options ? options : &defaults;
	struct merge m = { .store = store, .a = a, .self = self, .out = out };
	const struct dep_segment *segs;
	size_t done = 0, all = dep_store_segments(store, &segs);
	int ret;

	memset(out, 0, sizeof(*out));
	m.loader = dep_loader_start(store, a->want, jobs_of(store, segs, all, o->jobs) - 1);
	ret = begin(&m, live);
	while (!ret && (m.nheap || m.follower)) {
		const struct dep_segment *at;
		struct stream *l;

		if (m.follower && !tail_is_ready(&m)) {
			ret = merge_wait(&m);
			continue;
		}
		ret = m.follower ? tail_poll(&m) : 0;
		if (ret || !m.nheap)
			continue;
		l = m.heap[0];
		at = l->seg;
		if (tail_is_partial(l)) {
			ret = tail_complete_segment(&m, l);
			merge_first_moved(&m);
			continue;
		}
		ret = m.follower ? merge_step_is_next(&m, l) : 0;
		if (!ret)
			ret = step(&m, l);
		if (ret == 1) {
			ret = 0;
			l->done = true;
			merge_remove_first(&m);
		} else {
			merge_first_moved(&m);
		}
		if (l->seg != at && o->progress)
			o->progress(++done, all);
	}
	if (ret == -ESTALE && m.follower)
		ret = tail_wait_complete(&m);
	free_all(&m);
	return ret;
}
