// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The merge of a store that is still being written (live analysis).
 *
 * The merge takes the next step of the first stream when two conditions hold: the run of that
 * stream is complete, and no thread can still produce an earlier timestamp. Each known thread is a
 * stream in the heap, ordered by the earliest time at which it can continue. An unknown thread
 * begins after the last look at the session file.
 *
 * The last records of a sleeping thread are still in its ring. If the first stream lacks records,
 * its current chunk is copied and recovered like a segment. The result is a prefix of the segment
 * to come, followed by the beginning of the system call that the thread is in. The stored segment
 * replaces the prefix later. The beginning of a call is emitted only if foreseen() accepts the
 * call. The stream then continues after the last time at which the thread was still in that call.
 *
 * Each stored segment is compared with its prefix. If they differ, the merge returns -ESTALE. One
 * difference is allowed: if the process ended in a system call, the store does not have that call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libdep/collect/snapshot.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/ring_prefix.h"
#include "libdep/recover/interp/run.h"
#include "merge.h"

#define MS		1000000ull
#define LONGEST_MS	16u
#define ASK_MS		4u
#define STEPS		16u
#define MAX_UNKNOWN	(2 * ADEPT_MAX_THREADS)	/* threads that are not in the store */

struct tail {
	struct dep_live_options how;
	struct dep_snapshot *peek;
	struct dep_columns columns;
	/* segments and threads of the store that have been added to streams */
	size_t nsegs, nrows;
	uint64_t now;			/* an unknown thread begins after this timestamp */
	uint64_t last;			/* timestamp of the last step */
	unsigned int ms;		/* timeout of the next wait */
	uint64_t asked_ns;		/* last check whether the recording has ended */
	unsigned int steps;		/* steps counted; only each STEPS-th one reads the clock */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int stale(const struct stream *l, const char *why)
{
	return dep_fail(-ESTALE, "thread %u: %s", l->serial, why);
}

/* ---- streams ---- */

static int add_stream(struct merge *m, size_t at, uint32_t serial)
{
	struct stream *l = calloc(1, sizeof(*l)), **more;

	more = realloc(m->grown, (m->ngrown + 1) * sizeof(struct stream *));
	if (more)
		m->grown = more;
	if (more && l)
		more = realloc(m->heap, (m->ngrown + 1) * sizeof(struct stream *));
	if (!more || !l) {
		free(l);
		return dep_fail(-ENOMEM, "threads");
	}
	m->heap = more;
	memmove(&m->grown[at + 1], &m->grown[at], (m->ngrown++ - at) * sizeof(struct stream *));
	m->grown[at] = l;
	l->serial = l->row.serial = serial;
	l->thread = &l->row;
	l->row_at = SIZE_MAX;
	l->slot = UINT32_MAX;
	m->heap[m->nheap++] = l;
	return 0;
}

static struct stream *stream_of(struct merge *m, uint32_t serial)
{
	size_t lo = 0, hi = m->ngrown, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (m->grown[mid]->serial < serial)
			lo = mid + 1;
		else
			hi = mid;
	}
	if ((lo == m->ngrown || m->grown[lo]->serial != serial) && add_stream(m, lo, serial))
		return NULL;
	return m->grown[lo];
}

static int append(struct merge *m, struct stream *l, const struct dep_segment *seg)
{
	size_t at = l->own ? (size_t)(l->seg - l->own) : 0;
	size_t room = l->own_room ? l->own_room * 2 : 8;
	struct dep_segment *more;

	if (l->done || (l->nown && seg->seq <= l->own[l->nown - 1].seq))
		return stale(l, "a segment comes too late");
	if (l->nown == l->own_room) {
		more = realloc(l->own, room * sizeof(*more));
		if (!more)
			return dep_fail(-ENOMEM, "segments");
		l->own = more;
		l->own_room = room;
	}
	l->own[l->nown++] = *seg;
	l->seg = l->own + at;
	l->end = l->own + l->nown;
	/* Until its first segment has been loaded, a stream is ordered by that segment's header. */
	if (l->nown == 1 && !l->now && !l->next)
		l->key = dep_segment_timestamp(m->store, seg);
	return 0;
}

/* Load the next stored segment of @l ahead. A prefix of it that is not in use yet is dropped. */
static void ask_ahead(struct merge *m, struct stream *l)
{
	const struct dep_segment *seg = stream_next_segment(l);

	if (!seg || l->asked)
		return;
	if (l->next && !l->next->prefix)
		return;
	dep_loaded_free(l->next);
	l->next = NULL;
	/* A stream that has not begun loads its first segment when it is reached. */
	if (l->now)
		l->asked = stream_prefetch(m, l, seg);
}

