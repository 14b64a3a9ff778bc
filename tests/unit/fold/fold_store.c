// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "fold_store.h"

struct stream fold_stream;

void fold_set_up(const struct stream_code *codes, u32 n)
{
	u32 i;

	stream_init(&fold_stream, 1);
	for (i = 0; i < n; i++)
		stream_fragment(&fold_stream, &codes[i]);
}

int fold_tear_down(void **state)
{
	(void)state;
	stream_free(&fold_stream);
	return 0;
}

static void put(struct fold_chunk *c, u32 id, const void *payload, u32 size)
{
	assert_true(c->n + 1 + size / 4 <= WORDS);
	c->word[c->n++] = id;
	memcpy(&c->word[c->n], payload, size);
	c->n += size / 4;
}

void fold_exit(struct fold_chunk *c, u32 id)
{
	put(c, id, "", 0);
}

void fold_run(struct fold_chunk *c, u32 frag)
{
	fold_exit(c, fold_stream.frag[frag].id);
}

void fold_partial(struct fold_chunk *c, u32 frag, u32 ninsns)
{
	struct adept_ev_partial ev = { .frag = frag, .ninsns = ninsns };

	put(c, ADEPT_EV_PARTIAL, &ev, sizeof(ev));
}

void fold_signal(struct fold_chunk *c, u64 pc)
{
	struct adept_ev_signal ev = { .signo = 11, .pc = pc };

	put(c, ADEPT_EV_SIGNAL, &ev, sizeof(ev));
}

void fold_sigreturn(struct fold_chunk *c)
{
	const u32 padding = 0;

	put(c, ADEPT_EV_SIGRETURN, &padding, sizeof(padding));
}

void fold_registers(struct fold_chunk *c, u64 pc, u64 rsp)
{
	struct adept_ev_context ev = { .pc = pc, .regs = { [X86_RSP] = rsp } };

	put(c, ADEPT_EV_CONTEXT, &ev, sizeof(ev));
}

void fold_context(struct fold_chunk *c, u64 pc)
{
	fold_registers(c, pc, 0);
}

void fold_attach(struct fold_chunk *c)
{
	struct adept_ev_attach ev = { .tid = 100 };

	put(c, ADEPT_EV_ATTACH, &ev, sizeof(ev));
}

void fold_stack(struct fold_chunk *c, u64 address, u32 size)
{
	struct adept_ev_stack ev = { .address = address, .size = size };

	put(c, ADEPT_EV_STACK, &ev, sizeof(ev));
}

void fold_start(struct fold_chunk *c)
{
	struct adept_ev_start ev = { 0 };

	put(c, ADEPT_EV_THREAD_START, &ev, sizeof(ev));
}

void fold_fork(struct fold_chunk *c, u32 pid)
{
	struct adept_ev_fork ev = { .pid = pid };

	put(c, ADEPT_EV_FORK, &ev, sizeof(ev));
}

void fold_store_begin(struct fold_store *f, const void *desc, size_t size)
{
	struct dep_meta meta = { .cwd = "/" };
	struct dep_process p = { .serial = 1, .pid = 100, .start_ns = 1, .exe = "/bin/prog" };
	struct dep_process child = { .serial = 2, .pid = FOLD_CHILD, .parent = 1,
				     .cause = ADEPT_BY_FORK, .start_ns = 2 };
	/* The log has threads in any order. */
	static const u32 threads[] = { 2, 1, 3 };
	struct dep_thread t = { .tid = 100, .start_ns = 2 };
	size_t i;

	memset(f, 0, sizeof(*f));
	scratch_name(f->dir, sizeof(f->dir));
	assert_int_equal(dep_writer_create(&f->w, f->dir, &meta, 0), 0);
	assert_int_equal(dep_writer_process(f->w, &p), 0);
	assert_int_equal(dep_writer_process(f->w, &child), 0);
	for (i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		t.serial = threads[i];
		t.process = t.serial < 3 ? 1 : 2;
		if (t.serial == 3) {
			t.tid = FOLD_CHILD;
			t.parent = 1;
		}
		assert_int_equal(dep_writer_thread(f->w, &t), 0);
	}
	if (dep_writer_descriptors(f->w, 1, desc, size))
		fail_msg("%s", dep_error());
}

