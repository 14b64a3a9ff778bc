// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/lib/close_writer.h"
#include "durable.h"
#include "tests/unit/lib/fixed_random.h"
#include "tests/unit/lib/store_util.h"

/* Nothing is dropped on request, so everything that is missing is a defect. */
const struct dep_meta durable_meta = {
	.argc = 2, .argv = argv_of_test, .cwd = "/tmp", .chunk_size = 65536, .nchunks = 4,
	.start_ns = 1, .start_realtime_ns = 1700000000123456789ull,
};

static struct adept_chunk chunk_of(const struct durable *d, size_t i)
{
	struct adept_chunk c = d->stream.chunk[i].c;

	c.seq = i / DURABLE_THREADS;
	c.start_ns = 10 + i;
	return c;
}

static size_t number_of(const struct dep_segment *g)
{
	size_t i = g->seq * DURABLE_THREADS + g->thread - 1;

	assert_true(g->thread >= 1 && g->thread <= DURABLE_THREADS && i < DURABLE_CHUNKS);
	return i;
}

/* ---- recording ---- */

struct recording {
	const struct durable *d;
	struct dep_writer *w;
	const struct dep_resume *r;	/* existing data, or NULL */
	struct outcome *out;
	bool stops;
};

static void returned(struct recording *rec, int err)
{
	if (err && !rec->out->error)
		rec->out->error = err;
}

static bool has_process(const struct dep_resume *r, u32 serial, bool *ended, u64 *bytes)
{
	size_t i;

	*ended = false;
	*bytes = 0;
	for (i = 0; r && i < r->nprocesses; i++) {
		if (r->process[i].serial != serial)
			continue;
		*ended = r->process[i].ended;
		*bytes = r->process[i].desc_bytes;
		return r->process[i].pid;
	}
	return false;
}

static struct dep_resume_thread has_thread(const struct dep_resume *r, u32 serial)
{
	size_t i;

	for (i = 0; r && i < r->nthreads; i++)
		if (r->thread[i].serial == serial)
			return r->thread[i];
	return (struct dep_resume_thread){ 0 };
}

static void put_chunk(struct recording *rec, size_t i)
{
	struct adept_chunk c = chunk_of(rec->d, i);
	int err = -ECANCELED;

	if (has_thread(rec->r, durable_thread(i)).next_seq > c.seq)
		return;
	if (!rec->stops || !rec->out->error) {
		err = dep_writer_segment(rec->w, durable_thread(i), &c,
					 rec->d->stream.chunk[i].body);
		returned(rec, err);
	}
	rec->out->lost += err ? c.fill : 0;
}

static void put_mark(struct recording *rec)
{
	bool new = dep_writer_unmarked(rec->w);
	int err = rec->stops && rec->out->error ? -ECANCELED : dep_writer_mark(rec->w);

	returned(rec, err);
	if (!err && new && !rec->out->marks++)
		rec->out->ops_named = disk_ops();
}

/* Descriptors are written in two parts: bytes that must be written before chunk number @i. */
static size_t descriptors_before(const struct durable *d, size_t i)
{
	size_t half = 0;

	if (i)
		return d->stream.desc_size;
	while (half < d->stream.desc_size / 2)
		half += ((struct adept_desc *)(d->stream.desc + half))->size;
	return half;
}

static void put_all(struct recording *rec)
{
	struct dep_process p = { .serial = 1, .pid = 100, .start_ns = 1, .exe = "/bin/prog" };
	struct dep_thread t = { .process = 1, .start_ns = 2, .end = DEP_END_WHOLE };
	u64 bytes;
	bool ended;
	size_t i;

	if (!has_process(rec->r, 1, &ended, &bytes))
		returned(rec, dep_writer_process(rec->w, &p));
	for (i = 0; i < 2; i++) {
		size_t upto = descriptors_before(rec->d, i);

		if (bytes < upto)
			returned(rec, dep_writer_descriptors(rec->w, 1, rec->d->stream.desc +
							     bytes, upto - bytes));
		bytes = bytes < upto ? upto : bytes;
	}
	for (i = 1; i <= DURABLE_THREADS; i++) {
		t.serial = i;
		t.tid = 100 + i;
		if (!has_thread(rec->r, i).process)
			returned(rec, dep_writer_thread(rec->w, &t));
	}
	for (i = 0; i < DURABLE_CHUNKS; i++) {
		put_chunk(rec, i);
		if (i % 4 == 3 && i + 1 < DURABLE_CHUNKS)
			put_mark(rec);
	}
	for (i = 1; i <= DURABLE_THREADS; i++) {
		t.serial = i;
		t.tid = 100 + i;
		t.end_ns = 100 + i;
		if (!has_thread(rec->r, i).ended)
			returned(rec, dep_writer_thread_end(rec->w, &t));
	}
	p.end_ns = 110;
	if (!ended)
		returned(rec, dep_writer_process_end(rec->w, &p));
}

