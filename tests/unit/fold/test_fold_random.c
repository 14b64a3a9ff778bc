// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random streams, folded, against a count of each executed instruction and branch: by the model
 * that wrote the stream, and by recovery.
 */
#include "fold_store.h"

#define STEPS 60

/* What the thread did, in order. */
struct step {
	enum { RUN, PARTIAL, CONTEXT } what;
	u32 frag;
	u32 ninsns;
	u32 exit;		/* RUN */
	u64 pc;			/* CONTEXT */
};

struct edge {
	u64 from, to, count;
	u32 kind, taken;
};

struct model {
	struct step step[8 * STEPS];
	u32 nsteps;
	struct dep_insn_count insn[4096];
	u32 ninsns;
	struct edge edge[4096];
	u32 nedges;
	u64 at;			/* where the thread goes on; 0: unknown */
	u64 pending;		/* an indirect branch whose target has not been seen; or 0 */
	u32 pending_kind;
	u64 insns, refs;
};

/* ---- the expected rows, instruction by instruction ---- */

static void add_insn(struct model *m, u64 pc, u32 refs)
{
	u32 i;

	m->insns++;
	m->refs += refs;
	for (i = 0; i < m->ninsns && m->insn[i].pc != pc; i++)
		;
	assert_true(i < 4096);
	m->insn[i].pc = pc;
	m->insn[i].count++;
	m->ninsns += i == m->ninsns;
}

static void add_edge(struct model *m, u64 from, u64 to, u32 kind, u32 taken)
{
	u32 i;

	for (i = 0; i < m->nedges; i++)
		if (m->edge[i].from == from && m->edge[i].to == to && m->edge[i].kind == kind &&
		    m->edge[i].taken == taken)
			break;
	assert_true(i < 4096);
	m->edge[i].from = from;
	m->edge[i].to = to;
	m->edge[i].kind = kind;
	m->edge[i].taken = taken;
	m->edge[i].count++;
	m->nedges += i == m->nedges;
}

static void expect_at(struct model *m, u64 pc)
{
	if (m->pending) {
		add_edge(m, m->pending, pc, m->pending_kind, 1);
		m->pending = 0;
	} else if (m->at != pc) {
		if (m->at)
			add_edge(m, m->at, 0, DEP_EDGE_LEFT, 0);
		add_edge(m, 0, pc, DEP_EDGE_ENTERED, 0);
	}
	m->at = pc;
}

static u32 kind_of(const struct x86_insn *in)
{
	switch (in->kind) {
	case X86_JCC:
		return DEP_BRANCH_COND;
	case X86_JMP:
		return DEP_BRANCH_JUMP;
	case X86_JMP_IND:
		return DEP_BRANCH_JUMP_INDIRECT;
	case X86_CALL:
		return DEP_BRANCH_CALL;
	case X86_RET:
		return DEP_BRANCH_RETURN;
	case X86_SYSCALL:
		return DEP_BRANCH_SYSCALL;
	default:
		return DEP_BRANCH_NONE;
	}
}

/* The exit behind instruction @i of @f. */
static void expect_exit(struct model *m, const struct stream_frag *f, u32 i, u32 x)
{
	u32 kind = kind_of(&f->insn[i]), second = x && f->exit[x - 1].ninsns == f->exit[x].ninsns;

	m->at = f->exit[x].target;
	if (f->exit[x].kind == ADEPT_X_INDIRECT) {
		m->pending = f->pc[i];
		m->pending_kind = kind;
		m->at = 0;
	} else if (kind) {
		add_edge(m, f->pc[i], m->at, kind, kind != DEP_BRANCH_COND || !second);
	}
}

static void expect_step(struct model *m, const struct stream *s, const struct step *step)
{
	const struct stream_frag *f = &s->frag[step->frag];
	u32 i, kind;

	if (step->what == CONTEXT) {
		expect_at(m, step->pc);
		return;
	}
	expect_at(m, f->pc[0]);
	for (i = 0; i < step->ninsns; i++) {
		add_insn(m, f->pc[i], f->insn[i].nmem);
		if (step->what == RUN && i + 1 == step->ninsns)
			break;
		kind = kind_of(&f->insn[i]);
		if (kind == DEP_BRANCH_COND)
			add_edge(m, f->pc[i], f->pc[i] + f->insn[i].len, kind, 0);
		else if (kind == DEP_BRANCH_JUMP)
			add_edge(m, f->pc[i], x86_branch_target(&f->insn[i], f->pc[i]), kind, 1);
	}
	if (step->what == RUN)
		expect_exit(m, f, i, step->exit);
	else
		m->at = f->pc[step->ninsns];
}

