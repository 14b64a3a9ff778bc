// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "libdep/format/read/store.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/store_util.h"

/* Items in order of arrival. */
struct got {
	struct dep_item *item;
	size_t n;
	const struct dep_segment *last;
	int out_of_order;
};

static int collect(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		   size_t n)
{
	struct got *g = arg;
	size_t i;
	void *copy;

	if (g->last && seg < g->last)
		g->out_of_order = 1;
	g->last = seg;
	g->item = realloc(g->item, (g->n + n) * sizeof(*g->item));
	memcpy(g->item + g->n, items, n * sizeof(*items));
	for (i = 0; i < n; i++)
		if (items[i].kind == DEP_ITEM_EVENT) {
			copy = malloc(items[i].event.size);
			memcpy(copy, items[i].event.payload, items[i].event.size);
			g->item[g->n + i].event.payload = copy;
		} else if (items[i].kind == DEP_ITEM_FUNCTION) {
			copy = malloc(sizeof(struct dep_call_values));
			memcpy(copy, items[i].function.passed, sizeof(struct dep_call_values));
			g->item[g->n + i].function.passed = copy;
		}
	g->n += n;
	return 0;
}

static void got_free(struct got *g)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (g->item[i].kind == DEP_ITEM_EVENT)
			free((void *)g->item[i].event.payload);
		else if (g->item[i].kind == DEP_ITEM_FUNCTION)
			free((void *)g->item[i].function.passed);
	free(g->item);
}

static void failed(void *arg, const struct dep_segment *seg, const char *why)
{
	(void)seg;
	fprintf(stderr, "%s\n", why);
	++*(int *)arg;
}

/* @longer: a block that the end of a chunk splits may report more instructions. */
static int same(const struct dep_item *a, const struct dep_item *b, int longer)
{
	if (a->kind != b->kind)
		return 0;
	switch (a->kind) {
	case DEP_ITEM_BLOCK:
		return a->block.pc == b->block.pc && (a->block.ninsns == b->block.ninsns ||
		       (longer && a->block.ninsns > b->block.ninsns));
	case DEP_ITEM_REF:
		return !memcmp(&a->ref, &b->ref, sizeof(a->ref));
	case DEP_ITEM_FUNCTION:
		return a->function.pc == b->function.pc &&
		       a->function.function == b->function.function &&
		       a->function.is_return == b->function.is_return &&
		       a->function.known == b->function.known &&
		       !memcmp(a->function.passed, b->function.passed,
			       sizeof(struct dep_call_values));
	default:
		return a->event.id == b->event.id && a->event.size == b->event.size &&
		       (a->event.id != ADEPT_EV_SYSCALL || a->event.pc == b->event.pc) &&
		       !memcmp(a->event.payload, b->event.payload, a->event.size);
	}
}

static void describe(const char *who, const struct dep_item *it)
{
	fprintf(stderr, "%s: kind %d", who, it->kind);
	if (it->kind == DEP_ITEM_REF)
		fprintf(stderr, " %lx %lx %u %u", it->ref.pc, it->ref.addr, it->ref.size,
			it->ref.type);
	else if (it->kind == DEP_ITEM_BLOCK)
		fprintf(stderr, " %lx %u", it->block.pc, it->block.ninsns);
	else if (it->kind == DEP_ITEM_FUNCTION)
		fprintf(stderr, " %lx function %u, %lx %lx", it->function.pc, it->function.function,
			it->function.passed->value[0], it->function.passed->value[1]);
	else
		fprintf(stderr, " event %u", it->event.id);
	fprintf(stderr, "\n");
}

static void compare(const struct stream *s, const struct got *g, int longer)
{
	size_t i;

	for (i = 0; i < s->nitems && i < g->n; i++)
		if (!same(&g->item[i], &s->item[i], longer)) {
			fprintf(stderr, "item %zu, split at %ld\n", i, s->split_at);
			describe("got ", &g->item[i]);
			describe("want", &s->item[i]);
			fail();
		}
	assert_int_equal(g->n, s->nitems);
}

