// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles of intervals of time: what belongs to which interval, and what all of them add up to. */
#include <errno.h>

#include "fold_store.h"

/* PLAIN jumps to FAR, whose branch is indirect; neither has values. */
enum { PLAIN, FAR, FRAGMENTS };

#define PLAIN_PC	0x1000ull
#define JUMP_PC		0x1001ull
#define FAR_PC		0x1003ull
#define JMP_PC		0x1004ull	/* the indirect branch of FAR */
#define OTHER_PC	0x5000ull

static const struct stream_code codes[FRAGMENTS] = {
	[PLAIN] = FOLD_CODE(PLAIN_PC, 0x90, 0xeb, 0x00),
	[FAR] = FOLD_CODE(FAR_PC, 0x90, 0xff, 0xe0),
};

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

/* ---- the rows of all intervals ---- */

#define INTERVALS 4096

/** struct kept - copies of the intervals of a store */
struct kept {
	struct { u64 start_ns, end_ns; struct dep_profile p; } part[INTERVALS];
	struct dep_profile whole;
	u32 n;
};

static void *copy(const void *rows, size_t n, size_t size)
{
	void *to = calloc(n + 1, size);

	assert_non_null(to);
	if (n)
		memcpy(to, rows, n * size);
	return to;
}

static struct dep_profile copied(const struct dep_profile *p)
{
	struct dep_profile c = *p;

	c.insn = copy(p->insn, p->ninsns, sizeof(*p->insn));
	c.edge = copy(p->edge, p->nedges, sizeof(*p->edge));
	c.time = copy(p->time, p->ntimes, sizeof(*p->time));
	return c;
}

static void free_copied(struct dep_profile *p)
{
	free((void *)p->insn);
	free((void *)p->edge);
	free((void *)p->time);
}

static void free_kept(struct kept *k)
{
	u32 i;

	for (i = 0; i < k->n; i++)
		free_copied(&k->part[i].p);
	free_copied(&k->whole);
	free(k);
}

static struct kept *keep(struct fold_store *f, u64 unit, const struct dep_fold_options *o, u64 per)
{
	struct kept *k = calloc(1, sizeof(*k));
	u64 before = dep_fold_unit_bytes;
	struct dep_intervals *iv;
	struct dep_interval in;
	int ret;

	assert_non_null(k);
	dep_fold_unit_bytes = unit;
	ret = dep_intervals_make(f->s, f->code, o, per, &iv);
	dep_fold_unit_bytes = before;
	if (ret)
		fail_msg("%s", dep_error());
	k->whole = copied(dep_intervals_whole(iv));
	while ((ret = dep_intervals_next(iv, &in)) > 0) {
		assert_true(k->n < INTERVALS);
		k->part[k->n].start_ns = in.start_ns;
		k->part[k->n].end_ns = in.end_ns;
		k->part[k->n++].p = copied(in.profile);
	}
	assert_int_equal(ret, 0);
	dep_intervals_free(iv);
	return k;
}

/* Any workers and any division of the segments give the same intervals. */
static void check_division(struct fold_store *f, const struct kept *k, u64 per)
{
	static const u64 units[] = { 1, 300, 1 << 20 };
	struct dep_fold_options o = { 0 };
	struct kept *other;
	size_t i;
	u32 n;

	for (i = 0; i < 6; i++) {
		o.jobs = i % 2 ? 7 : 1;
		other = keep(f, units[i / 2], &o, per);
		fold_check_same(&k->whole, &other->whole);
		assert_int_equal(k->n, other->n);
		for (n = 0; n < k->n; n++) {
			assert_int_equal(k->part[n].start_ns, other->part[n].start_ns);
			fold_check_same(&k->part[n].p, &other->part[n].p);
		}
		free_kept(other);
	}
}

static bool same_edge(const struct dep_edge_count *a, const struct dep_edge_count *b)
{
	return a->from == b->from && a->to == b->to && a->process == b->process &&
	       a->kind == b->kind && a->taken == b->taken;
}

