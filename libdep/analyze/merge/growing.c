// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The streams of a growing store (live analysis).
 *
 * Streams and their segments are added as new threads and segments appear in the store. A thread
 * can appear in the session file before it appears in the store.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "tail.h"

/* maximum number of threads in the session file that are not in the store yet */
#define MAX_UNKNOWN	(2 * ADEPT_MAX_THREADS)

int tail_stale(const struct stream *l, const char *why)
{
	return dep_fail(-ESTALE, "live analysis of thread %u: %s", l->serial, why);
}

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
		return tail_stale(l, "a segment is out of order");
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
	/* A stream without loaded segments is ordered by the begin of its first segment. */
	if (l->nown == 1 && !l->now && !l->next)
		l->key = dep_segment_timestamp(m->store, seg);
	return 0;
}

void tail_ask_ahead(struct merge *m, struct stream *l)
{
	const struct dep_segment *seg = stream_next_segment(l);

	if (!seg || l->asked)
		return;
	if (l->next && !l->next->prefix)
		return;
	dep_loaded_free(l->next);
	l->next = NULL;
	/* Before the stream has begun, request nothing: the merge loads its first segment. */
	if (l->now)
		l->asked = stream_prefetch(m, l, seg);
}

int tail_take_threads(struct merge *m)
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

void tail_drop_empty(struct merge *m)
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
	 * A thread's last segment is stored before its end time. So if the end time was already set
	 * at the previous look, the look that follows finds all segments of the thread.
	 */
	for (i = 0; i < m->nheap; i++)
		m->heap[i]->over = m->heap[i]->row.end_ns != 0;
	dep_loader_hold(m->loader);
	err = dep_store_grow(m->store);
	dep_loader_go_on(m->loader);
	if (!err)
		err = tail_take_threads(m);
	if (!err)
		err = take_segments(m);
	if (err)
		return err;
	for (i = 0; i < m->nheap; i++)
		tail_ask_ahead(m, m->heap[i]);
	tail_drop_empty(m);
	return 0;
}

/*
 * Add new data of the store and of the session file. A thread that is still in the system call
 * whose beginning was emitted cannot continue before @now, the time of this look.
 */
int tail_look(struct merge *m)
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
	/* A damaged session file could have a new thread serial at each look: limit the streams. */
	if (!err && m->ngrown > f->nrows + MAX_UNKNOWN)
		err = dep_fail(-ESTALE, "the session file has too many threads");
	return err;
}