static int take_threads(struct merge *m)
{
	struct tail *f = m->follower;
	const struct dep_thread *rows;
	size_t n = dep_store_threads(m->store, &rows), i;
	struct stream *l;

	for (; f->nrows < n; f->nrows++) {
		l = stream_of(m, rows[f->nrows].serial);
		if (!l)
			return -ENOMEM;
		l->row_at = f->nrows;
	}
	for (i = 0; i < m->nheap; i++)
		if (m->heap[i]->row_at < n)
			m->heap[i]->row = rows[m->heap[i]->row_at];
	return 0;
}

static int take_segments(struct merge *m)
{
	struct tail *f = m->follower;
	const struct dep_segment *segs;
	size_t n = dep_store_segments(m->store, &segs);
	struct stream *l;
	int err = 0;

	for (; f->nsegs < n && !err; f->nsegs++) {
		l = stream_of(m, segs[f->nsegs].thread);
		err = l ? append(m, l, &segs[f->nsegs]) : -ENOMEM;
	}
	return err;
}

/* Remove threads that ended without a segment. */
static void drop_empty(struct merge *m)
{
	size_t i, n = 0;

	for (i = 0; i < m->nheap; i++) {
		struct stream *l = m->heap[i];

		if (l->over && !l->now && !l->next && l->seg == l->end)
			l->done = true;
		else
			m->heap[n++] = l;
	}
	m->nheap = n;
}

static int grow(struct merge *m)
{
	int err;
	size_t i;

	/*
	 * The last segment of a thread is stored before its end, so the rows read earlier decide.
	 */
	for (i = 0; i < m->nheap; i++)
		m->heap[i]->over = m->heap[i]->row.end_ns != 0;
	dep_loader_hold(m->loader);
	err = dep_store_grow(m->store);
	dep_loader_go_on(m->loader);
	if (!err)
		err = take_threads(m);
	if (!err)
		err = take_segments(m);
	if (err)
		return err;
	for (i = 0; i < m->nheap; i++)
		ask_ahead(m, m->heap[i]);
	drop_empty(m);
	return 0;
}

/* Read the session file. A thread that is still in its system call does not continue before now. */
static int look(struct merge *m)
{
	struct tail *f = m->follower;
	const struct dep_peeked *p;
	uint64_t now;
	bool making;
	struct stream *l;
	u32 n = dep_snapshot_threads(f->peek, &p, &now, &making);
	int err = grow(m);

	for (; n-- && !err; p++) {
		l = stream_of(m, p->serial);
		if (!l)
			return -ENOMEM;
		l->slot = p->slot;
		if (l->entered && p->before == l->now->call.before)
			l->bound = now;
	}
	if (!making)
		f->now = now;
	merge_heap(m);
	/* A damaged slot could name a new serial at each look: limit the number of streams. */
	if (!err && m->ngrown > f->nrows + MAX_UNKNOWN)
		err = dep_fail(-ESTALE, "there are threads without end");
	return err;
}

/* ---- what is not stored yet ---- */

static bool same_call(const struct dep_segment_items *a, size_t mark, const struct adept_call *call)
{
	const struct dep_item *it = &a->item[a->mark[mark].item];
	const struct adept_ev_syscall *ev = it->event.payload;

	return it->kind == DEP_ITEM_EVENT && it->event.id == (ADEPT_EV_SYSCALL | DEP_EV_ENTER) &&
	       ev->before == call->before && ev->nr == call->nr;
}

static bool same_mark(const struct dep_segment_items *a, const struct dep_segment_items *b,
		      size_t mark)
{
	return mark < a->nmarks && mark < b->nmarks &&
	       a->mark[mark].timestamp == b->mark[mark].timestamp;
}

/* Is @l at the system call that its thread is in, whether or not the call has been emitted? */
static bool is_in_call(const struct stream *l)
{
	return l->now->call.before && l->mark + 1 == l->now->nmarks && !l->late;
}

/* Does the thread end in @by at the call that it was seen to enter, or does @by end there? */
static bool ended_in_call(const struct stream *l, const struct dep_segment_items *by)
{
	const struct dep_item *it;

	if (by->prefix || by->err || by->lost_bytes || !same_mark(l->now, by, l->mark - 1))
		return false;
	if (l->mark == by->nmarks)
		return true;
	it = &by->item[by->mark[l->mark].item];
	return l->mark + 1 == by->nmarks && it->kind == DEP_ITEM_EVENT &&
	       it->event.id == ADEPT_EV_THREAD_END;
}

/* Does @by contain the run that @l is at, and the call whose beginning was emitted? */
static bool has_same(const struct stream *l, const struct dep_segment_items *by)
{
	if (by->err || l->late || !same_mark(l->now, by, l->mark))
		return false;
	return !l->entered ||
	       (l->mark + 1 < by->nmarks && same_call(by, l->mark, &l->now->call));
}