/* The rows of the intervals add up to those of the whole. */
static void check_sums(const struct kept *k)
{
	const struct dep_profile *w = &k->whole, *p;
	u64 *insn = calloc(w->ninsns + 1, sizeof(*insn));
	u64 *edge = calloc(w->nedges + 1, sizeof(*edge)), insns = 0, refs = 0;
	size_t i, at, times = 0;
	u32 n;

	assert_true(insn && edge);
	for (n = 0; n < k->n; n++) {
		p = &k->part[n].p;
		for (i = 0, at = 0; i < p->ninsns; i++) {
			for (; at < w->ninsns && (w->insn[at].process != p->insn[i].process ||
						  w->insn[at].pc != p->insn[i].pc); at++)
				;
			assert_true(at < w->ninsns);
			insn[at] += p->insn[i].count;
		}
		for (i = 0, at = 0; i < p->nedges; i++) {
			for (; at < w->nedges && !same_edge(&w->edge[at], &p->edge[i]); at++)
				;
			assert_true(at < w->nedges);
			edge[at] += p->edge[i].count;
		}
		for (i = 0; i < p->ntimes; i++)
			assert_in_range(p->time[i].start_ns, k->part[n].start_ns,
					k->part[n].end_ns - 1);
		insns += p->insns;
		refs += p->refs;
		times += p->ntimes;
		assert_int_equal(p->nthreads, 0);
	}
	for (i = 0; i < w->ninsns; i++)
		assert_int_equal(insn[i], w->insn[i].count);
	for (i = 0; i < w->nedges; i++)
		assert_int_equal(edge[i], w->edge[i].count);
	assert_int_equal(insns, w->insns);
	assert_int_equal(refs, w->refs);
	assert_int_equal(times, w->ntimes);
	free(insn);
	free(edge);
}

/* ---- known segments ---- */

/* Segments at 100, 199, 200 and 450, in intervals of 100: 1, 1, 2 and 4. */
static void segments_count_where_they_begin(void **state)
{
	struct fold_chunk c[4] = {
		{ .seq = 0, .start_ns = 100 }, { .seq = 1, .start_ns = 199 },
		{ .seq = 2, .start_ns = 200 }, { .seq = 3, .start_ns = 450 },
	};
	static const u64 starts[] = { 100, 200, 400 };
	struct fold_store f;
	struct kept *k;
	u32 i;

	(void)state;
	fold_run(&c[0], PLAIN);
	fold_run(&c[0], FAR);
	fold_run(&c[1], PLAIN);
	fold_run(&c[1], FAR);
	fold_run(&c[2], PLAIN);
	fold_run(&c[3], FAR);
	fold_store_write(&f, c, 4);
	k = keep(&f, 1 << 20, NULL, 100);
	assert_int_equal(k->n, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(k->part[i].start_ns, starts[i]);
		assert_int_equal(k->part[i].end_ns, starts[i] + 100);
	}
	assert_int_equal(k->part[0].p.insns, 8);
	assert_int_equal(k->part[1].p.insns, 2);
	assert_int_equal(k->part[2].p.insns, 2);
	assert_int_equal(fold_count(&k->part[0].p, PLAIN_PC), 2);
	assert_int_equal(fold_count(&k->part[1].p, PLAIN_PC), 1);
	assert_int_equal(fold_count(&k->part[1].p, FAR_PC), 0);
	assert_int_equal(fold_count(&k->part[2].p, FAR_PC), 1);
	/* A branch counts with its own segment, also if its target is in the next one. */
	assert_int_equal(fold_edge(&k->part[0].p, JMP_PC, PLAIN_PC, DEP_BRANCH_JUMP_INDIRECT, 1),
			 2);
	assert_int_equal(fold_edge(&k->part[1].p, JUMP_PC, FAR_PC, DEP_BRANCH_JUMP, 1), 1);
	/* No segment is missing: between intervals nothing enters or leaves. */
	assert_int_equal(fold_edge(&k->part[0].p, 0, PLAIN_PC, DEP_EDGE_ENTERED, -1), 1);
	assert_int_equal(k->part[0].p.nedges, 3);
	assert_int_equal(k->part[1].p.nedges, 1);
	assert_int_equal(k->part[2].p.nedges, 0);
	check_sums(k);
	check_division(&f, k, 100);
	free_kept(k);
	fold_store_close(&f);
}

