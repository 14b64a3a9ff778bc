// SPDX-License-Identifier: LGPL-2.1-or-later
/* The streams that were found: sorted, and with the instructions that made the references. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "streams.h"

/*
 * The second pass.
 * @order: streams by the place where they occurred first; all before @next have been read
 * @ref: number of the next reference
 */
struct reader {
	const struct hot_stream **order;
	struct dep_stream_ref **to;	/* of each stream in @order */
	size_t n, next;
	u64 ref;
};

static int by_place(const void *pa, const void *pb)
{
	const struct hot_stream *a = *(const struct hot_stream *const *)pa;
	const struct hot_stream *b = *(const struct hot_stream *const *)pb;

	return a->where < b->where ? -1 : a->where > b->where;
}

static u64 heat(const struct dep_stream *s)
{
	return s->length * s->times;
}

static int by_heat(const void *pa, const void *pb)
{
	const struct dep_stream *a = pa, *b = pb;

	if (heat(a) != heat(b))
		return heat(a) > heat(b) ? -1 : 1;
	/* references are in one array, in the order in which the streams occurred first */
	return a->ref < b->ref ? -1 : a->ref > b->ref;
}

static int by_value(const void *pa, const void *pb)
{
	u64 a = *(const u64 *)pa, b = *(const u64 *)pb;

	return a < b ? -1 : a > b;
}

static int count_words(struct dep_stream *s)
{
	u64 *address = calloc(s->length, sizeof(*address));
	u32 i;

	if (!address)
		return dep_fail(-ENOMEM, "references of a stream");
	for (i = 0; i < s->length; i++)
		address[i] = s->ref[i].address;
	qsort(address, s->length, sizeof(*address), by_value);
	for (i = 0; i < s->length; i++)
		s->words += !i || address[i] != address[i - 1];
	free(address);
	return 0;
}

/* ---- instructions ---- */

/* Skip the streams that end before the next reference. */
static void skip_past(struct reader *r)
{
	while (r->next < r->n &&
	       r->ref >= r->order[r->next]->where + r->order[r->next]->length)
		r->next++;
}

static int read_batch(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		      size_t n)
{
	struct reader *r = arg;
	const struct hot_stream *t;
	size_t i;

	(void)seg;
	for (i = 0; i < n && r->next < r->n; i++) {
		if (items[i].kind != DEP_ITEM_REF)
			continue;
		t = r->order[r->next];
		if (r->ref >= t->where)
			r->to[r->next][r->ref - t->where].pc = items[i].ref.pc;
		r->ref++;
		skip_past(r);
	}
	return r->next == r->n;
}

static int changed(const struct dep_segment *seg)
{
	return dep_fail(-ESTALE, "segment %llu of thread %u has changed while it was read",
			(unsigned long long)seg->seq, seg->thread);
}

/*
 * A segment that cannot be read to its end has been counted by the first pass.  Its beginning must
 * be the same again: else instructions would be missing, and nothing would say so.
 */
static int read_places(struct streams_search *s, struct reader *r)
{
	const struct dep_sink sink = { .want = DEP_WANT_REFS, .batch = read_batch, .arg = r };
	const u64 *first = s->in.first;
	size_t i;
	int err;

	for (i = 0; i < s->in.n && r->next < r->n; i++) {
		r->ref = first[i];
		skip_past(r);
		if (r->next == r->n || r->order[r->next]->where >= first[i + 1])
			continue;
		err = dep_recover_segment(s->store, &s->in.seg[i], &sink, NULL);
		if (r->next < r->n && r->ref != first[i + 1])
			return err < 0 ? err : changed(&s->in.seg[i]);
	}
	return 0;
}

/* ---- the result ---- */

static const struct dep_segment *segment_at(const struct streams_input *in, u64 ref)
{
	size_t low = 0, high = in->n, mid;

	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (in->first[mid] <= ref)
			low = mid;
		else
			high = mid;
	}
	return &in->seg[low];
}

/* The streams that reach the threshold for all references, by place. */
static int choose(const struct streams_search *s, struct reader *r, u64 *refs)
{
	const struct hot_stream *all;
	size_t i, n = hot_streams_all(s->found, &all);

	r->order = calloc(n + 1, sizeof(*r->order));
	r->to = calloc(n + 1, sizeof(*r->to));
	if (!r->order || !r->to)
		return dep_fail(-ENOMEM, "%zu streams", n);
	for (i = 0; i < n; i++) {
		if ((double)(all[i].times * all[i].length) <
		    s->options->threshold * (double)s->s.refs)
			continue;
		r->order[r->n++] = &all[i];
		*refs += all[i].length;
	}
	qsort(r->order, r->n, sizeof(*r->order), by_place);
	return 0;
}

static void fill(const struct streams_search *s, struct streams_made *m, struct reader *r)
{
	struct dep_stream_ref *ref = m->ref;
	const struct dep_segment *seg;
	const struct hot_stream *t;
	const u64 *symbol;
	size_t i;
	u32 k;

	for (i = 0; i < r->n; i++) {
		t = r->order[i];
		seg = segment_at(&s->in, t->where);
		symbol = hot_symbols(s->found, t);
		for (k = 0; k < t->length; k++)
			ref[k].address = stream_word(s->use_pcs, symbol[k]);
		m->stream[i] = (struct dep_stream){
			.process = t->owner, .thread = seg->thread, .length = t->length,
			.times = t->times, .time_ns = seg->start_ns, .ref = ref,
		};
		m->s.covered += t->times * t->length;
		r->to[i] = ref;
		ref += t->length;
	}
}

int streams_result(struct streams_search *s, struct dep_streams **out)
{
	struct streams_made *m = calloc(1, sizeof(*m));
	struct reader r = { 0 };
	u64 refs = 0;
	size_t i;
	int err = m ? choose(s, &r, &refs) : dep_fail(-ENOMEM, "streams");

	if (!err) {
		m->s = s->s;
		m->stream = calloc(r.n + 1, sizeof(*m->stream));
		m->ref = calloc(refs + 1, sizeof(*m->ref));
		err = m->stream && m->ref ? 0 : dep_fail(-ENOMEM, "references of streams");
	}
	if (!err) {
		fill(s, m, &r);
		err = read_places(s, &r);
	}
	for (i = 0; i < r.n && !err; i++)
		err = count_words(&m->stream[i]);
	if (!err) {
		qsort(m->stream, r.n, sizeof(*m->stream), by_heat);
		m->s.stream = m->stream;
		m->s.n = r.n;
		*out = &m->s;
	} else {
		dep_streams_free(m ? &m->s : NULL);
	}
	free(r.order);
	free(r.to);
	return err;
}