void durable_record(const struct durable *d, const char *dir, bool stops, struct outcome *out)
{
	struct recording rec = { .d = d, .out = out, .stops = stops };
	struct dep_loss loss = { 0 };

	memset(out, 0, sizeof(*out));
	fixed_random_reset();
	out->created = dep_writer_create(&rec.w, dir, &durable_meta, 0);
	if (out->created)
		return;
	rec.w->roll = DURABLE_ROLL;
	rec.w->flush = DURABLE_FLUSH;
	put_all(&rec);
	/* The collector counts what it does not pass to the writer. */
	if (stops)
		loss.discarded_bytes = out->lost;
	out->closed = close_writer(rec.w, &loss, 0);
	out->ops_closed = disk_ops();
}

int durable_go_on(const struct durable *d, struct dep_writer *w, const struct dep_resume *r)
{
	struct outcome out = { 0 };
	struct recording rec = { .d = d, .w = w, .r = r, .out = &out };

	put_all(&rec);
	out.closed = close_writer(w, NULL, 0);
	return out.error ? out.error : out.closed;
}

/* ---- contents of a store ---- */

/* Segments of each thread that MARK frames name. */
static void read_marks(struct dep_store *s, struct held *h)
{
	const struct dep_wire_thread_sum *sum;
	const struct dep_wire_mark *mark;
	const struct dep_log_entry *e;
	struct dep_log_scan scan;
	u32 i;

	assert_int_equal(dep_log_open(&scan, s->log, s->log_size), 0);
	while ((e = dep_log_next(&scan))) {
		if (e->type != DEP_F_MARK)
			continue;
		h->marks++;
		mark = e->payload;
		sum = (const void *)(mark + 1);
		assert_true(e->size == sizeof(*mark) + mark->rows * sizeof(*sum));
		for (i = 0; i < mark->rows; i++) {
			assert_in_range(sum[i].serial, 1, DURABLE_THREADS);
			h->marked[sum[i].serial] = sum[i].segments;
		}
	}
}

/* Compare one segment with the recording. */
static void look_at(const struct durable *d, struct dep_store *s, const struct dep_segment *g,
		    struct held *h, bool *have, u64 marked)
{
	struct dep_counts counts = { 0 };
	struct dep_seg_header header;
	size_t i = number_of(g);
	int err;

	assert_int_equal(dep_store_header(s, g, &header), 0);
	err = dep_segment_check(s, g);
	h->bad += err != 0;
	if (!err && header.content == d->content[i] && !header.lost_bytes) {
		err = dep_recover_segment(s, g, NULL, &counts);
		if (!err)
			assert_int_equal(counts.values, counts.values_used);
		/* Without a MARK the descriptors of its code may be missing. */
		have[i] = !err;
	}
	/* A part of a chunk may be stored only if the rest is counted. */
	if (!err && !have[i]) {
		assert_true(header.lost_bytes);
		h->absent += header.lost_bytes;
		have[i] = true;
	}
	if (!have[i] && g->index < marked) {
		print_error("thread %u: segment %llu, which a MARK names: %s\n", g->thread,
			    (unsigned long long)g->index, dep_error());
		fail();
	}
}

static void look_at_all(const struct durable *d, struct dep_store *s, const u64 *marked,
			struct held *h)
{
	u64 there[DURABLE_THREADS + 1] = { 0 };
	bool have[DURABLE_CHUNKS] = { false };
	const struct dep_segment *g;
	const struct dep_thread *t;
	const struct dep_process *p;
	const struct dep_module *m;
	const char *const *note;
	size_t i, n = dep_store_segments(s, &g);
	u64 fragments, x;