/* Segments without code show where the thread goes on, until it goes on elsewhere, or is lost. */
static void interruptions_count_where_they_are_shown(void **state)
{
	struct fold_chunk c[5] = {
		{ .seq = 0, .start_ns = 10 }, { .seq = 1, .start_ns = 20 },
		{ .seq = 2, .start_ns = 30 }, { .seq = 3, .start_ns = 40 },
		/* Number 4 is missing. */
		{ .seq = 5, .start_ns = 60 },
	};
	struct fold_store f;
	struct kept *k;

	(void)state;
	fold_run(&c[0], PLAIN);		/* goes on at FAR */
	fold_context(&c[1], FAR_PC);
	fold_context(&c[2], OTHER_PC);
	fold_context(&c[3], OTHER_PC);
	fold_run(&c[4], PLAIN);
	fold_store_write(&f, c, 5);
	k = keep(&f, 1 << 20, NULL, 10);
	assert_int_equal(k->n, 5);
	assert_int_equal(fold_edge(&k->part[1].p, FAR_PC, 0, DEP_EDGE_LEFT, -1), 1);
	assert_int_equal(fold_edge(&k->part[2].p, 0, OTHER_PC, DEP_EDGE_ENTERED, -1), 1);
	assert_int_equal(fold_edge(&k->part[3].p, OTHER_PC, 0, DEP_EDGE_LEFT, -1), 1);
	assert_int_equal(fold_edge(&k->part[4].p, 0, PLAIN_PC, DEP_EDGE_ENTERED, -1), 1);
	assert_int_equal(k->whole.loss.gaps, 1);
	check_sums(k);
	check_division(&f, k, 10);
	free_kept(k);
	fold_store_close(&f);
}

static void refused(struct fold_store *f, const struct dep_fold_options *o, u64 per, int err,
		    const char *why)
{
	struct dep_intervals *iv;

	assert_int_equal(dep_intervals_make(f->s, f->code, o, per, &iv), err);
	if (!strstr(dep_error(), why))
		fail_msg("%s", dep_error());
}

static void too_many_intervals(void **state)
{
	/* The last time is that of a damaged segment. */
	struct fold_chunk c[3] = {
		{ .seq = 0, .start_ns = 5000 }, { .seq = 1, .start_ns = 5000 + 131070000 },
		{ .seq = 2, .start_ns = UINT64_MAX - 1 },
	};
	struct dep_fold_options o = { .to_ns = UINT64_MAX - 1 };
	struct fold_store f;
	struct kept *k;
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++)
		fold_run(&c[i], PLAIN);
	fold_store_write(&f, c, 3);
	refused(&f, NULL, 0, -EINVAL, "0 ns");
	refused(&f, NULL, 1000000000, -ERANGE, "281479271744us");
	k = keep(&f, 1, NULL, 281479271744000);
	assert_int_equal(k->n, 2);
	assert_int_equal(k->part[1].end_ns, UINT64_MAX);
	check_sums(k);
	free_kept(k);
	k = keep(&f, 1, NULL, UINT64_MAX);
	assert_int_equal(k->n, 1);
	free_kept(k);
	/* Only the selected time is divided. */
	refused(&f, &o, 2000, -ERANGE, "3us");
	k = keep(&f, 1, &o, 3000);
	assert_int_equal(k->n, 2);
	assert_int_equal(k->part[0].start_ns, 3000);
	check_sums(k);
	free_kept(k);
	o.to_ns = 6000;
	k = keep(&f, 1, &o, 1);
	assert_int_equal(k->n, 1);
	assert_int_equal(k->part[0].start_ns, 5000);
	free_kept(k);
	/* Nothing is selected. */
	o.to_ns = 1;
	k = keep(&f, 1, &o, 1);
	assert_int_equal(k->n, 0);
	free_kept(k);
	fold_store_close(&f);
}