static void expect_all(struct model *m, const struct stream *s)
{
	u32 i;

	for (i = 0; i < m->nsteps; i++)
		expect_step(m, s, &m->step[i]);
	if (m->at)
		add_edge(m, m->at, 0, DEP_EDGE_LEFT, 0);
}

/* ---- random steps ---- */

static struct step *next_step(struct model *m)
{
	assert_true(m->nsteps < 8 * STEPS);
	return &m->step[m->nsteps++];
}

static void go_to(struct model *m, struct stream *s, u64 pc)
{
	stream_context(s, pc);
	*next_step(m) = (struct step){ .what = CONTEXT, .pc = pc };
}

static void random_step(struct model *m, struct stream *s, u64 *at)
{
	const struct stream_frag *f;
	u32 n = stream_random(s) % s->nfrags, x, k;

	f = &s->frag[n];
	/* Direct exits go on at their target: to other code only by an event. */
	if (f->entry_mask & ~s->known || (*at && *at != f->pc[0]) || stream_random(s) % 8 == 0)
		go_to(m, s, f->pc[0]);
	if (stream_random(s) % 8 == 0) {
		k = stream_random(s) % f->ninsns;
		*next_step(m) = (struct step){ .what = PARTIAL, .frag = n, .ninsns = k };
		stream_partial(s, n, k);
		*next_step(m) = (struct step){ .what = CONTEXT, .pc = s->frag[n].pc[k] };
		*at = s->frag[n].pc[k];
		return;
	}
	x = stream_random(s) % f->nexits;
	*next_step(m) = (struct step){ .what = RUN, .frag = n, .ninsns = f->exit[x].ninsns,
				       .exit = x };
	*at = f->exit[x].kind == ADEPT_X_INDIRECT ? 0 : f->exit[x].target;
	stream_run(s, n, x);
	if (s->frag[n].exit[x].kind == ADEPT_X_SYSCALL) {
		struct adept_ev_syscall call = { .nr = 39 };

		stream_event(s, ADEPT_EV_SYSCALL, &call);
	}
}

static void make(struct model *m, struct stream *s, u64 seed)
{
	u64 at = 0;
	u32 i;

	memset(m, 0, sizeof(*m));
	stream_init(s, seed);
	s->no_room = seed & 1;
	stream_standard(s);
	for (i = 0; i < STEPS; i++) {
		if (stream_random(s) % 4 == 0)
			s->split_at = s->stores + (long)(stream_random(s) % 4);
		random_step(m, s, &at);
		if (stream_random(s) % 16 == 0)
			stream_close(s);
	}
	stream_close(s);
	expect_all(m, s);
}

static void begin(struct fold_store *f, const struct stream *s, u32 threads)
{
	u32 t;
	size_t i;

	fold_store_begin(f, s->desc, s->desc_size);
	for (t = 1; t <= threads; t++)
		for (i = 0; i < s->nchunks; i++)
			if (dep_writer_segment(f->w, t, &s->chunk[i].c, s->chunk[i].body))
				fail_msg("%s", dep_error());
	fold_store_open(f);
}

/* ---- tests ---- */

static void compare(const struct model *m, const struct dep_profile *p)
{
	u64 edges = 0, want = 0;
	u32 i;

	assert_int_equal(p->insns, m->insns);
	assert_int_equal(p->refs, m->refs);
	assert_int_equal(p->thread[0].insns, m->insns);
	assert_int_equal(p->thread[0].refs, m->refs);
	assert_int_equal(p->ninsns, m->ninsns);
	for (i = 0; i < m->ninsns; i++)
		assert_int_equal(fold_count(p, m->insn[i].pc), m->insn[i].count);
	for (i = 0; i < m->nedges; i++) {
		const struct edge *e = &m->edge[i];
		int taken = e->kind < DEP_EDGE_ENTERED ? (int)e->taken : -1;
		u64 n = fold_edge(p, e->from, e->to, e->kind, taken);

		if (n != e->count)
			fail_msg("edge %lx -> %lx, kind %u, taken %d: %lu instead of %lu", e->from,
				 e->to, e->kind, taken, n, e->count);
		want += n;
	}
	for (i = 0; i < p->nedges; i++)
		edges += p->edge[i].count;
	assert_int_equal(edges, want);
}

