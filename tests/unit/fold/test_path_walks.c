// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths of stores that no program makes: random walks over a few functions, with calls that do not
 * return, returns without a call, jumps to anywhere, gaps, interrupted code and rewritten code.
 * The paths must be those that the model counts naively.
 */
#include "fold_store.h"
#include "path_model.h"

enum {
	M0, M1, M2, M3, F0, F1, F1_NEW, F2, F3, F4, F5, F6, F7, F8, F9, G0, G1, G2, H0, H1, RUNS
};

#define M_PC	0x4000ull
#define F_PC	0x1000ull
#define G_PC	0x2000ull
#define H_PC	0x3000ull
#define RSP	0x800000ull
#define DEPTH	64
#define WALKS	400

static const struct stream_code codes[RUNS] = {
	/* call F; call G; call H; jmp M0 */
	[M0] = FOLD_CODE(M_PC, 0xe8, 0xfb, 0xcf, 0xff, 0xff),
	[M1] = FOLD_CODE(M_PC + 5, 0xe8, 0xf6, 0xdf, 0xff, 0xff),
	[M2] = FOLD_CODE(M_PC + 10, 0xe8, 0xf1, 0xef, 0xff, 0xff),
	[M3] = FOLD_CODE(M_PC + 15, 0xeb, 0xef),
	/* nop; je F2.  nop or clc; jmp F3.  nop; nop; F3: call G */
	[F0] = FOLD_CODE(F_PC, 0x90, 0x74, 0x03),
	[F1] = FOLD_CODE(F_PC + 3, 0x90, 0xeb, 0x02),
	[F1_NEW] = FOLD_CODE(F_PC + 3, 0xf8, 0xeb, 0x02),
	[F2] = FOLD_CODE(F_PC + 6, 0x90, 0x90, 0xe8, 0xf3, 0x0f, 0, 0),
	[F3] = FOLD_CODE(F_PC + 8, 0xe8, 0xf3, 0x0f, 0, 0),
	/* jne F3; jne F1: a loop with two entries.  F6: nop; jne F6; jmp rax */
	[F4] = FOLD_CODE(F_PC + 13, 0x75, 0xf9),
	[F5] = FOLD_CODE(F_PC + 15, 0x75, 0xf2),
	[F6] = FOLD_CODE(F_PC + 17, 0x90, 0x75, 0xfd),
	[F7] = FOLD_CODE(F_PC + 20, 0xff, 0xe0),
	/* ret.  nop; jmp F1 */
	[F8] = FOLD_CODE(F_PC + 22, 0xc3),
	[F9] = FOLD_CODE(F_PC + 23, 0x90, 0xeb, 0xe9),
	/* nop; jne G2; ret; G2: jmp H */
	[G0] = FOLD_CODE(G_PC, 0x90, 0x75, 0x01),
	[G1] = FOLD_CODE(G_PC + 3, 0xc3),
	[G2] = FOLD_CODE(G_PC + 4, 0xe9, 0xf7, 0x0f, 0, 0),
	/* nop; jne H0; ret */
	[H0] = FOLD_CODE(H_PC, 0x90, 0x75, 0xfd),
	[H1] = FOLD_CODE(H_PC + 3, 0xc3),
};

/* The nops of F2, without its call: an event interrupts it there. */
static const struct model_run piece = {
	.pc = F_PC + 6, .next = F_PC + 8, .bytes = (const u8[]){ 0x90, 0x90 }, .nbytes = 2,
	.branch = DEP_BRANCH_NONE,
};

static struct model_run runs[RUNS];

static int set_up(void **state)
{
	static const u8 kind[RUNS] = {
		[M0] = DEP_BRANCH_CALL, [M1] = DEP_BRANCH_CALL, [M2] = DEP_BRANCH_CALL,
		[M3] = DEP_BRANCH_JUMP, [F0] = DEP_BRANCH_COND, [F1] = DEP_BRANCH_JUMP,
		[F1_NEW] = DEP_BRANCH_JUMP, [F2] = DEP_BRANCH_CALL, [F3] = DEP_BRANCH_CALL,
		[F4] = DEP_BRANCH_COND, [F5] = DEP_BRANCH_COND, [F6] = DEP_BRANCH_COND,
		[F7] = DEP_BRANCH_JUMP_INDIRECT, [F8] = DEP_BRANCH_RETURN, [F9] = DEP_BRANCH_JUMP,
		[G0] = DEP_BRANCH_COND, [G1] = DEP_BRANCH_RETURN, [G2] = DEP_BRANCH_JUMP,
		[H0] = DEP_BRANCH_COND, [H1] = DEP_BRANCH_RETURN,
	};
	static const u64 target[RUNS] = {
		[M0] = F_PC, [M1] = G_PC, [M2] = H_PC, [M3] = M_PC, [F0] = F_PC + 6,
		[F1] = F_PC + 8, [F1_NEW] = F_PC + 8, [F2] = G_PC, [F3] = G_PC, [F4] = F_PC + 8,
		[F5] = F_PC + 3, [F6] = F_PC + 17, [F9] = F_PC + 3, [G0] = G_PC + 4, [G2] = H_PC,
		[H0] = H_PC,
	};
	u32 i;

	(void)state;
	fold_set_up(codes, RUNS);
	for (i = 0; i < RUNS; i++)
		runs[i] = (struct model_run){
			.pc = codes[i].pc, .next = codes[i].pc + codes[i].len,
			.target = target[i], .bytes = codes[i].bytes, .nbytes = codes[i].len,
			.branch = kind[i],
		};
	return 0;
}