/* A damaged manifest: segments in front of the recording's start count in its first interval. */
static void before_the_start(void **state)
{
	struct fold_chunk c[2] = { { .seq = 0, .start_ns = 10 }, { .seq = 1, .start_ns = 950 } };
	struct fold_store f;
	struct kept *k;

	(void)state;
	fold_run(&c[0], PLAIN);
	fold_run(&c[1], FAR);
	fold_store_write(&f, c, 2);
	((struct dep_meta *)dep_store_meta(f.s))->start_ns = 900;
	k = keep(&f, 1, NULL, 100);
	assert_int_equal(k->n, 1);
	assert_int_equal(k->part[0].start_ns, 900);
	assert_int_equal(k->part[0].p.insns, 4);
	free_kept(k);
	fold_store_close(&f);
}

/* ---- random streams ---- */

/* Three threads, of two processes, with the same random chunks. */
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

/* The instructions and branches of each interval are those of a pass over it alone. */
static void check_selections(struct fold_store *f, const struct kept *k)
{
	const struct dep_profile *p;
	struct dep_fold_options o = { 0 };
	u32 n, count;
	size_t i, j;

	for (n = 0; n < k->n; n++) {
		o.from_ns = k->part[n].start_ns;
		o.to_ns = k->part[n].end_ns;
		fold_profile(f, 1 << 20, &o);
		p = &k->part[n].p;
		fold_same_rows(p, f->p, insn, ninsns);
		fold_same_rows(p, f->p, time, ntimes);
		assert_int_equal(p->refs, f->p->refs);
		for (i = 0, j = 0, count = 0; i < p->nedges; i++) {
			if (p->edge[i].kind >= DEP_EDGE_ENTERED)
				continue;
			for (; j < f->p->nedges && !same_edge(&f->p->edge[j], &p->edge[i]); j++)
				count += f->p->edge[j].kind < DEP_EDGE_ENTERED;
			assert_true(j < f->p->nedges);
			assert_int_equal(f->p->edge[j++].count, p->edge[i].count);
		}
		for (; j < f->p->nedges; j++)
			count += f->p->edge[j].kind < DEP_EDGE_ENTERED;
		/* A pass over the interval alone has no other branches. */
		assert_int_equal(count, 0);
	}
}

static void random_intervals(void **state)
{
	static const u64 pers[] = { 1, 2, 7, 40, 100000 };
	struct fold_store f;
	struct stream r;
	struct kept *k;
	u64 seed;
	u32 i;

	(void)state;
	for (seed = 1; seed <= 12; seed++) {
		random_store(&f, &r, seed);
		assert_true(r.nchunks > 8);
		for (i = 0; i < sizeof(pers) / sizeof(*pers); i++) {
			k = keep(&f, 1 << 20, NULL, pers[i]);
			assert_true(pers[i] > 7 || k->n > 1);
			assert_true(pers[i] < 1000 || k->n == 1);
			fold_profile(&f, 1 << 20, NULL);
			fold_check_same(&k->whole, f.p);
			check_sums(k);
			check_division(&f, k, pers[i]);
			check_selections(&f, k);
			free_kept(k);
		}
		fold_store_close(&f);
		stream_free(&r);
	}
}

/* Intervals of a thread and of a process: their sums are the thread's and the process's counts. */
static void parts_of_a_store(void **state)
{
	struct dep_fold_options o;
	struct fold_store f;
	struct stream r;
	struct kept *k;
	u32 i;

	(void)state;
	random_store(&f, &r, 33);
	for (i = 1; i <= 5; i++) {
		o = (struct dep_fold_options){ .thread = i < 4 ? i : 0,
					       .process = i < 4 ? 0 : i - 3 };
		fold_profile(&f, 1, &o);
		k = keep(&f, 1, &o, 3);
		assert_true(k->n > 1 && k->whole.insns);
		fold_check_same(&k->whole, f.p);
		check_sums(k);
		free_kept(k);
	}
	fold_store_close(&f);
	stream_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(segments_count_where_they_begin, set_up,
						fold_tear_down),
		cmocka_unit_test_setup_teardown(interruptions_count_where_they_are_shown, set_up,
						fold_tear_down),
		cmocka_unit_test_setup_teardown(too_many_intervals, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(before_the_start, set_up, fold_tear_down),
		cmocka_unit_test(random_intervals),
		cmocka_unit_test(parts_of_a_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