	for (i = 0; i < n; i++) {
		there[g[i].thread] += g[i].index < marked[g[i].thread];
		look_at(d, s, &g[i], h, have, marked[g[i].thread]);
	}
	for (i = 1; i <= DURABLE_THREADS; i++)
		assert_int_equal(there[i], marked[i]);
	for (i = 0; i < DURABLE_CHUNKS; i++)
		h->absent += have[i] ? 0 : d->raw_bytes[i];
	dep_store_fragments(s, &fragments, &x, &x);
	h->whole = !h->absent && !h->bad && n == DURABLE_CHUNKS && fragments == d->nfragments &&
		   dep_store_processes(s, &p) == d->nprocesses &&
		   dep_store_threads(s, &t) == d->nthreads &&
		   dep_store_modules(s, &m) == d->nmodules &&
		   dep_store_messages(s, &note) >= d->nnotes;
	for (i = 0; h->whole && i < d->nthreads; i++)
		h->whole = t[i].end == DEP_END_WHOLE && t[i].end_ns;
}

int durable_check(const struct durable *d, const char *dir, const struct held *before,
		  struct held *h)
{
	const struct dep_verdict *v;
	struct dep_store *s;
	size_t i;
	int err;

	memset(h, 0, sizeof(*h));
	err = dep_store_open(&s, dir);
	if (err) {
		assert_true(*dep_error());
		return err;
	}
	v = dep_store_verdict(s);
	h->state = v->state;
	h->cause = v->cause;
	h->error = v->error;
	h->ended = s->model.ended;
	h->lost = dep_store_loss(s)->discarded_bytes;
	for (i = 0; i < v->ndefects; i++)
		h->named |= v->defect[i].kind != DEP_DEFECT_THREAD;
	read_marks(s, h);
	look_at_all(d, s, before ? before->marked : h->marked, h);
	if (v->state == DEP_VERDICT_COMPLETE && !h->whole) {
		print_error("%s: COMPLETE, but %llu bytes are absent and %zu segments bad\n", dir,
			    (unsigned long long)h->absent, h->bad);
		fail();
	}
	assert_true(v->state == DEP_VERDICT_COMPLETE || v->state == DEP_VERDICT_INCOMPLETE);
	assert_true(v->state == DEP_VERDICT_COMPLETE || h->named || v->ndefects);
	dep_store_close(s);
	return 0;
}

/* ---- the reference ---- */

static void learn(struct durable *d)
{
	const struct dep_segment *g;
	const struct dep_process *p;
	const struct dep_thread *t;
	const struct dep_module *m;
	const char *const *note;
	struct dep_seg_header h;
	struct dep_store *s;
	u64 fragments, x;
	size_t i, n;

	assert_int_equal(dep_store_open(&s, d->reference), 0);
	n = dep_store_segments(s, &g);
	assert_int_equal(n, DURABLE_CHUNKS);
	for (i = 0; i < n; i++) {
		assert_int_equal(dep_store_header(s, &g[i], &h), 0);
		d->content[number_of(&g[i])] = h.content;
		d->raw_bytes[number_of(&g[i])] = g[i].raw_bytes;
	}
	assert_in_range(s->nfds, 3, 8);
	dep_store_fragments(s, &fragments, &x, &x);
	d->nfragments = fragments;
	d->nprocesses = dep_store_processes(s, &p);
	d->nthreads = dep_store_threads(s, &t);
	d->nmodules = dep_store_modules(s, &m);
	d->nnotes = dep_store_messages(s, &note);
	dep_store_close(s);
}

void durable_init(struct durable *d)
{
	struct outcome out;
	struct held h;
	size_t i;

	memset(d, 0, sizeof(*d));
	stream_init(&d->stream, 815);
	stream_standard(&d->stream);
	for (i = 0; i < DURABLE_CHUNKS; i++) {
		stream_random_run(&d->stream, 12);
		stream_close(&d->stream);
	}
	scratch_name(d->reference, sizeof(d->reference));
	durable_record(d, d->reference, false, &out);
	assert_true(!out.created && !out.error && !out.closed);
	learn(d);
	assert_int_equal(durable_check(d, d->reference, NULL, &h), 0);
	assert_int_equal(h.state, DEP_VERDICT_COMPLETE);
	assert_true(h.whole && h.ended && h.marks == 2);
}

void durable_free(struct durable *d)
{
	scratch_remove(d->reference);
	stream_free(&d->stream);
}