void fold_store_segment(struct fold_store *f, u32 thread, const struct fold_chunk *c)
{
	struct adept_chunk raw = {
		.seq = c->seq, .fill = c->n * 4, .tail_at = c->n * 4,
		.start_ns = c->start_ns ? c->start_ns : 1000 + c->seq,
		.regs = { [X86_RAX] = c->rax, [X86_RSP] = c->rsp },
		.head = { .frag = c->head, .insn = c->head_insn },
		.tail = { .frag = c->tail, .insn = c->tail_insn },
	};

	if (dep_writer_segment(f->w, thread, &raw, c->word))
		fail_msg("%s", dep_error());
}

void fold_store_open(struct fold_store *f)
{
	assert_int_equal(close_writer(f->w, NULL, 0), 0);
	if (dep_store_open(&f->s, f->dir) || dep_code_make(f->s, &f->code))
		fail_msg("%s", dep_error());
}

void fold_store_close(struct fold_store *f)
{
	dep_profile_free(f->p);
	dep_code_free(f->code);
	dep_store_close(f->s);
	scratch_remove(f->dir);
}

void fold_store_write(struct fold_store *f, const struct fold_chunk *c, size_t n)
{
	size_t i;

	fold_store_begin(f, fold_stream.desc, fold_stream.desc_size);
	for (i = 0; i < n; i++)
		fold_store_segment(f, 1, &c[i]);
	fold_store_open(f);
}

void fold_profile(struct fold_store *f, u64 unit, struct dep_fold_options *o)
{
	u64 before = dep_fold_unit_bytes;
	int err;

	dep_profile_free(f->p);
	f->p = NULL;
	dep_fold_unit_bytes = unit;
	err = dep_profile_make(f->s, f->code, o, &f->p);
	dep_fold_unit_bytes = before;
	if (err)
		fail_msg("%s", dep_error());
}

void fold_check_same(const struct dep_profile *a, const struct dep_profile *b)
{
	fold_same_rows(a, b, insn, ninsns);
	fold_same_rows(a, b, edge, nedges);
	fold_same_rows(a, b, time, ntimes);
	assert_int_equal(a->insns, b->insns);
	assert_int_equal(a->refs, b->refs);
	assert_int_equal(a->loss.segments, b->loss.segments);
	assert_int_equal(a->loss.gaps, b->loss.gaps);
}

/* ---- folds that mark exits ---- */

#define LED_MAX	256

/** struct led - where exits led, each pair once; @every: number of exits of which one is marked */
struct led {
	const struct dep_fragments *code;
	struct { u32 exit; u64 pc; } at[LED_MAX];
	size_t n;
	u32 every;
	u8 marked[4096];
};

static void add_led(struct led *led, u32 exit, u64 pc)
{
	size_t i;

	for (i = 0; i < led->n; i++)
		if (led->at[i].exit == exit && led->at[i].pc == pc)
			return;
	assert_true(led->n < LED_MAX);
	led->at[led->n].exit = exit;
	led->at[led->n++].pc = pc;
}

static void *led_part(void *self, const struct dep_fragments *code)
{
	struct led *led = self;
	u32 i;

	led->code = code;
	assert_true(code->nexits <= sizeof(led->marked));
	for (i = 1; i < code->nexits; i++)
		led->marked[i] = !(i % led->every);
	return led;
}

static int led_join(void *self, void *part)
{
	assert_ptr_equal(self, part);
	return 0;
}

static const u8 *led_marked(void *part)
{
	return ((struct led *)part)->marked;
}

static int led_leads(void *part, u32 exit, u64 next_pc)
{
	struct led *led = part;

	assert_int_equal(led->marked[exit], 1);
	add_led(led, exit, next_pc);
	return 0;
}

static int led_segment(void *part, const struct dep_fold_segment *seg)
{
	(void)part;
	(void)seg;
	return 0;
}

/* The same from all exits. */
static int led_exits(void *part, const u32 *exit, size_t n, u64 next_pc)
{
	struct led *led = part;
	const struct dep_code_exit *x;
	size_t i;
	u64 pc;

	for (i = 0; i < n; i++) {
		x = led->code->exit + exit[i];
		pc = x->target ? x->target : next_pc;
		if (!x->target && i + 1 < n)
			pc = led->code->fragment[led->code->exit[exit[i + 1]].fragment].pc;
		if (led->marked[exit[i]])
			add_led(led, exit[i], pc);
	}
	return 0;
}