/* Does the stream end with its current segment, with no gap to be reported before its end? */
static bool has_ended(const struct stream *l)
{
	return l->seg + 1 == l->end && l->thread->end == DEP_END_WHOLE && !l->thread->null_bytes;
}

/* A killed thread has no end event: it counts as ended at the time of the last step. */
static int go_on_to_end(struct merge *m, struct stream *l)
{
	const struct dep_segment_items *now = l->now;

	l->ends = true;
	if (l->mark < now->nmarks) {
		stream_set_time(m, l, now->mark[l->mark].timestamp);
		l->item = now->mark[l->mark].item;
	} else {
		if (m->follower)
			stream_set_time(m, l, m->follower->last);
		l->mark = now->nmarks - 1;
		l->item = now->nitems;
	}
	/* During the recording its end is not stored yet: merge_step_is_next() checks later. */
	return m->follower || has_ended(l) ? 0 : stale(l, "it went on after its end");
}

/* Emit the buffers of a call. They are known after the call, and precede it in the segment. */
static int show_found(struct merge *m, struct stream *l)
{
	const struct dep_segment_items *now = l->now;
	size_t to = now->mark[l->mark].item, at = to;
	const struct dep_item *it = now->item;
	ssize_t n;

	while (at > now->mark[l->mark - 1].item && it[at - 1].kind == DEP_ITEM_EVENT &&
	       it[at - 1].event.id == ADEPT_EV_BUFFER)
		at--;
	n = at < to ? m->a->items(m->self, l->thread, it + at, to - at, false) : 0;
	return n < 0 ? (int)n : 0;
}

/* Continue after the call whose beginning has been emitted. */
static int go_on_behind(struct merge *m, struct stream *l)
{
	int err = show_found(m, l);

	stream_set_time(m, l, l->now->mark[++l->mark].timestamp);
	l->item = l->now->mark[l->mark].item;
	return err;
}

/*
 * Replace the prefix at hand by @by, which has more of the segment or all of it. The runs are the
 * same, but their items may differ: other threads may have used locked instructions on the same
 * words meanwhile.
 */
static int replace(struct merge *m, struct stream *l, struct dep_segment_items *by)
{
	bool entered = l->entered, ends = is_in_call(l) && ended_in_call(l, by);
	int err = 0;

	if (!ends && !has_same(l, by)) {
		dep_loaded_free(by);
		return stale(l, "it did something else than it was about to do");
	}
	if (!by->prefix)
		dep_counts_add(&m->out->counts, &by->counts);
	dep_loaded_free(l->now);
	l->now = by;
	l->entered = false;
	l->bound = 0;
	if (ends)
		err = go_on_to_end(m, l);
	else if (entered)
		err = go_on_behind(m, l);
	else
		l->item = by->mark[l->mark].item;
	if (!err && !by->prefix)
		ask_ahead(m, l);
	return err;
}

bool tail_is_partial(const struct stream *l)
{
	return l->now && l->now->prefix && l->seg < l->end &&
	       (l->entered || l->mark + 1 >= l->now->nmarks);
}

int tail_complete_segment(struct merge *m, struct stream *l)
{
	struct dep_segment_items *all;

	if (!l->asked)
		l->asked = stream_prefetch(m, l, l->seg);
	all = l->asked ? dep_loader_take(m->loader, l->asked) : NULL;
	l->asked = NULL;
	if (!all)
		return dep_fail(-ENOMEM, "segments");
	if (l->seg->seq == l->now->seq)
		return replace(m, l, all);
	dep_loaded_free(all);
	return stale(l, "what it had written was given up");
}

/* The beginning of the call is an item; its end is not known yet. */
static void cut_call(struct dep_segment_items *p, const struct adept_call *call)
{
	p->call = *call;
	p->nmarks--;
	p->nitems--;
}

static struct dep_segment_items *load_prefix(struct merge *m, const struct stream *l, uint64_t seq)
{
	struct tail *f = m->follower;
	struct dep_segment seg = { .thread = l->serial, .seq = seq };
	struct dep_filter filter;
	struct dep_snapshot_chunk k;
	struct dep_segment_items *p;
	bool whole;

