// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Prefixes: first parts of segments that are not stored yet.
 *
 * The last records of a sleeping thread are still in its ring. If the first stream of the heap
 * lacks records, its thread's current chunk is copied from the ring and recovered like a segment.
 * The result is a prefix of the segment that will be stored, followed by the beginning of the
 * system call that the thread is in. The stored segment replaces the prefix later.
 *
 * Each stored segment is compared with its prefix. If they differ, the merge returns -ESTALE. One
 * difference is allowed: if the process ended in a system call, the store does not have that call.
 */
#include <errno.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/ring_prefix.h"
#include "libdep/recover/interp/run.h"
#include "tail.h"

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

/*
 * Has @l reached the end of its prefix, which is the system call that its thread is in? The
 * beginning of the call may have been emitted or not.
 */
static bool is_in_call(const struct stream *l)
{
	return l->now->call.before && l->mark + 1 == l->now->nmarks && !l->late;
}

/*
 * Did the thread end in the system call that its prefix ends with? Then the segment @by ends before
 * that call, or has a thread end in its place.
 */
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

/* Does @by contain the current run of @l, and the system call whose beginning was emitted? */
static bool has_same(const struct stream *l, const struct dep_segment_items *by)
{
	if (by->err || l->late || !same_mark(l->now, by, l->mark))
		return false;
	return !l->entered ||
	       (l->mark + 1 < by->nmarks && same_call(by, l->mark, &l->now->call));
}

bool tail_has_ended(const struct stream *l)
{
	return l->seg + 1 == l->end && l->thread->end == DEP_END_WHOLE && !l->thread->null_bytes;
}

/*
 * Continue after a call in which the thread ended. A killed thread has no end event: it counts as
 * ended at the time of the last step.
 */
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
	/* During the recording the end is not stored yet: merge_step_is_next() checks it later. */
	return m->follower || tail_has_ended(l) ? 0 : tail_stale(l, "records after the thread end");
}

/*
 * Emit the buffers that a system call accessed. They are known after the call only, but precede the
 * call in the segment, so they were not in the prefix.
 */
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

/* Continue after the system call whose beginning has been emitted from the prefix. */
static int go_on_behind(struct merge *m, struct stream *l)
{
	int err = show_found(m, l);

	stream_set_time(m, l, l->now->mark[++l->mark].timestamp);
	l->item = l->now->mark[l->mark].item;
	return err;
}

/*
 * Replace the prefix @l->now by @by, which has more of the same segment, or all of it. Both have
 * the same runs up to here. Items of a run may differ, since other threads may have used locked
 * instructions on the same words meanwhile.
 */
static int replace(struct merge *m, struct stream *l, struct dep_segment_items *by)
{
	bool entered = l->entered, ends = is_in_call(l) && ended_in_call(l, by);
	int err = 0;

	if (!ends && !has_same(l, by)) {
		dep_loaded_free(by);
		return tail_stale(l, "the records differ from those read before");
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
		tail_ask_ahead(m, l);
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
	return tail_stale(l, "the recorder dropped records already read");
}

/* Cut off the end of @call, the last item: the call still runs, so only its beginning is known. */
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
	struct dep_ring_chunk ring;
	struct dep_segment_items *p;
	bool whole;

	if (l->slot == UINT32_MAX || !dep_snapshot_chunk(f->peek, l->slot, l->serial, seq, &k))
		return NULL;
	ring = (struct dep_ring_chunk){
		.thread = l->serial, .chunk = &k.chunk, .body = k.body, .size = k.size,
		.call = k.call.before ? &k.call : NULL,
	};
	if (dep_prefix_columns(m->store, &ring, &f->columns, &whole))
		return NULL;
	/*
	 * The whole segment goes through the thread's filter later and must produce the same
	 * timestamps (marks). So the prefix goes through a copy of that filter, and neither filter
	 * drops timestamps.
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

/* Does the longer prefix @p have anything that @l has not emitted yet? */
static bool is_more(const struct stream *l, const struct dep_segment_items *p)
{
	size_t marks = l->entered ? l->mark + 1 : l->now->nmarks;

	return p->nmarks > marks || (!l->entered && p->call.before && !l->now->call.before);
}

int tail_peek(struct merge *m, struct stream *l)
{
	bool goes_on = l->now && l->now->prefix;
	uint64_t since = tail_now_ns();
	struct dep_segment_items *p;

	if (since < l->peek_ns || l->next || l->row_at == SIZE_MAX)
		return 0;
	if (!l->begun && merge_begin_stream(m, l))
		return -ENOMEM;
	p = load_prefix(m, l, goes_on ? l->now->seq : l->next_seq);
	/* Spend at most a fifth of the time on copying from the ring of a thread. */
	l->peek_ns = tail_now_ns() + 4 * (tail_now_ns() - since) + TAIL_MS;
	if (!p)
		return 0;
	if (goes_on && is_more(l, p))
		return replace(m, l, p);
	/* Without a timestamp of its own a prefix has an uncertain begin: see go_on_with(). */
	if (goes_on || p->nmarks < 2 || stream_next_segment(l)) {
		dep_loaded_free(p);
		return 0;
	}
	l->next = p;
	if (!l->now)
		l->key = p->mark[0].timestamp;
	return 0;
}
