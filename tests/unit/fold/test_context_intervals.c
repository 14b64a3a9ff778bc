// SPDX-License-Identifier: GPL-2.0-or-later
/* Calling contexts by interval of time: what counts in which, and what all of them add up to. */
#include <errno.h>

#include "dep/contexts.h"

#include "fold_store.h"

/* MAIN calls LEAF, which returns to BACK; BACK jumps to MAIN. */
enum { MAIN, BACK, LEAF, FRAGMENTS };

#define MAIN_PC	0x1000ull
#define LEAF_PC	0x2000ull
#define RSP	0x8000ull

static const struct stream_code codes[FRAGMENTS] = {
	/* nop; call LEAF */
	[MAIN] = FOLD_CODE(MAIN_PC, 0x90, 0xe8, 0xfa, 0x0f, 0, 0),
	/* jmp MAIN */
	[BACK] = FOLD_CODE(MAIN_PC + 6, 0xeb, 0xf8),
	/* nop; nop; ret */
	[LEAF] = FOLD_CODE(LEAF_PC, 0x90, 0x90, 0xc3),
};

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

static struct dep_contexts *contexts_of(struct fold_store *f,
					const struct dep_contexts_options *options)
{
	struct dep_contexts *c;

	if (dep_contexts_make(f->s, f->code, options, &c))
		fail_msg("%s", dep_error());
	return c;
}

static u32 context_at(const struct dep_contexts *c, u64 pc)
{
	u32 i;

	for (i = 1; i < c->ncontexts && c->context[i].pc != pc; i++)
		;
	assert_true(i < c->ncontexts);
	return i;
}

static void check_row(const struct dep_contexts *c, size_t i, u64 start_ns, u64 pc, u64 calls,
		      u64 insns, u64 refs)
{
	const struct dep_context_interval *r = &c->interval[i];

	assert_true(i < c->nintervals);
	assert_int_equal(r->start_ns, start_ns);
	assert_int_equal(r->context, context_at(c, pc));
	assert_int_equal(r->calls, calls);
	assert_int_equal(r->insns, insns);
	assert_int_equal(r->refs, refs);
}

/* The rows are sorted, none is empty, and they add up to the contexts. */
static void check_sums(const struct dep_contexts *c)
{
	struct dep_context_interval *sum = calloc(c->ncontexts, sizeof(*sum));
	const struct dep_context_interval *r;
	size_t i;

	assert_non_null(sum);
	for (i = 0; i < c->nintervals; i++) {
		r = &c->interval[i];
		assert_in_range(r->context, 0, c->ncontexts - 1);
		assert_true(r->calls || r->insns);
		assert_true(!i || r[-1].start_ns < r->start_ns ||
			    (r[-1].start_ns == r->start_ns && r[-1].context < r->context));
		sum[r->context].calls += r->calls;
		sum[r->context].insns += r->insns;
		sum[r->context].refs += r->refs;
	}
	for (i = 0; i < c->ncontexts; i++) {
		assert_int_equal(sum[i].calls, c->context[i].calls);
		assert_int_equal(sum[i].insns, c->context[i].insns);
		assert_int_equal(sum[i].refs, c->context[i].refs);
	}
	free(sum);
}

/* ---- known segments ---- */

/*
 * A function that is entered at the end of an interval runs in the next one; two threads of which
 * the second one goes through the time again.
 */