/* What is reported of marked exits is what all exits show. */
static void check_marked(struct fold_store *f, const struct dep_fold_options *o, u32 every)
{
	static const struct dep_fold scan = {
		.name = "marked", .part = led_part, .marked = led_marked, .leads = led_leads,
		.join = led_join,
	};
	static const struct dep_fold all = {
		.name = "exits", .part = led_part, .segment = led_segment, .exits = led_exits,
		.join = led_join,
	};
	struct led got = { .every = every }, want = got;
	const struct dep_fold *folds[] = { &scan, &all };
	struct dep_fold_options options = { .jobs = 1 };
	void *selves[] = { &got, &want };
	size_t i;

	if (o)
		options = *o;
	options.jobs = 1;
	options.failed = NULL;
	assert_int_equal(dep_fold_run(f->s, f->code, folds, selves, 1, &options, NULL), 0);
	assert_int_equal(dep_fold_run(f->s, f->code, folds + 1, selves + 1, 1, &options, NULL), 0);
	assert_int_equal(got.n, want.n);
	for (i = 0; i < want.n; i++)
		add_led(&got, want.at[i].exit, want.at[i].pc);
	assert_int_equal(got.n, want.n);
	assert_int_equal(dep_fold_run(f->s, f->code, folds, selves, 2, &options, NULL), -EINVAL);
}

void fold_check_division(struct fold_store *f, const struct dep_fold_options *o)
{
	static const u64 units[] = { 1, 300, 5000, 1 << 20 };
	static const unsigned int jobs[] = { 1, 2, 7 };
	struct dep_profile *first = f->p;
	struct dep_fold_options options = { 0 };
	size_t i, k;

	if (o)
		options = *o;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		for (k = 0; k < sizeof(jobs) / sizeof(jobs[0]); k++) {
			f->p = NULL;
			options.jobs = jobs[k];
			fold_profile(f, units[i], &options);
			fold_check_same(first, f->p);
			fold_same_rows(first, f->p, thread, nthreads);
			dep_profile_free(f->p);
		}
	f->p = first;
	for (i = 1; i <= 5; i += 2)
		check_marked(f, o, (u32)i);
}

u64 fold_count(const struct dep_profile *p, u64 pc)
{
	u64 n = 0;
	size_t i;

	for (i = 0; i < p->ninsns; i++)
		if (p->insn[i].pc == pc)
			n += p->insn[i].count;
	return n;
}

u64 fold_edge(const struct dep_profile *p, u64 from, u64 to, u32 kind, int taken)
{
	u64 n = 0;
	size_t i;

	for (i = 0; i < p->nedges; i++)
		if (p->edge[i].from == from && p->edge[i].to == to && p->edge[i].kind == kind &&
		    (taken < 0 || p->edge[i].taken == taken))
			n += p->edge[i].count;
	return n;
}

/* What enters @in: edges to it, and the instruction in front of it if that is no branch. */
static u64 entries(const struct dep_profile *p, const struct dep_insn_count *in)
{
	u64 n = 0;
	size_t i;

	for (i = 0; i < p->nedges; i++)
		if (p->edge[i].process == in->process && p->edge[i].to == in->pc &&
		    p->edge[i].kind != DEP_EDGE_LEFT)
			n += p->edge[i].count;
	for (i = 0; i < p->ninsns; i++)
		if (p->insn[i].process == in->process && !p->insn[i].branch &&
		    p->insn[i].pc + p->insn[i].size == in->pc)
			n += p->insn[i].count;
	for (i = 0; i < p->nedges; i++)
		if (p->edge[i].process == in->process && p->edge[i].from == in->pc &&
		    p->edge[i].kind == DEP_EDGE_LEFT)
			n -= p->edge[i].count;
	return n;
}

void fold_check_flow(const struct dep_profile *p)
{
	size_t i;

	for (i = 0; i < p->ninsns; i++)
		if (entries(p, &p->insn[i]) != p->insn[i].count)
			fail_msg("%lu entries of %lx, which was executed %lu times",
				 entries(p, &p->insn[i]), p->insn[i].pc, p->insn[i].count);
}
