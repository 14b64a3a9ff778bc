// SPDX-License-Identifier: GPL-2.0-or-later
/* Path profiles of stores that are written word by word: losses, limits and odd code. */
#include <errno.h>
#include <malloc.h>

#include "dep/path_profile.h"
#include "fold_store.h"

/* Of libdep/path_profile/pass.h, which cannot be included with libdep/fold/walk.h. */
extern u32 dep_path_blocks_limit;

/* ---- memory: the linker leads all calls of the library here ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);

/* Bytes now, and most since peak was set.  @fail_in: that allocation fails; 0: none does */
static size_t allocated, peak, fail_in;

static bool fails(void)
{
	return fail_in && !--fail_in;
}

static void *add_memory(void *p)
{
	allocated += malloc_usable_size(p);
	if (allocated > peak)
		peak = allocated;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : add_memory(__real_malloc(size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : add_memory(__real_aligned_alloc(alignment, size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : add_memory(__real_calloc(n, size));
}

/* The old and the new memory exist at the same time. */
void *__wrap_realloc(void *p, size_t size)
{
	size_t old = malloc_usable_size(p);
	void *more = fails() ? NULL : add_memory(__real_realloc(p, size));

	if (more)
		allocated -= old;
	return more;
}

void __wrap_free(void *p)
{
	allocated -= malloc_usable_size(p);
	__real_free(p);
}

/* ---- code ---- */

enum {
	MAIN, MAIN_2, MAIN_3, F, G, G_2, G_3, G_4, RECURSIVE, PLAIN, PLAIN_2, PLAIN_3,
	WRITES, OLD, NEW, SAME, WRITES_2, LOOP, LOOP_2, FRAGMENTS
};

#define MAIN_PC		0x1000ull
#define F_PC		0x2000ull
#define G_PC		0x3000ull
#define RECURSIVE_PC	0x4000ull
#define PLAIN_PC	0x5000ull
#define WRITES_PC	0x6000ull
#define LOOP_PC		0x7000ull
#define MANY_PC		0x100000ull
#define RSP		0x800000ull

static const struct stream_code codes[FRAGMENTS] = {
	/* call F; call G; jmp MAIN */
	[MAIN] = FOLD_CODE(MAIN_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[MAIN_2] = FOLD_CODE(MAIN_PC + 5, 0xe8, 0xf6, 0x1f, 0, 0),
	[MAIN_3] = FOLD_CODE(MAIN_PC + 10, 0xeb, 0xf4),
	/* nop; jmp G */
	[F] = FOLD_CODE(F_PC, 0x90, 0xe9, 0xfa, 0x0f, 0, 0),
	/* nop; je G_2; G_2: ret.  G_3: nop; je G_4; G_4: nop; jmp G_2 */
	[G] = FOLD_CODE(G_PC, 0x90, 0x74, 0x00),
	[G_2] = FOLD_CODE(G_PC + 3, 0xc3),
	[G_3] = FOLD_CODE(G_PC + 0x10, 0x90, 0x74, 0x00),
	[G_4] = FOLD_CODE(G_PC + 0x13, 0x90, 0xeb, 0xed),
	/* call RECURSIVE */
	[RECURSIVE] = FOLD_CODE(RECURSIVE_PC, 0xe8, 0xfb, 0xff, 0xff, 0xff),
	/* nop; nop; je.  Its first exit is moved in front of the jump, see set_up() */
	[PLAIN] = FOLD_CODE(PLAIN_PC, 0x90, 0x90, 0x74, 0x00),
	[PLAIN_2] = FOLD_CODE(PLAIN_PC + 2, 0x74, 0x00),
	[PLAIN_3] = FOLD_CODE(PLAIN_PC + 4, 0xc3),
	/* nop; je; code of which there are two versions, and the old one again; je WRITES */
	[WRITES] = FOLD_CODE(WRITES_PC, 0x90, 0x74, 0x00),
	[OLD] = FOLD_CODE(WRITES_PC + 3, 0x90, 0x90, 0x74, 0x00),
	[NEW] = FOLD_CODE(WRITES_PC + 3, 0x90, 0xf8, 0x74, 0x00),
	[SAME] = FOLD_CODE(WRITES_PC + 3, 0x90, 0x90, 0x74, 0x00),
	[WRITES_2] = FOLD_CODE(WRITES_PC + 7, 0x74, 0xf7),
	/* nop; je LOOP; ret */
	[LOOP] = FOLD_CODE(LOOP_PC, 0x90, 0x74, 0xfd),
	[LOOP_2] = FOLD_CODE(LOOP_PC + 3, 0xc3),
};

/* Let the first exit of fragment @n be behind @ninsns instructions, and lead to @target. */
static void set_exit(u32 n, u16 ninsns, u64 target)
{
	struct adept_desc_frag *d = (void *)fold_stream.desc;
	struct adept_exit *x;

	while (n--)
		d = (void *)((u8 *)d + d->h.size);
	x = (void *)((u8 *)(d + 1) + d->nruns * sizeof(struct adept_run));
	x->ninsns = ninsns;
	x->kind = ADEPT_X_DIRECT;
	x->target = target;
}

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	set_exit(F, 2, G_PC);
	set_exit(PLAIN, 2, PLAIN_PC + 2);
	return 0;
}

static struct fold_chunk chunk(u64 seq)
{
	return (struct fold_chunk){ .seq = seq, .rsp = RSP };
}

/* ---- what comes out ---- */

static struct dep_path_profile *paths_of(struct fold_store *f,
					 const struct dep_path_profile_options *o)
{
	struct dep_path_profile *p;

	if (dep_path_profile_make(f->s, f->code, o, &p))
		fail_msg("%s", dep_error());
	return p;
}

/* The count of the only row with these blocks, or 0. */
static u64 count_of(const struct dep_path_profile *p, u8 kind, const u64 *pc, size_t n)
{
	struct dep_path_code block[16];
	u64 count = 0;
	size_t i, k;

	for (i = 0; i < p->nrows; i++) {
		assert_int_equal(dep_path_profile_blocks(p, i, block, 16), p->row[i].blocks);
		if (p->row[i].kind != kind || p->row[i].blocks != n)
			continue;
		for (k = 0; k < n && block[k].pc == pc[k]; k++)
			;
		if (k < n)
			continue;
		assert_int_equal(count, 0);
		count = p->row[i].count;
	}
	return count;
}

#define COUNT(p, kind, ...) \
	count_of(p, DEP_PATH_ROW_ ## kind, (const u64[]){ __VA_ARGS__ }, \
		 sizeof((const u64[]){ __VA_ARGS__ }) / sizeof(u64))

/* ---- losses ---- */

/* Calls whose contexts do not fit in the memory are a loss: what they execute is not theirs. */
static void contexts_that_do_not_fit(void **state)
{
	struct dep_path_profile_options o = { .fold.jobs = 1 };
	struct fold_chunk c = chunk(0);
	struct dep_path_profile *p;
	struct fold_store f;
	u32 i;

	(void)state;
	fold_start(&c);
	for (i = 0; i < 400; i++)
		fold_run(&c, RECURSIVE);
	fold_store_write(&f, &c, 1);
	p = paths_of(&f, &o);
	assert_int_equal(p->not_counted, 0);
	dep_path_profile_free(p);
	o.memory = 200 << 10;
	p = paths_of(&f, &o);
	assert_in_range(p->not_counted, 1, 399);
	dep_path_profile_free(p);
	fold_store_close(&f);
}

/* ---- exits ---- */

/* An exit that is no branch: what is in front of it is executed, too. */
static void exits_without_branch(void **state)
{
	struct fold_chunk c = chunk(0);
	struct dep_path_profile *p;
	struct fold_store f;

	(void)state;
	fold_start(&c);
	fold_run(&c, PLAIN);
	fold_run(&c, PLAIN_2);
	fold_run(&c, PLAIN_3);
	fold_store_write(&f, &c, 1);
	fold_profile(&f, 1 << 20, NULL);
	assert_int_equal(f.p->insns, 4);
	p = paths_of(&f, NULL);
	assert_int_equal(p->insns, 4);
	assert_int_equal(COUNT(p, WHOLE, PLAIN_PC, PLAIN_PC + 2, PLAIN_PC + 4), 1);
	assert_int_equal(p->nrows, 1);
	dep_path_profile_free(p);
	fold_store_close(&f);
}

/* ---- stores that change ---- */

/* A segment that only the second pass selects: the store grew, or was damaged and mended. */
struct changes {
	u64 seq, passes;
	u32 thread;
};

static bool select_later(void *arg, const struct dep_segment *seg)
{
	const struct changes *c = arg;

	return c->passes || seg->thread != c->thread || seg->seq != c->seq;
}

static void count_passes(void *arg, size_t done, size_t all)
{
	struct changes *c = arg;

	c->passes += done == all;
}

static void refuse_change(struct fold_store *f, u32 thread, u64 seq)
{
	struct changes c = { .thread = thread, .seq = seq };
	struct dep_path_profile_options o = { .fold = {
		.jobs = 1, .select = select_later, .progress = count_passes, .arg = &c,
	} };
	struct dep_path_profile *p;

	/* With counts, there is no pass that looks for the targets of indirect calls. */
	fold_profile(f, 1 << 20, NULL);
	o.counts = f->p;
	assert_int_equal(dep_path_profile_make(f->s, f->code, &o, &p), -ESTALE);
	assert_true(c.passes >= 1);
	/* With the segment in both passes, nothing is wrong. */
	dep_path_profile_free(paths_of(f, &o));
}

static void run_all(struct fold_chunk *c, const u32 *frag, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		fold_run(c, frag[i]);
}

#define RUN(c, ...) \
	run_all(c, (const u32[]){ __VA_ARGS__ }, \
		sizeof((const u32[]){ __VA_ARGS__ }) / sizeof(u32))

/* Where a path ends in the second pass, none did in the first one. */
static void changes_at_ends(void **state)
{
	struct fold_chunk first = chunk(0), later = chunk(1), other = chunk(0);
	struct fold_store f;

	(void)state;
	fold_start(&first);
	RUN(&first, MAIN, F);
	later.rsp = RSP - 8;
	RUN(&later, G, G_2);
	fold_start(&other);
	RUN(&other, MAIN_2, G, G_2, MAIN_3);
	fold_store_begin(&f, fold_stream.desc, fold_stream.desc_size);
	fold_store_segment(&f, 1, &first);
	fold_store_segment(&f, 1, &later);
	fold_store_segment(&f, 2, &other);
	fold_store_open(&f);
	refuse_change(&f, 1, 1);
	fold_store_close(&f);
}

/* The same where a path begins. */
static void changes_at_beginnings(void **state)
{
	struct fold_chunk first = chunk(0), other = chunk(0);
	struct fold_store f;

	(void)state;
	fold_start(&first);
	RUN(&first, MAIN_2, G, G_3, G_4, G_2, MAIN_3);
	fold_start(&other);
	/* Nothing that was executed in front of G_2 leads there. */
	RUN(&other, MAIN_2, G, G_3, G_2, MAIN_3);
	fold_store_begin(&f, fold_stream.desc, fold_stream.desc_size);
	fold_store_segment(&f, 1, &first);
	fold_store_segment(&f, 2, &other);
	fold_store_open(&f);
	refuse_change(&f, 2, 0);
	fold_store_close(&f);
}

/* ---- rewritten code ---- */

/* Each version has blocks and paths of its own; the same code in another fragment has not. */
static void rewritten_code(void **state)
{
	static const u64 block[] = { WRITES_PC, WRITES_PC + 3, WRITES_PC + 7 };
	struct dep_path_code code[3];
	struct fold_chunk c = chunk(0);
	struct dep_path_profile *p;
	u64 count[2] = { 0 };
	u32 i, k;
	struct fold_store f;

	(void)state;
	fold_start(&c);
	for (i = 0; i < 3; i++)
		RUN(&c, WRITES, OLD, WRITES_2);
	for (i = 0; i < 5; i++)
		RUN(&c, WRITES, NEW, WRITES_2);
	RUN(&c, WRITES, SAME, WRITES_2);
	RUN(&c, WRITES, NEW, WRITES_2, WRITES);
	fold_store_write(&f, &c, 1);
	p = paths_of(&f, NULL);
	assert_int_equal(p->function->blocks, 4);
	/* The old path from the entry and from the head of the loop, the new one, the last one. */
	assert_int_equal(p->nrows, 4);
	for (i = 0; i < 4; i++) {
		if (p->row[i].kind != DEP_PATH_ROW_WHOLE)
			continue;
		assert_int_equal(dep_path_profile_blocks(p, i, code, 3), 3);
		for (k = 0; k < 3; k++)
			assert_int_equal(code[k].pc, block[k]);
		assert_true(!code[0].version && !code[2].version);
		assert_in_range(code[1].version, 0, 1);
		count[code[1].version] += p->row[i].count;
	}
	/* nop; nop is less than nop; clc. */
	assert_int_equal(count[0], 4);
	assert_int_equal(count[1], 6);
	dep_path_profile_free(p);
	fold_store_close(&f);
}

/* ---- memory ---- */

/* A block that goes back to itself counts once, also if the paths are not counted. */
static void loops_of_one_block(void **state)
{
	struct fold_chunk c = chunk(0);
	struct dep_path_profile *p;
	struct fold_store f;
	u32 limit, i;

	(void)state;
	fold_start(&c);
	for (i = 0; i < 6; i++)
		fold_run(&c, LOOP);
	fold_run(&c, LOOP_2);
	fold_store_write(&f, &c, 1);
	p = paths_of(&f, NULL);
	assert_int_equal(COUNT(p, LOOP, LOOP_PC), 5);
	assert_int_equal(p->insns, 13);
	assert_int_equal(p->not_counted, 0);
	dep_path_profile_free(p);
	limit = dep_path_blocks_limit;
	dep_path_blocks_limit = 1;
	p = paths_of(&f, NULL);
	dep_path_blocks_limit = limit;
	assert_int_equal(COUNT(p, LOOP, LOOP_PC), 5);
	assert_int_equal(p->nrows, 1);
	assert_int_equal(p->not_counted, 1);
	dep_path_profile_free(p);
	fold_store_close(&f);
}

#define MANY	1024u

/* Fragments of 254 instructions that begin at one address after the other, and have no branch. */
static int set_up_many(void **state)
{
	static u8 nops[254];
	struct stream_code code = { .bytes = nops, .len = sizeof(nops), .entry_mask = 0xffff };
	u32 i;

	(void)state;
	memset(nops, 0x90, sizeof(nops));
	fold_set_up(&code, 0);
	for (i = 0; i < MANY; i++) {
		code.pc = MANY_PC + i;
		stream_fragment(&fold_stream, &code);
	}
	return 0;
}

/* They are divided into 254 blocks each.  All limits of memory are kept, whatever comes out. */
static void blocks_that_do_not_fit(void **state)
{
	struct dep_path_profile_options o = { .fold.jobs = 1 };
	size_t before, least = SIZE_MAX, whole = 0;
	struct dep_path_profile *p;
	struct fold_store f;
	struct fold_chunk c;
	u32 i, k;
	int err;

	(void)state;
	fold_store_begin(&f, fold_stream.desc, fold_stream.desc_size);
	for (i = 0; i < 4; i++) {
		c = chunk(i);
		if (!i)
			fold_start(&c);
		for (k = 0; k < MANY / 4; k++)
			fold_run(&c, i * MANY / 4 + k);
		fold_store_segment(&f, 1, &c);
	}
	fold_store_open(&f);
	for (o.memory = 1 << 16; o.memory <= 1 << 26; o.memory += o.memory / 2) {
		before = peak = allocated;
		err = dep_path_profile_make(f.s, f.code, &o, &p);
		/* What a pass needs, whatever it is for, is the same for all limits. */
		if (peak - before < least)
			least = peak - before;
		assert_in_range(peak - before, 0, least + o.memory);
		if (err) {
			assert_int_equal(err, -ENOSPC);
			assert_non_null(strstr(dep_error(), "do not fit in the memory allowed"));
			assert_int_equal(whole, 0);
			assert_int_equal(allocated, before);
			continue;
		}
		whole++;
		assert_int_equal(p->insns, MANY * 254);
		dep_path_profile_free(p);
	}
	assert_true(whole > 0);
	fold_store_close(&f);
}

/*
 * Whichever allocation fails: there is an error, or what is missing is counted.  A segment that is
 * read in the second pass only is a change of the store.
 */
static void fail_each(struct fold_store *f, const struct dep_path_profile_options *o)
{
	struct dep_path_profile *p = paths_of(f, o);
	size_t before, failed = 0, i;
	u64 insns = p->insns;
	int err;

	dep_path_profile_free(p);
	for (i = 1;; i++) {
		before = allocated;
		fail_in = i;
		err = dep_path_profile_make(f->s, f->code, o, &p);
		if (fail_in)
			break;
		if (err) {
			assert_true(err == -ENOMEM || err == -ESTALE);
			failed += err == -ENOMEM;
		} else {
			assert_true(p->insns == insns || p->loss.segments);
			dep_path_profile_free(p);
		}
		assert_int_equal(allocated, before);
	}
	fail_in = 0;
	assert_int_equal(err, 0);
	dep_path_profile_free(p);
	assert_true(failed > 20);
}

static void memory_runs_out(void **state)
{
	const struct dep_path_profile_options o = { .iterations = 3 };
	struct fold_chunk c = chunk(0);
	struct fold_store f;
	u32 i;

	(void)state;
	fold_start(&c);
	for (i = 0; i < 3; i++)
		RUN(&c, MAIN, F, G, G_2, MAIN_2, G, G_3, G_4, G_2, MAIN_3);
	fold_store_write(&f, &c, 1);
	fail_each(&f, NULL);
	fail_each(&f, &o);
	fold_store_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(contexts_that_do_not_fit, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(exits_without_branch, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(changes_at_ends, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(changes_at_beginnings, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(rewritten_code, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(loops_of_one_block, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(memory_runs_out, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(blocks_that_do_not_fit, set_up_many,
						fold_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