	if (l->slot == UINT32_MAX || !dep_snapshot_chunk(f->peek, l->slot, l->serial, seq, &k) ||
	    dep_prefix_columns(m->store, l->serial, &k.chunk, k.body, k.size,
			       k.call.before ? &k.call : NULL, &f->columns, &whole))
		return NULL;
	/*
	 * The whole segment goes through the thread's filter later and must produce the same marks.
	 * So the prefix goes through a copy of the filter, and both keep all timestamps.
	 */
	if (l->filter)
		l->filter->peeked = seq;
	if (l->filter && dep_filter_copy(&filter, l->filter))
		return NULL;
	p = dep_load_columns(m->store, &seg, &f->columns, m->a->want, l->filter ? &filter : NULL);
	if (l->filter)
		dep_filter_free(&filter);
	if (!p || p->err) {
		dep_loaded_free(p);
		return NULL;
	}
	p->prefix = true;
	p->seq = seq;
	if (whole && k.call.before)
		cut_call(p, &k.call);
	return p;
}

/* Does @p allow @l to continue? */
static bool is_more(const struct stream *l, const struct dep_segment_items *p)
{
	size_t marks = l->entered ? l->mark + 1 : l->now->nmarks;

	return p->nmarks > marks || (!l->entered && p->call.before && !l->now->call.before);
}

static int peek(struct merge *m, struct stream *l)
{
	bool goes_on = l->now && l->now->prefix;
	uint64_t since = now_ns();
	struct dep_segment_items *p;

	if (since < l->peek_ns || l->next || l->row_at == SIZE_MAX)
		return 0;
	if (!l->begun && merge_begin_stream(m, l))
		return -ENOMEM;
	p = load_prefix(m, l, goes_on ? l->now->seq : l->next_seq);
	/* Copying takes a fifth of the time at most. */
	l->peek_ns = now_ns() + 4 * (now_ns() - since) + MS;
	if (!p)
		return 0;
	if (goes_on && is_more(l, p))
		return replace(m, l, p);
	/* A prefix with one mark may have begun before its header's timestamp: see go_on_with(). */
	if (goes_on || p->nmarks < 2 || stream_next_segment(l)) {
		dep_loaded_free(p);
		return 0;
	}
	l->next = p;
	if (!l->now)
		l->key = p->mark[0].timestamp;
	return 0;
}

/* ---- waiting ---- */

static bool is_foreseen(const struct merge *m, const struct adept_call *call)
{
	return call->before && m->a->foreseen &&
	       m->a->foreseen(m->self, (uint32_t)call->nr, call->args);
}

/* Is the run at hand complete, and is the time of the next one known? */
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
		return stale(l, "it comes before what others did already");
	if (l->ends && !has_ended(l))
		return stale(l, "it went on after its end");
	f->last = stream_time(l);
	f->ms = 0;
	return 0;
}

/* Let @l use the store's own table, @segs, which no longer moves. @l has its first segments. */
static int finish_stream(struct merge *m, struct stream *l, const struct dep_segment *segs,
			 size_t n)
{
	size_t at = l->own ? (size_t)(l->seg - l->own) : 0;
	int err = 0;

	if (n < l->nown || (l->nown && segs[l->nown - 1].seq != l->own[l->nown - 1].seq))
		return stale(l, "segments are not those that there were");
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
		err = stale(l, "it was not stored");
	else if (!l->now && l->seg == l->end && n)
		err = stale(l, "it was not stored");
	else if (l->entered)
		err = tail_complete_segment(m, l);
	if (!err && l->ends && !has_ended(l))
		err = stale(l, "it went on after its end");
	if (!err)
		ask_ahead(m, l);
	return err;
}

/* The store's segments are sorted by thread now; each stream has the first ones of its thread. */
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
			err = stale(l, "it went on after its end");
		if (l->row_at == SIZE_MAX)
			l->seg = l->end;
		at = j;
	}
	drop_empty(m);
	merge_heap(m);
	for (i = 0; i < m->nheap && !err; i++)
		if (stream_time(m->heap[i]) < m->follower->last)
			err = stale(m->heap[i], "it comes before what others did already");
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

/* Continue as with a store that was complete from the beginning. */
static int finish(struct merge *m)
{
	int err = settle(m);

	if (!err)
		err = take_threads(m);
	if (!err)
		err = finish_streams(m);
	tail_close(m);
	return err;
}

/* Read the store and the session file again, and get what the first stream lacks. */
static int more(struct merge *m)
{
	struct stream *l;
	int err = look(m);

	if (err || !m->nheap || tail_is_ready(m))
		return err;
	l = m->heap[0];
	if (!is_ready(m, l)) {
		err = tail_is_partial(l) ? tail_complete_segment(m, l) : peek(m, l);
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

	/* Reading the clock takes longer than most steps. */
	if (++f->steps % STEPS)
		return 0;
	now = now_ns();
	if (now - f->asked_ns < ASK_MS * MS)
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
	/* A recorded process can damage the session file; the store is complete nevertheless. */
	if (err == -EBADMSG)
		return dep_fail(-ESTALE, "the session file makes no sense");
	return err ? dep_fail(err, "the session file cannot be looked at: %s", strerror(-err)) : 0;
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
