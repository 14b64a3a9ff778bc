// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions by thread, time interval and node.
 *
 * A segment's instructions count as spread evenly over its time.  If there would be too many rows,
 * intervals are joined in pairs.
 */
#include <errno.h>
#include <stdlib.h>

#include "model.h"

/** struct rows - a hash table; @key: thread, bucket and node; a free entry has insns 0 */
struct rows {
	struct { uint64_t key, insns; } *slot;
	size_t n, room;		/* room is a power of two */
	uint32_t shift;		/* how often intervals were joined in pairs */
};

#define KEY(thread, bucket, node) \
	((uint64_t)(thread) << 48 | (uint64_t)(bucket) << 32 | (node))
#define KEY_THREAD(key)			((uint32_t)((key) >> 48))
#define KEY_BUCKET(key)			((uint32_t)((key) >> 32 & 0xffff))
#define KEY_NODE(key)			((uint32_t)(key))

static void put(struct rows *r, uint64_t key, uint64_t insns)
{
	/* The high bits of the product depend on all bits of the key. */
	size_t i = key * 0x9e3779b97f4a7c15u >> 40 & (r->room - 1);

	while (r->slot[i].insns && r->slot[i].key != key)
		i = (i + 1) & (r->room - 1);
	r->n += !r->slot[i].insns;
	r->slot[i].key = key;
	r->slot[i].insns += insns;
}

/* Make another table with @room slots, in which 2^@join intervals are one. */
static int rehash(struct rows *r, size_t room, uint32_t join)
{
	struct rows old = *r;
	size_t i;

	r->slot = calloc(room, sizeof(*r->slot));
	if (!r->slot) {
		r->slot = old.slot;
		return -ENOMEM;
	}
	r->room = room;
	r->shift += join;
	r->n = 0;
	for (i = 0; i < old.room; i++)
		if (old.slot[i].insns)
			put(r, KEY(KEY_THREAD(old.slot[i].key),
				   KEY_BUCKET(old.slot[i].key) >> join,
				   KEY_NODE(old.slot[i].key)), old.slot[i].insns);
	free(old.slot);
	return 0;
}

static int add(struct rows *r, uint32_t thread, uint32_t bucket, uint32_t node, uint64_t insns)
{
	int ret = 0;

	if (!insns)
		return 0;
	put(r, KEY(thread, bucket >> r->shift, node), insns);
	if (r->n > PAGE_ROWS && PAGE_BUCKETS >> r->shift > 1)
		ret = rehash(r, r->room, 1);
	else if (2 * r->n > r->room)
		ret = rehash(r, 2 * r->room, 0);
	return ret;
}

/* ---- threads of the page ---- */

/** struct by_insns - a thread of the store: its index there, and on the page */
struct by_insns {
	uint64_t insns;
	uint32_t index, serial, page;
};

static int most_insns(const void *a, const void *b)
{
	const struct by_insns *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static int by_serial(const void *a, const void *b)
{
	const struct by_insns *x = a, *y = b;

	return (x->serial > y->serial) - (x->serial < y->serial);
}

static struct by_insns *find(struct by_insns *t, size_t n, uint32_t serial)
{
	struct by_insns key = { .serial = serial };

	return bsearch(&key, t, n, sizeof(*t), by_serial);
}

/* Choose the threads with most instructions; *@out is sorted by serial. */
static int choose_threads(const struct page_input *in, struct page_times *s,
			  struct by_insns **out, size_t *nout)
{
	const struct dep_contexts *c = in->contexts;
	const struct dep_thread *thread;
	size_t n = dep_store_threads(in->store, &thread), i;
	struct by_insns *t = calloc(n + 1, sizeof(*t)), *x;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		t[i] = (struct by_insns){ .index = i, .serial = thread[i].serial };
	qsort(t, n, sizeof(*t), by_serial);
	for (i = 0; i < c->nshares; i++) {
		x = find(t, n, c->share[i].thread);
		if (x)
			x->insns += c->share[i].insns;
	}
	qsort(t, n, sizeof(*t), most_insns);
	while (n && !t[n - 1].insns)
		n--;
	s->nthreads = n > PAGE_THREADS ? PAGE_THREADS : n;
	s->other_threads = n > PAGE_THREADS ? n - PAGE_THREADS + 1 : 0;
	for (i = 0; i < n; i++) {
		t[i].page = i < s->nthreads ? i : s->nthreads - 1;
		s->thread[t[i].page] = t[i].index;
		s->thread_insns[t[i].page] += t[i].insns;
	}
	if (s->other_threads)
		s->thread[s->nthreads - 1] = NO_FUNCTION;
	qsort(t, n, sizeof(*t), by_serial);
	*out = t;
	*nout = n;
	return 0;
}

/* ---- rows ---- */

/* End of the segment of @thread that starts at @start. */
static uint64_t end_of(const struct dep_profile *p, uint32_t thread, uint64_t start)
{
	size_t low = 0, high = p->ntimes, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (p->time[mid].start_ns < start)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < p->ntimes && p->time[low].start_ns == start; low++)
		if (p->time[low].thread == thread)
			return p->time[low].end_ns;
	return start;
}