/* ---- the walk ---- */

/* An activation; @trace: 1 + number, 0: none; @last: the run that was executed last. */
struct activation {
	u64 function;
	size_t trace;
	const struct model_run *last;
	u32 back;		/* the run behind the call */
};

struct walk {
	struct fold_store f;
	struct model m;
	struct fold_chunk c;
	struct activation stack[DEPTH];
	u32 depth, next;	/* the run that is executed next */
	u64 insns;
	u32 gaps, odd, interrupted, first_returns, rewritten;
};

static u32 any(u32 n)
{
	return (u32)(stream_random(&fold_stream) % n);
}

static struct activation *top(struct walk *w)
{
	return w->stack + w->depth - 1;
}

static bool leads_to(const struct model_run *r, u64 pc)
{
	switch (r->branch) {
	case DEP_BRANCH_COND:
		return pc == r->next || pc == r->target;
	case DEP_BRANCH_JUMP:
		return pc == r->target;
	case DEP_BRANCH_JUMP_INDIRECT:
		return true;
	default:
		return pc == r->next;
	}
}

/* The activation at work executes @r. */
static void model_run(struct walk *w, const struct model_run *r)
{
	struct activation *a = top(w);

	if (!a->trace || !leads_to(a->last, r->pc))
		a->trace = model_begin(&w->m, a->function) + 1;
	model_add(&w->m, a->trace - 1, r);
	a->last = r;
}

static void end_trace(struct walk *w, bool whole)
{
	struct activation *a = top(w);

	if (a->trace)
		w->m.trace[a->trace - 1].whole = whole;
	a->trace = 0;
}

static void enter(struct walk *w, u64 function, u32 back)
{
	assert_true(w->depth < DEPTH);
	w->stack[w->depth++] = (struct activation){ .function = function, .back = back };
}

static void close_chunk(struct walk *w, u64 rsp_now)
{
	u64 seq = w->c.seq;

	fold_store_segment(&w->f, 1, &w->c);
	memset(&w->c, 0, sizeof(w->c));
	w->c.seq = seq + 1;
	w->c.rsp = rsp_now;
}

/* Segments are missing: nothing is known of the stack. */
static void gap(struct walk *w, u64 rsp_now)
{
	static const u32 begin[] = { M0, M1, F0, F3, G0, H0 };

	close_chunk(w, rsp_now);
	w->c.seq++;
	w->depth = 0;
	w->next = begin[any(6)];
	enter(w, runs[w->next].pc, 0);
	w->gaps++;
}

static u32 after_call(u32 run)
{
	static const u32 next[RUNS] = { [M0] = M1, [M1] = M2, [M2] = M3, [F2] = F4, [F3] = F4 };

	return next[run];
}

static u32 entry_of(u64 pc)
{
	return pc == F_PC ? F0 : pc == G_PC ? G0 : H0;
}

/* What jumps to F1 executes one of its versions. */
static u32 version(struct walk *w)
{
	if (any(4))
		return F1;
	w->rewritten++;
	return F1_NEW;
}

/* Where a branch inside of a function leads to. */
static u32 choose(struct walk *w, u32 run)
{
	switch (run) {
	case F0:
		return any(2) ? F2 : version(w);
	case F1:
	case F1_NEW:
		return F3;
	case F4:
		return any(3) ? F5 : F3;
	case F5:
		return any(3) ? F6 : version(w);
	case F6:
		return any(2) ? F7 : F6;
	case F7:
		return any(3) ? F8 : F9;
	case F9:
		return version(w);
	case G0:
		return any(2) ? G1 : G2;
	case H0:
		return any(2) ? H1 : H0;
	default:
		return M0;
	}
}

/* Jumps that nothing in the code explains; not behind those that can call another function. */
static bool may_be_odd(u32 run)
{
	return run == F0 || run == F1 || run == F1_NEW || run == F4 || run == F5 || run == F6 ||
	       run == F9 || run == G0;
}

