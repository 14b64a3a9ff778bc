// SPDX-License-Identifier: GPL-2.0-or-later
#include "dep/symbols.h"
#include "contexts_store.h"

/*
 * main calls HELPER at two sites, and OTHER, which HELPER calls too.  At its end it jumps to its
 * beginning.  HANDLER is for a signal.
 */
enum { MAIN, MAIN_2, MAIN_3, MAIN_4, HELPER, HELPER_2, OTHER, HANDLER, FRAGMENTS };

#define MAIN_PC		0x1000ull
#define HELPER_PC	0x2000ull
#define OTHER_PC	0x3000ull
#define HANDLER_PC	0x4000ull
#define RSP		0x8000ull

static const struct stream_code codes[FRAGMENTS] = {
	/* call HELPER; call HELPER; call OTHER; jmp MAIN */
	[MAIN] = FOLD_CODE(MAIN_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[MAIN_2] = FOLD_CODE(MAIN_PC + 5, 0xe8, 0xf6, 0x0f, 0, 0),
	[MAIN_3] = FOLD_CODE(MAIN_PC + 10, 0xe8, 0xf1, 0x1f, 0, 0),
	[MAIN_4] = FOLD_CODE(MAIN_PC + 15, 0xe9, 0xec, 0xff, 0xff, 0xff),
	/* call OTHER; nop; ret */
	[HELPER] = FOLD_CODE(HELPER_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[HELPER_2] = FOLD_CODE(HELPER_PC + 5, 0x90, 0xc3),
	/* push rax; pop rax; ret */
	[OTHER] = FOLD_CODE(OTHER_PC, 0x50, 0x58, 0xc3),
	/* nop; nop; jmp HANDLER */
	[HANDLER] = FOLD_CODE(HANDLER_PC, 0x90, 0x90, 0xeb, 0xfc),
};

/* Stands for libdep/symbols: no caller is found. */
size_t dep_symbols_unwind(struct dep_symbols *symbols, uint32_t process, uint64_t time_ns,
			  const struct dep_stack *stack, struct dep_stack_frame *out, size_t max)
{
	(void)symbols;
	(void)process;
	(void)time_ns;
	(void)stack;
	(void)out;
	(void)max;
	return 0;
}

int contexts_store_set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

/* ---- stores ---- */

static void run_main(struct fold_chunk *c)
{
	static const u32 run[] = { MAIN, HELPER, OTHER, HELPER_2, MAIN_2, HELPER, OTHER, HELPER_2,
				   MAIN_3, OTHER, MAIN_4 };
	size_t i;

	for (i = 0; i < sizeof(run) / sizeof(*run); i++)
		fold_run(c, run[i]);
}

static struct fold_chunk chunk(u64 seq)
{
	return (struct fold_chunk){ .seq = seq, .rsp = RSP };
}

/* Thread 1 forks thread 3 and handles a signal; of thread 2 the beginning is not known. */
static void write_threads(struct fold_store *f)
{
	struct fold_chunk c;
	u64 seq;

	for (seq = 0; seq < 3; seq++) {
		c = chunk(seq);
		if (!seq)
			fold_start(&c);
		run_main(&c);
		if (seq == 1) {
			fold_run(&c, MAIN);
			fold_run(&c, HELPER);
			fold_fork(&c, FOLD_CHILD);
			fold_run(&c, OTHER);
			fold_run(&c, HELPER_2);
			fold_run(&c, MAIN_2);
			fold_signal(&c, HELPER_PC);
			fold_registers(&c, HANDLER_PC, RSP - 0x1000);
			fold_run(&c, HANDLER);
		} else if (seq == 2) {
			fold_run(&c, HANDLER);
		}
		fold_store_segment(f, 1, &c);
		if (seq == 2)
			continue;
		c = chunk(seq);
		run_main(&c);
		fold_store_segment(f, 2, &c);
		c = chunk(seq);
		c.rsp = RSP - 16;
		if (!seq)
			fold_start(&c);
		fold_run(&c, OTHER);
		fold_run(&c, HELPER_2);
		fold_store_segment(f, 3, &c);
	}
}

static void open_store(struct contexts_store *s)
{
	const struct dep_contexts_options o = { .times = true };

	fold_store_open(&s->f);
	kept_bytes_begin(&s->file, &s->f, &dep_contexts_file);
	if (dep_contexts_make(s->f.s, s->f.code, &o, &s->whole))
		fail_msg("%s", dep_error());
}

void contexts_store_begin(struct contexts_store *s, u64 more)
{
	struct fold_chunk c;
	u64 seq;

	memset(s, 0, sizeof(*s));
	fold_store_begin(&s->f, fold_stream.desc, fold_stream.desc_size);
	write_threads(&s->f);
	for (seq = 2; seq < 2 + more; seq++) {
		c = chunk(seq);
		run_main(&c);
		fold_store_segment(&s->f, 2, &c);
	}
	open_store(s);
}

void contexts_store_begin_attached(struct contexts_store *s)
{
	struct fold_chunk c = chunk(0);

	memset(s, 0, sizeof(*s));
	fold_attach(&c);
	fold_stack(&c, RSP, 64);
	fold_registers(&c, MAIN_PC, RSP);
	run_main(&c);
	fold_store_begin(&s->f, fold_stream.desc, fold_stream.desc_size);
	fold_store_segment(&s->f, 1, &c);
	open_store(s);
}

void contexts_store_end(struct contexts_store *s)
{
	dep_contexts_free(s->whole);
	kept_bytes_end(&s->file);
	fold_store_close(&s->f);
}

/* ---- contexts ---- */

struct dep_contexts *contexts_store_make(struct contexts_store *s,
					 const struct dep_contexts_options *o)
{
	struct dep_contexts *c;

	if (dep_contexts_make_kept(s->f.s, s->f.code, o, &c))
		fail_msg("%s", dep_error());
	return c;
}

void contexts_store_check(struct contexts_store *s, bool times)
{
	const struct dep_contexts_options o = { .times = times };
	struct dep_contexts *c = contexts_store_make(s, &o);

	fold_same_rows(s->whole, c, context, ncontexts);
	fold_same_rows(s->whole, c, share, nshares);
	if (times)
		fold_same_rows(s->whole, c, time, ntimes);
	else
		assert_true(!c->ntimes && !c->time);
	assert_int_equal(c->unknown_returns, s->whole->unknown_returns);
	assert_int_equal(c->recovered, s->whole->recovered);
	assert_int_equal(c->not_counted, 0);
	assert_int_equal(c->loss.segments, 0);
	assert_int_equal(c->loss.gaps, s->whole->loss.gaps);
	dep_contexts_free(c);
}

void contexts_store_mark(struct contexts_store *s)
{
	kept_read(&s->file);
	kept_header(&s->file)->word[DEP_KEPT_UNKNOWN_RETURNS] += 1000;
	kept_seal(&s->file);
}

bool contexts_store_is_marked(struct contexts_store *s, bool times)
{
	const struct dep_contexts_options o = { .times = times };
	struct dep_contexts *c = contexts_store_make(s, &o);
	bool marked = c->unknown_returns == s->whole->unknown_returns + 1000;

	assert_true(marked || c->unknown_returns == s->whole->unknown_returns);
	dep_contexts_free(c);
	return marked;
}