static void set_scale(const struct page_input *in, struct page_times *s)
{
	const struct dep_profile *p = in->profile;
	const struct dep_contexts *c = in->contexts;
	uint64_t from = UINT64_MAX, to = 0, span;
	size_t i;

	for (i = 0; i < p->ntimes; i++) {
		from = p->time[i].start_ns < from ? p->time[i].start_ns : from;
		to = p->time[i].start_ns > to ? p->time[i].start_ns : to;
		to = p->time[i].end_ns > to ? p->time[i].end_ns : to;
	}
	for (i = 0; i < c->ntimes; i++) {
		from = c->time[i].start_ns < from ? c->time[i].start_ns : from;
		to = c->time[i].start_ns > to ? c->time[i].start_ns : to;
	}
	s->start_ns = from < to ? from : to;
	span = to - s->start_ns;
	s->bucket_ns = span / PAGE_BUCKETS + 1;
}

/* Spread @insns evenly over the intervals from @start to @end. */
static int spread(struct rows *r, const struct page_times *s, uint32_t thread, uint32_t node,
		  uint64_t start, uint64_t end, uint64_t insns)
{
	/* Times are the store's, up to the largest number: their sums need more bits. */
	unsigned __int128 width = (unsigned __int128)s->bucket_ns << r->shift;
	unsigned __int128 at = start - s->start_ns, begun = at, stop, next;
	uint64_t length = end > start ? end - start : 1, done = 0, sum;
	int ret;

	stop = at + length;
	while (at < stop) {
		next = (at / width + 1) * width;
		next = next < stop ? next : stop;
		sum = insns * (next - begun) / length;
		/* add() shifts the number of the interval by r->shift, which it may raise. */
		ret = add(r, thread, at / s->bucket_ns, node, sum - done);
		if (ret)
			return ret;
		done = sum;
		at = next;
	}
	return 0;
}

static int fill(const struct page_input *in, const struct page_tree *t, struct page_times *s,
		struct by_insns *thread, size_t nthreads, struct rows *r)
{
	const struct dep_contexts *c = in->contexts;
	uint64_t start = 0, end = 0;
	struct by_insns *x = NULL;
	int ret = 0;
	size_t i;

	for (i = 0; i < c->ntimes && !ret; i++) {
		const struct dep_context_time *row = &c->time[i];

		if (!x || x->serial != row->thread || start != row->start_ns) {
			x = find(thread, nthreads, row->thread);
			start = row->start_ns;
			end = end_of(in->profile, row->thread, start);
		}
		if (x && row->context < c->ncontexts)
			ret = spread(r, s, x->page, t->of[row->context], start, end, row->insns);
	}
	for (i = 0; i < c->nshares && !c->ntimes && !ret; i++) {
		x = find(thread, nthreads, c->share[i].thread);
		if (x && c->share[i].context < c->ncontexts)
			ret = add(r, x->page, 0, t->of[c->share[i].context], c->share[i].insns);
	}
	return ret;
}

static int by_key(const void *a, const void *b)
{
	const struct page_row *x = a, *y = b;
	uint64_t kx = KEY(x->thread, x->bucket, x->node), ky = KEY(y->thread, y->bucket, y->node);

	return (kx > ky) - (kx < ky);
}

static int take_rows(const struct rows *r, struct page_times *s)
{
	size_t i;

	s->row = calloc(r->n + 1, sizeof(*s->row));
	if (!s->row)
		return -ENOMEM;
	for (i = 0; i < r->room; i++)
		if (r->slot[i].insns)
			s->row[s->nrows++] = (struct page_row){
				.thread = KEY_THREAD(r->slot[i].key),
				.bucket = KEY_BUCKET(r->slot[i].key),
				.node = KEY_NODE(r->slot[i].key), .insns = r->slot[i].insns };
	qsort(s->row, s->nrows, sizeof(*s->row), by_key);
	s->bucket_ns = s->bucket_ns > UINT64_MAX >> r->shift ?
		       UINT64_MAX : s->bucket_ns << r->shift;
	s->nbuckets = PAGE_BUCKETS >> r->shift;
	return 0;
}

int page_times_make(const struct page_input *in, const struct page_tree *t, struct page_times *s)
{
	struct rows r = { .room = 1u << 12 };
	struct by_insns *thread = NULL;
	size_t nthreads;
	int ret;

	*s = (struct page_times){ };
	r.slot = calloc(r.room, sizeof(*r.slot));
	ret = r.slot ? choose_threads(in, s, &thread, &nthreads) : -ENOMEM;
	if (ret)
		goto out;
	set_scale(in, s);
	if (!in->contexts->ntimes)
		r.shift = 8;	/* one interval */
	ret = fill(in, t, s, thread, nthreads, &r);
	if (!ret)
		ret = take_rows(&r, s);
out:
	free(thread);
	free(r.slot);
	return ret;
}

void page_times_free(struct page_times *s)
{
	free(s->row);
	*s = (struct page_times){ };
}
