// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The merge of a store that is still being written (live analysis).
 *
 * The merge takes the next step of the first stream of the heap when two conditions hold: the
 * current run of that stream is complete, and no thread can still produce an earlier timestamp.
 * Each known thread is a stream in the heap, ordered by the earliest time at which it can continue.
 * A thread that has no stream yet begins after the last look at the session file.
 *
 * If the first stream lacks records, they are read from its thread's ring (prefix.c). The beginning
 * of the system call that the thread is in is emitted only if the analyzer's foreseen() accepts the
 * call. The stream then continues after the last time at which the thread was seen in that call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "tail.h"

#define LONGEST_MS	16u
#define ASK_MS		4u
#define STEPS		16u	/* only every 16th step reads the clock */

static bool is_foreseen(const struct merge *m, const struct adept_call *call)
{
	return call->before && m->a->foreseen &&
	       m->a->foreseen(m->self, (uint32_t)call->nr, call->args);
}

/* Is the current run of @l complete, and the time of its next run known? */
static bool is_ready(const struct merge *m, const struct stream *l)
{
	if (l->row_at == SIZE_MAX || l->entered)
		return false;
	if (!l->now)
		return l->seg < l->end || l->next;
	if (l->mark + 1 < l->now->nmarks)
		return true;
	if (l->now->prefix)
		return is_foreseen(m, &l->now->call);
	return l->seg + 1 < l->end || l->next || l->over;
}

bool tail_is_ready(const struct merge *m)
{
	return m->nheap && is_ready(m, m->heap[0]) && stream_time(m->heap[0]) < m->follower->now;
}

int merge_step_is_next(struct merge *m, const struct stream *l)
{
	struct tail *f = m->follower;

	if (stream_time(l) < f->last)
		return tail_stale(l, "the next event precedes events already processed");
	if (l->ends && !tail_has_ended(l))
		return tail_stale(l, "records after the thread end");
	f->last = stream_time(l);
	f->ms = 0;
	return 0;
}

/*
 * The store is complete, and its segment table no longer moves: let @l use the thread's @n entries
 * in that table, @segs, instead of copies.
 */
static int finish_stream(struct merge *m, struct stream *l, const struct dep_segment *segs,
			 size_t n)
{
	size_t at = l->own ? (size_t)(l->seg - l->own) : 0;
	int err = 0;

	if (n < l->nown || (l->nown && segs[l->nown - 1].seq != l->own[l->nown - 1].seq))
		return tail_stale(l, "segments changed after they were read");
	if (!l->nown && n && !l->now && !l->next)
		l->key = dep_segment_timestamp(m->store, segs);
	l->seg = segs + at;
	l->end = segs + n;
	l->over = true;
	if (l->next && l->next->prefix) {
		dep_loaded_free(l->next);
		l->next = NULL;
	}
	if (l->now && l->now->prefix && l->seg == l->end)
		err = tail_stale(l, "the last records were read but not stored");
	else if (!l->now && l->seg == l->end && n)
		err = tail_stale(l, "the last records were read but not stored");
	else if (l->entered)
		err = tail_complete_segment(m, l);
	if (!err && l->ends && !tail_has_ended(l))
		err = tail_stale(l, "records after the thread end");
	if (!err)
		tail_ask_ahead(m, l);
	return err;
}

/* Let all streams use the store's segment table. It is complete now and sorted by thread. */
static int finish_streams(struct merge *m)
{
	const struct dep_segment *segs;
	size_t i, j, n = dep_store_segments(m->store, &segs), at = 0;
	int err = 0;

	for (i = 0; i < m->ngrown && !err; i++) {
		struct stream *l = m->grown[i];

		for (; at < n && segs[at].thread < l->serial; at++)
			;
		for (j = at; j < n && segs[j].thread == l->serial; j++)
			;
		if (!l->done)
			err = finish_stream(m, l, segs + at, j - at);
		else if (j - at != l->nown)
			err = tail_stale(l, "records after the thread end");
		if (l->row_at == SIZE_MAX)
			l->seg = l->end;
		at = j;
	}
	tail_drop_empty(m);
	merge_heap(m);
	for (i = 0; i < m->nheap && !err; i++)
		if (stream_time(m->heap[i]) < m->follower->last)
			err = tail_stale(m->heap[i],
					 "the next event precedes events already processed");
	return err;
}

static int settle(struct merge *m)
{
	const struct dep_live_options *how = &m->follower->how;
	int err;

	dep_loader_hold(m->loader);
	err = dep_store_finish_tail(m->store);
	dep_loader_go_on(m->loader);
	dep_loader_growing(m->loader, false);
	if (how->complete)
		how->complete(how->arg);
	return err;
}

/* The recording has ended: continue as if the store had been complete from the beginning. */
static int finish(struct merge *m)
{
	int err = settle(m);

	if (!err)
		err = tail_take_threads(m);
	if (!err)
		err = finish_streams(m);
	tail_close(m);
	return err;
}

/* Read new data of the store and session file, then the records that the first stream lacks. */
static int more(struct merge *m)
{
	struct stream *l;
	int err = tail_look(m);

	if (err || !m->nheap || tail_is_ready(m))
		return err;
	l = m->heap[0];
	if (!is_ready(m, l)) {
		err = tail_is_partial(l) ? tail_complete_segment(m, l) : tail_peek(m, l);
		merge_heap(m);
	}
	return err;
}

static int wait_more(struct tail *f)
{
	int over = f->how.wait(f->how.arg, f->ms);

	f->ms = f->ms ? f->ms * 2 : 1;
	if (f->ms > LONGEST_MS)
		f->ms = LONGEST_MS;
	return over;
}

int merge_wait(struct merge *m)
{
	int err = more(m);

	if (err || tail_is_ready(m))
		return err;
	err = wait_more(m->follower);
	return err > 0 ? finish(m) : err;
}

int tail_poll(struct merge *m)
{
	struct tail *f = m->follower;
	uint64_t now;
	int over;

	/* Reading the clock takes longer than most steps: do it seldom. */
	if (++f->steps % STEPS)
		return 0;
	now = tail_now_ns();
	if (now - f->asked_ns < ASK_MS * TAIL_MS)
		return 0;
	f->asked_ns = now;
	over = f->how.wait(f->how.arg, 0);
	return over > 0 ? finish(m) : over;
}

int tail_wait_complete(struct merge *m)
{
	int err;

	do {
		err = wait_more(m->follower);
	} while (!err);
	if (err > 0)
		err = settle(m);
	return err ? err : -ESTALE;
}

int tail_open(struct merge *m, const struct dep_live_options *how)
{
	struct tail *f = m->follower = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return dep_fail(-ENOMEM, "threads");
	f->how = *how;
	dep_loader_growing(m->loader, true);
	err = dep_snapshot_open(&f->peek, how->session);
	/*
	 * A recorded process can damage the session file but not the store: -ESTALE, so that the
	 * caller analyzes the complete store.
	 */
	if (err == -EBADMSG)
		return dep_fail(-ESTALE, "the session file is invalid");
	return err ? dep_fail(err, "cannot read the session file: %s", strerror(-err)) : 0;
}

void tail_close(struct merge *m)
{
	struct tail *f = m->follower;

	if (!f)
		return;
	dep_snapshot_close(f->peek);
	dep_columns_free(&f->columns);
	free(f);
	m->follower = NULL;
}