static void write_stream(const char *dir, const struct stream *s)
{
	struct dep_meta meta = { .cwd = "/" };
	struct dep_writer *w;
	size_t i;

	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	if (dep_writer_descriptors(w, 1, s->desc, s->desc_size)) {
		fprintf(stderr, "%s\n", dep_error());
		fail();
	}
	for (i = 0; i < s->nchunks; i++)
		assert_int_equal(dep_writer_segment(w, 1, &s->chunk[i].c, s->chunk[i].body), 0);
	assert_int_equal(close_writer(w, NULL, 0), 0);
}

/* The state at the end of each segment equals that at the beginning of the next one. */
static void check_seams(struct dep_store *store, const struct dep_segment *seg, size_t n)
{
	size_t i;

	for (i = 0; i + 1 < n; i++)
		if (dep_recover_check_boundary(store, &seg[i], &seg[i + 1], NULL)) {
			fprintf(stderr, "%s\n", dep_error());
			fail();
		}
}

/* The values of a chunk as recorded; returns their number. */
static u32 values_of(const struct dep_index *x, const struct stream_chunk *c, u64 *value)
{
	u32 whole = c->c.tail_at < c->c.fill ? c->c.tail_at : c->c.fill;
	const struct dep_exit_entry *e;
	struct adept_ev_partial ev;
	u32 at, id, n = 0, size;

	for (at = 0; at < whole; at += size) {
		memcpy(&id, c->body + at, 4);
		at += 4;
		e = dep_index_find(x, id);
		size = e ? e->bytes - 4u : 0;
		if (!e) {
			at += (u32)adept_event_size(id);
			memcpy(&ev, c->body + at - sizeof(ev), sizeof(ev));
			size = id == ADEPT_EV_PARTIAL ? ev.val_bytes : 0;
		}
		memcpy(value + n, c->body + at, size);
		n += size / 8;
	}
	if (whole < c->c.fill) {
		memcpy(value + n, c->body + whole + 4, c->c.fill - whole - 4);
		n += (c->c.fill - whole - 4) / 8;
	}
	return n;
}

/* Plain values instead of differences, which current writers no longer store. */
static void store_plainly(const char *dir, const struct stream *s, const struct dep_store *store)
{
	size_t size, at = sizeof(struct dep_file_header), to = at, i;
	u8 *data = slurp(dir, "segments.000", &size), *out, *value;
	const u64 seed = store->fmt.seed;
	struct dep_seg_header h;
	u64 *values;

	for (i = 0; i < s->nchunks; i++)
		size += s->chunk[i].c.fill + 16;
	out = calloc(1, size);
	memcpy(out, data, at);
	for (i = 0; i < s->nchunks; i++) {
		memcpy(&h, data + at, sizeof(h));
		value = out + to + sizeof(h) + h.control_stored;
		memcpy(value - h.control_stored, data + at + sizeof(h), h.control_stored);
		at += dep_seg_bytes(&h);
		values = malloc(s->chunk[i].c.fill + 8);
		assert_int_equal(values_of(&store->model.index, &s->chunk[i], values) * 8,
				 h.value_raw);
		memcpy(value, values, h.value_raw);
		free(values);
		h.value_codec = DEP_C_RAW;
		h.value_stored = h.value_raw;
		h.value_check = XXH3_64bits_withSeed(value, h.value_stored, seed);
		h.check = XXH3_64bits_withSeed(&h, offsetof(struct dep_seg_header, check), seed);
		memcpy(out + to, &h, sizeof(h));
		to += dep_seg_bytes(&h);
	}
	spew(dir, "segments.000", out, to);
	free(out);
	free(data);
}

/* Write, open, recover, compare; return the counts. */
static struct dep_counts check_stored(const struct stream *s, unsigned int jobs, bool plainly)
{
	struct got g = { 0 };
	struct dep_sink sink = {
		.want = DEP_WANT_BLOCKS | DEP_WANT_REFS | DEP_WANT_EVENTS | DEP_WANT_FUNCTIONS,
		.batch = collect, .arg = &g,
	};
	const struct dep_segment *seg;
	struct dep_counts counts = { 0 };
	struct dep_store *store;
	char dir[128];
	int nfailed = 0;
	const struct dep_recover_options options = {
		.jobs = jobs, .counts = &counts, .failed = failed, .arg = &nfailed,
	};
	size_t n;