static u64 recovered(struct dep_store *s)
{
	const struct dep_segment *seg;
	struct dep_counts counts = { 0 };
	size_t i, n = dep_store_segments(s, &seg);

	for (i = 0; i < n; i++)
		assert_int_equal(dep_recover_segment(s, &seg[i], NULL, &counts), 0);
	return counts.instructions;
}

static struct model model;

static void rows_are_those_of_the_model(void **state)
{
	struct fold_store f;
	struct stream s;
	u64 seed;

	(void)state;
	for (seed = 1; seed <= 40; seed++) {
		make(&model, &s, seed);
		begin(&f, &s, 1);
		fold_profile(&f, 1 << 20, NULL);
		compare(&model, f.p);
		assert_int_equal(f.p->insns, recovered(f.s));
		fold_check_division(&f, NULL);
		fold_store_close(&f);
		stream_free(&s);
	}
}

static u64 sum_of_counts(const struct dep_profile *p)
{
	u64 n = 0;
	size_t i;

	for (i = 0; i < p->ninsns; i++)
		n += p->insn[i].count;
	return n;
}

/* Threads 1 and 2 are of process 1, thread 3 of process 2: all did the same. */
static void parts_make_the_whole(void **state)
{
	struct dep_fold_options o;
	struct fold_store f;
	struct stream s;
	u64 from, sum, one;
	u32 t;

	(void)state;
	make(&model, &s, 77);
	begin(&f, &s, 3);
	fold_profile(&f, 1 << 20, NULL);
	assert_int_equal(f.p->insns, 3 * model.insns);
	assert_int_equal(f.p->nthreads, 3);
	assert_int_equal(sum_of_counts(f.p), f.p->insns);
	fold_check_division(&f, NULL);
	for (t = 1; t <= 3; t++) {
		o = (struct dep_fold_options){ .thread = t };
		fold_profile(&f, 1, &o);
		compare(&model, f.p);
		assert_int_equal(f.p->insn[0].process, t < 3 ? 1 : 2);
		fold_check_division(&f, &o);
	}
	for (t = 1; t <= 2; t++) {
		o = (struct dep_fold_options){ .process = t };
		fold_profile(&f, 1, &o);
		assert_int_equal(f.p->insns, (t == 1 ? 2 : 1) * model.insns);
	}
	for (from = 0, sum = 0; from < s.nchunks; from += 3) {
		o = (struct dep_fold_options){ .from_ns = 1000 + from, .to_ns = 1003 + from };
		fold_profile(&f, 1 << 20, &o);
		sum += f.p->insns;
		assert_int_equal(sum_of_counts(f.p), f.p->insns);
		fold_check_division(&f, &o);
	}
	assert_int_equal(sum, 3 * model.insns);
	/* Nothing is selected: no rows and no error. */
	o = (struct dep_fold_options){ .thread = 9 };
	fold_profile(&f, 1, &o);
	assert_int_equal(f.p->ninsns + f.p->nedges + f.p->ntimes, 0);
	/* Times of segments: each ends where the next one of its thread begins. */
	fold_profile(&f, 1, NULL);
	assert_int_equal(f.p->ntimes, 3 * s.nchunks);
	for (t = 0, one = 0; t < f.p->ntimes; t++) {
		one += f.p->time[t].insns;
		assert_int_equal(f.p->time[t].end_ns - f.p->time[t].start_ns,
				 t / 3 + 1 < s.nchunks);
	}
	assert_int_equal(one, f.p->insns);
	fold_store_close(&f);
	stream_free(&s);
}

/* A store whose middle segment is missing: what is left is the same in any division. */
static void missing_segments(void **state)
{
	struct fold_store f;
	struct stream s;
	size_t gone, i;

	(void)state;
	make(&model, &s, 5);
	for (gone = 0; gone < s.nchunks; gone++) {
		fold_store_begin(&f, s.desc, s.desc_size);
		for (i = 0; i < s.nchunks; i++)
			if (i != gone)
				assert_int_equal(dep_writer_segment(f.w, 1, &s.chunk[i].c,
								    s.chunk[i].body), 0);
		fold_store_open(&f);
		fold_profile(&f, 1 << 20, NULL);
		assert_int_equal(f.p->loss.gaps, gone && gone + 1 < s.nchunks);
		assert_int_equal(sum_of_counts(f.p), f.p->insns);
		fold_check_division(&f, NULL);
		fold_store_close(&f);
	}
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_the_model),
		cmocka_unit_test(parts_make_the_whole),
		cmocka_unit_test(missing_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