static void take_return(struct walk *w, u64 *rsp_now)
{
	static const u32 back[] = { M1, M2, M3 };
	u32 next = top(w)->back;

	end_trace(w, true);
	w->depth--;
	*rsp_now += 8;
	if (!w->depth) {
		/* It was called in front of the gap. */
		next = back[any(3)];
		enter(w, runs[next].pc, 0);
		w->first_returns++;
	}
	w->next = next;
}

/* A conditional jump has an exit for each way. */
static void put_run(struct walk *w, u32 run, u32 next)
{
	fold_exit(&w->c, fold_stream.frag[run].id + (runs[run].branch == DEP_BRANCH_COND &&
						     runs[next].pc != runs[run].target));
}

/* Execute the next run, and choose the one behind it. */
static void step(struct walk *w, u64 *rsp_now)
{
	static const u32 odd[] = { F1, F1_NEW, F2, F3, F4, F5, F6, F7, F8, F9 };
	const struct model_run *r = runs + w->next;
	u32 run = w->next, next = choose(w, run);

	if (run == F2 && !any(4)) {
		fold_partial(&w->c, fold_stream.frag[F2].id, 2);
		fold_registers(&w->c, piece.next, *rsp_now);
		model_run(w, &piece);
		w->insns += 2;
		w->next = F3;
		w->interrupted++;
		return;
	}
	if (may_be_odd(run) && !any(12)) {
		next = odd[any(10)];
		w->odd++;
	}
	put_run(w, run, next);
	model_run(w, r);
	w->insns += fold_stream.frag[run].ninsns;
	switch (r->branch) {
	case DEP_BRANCH_CALL:
		enter(w, r->target, after_call(run));
		*rsp_now -= 8;
		w->next = entry_of(r->target);
		return;
	case DEP_BRANCH_RETURN:
		take_return(w, rsp_now);
		return;
	default:
		break;
	}
	if (run == G2) {
		end_trace(w, true);
		top(w)->function = H_PC;
		w->next = H0;
		return;
	}
	w->next = next;
}

static void take_walk(struct walk *w, u32 steps)
{
	u64 rsp_now = RSP;
	u32 run = M0;

	w->c.rsp = RSP;
	fold_start(&w->c);
	enter(w, M_PC, 0);
	w->next = M0;
	/* A tail call has ended the path when the other function has begun. */
	while (steps || run == G2) {
		steps -= steps > 0;
		run = w->next;
		step(w, &rsp_now);
		/* Of these, the chunk would not say where they lead to. */
		if (run == G2 || runs[run].branch == DEP_BRANCH_RETURN)
			continue;
		/* Whether the interrupted code goes on or not. */
		if (!any(run == F2 ? 3 : 60))
			gap(w, rsp_now);
		else if (w->c.n > WORDS - 64 || !any(30))
			close_chunk(w, rsp_now);
	}
	close_chunk(w, rsp_now);
}

static void check(struct walk *w, u32 iterations)
{
	const struct dep_path_profile_options o = { .iterations = iterations };
	struct dep_path_profile *p;

	if (dep_path_profile_make(w->f.s, w->f.code, &o, &p))
		fail_msg("%s", dep_error());
	assert_int_equal(p->insns, w->insns);
	assert_int_equal(p->not_counted, 0);
	assert_int_equal(p->loss.gaps, w->gaps);
	model_check(&w->m, p, iterations);
	dep_path_profile_free(p);
}

/* Each path alone, and behind the paths in front of it. */
static void walk(struct walk *w, u32 steps)
{
	memset(w, 0, sizeof(*w));
	fold_store_begin(&w->f, fold_stream.desc, fold_stream.desc_size);
	take_walk(w, steps);
	fold_store_open(&w->f);
	fold_profile(&w->f, 1 << 20, NULL);
	assert_int_equal(w->f.p->insns, w->insns);
	check(w, 1);
	check(w, 2 + any(4));
	fold_store_close(&w->f);
	model_free(&w->m);
}

static void random_walks(void **state)
{
	u32 i, gaps = 0, odd = 0, interrupted = 0, returns = 0, rewritten = 0;
	struct walk *w = malloc(sizeof(*w));

	(void)state;
	assert_non_null(w);
	for (i = 0; i < WALKS; i++) {
		/* In short ones, much of the code is never executed. */
		walk(w, 10 + any(i % 4 ? 20 : i + 10));
		gaps += w->gaps;
		odd += w->odd;
		interrupted += w->interrupted;
		returns += w->first_returns;
		rewritten += w->rewritten;
	}
	free(w);
	assert_true(gaps > 50 && odd > 50 && interrupted > 50 && returns > 50 && rewritten > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_walks, set_up, fold_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