	scratch_name(dir, sizeof(dir));
	write_stream(dir, s);
	assert_int_equal(dep_store_open(&store, dir), 0);
	if (plainly) {
		store_plainly(dir, s, store);
		dep_store_close(store);
		assert_int_equal(dep_store_open(&store, dir), 0);
	}
	n = dep_store_segments(store, &seg);
	assert_int_equal(n, s->nchunks);
	assert_int_equal(dep_recover(store, seg, n, &sink, &options), 0);
	assert_int_equal(nfailed, 0);
	assert_false(g.out_of_order);
	check_seams(store, seg, n);
	compare(s, &g, s->nchunks > 1);
	assert_int_equal(counts.values, counts.values_used);
	assert_int_equal(counts.instructions, s->insns);
	assert_int_equal(counts.check_failures, 0);
	got_free(&g);
	dep_store_close(store);
	scratch_remove(dir);
	return counts;
}

static struct dep_counts check_stream(const struct stream *s, unsigned int jobs)
{
	return check_stored(s, jobs, false);
}

static void each_fragment(void **state)
{
	struct stream s;
	u32 n, x;

	(void)state;
	stream_init(&s, 1);
	stream_standard(&s);
	for (n = 0; n < s.nfrags; n++)
		for (x = 0; x < s.frag[n].nexits; x++) {
			stream_context(&s, s.frag[n].pc[0]);
			stream_run(&s, n, x);
		}
	stream_close(&s);
	check_stream(&s, 1);
	stream_free(&s);
}

static void each_partial(void **state)
{
	struct stream s;
	u32 n, i, round;

	(void)state;
	stream_init(&s, 2);
	stream_standard(&s);
	for (round = 0; round < 4; round++)
		for (n = 0; n < s.nfrags; n++)
			for (i = 0; i < s.frag[n].ninsns; i++) {
				stream_context(&s, s.frag[n].pc[0]);
				stream_partial(&s, n, i);
			}
	stream_close(&s);
	check_stream(&s, 1);
	stream_free(&s);
}

/* The same with each of them at the end of its chunk. */
static void each_partial_in_a_tail(void **state)
{
	struct stream s;
	u32 n, i, round;

	(void)state;
	stream_init(&s, 8);
	stream_standard(&s);
	s.no_room = 1;
	for (round = 0; round < 4; round++)
		for (n = 0; n < s.nfrags; n++)
			for (i = 0; i < s.frag[n].ninsns; i++) {
				stream_context(&s, s.frag[n].pc[0]);
				stream_partial(&s, n, i);
			}
	stream_close(&s);
	check_stream(&s, 1);
	stream_free(&s);
}

static void random_streams(void **state)
{
	struct stream s;
	u64 seed;

	(void)state;
	for (seed = 10; seed < 60; seed++) {
		stream_init(&s, seed);
		s.use_ea = seed & 1;
		s.self_check = !!(seed & 2);
		stream_standard(&s);
		stream_random_run(&s, 2000);
		stream_close(&s);
		check_stream(&s, 1);
		check_stored(&s, 1, true);
		stream_free(&s);
	}
}

static void self_check_counts(void **state)
{
	struct dep_counts c;
	struct stream s;

	(void)state;
	stream_init(&s, 3);
	s.self_check = 1;
	stream_standard(&s);
	stream_random_run(&s, 500);
	stream_close(&s);
	c = check_stream(&s, 1);
	assert_true(c.checks > 100);
	stream_free(&s);
}

/* Every store of a stream in turn meets the guard. */
static void every_split(void **state)
{
	struct stream s;
	long at, stores;
	u64 seed;

	(void)state;
	for (seed = 100; seed < 106; seed++)
		for (at = 0, stores = 1; at < stores; at++) {
			stream_init(&s, seed);
			s.use_ea = seed & 1;
			s.self_check = !!(seed & 2);
			stream_standard(&s);
			s.split_at = at;
			stream_random_run(&s, 60);
			stores = s.stores;
			stream_close(&s);
			assert_int_equal(s.nchunks, 2);
			check_stream(&s, 1);
			stream_free(&s);
		}
}