static void calls_count_where_they_are_made(void **state)
{
	const struct dep_contexts_options options = { .per_ns = 100 };
	struct fold_chunk c[3] = {
		{ .seq = 0, .start_ns = 110, .rsp = RSP },
		{ .seq = 1, .start_ns = 199, .rsp = RSP },
		{ .seq = 2, .start_ns = 350, .rsp = RSP - 8 },
	};
	struct dep_contexts *out;
	struct fold_store f;
	u32 t, i;

	(void)state;
	fold_run(&c[0], MAIN);
	fold_run(&c[0], LEAF);
	fold_run(&c[0], BACK);
	fold_run(&c[1], MAIN);
	fold_run(&c[2], LEAF);
	fold_run(&c[2], BACK);
	fold_store_begin(&f, fold_stream.desc, fold_stream.desc_size);
	for (t = 1; t <= 2; t++)
		for (i = 0; i < 3; i++)
			fold_store_segment(&f, t, &c[i]);
	fold_store_open(&f);
	out = contexts_of(&f, &options);
	/* Both threads begin with the same function, in the same context. */
	assert_int_equal(out->ncontexts, 3);
	assert_int_equal(out->nintervals, 4);
	check_row(out, 0, 100, MAIN_PC, 2, 2 * 5, 2 * 2);
	check_row(out, 1, 100, LEAF_PC, 4, 2 * 3, 2 * 1);
	check_row(out, 2, 300, MAIN_PC, 0, 2 * 1, 0);
	check_row(out, 3, 300, LEAF_PC, 0, 2 * 3, 2 * 1);
	check_sums(out);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* Both kinds of rows at once, and neither. */
static void rows_of_times_and_intervals(void **state)
{
	struct dep_contexts_options options = { .per_ns = 100, .times = true };
	struct fold_chunk c[2] = {
		{ .seq = 0, .start_ns = 110, .rsp = RSP },
		{ .seq = 1, .start_ns = 120, .rsp = RSP - 8 },
	};
	struct dep_contexts *out;
	struct fold_store f;

	(void)state;
	fold_run(&c[0], MAIN);
	fold_run(&c[1], LEAF);
	fold_store_write(&f, c, 2);
	out = contexts_of(&f, &options);
	assert_int_equal(out->ntimes, 2);
	assert_int_equal(out->nintervals, 2);
	check_sums(out);
	dep_contexts_free(out);
	options.times = false;
	out = contexts_of(&f, &options);
	assert_int_equal(out->ntimes, 0);
	assert_int_equal(out->nintervals, 2);
	dep_contexts_free(out);
	out = contexts_of(&f, NULL);
	assert_int_equal(out->ntimes, 0);
	assert_int_equal(out->nintervals, 0);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* More intervals than there may be, and more rows than fit in the memory. */
static void too_much(void **state)
{
	struct dep_contexts_options options = { .per_ns = 1, .memory = 4096 };
	struct fold_chunk c = { .rsp = RSP };
	struct dep_contexts *out;
	struct fold_store f;
	u32 i;

	(void)state;
	fold_run(&c, MAIN);
	fold_run(&c, LEAF);
	fold_run(&c, BACK);
	fold_store_begin(&f, fold_stream.desc, fold_stream.desc_size);
	for (c.seq = 0, i = 0; i < 2000; c.seq++, i++) {
		c.start_ns = 5000 + i * 100;
		fold_store_segment(&f, 1, &c);
	}
	fold_store_open(&f);
	assert_int_equal(dep_contexts_make(f.s, f.code, &options, &out), -ERANGE);
	assert_non_null(strstr(dep_error(), "possible here is 1us"));
	options.per_ns = 100;
	assert_int_equal(dep_contexts_make(f.s, f.code, &options, &out), -EFBIG);
	assert_non_null(strstr(dep_error(), "longer intervals"));
	options.per_ns = 1000;
	out = contexts_of(&f, &options);
	assert_int_equal(out->nintervals, 2 * 200);
	check_sums(out);
	dep_contexts_free(out);
	fold_store_close(&f);
}

/* ---- random streams ---- */

/* Threads of two processes with the same random chunks; the third is forked by the first. */
static void random_store(struct fold_store *f, struct stream *r, u64 seed)
{
	u32 t, i;
	size_t n;

	stream_init(r, seed);
	r->no_room = seed & 1;
	stream_standard(r);
	for (i = 0; i < 40; i++) {
		r->split_at = r->stores + (long)(stream_random(r) % 8);
		stream_random_run(r, 4);
		if (stream_random(r) % 4 == 0)
			stream_close(r);
	}
	stream_close(r);
	fold_store_begin(f, r->desc, r->desc_size);
	for (t = 1; t <= 3; t++)
		for (n = 0; n < r->nchunks; n++)
			if (dep_writer_segment(f->w, t, &r->chunk[n].c, r->chunk[n].body))
				fail_msg("%s", dep_error());
	fold_store_open(f);
}

static void same_tree(const struct dep_contexts *a, const struct dep_contexts *b)
{
	assert_int_equal(a->ncontexts, b->ncontexts);
	assert_memory_equal(a->context, b->context, a->ncontexts * sizeof(*a->context));
	assert_int_equal(a->nshares, b->nshares);
	assert_memory_equal(a->share, b->share, a->nshares * sizeof(*a->share));
}

/* The instructions and operands of each interval are those of dep_intervals_make(). */
static void check_profile(struct fold_store *f, const struct dep_contexts *c,
			  const struct dep_fold_options *o, u64 per)
{
	struct dep_intervals *iv;
	struct dep_interval in;
	u64 insns, refs;
	size_t i = 0;
	int ret;

	if (dep_intervals_make(f->s, f->code, o, per, &iv))
		fail_msg("%s", dep_error());
	while ((ret = dep_intervals_next(iv, &in)) > 0) {
		for (insns = refs = 0; i < c->nintervals && c->interval[i].start_ns == in.start_ns;
		     i++) {
			insns += c->interval[i].insns;
			refs += c->interval[i].refs;
		}
		assert_int_equal(insns, in.profile->insns);
		assert_int_equal(refs, in.profile->refs);
	}
	assert_int_equal(ret, 0);
	assert_int_equal(i, c->nintervals);
	dep_intervals_free(iv);
}

/* Each row of an interval has the instructions of the rows of times in it. */
static void check_times(const struct dep_contexts *c, u64 per)
{
	const struct dep_context_interval *r;
	const struct dep_context_time *t;
	u64 insns;
	size_t i, k;

	for (i = 0; i < c->nintervals; i++) {
		r = &c->interval[i];
		for (insns = 0, k = 0; k < c->ntimes; k++) {
			t = &c->time[k];
			if (t->context == r->context && t->start_ns >= r->start_ns &&
			    t->start_ns - r->start_ns < per)
				insns += t->insns;
		}
		assert_int_equal(insns, r->insns);
	}
}

static void random_intervals(void **state)
{
	static const u64 pers[] = { 1, 2, 7, 40, 100000 };
	struct dep_contexts_options options = { .times = true };
	struct dep_contexts *whole, *c;
	struct fold_store f;
	struct stream r;
	u64 seed;
	u32 i, k;

	(void)state;
	for (seed = 1; seed <= 24; seed++) {
		random_store(&f, &r, seed);
		for (k = 0; k <= 5; k++) {
			options.fold = (struct dep_fold_options){ .thread = k < 4 ? k : 0,
								  .process = k < 4 ? 0 : k - 3 };
			options.per_ns = 0;
			whole = contexts_of(&f, &options);
			assert_true(whole->ncontexts > 1);
			for (i = 0; i < sizeof(pers) / sizeof(*pers); i++) {
				options.per_ns = pers[i];
				c = contexts_of(&f, &options);
				same_tree(whole, c);
				check_sums(c);
				check_times(c, pers[i]);
				check_profile(&f, c, &options.fold, pers[i]);
				dep_contexts_free(c);
			}
			dep_contexts_free(whole);
		}
		fold_store_close(&f);
		stream_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_count_where_they_are_made, set_up,
						fold_tear_down),
		cmocka_unit_test_setup_teardown(rows_of_times_and_intervals, set_up,
						fold_tear_down),
		cmocka_unit_test_setup_teardown(too_much, set_up, fold_tear_down),
		cmocka_unit_test(random_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