/* A store of a record that began in an earlier chunk: head and tail in one record. */
static void split_everywhere(void **state)
{
	struct stream s;
	long before;
	u32 i;

	(void)state;
	stream_init(&s, 7);
	stream_standard(&s);
	for (i = 0; i < 400; i++) {
		before = s.stores;
		s.split_at = s.stores + i % 3;
		stream_random_run(&s, 1);
		if (s.stores == before)
			continue;
	}
	stream_close(&s);
	check_stream(&s, 2);
	check_stored(&s, 1, true);
	stream_free(&s);
}

static void parallel_is_serial(void **state)
{
	struct stream s;
	u32 i;

	(void)state;
	stream_init(&s, 4);
	stream_standard(&s);
	for (i = 0; i < 40; i++) {
		stream_random_run(&s, 1500);
		stream_close(&s);
		stream_context(&s, 0x401000);
	}
	stream_close(&s);
	check_stream(&s, 1);
	check_stream(&s, 2);
	check_stream(&s, 7);
	stream_free(&s);
}

static int stop_at_once(void *arg, const struct dep_segment *seg, const struct dep_item *items,
			size_t n)
{
	(void)seg;
	(void)items;
	(void)n;
	++*(int *)arg;
	return 42;
}

static void sink_stops(void **state)
{
	const struct dep_segment *seg;
	struct dep_store *store;
	struct stream s;
	char dir[128];
	struct dep_recover_options options = { .jobs = 1 };
	int calls;
	struct dep_sink sink = { .want = DEP_WANT_REFS, .batch = stop_at_once, .arg = &calls };
	size_t n;
	u32 i;

	(void)state;
	stream_init(&s, 5);
	stream_standard(&s);
	for (i = 0; i < 8; i++) {
		stream_random_run(&s, 3000);
		stream_close(&s);
	}
	scratch_name(dir, sizeof(dir));
	write_stream(dir, &s);
	assert_int_equal(dep_store_open(&store, dir), 0);
	n = dep_store_segments(store, &seg);
	for (; options.jobs < 4; options.jobs++) {
		calls = 0;
		assert_int_equal(dep_recover(store, seg, n, &sink, &options), 42);
		assert_int_equal(calls, 1);
	}
	calls = 0;
	assert_int_equal(dep_recover_segment(store, seg, &sink, NULL), 42);
	assert_int_equal(calls, 1);
	dep_store_close(store);
	scratch_remove(dir);
	stream_free(&s);
}

static void formats(void **state)
{
	/* push rbp; push rbp; mov [rax], rcx; mov [rax+8], rcx; je +0 */
	static const u8 code[] = { 0x55, 0x55, 0x48, 0x89, 0x08, 0x48, 0x89, 0x48, 0x08, 0x74, 0 };
	struct stream_code c = {
		.pc = 0x7f0000401234, .bytes = code, .len = sizeof(code),
		.entry_mask = X86_BIT(X86_RSP) };
	struct dep_formats f;
	struct dep_store *store;
	struct stream s;
	char dir[128];
	int i;

	(void)state;
	stream_init(&s, 6);
	stream_fragment(&s, &c);
	for (i = 0; i < 9; i++)
		stream_run(&s, 0, 0);
	stream_close(&s);
	scratch_name(dir, sizeof(dir));
	write_stream(dir, &s);
	assert_int_equal(dep_store_open(&store, dir), 0);
	assert_int_equal(dep_formats(store, &f), 0);
	assert_int_equal(f.bb_pc, 9 * 8);
	/* The first record: marker, word, two parts that are not 0. */
	assert_int_equal(f.depc, 9 * 2 + 8);
	assert_int_equal(f.cf_bit, 2);
	assert_int_equal(f.mem_addr, 9 * 4 * 8);
	/* rsp twice each time, rax only once. */
	assert_int_equal(f.depm, 9 * 2 * 8 + 8);
	dep_store_close(store);
	scratch_remove(dir);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fragment),
		cmocka_unit_test(each_partial),
		cmocka_unit_test(each_partial_in_a_tail),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(self_check_counts),
		cmocka_unit_test(every_split),
		cmocka_unit_test(split_everywhere),
		cmocka_unit_test(parallel_is_serial),
		cmocka_unit_test(sink_stops),
		cmocka_unit_test(formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
