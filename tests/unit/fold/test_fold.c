// SPDX-License-Identifier: GPL-2.0-or-later
/* Where records, segments and threads begin and end, in stores that are written word by word. */
#include <errno.h>
#include <malloc.h>

#include "dep/contexts.h"
#include "libdep/profile/count.h"
#include "fold_store.h"

/*
 * Fragments without values.  PLAIN goes on to BRANCH, which jumps to TWIN or returns; both exits of
 * TWIN go on to FAR, whose branch is indirect.
 */
enum { PLAIN, BRANCH, TWIN, FAR, FRAGMENTS };

#define PLAIN_PC	0x1000ull
#define BRANCH_PC	0x1007ull
#define TWIN_PC		0x100cull
#define FAR_PC		0x100eull
#define RET_PC		0x100bull
#define JMP_PC		0x100full	/* the indirect branch of FAR */

static const struct stream_code codes[FRAGMENTS] = {
	[PLAIN] = FOLD_CODE(PLAIN_PC, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0x00),
	[BRANCH] = FOLD_CODE(BRANCH_PC, 0x90, 0x75, 0x02, 0x90, 0xc3),
	[TWIN] = FOLD_CODE(TWIN_PC, 0x75, 0x00),
	[FAR] = FOLD_CODE(FAR_PC, 0x90, 0xff, 0xe0),
};

static u32 id(u32 frag, u32 exit)
{
	return fold_stream.frag[frag].id + exit;
}

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

/* Make the profile of the chunks of thread 1, which must not depend on its division. */
static void profile_of(struct fold_store *f, const struct fold_chunk *c, size_t n)
{
	fold_store_write(f, c, n);
	fold_profile(f, 1 << 20, NULL);
	fold_check_division(f, NULL);
	fold_check_flow(f->p);
}

static void one_record_in_three_segments(void **state)
{
	struct fold_chunk c[3] = {
		{ .seq = 0, .tail = id(PLAIN, 0), .tail_insn = 2 },
		{ .seq = 1, .head = id(PLAIN, 0), .head_insn = 2, .tail = id(PLAIN, 0),
		  .tail_insn = 4 },
		{ .seq = 2, .head = id(PLAIN, 0), .head_insn = 4 },
	};
	struct fold_store f;
	u32 i;

	(void)state;
	fold_exit(&c[2], id(PLAIN, 0));
	profile_of(&f, c, 3);
	assert_int_equal(f.p->insns, 6);
	for (i = 0; i < 6; i++)
		assert_int_equal(fold_count(f.p, PLAIN_PC + i), 1);
	assert_int_equal(fold_edge(f.p, 0, PLAIN_PC, DEP_EDGE_ENTERED, -1), 1);
	assert_int_equal(fold_edge(f.p, PLAIN_PC + 5, BRANCH_PC, DEP_BRANCH_JUMP, 1), 1);
	assert_int_equal(fold_edge(f.p, BRANCH_PC, 0, DEP_EDGE_LEFT, -1), 1);
	assert_int_equal(f.p->nedges, 3);
	assert_int_equal(f.p->loss.gaps, 0);
	fold_store_close(&f);
}

/* A thread that was killed inside a record executed the part that its tail tells. */
static void killed_inside_a_record(void **state)
{
	struct fold_chunk c[1] = { { .tail = id(BRANCH, 0), .tail_insn = 3 } };
	struct fold_store f;

	(void)state;
	fold_exit(&c[0], id(PLAIN, 0));
	profile_of(&f, c, 1);
	assert_int_equal(f.p->insns, 9);
	assert_int_equal(fold_count(f.p, RET_PC - 1), 1);
	assert_int_equal(fold_count(f.p, RET_PC), 0);
	assert_int_equal(fold_edge(f.p, BRANCH_PC + 1, RET_PC - 1, DEP_BRANCH_COND, 0), 1);
	assert_int_equal(fold_edge(f.p, RET_PC, 0, DEP_EDGE_LEFT, -1), 1);
	fold_store_close(&f);
}

/* The event that ends a record stands in the next segment. */
static void partial_at_a_boundary(void **state)
{
	struct fold_chunk c[2] = {
		{ .seq = 0, .tail = id(PLAIN, 0), .tail_insn = 2 },
		{ .seq = 1, .head = id(PLAIN, 0), .head_insn = 2 },
	};
	struct fold_store f;

	(void)state;
	fold_partial(&c[1], id(PLAIN, 0), 3);
	fold_signal(&c[1], PLAIN_PC + 3);
	fold_context(&c[1], FAR_PC);
	fold_exit(&c[1], id(FAR, 0));
	profile_of(&f, c, 2);
	assert_int_equal(f.p->insns, 5);
	assert_int_equal(fold_count(f.p, PLAIN_PC + 2), 1);
	assert_int_equal(fold_count(f.p, PLAIN_PC + 3), 0);
	assert_int_equal(fold_edge(f.p, PLAIN_PC + 3, 0, DEP_EDGE_LEFT, -1), 1);
	assert_int_equal(fold_edge(f.p, 0, FAR_PC, DEP_EDGE_ENTERED, -1), 1);
	assert_int_equal(f.p->thread[0].signals, 1);
	fold_store_close(&f);
}

static void both_exits_to_one_address(void **state)
{
	struct fold_chunk c[1] = { { 0 } };
	struct fold_store f;

	(void)state;
	assert_int_equal(fold_stream.frag[TWIN].nexits, 2);
	fold_exit(&c[0], id(TWIN, 0));
	fold_exit(&c[0], id(FAR, 0));
	fold_exit(&c[0], id(TWIN, 1));
	fold_exit(&c[0], id(FAR, 0));
	fold_exit(&c[0], id(TWIN, 1));
	profile_of(&f, c, 1);
	assert_int_equal(fold_edge(f.p, TWIN_PC, FAR_PC, DEP_BRANCH_COND, 1), 1);
	assert_int_equal(fold_edge(f.p, TWIN_PC, FAR_PC, DEP_BRANCH_COND, 0), 2);
	assert_int_equal(fold_edge(f.p, JMP_PC, TWIN_PC, DEP_BRANCH_JUMP_INDIRECT, 1), 2);
	fold_store_close(&f);
}

/* ---- an indirect branch as the last exit of a segment, and what follows ---- */

struct after {
	u64 to;			/* 0: not known */
	u64 entered;		/* 0: nothing entered again */
	void (*write)(struct fold_chunk *next);
};

static void next_exit(struct fold_chunk *c)
{
	fold_exit(c, id(BRANCH, 1));
}

static void next_exit_in_head(struct fold_chunk *c)
{
	c->head = id(BRANCH, 0);
	c->head_insn = 1;
	fold_exit(c, id(BRANCH, 1));
}

static void next_context(struct fold_chunk *c)
{
	fold_context(c, BRANCH_PC);
	fold_exit(c, id(BRANCH, 1));
}

static void next_signal(struct fold_chunk *c)
{
	fold_signal(c, BRANCH_PC);
	fold_context(c, PLAIN_PC);
	fold_exit(c, id(PLAIN, 0));
	fold_context(c, BRANCH_PC);
	fold_exit(c, id(BRANCH, 1));
}

static void next_partial(struct fold_chunk *c)
{
	fold_partial(c, id(BRANCH, 0), 0);
	fold_context(c, BRANCH_PC);
	fold_exit(c, id(BRANCH, 1));
}

static void next_tail(struct fold_chunk *c)
{
	c->tail = id(BRANCH, 0);
	c->tail_insn = 3;
}

static void next_missing(struct fold_chunk *c)
{
	c->seq++;
	fold_exit(c, id(BRANCH, 1));
}

static void next_empty(struct fold_chunk *c)
{
	(void)c;
}

static void indirect_at_the_end(void **state)
{
	static const struct after after[] = {
		{ BRANCH_PC, 0, next_exit }, { BRANCH_PC, 0, next_exit_in_head },
		{ BRANCH_PC, 0, next_context }, { BRANCH_PC, PLAIN_PC, next_signal },
		{ BRANCH_PC, 0, next_partial }, { BRANCH_PC, 0, next_tail },
		{ 0, BRANCH_PC, next_missing }, { 0, 0, next_empty },
	};
	struct fold_store f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
		struct fold_chunk c[3] = { { .seq = 0 }, { .seq = 1 }, { .seq = 2 } };

		fold_exit(&c[0], id(FAR, 0));
		after[i].write(&c[1]);
		profile_of(&f, c, 2);
		assert_int_equal(fold_edge(f.p, JMP_PC, BRANCH_PC, DEP_BRANCH_JUMP_INDIRECT, 1),
				 after[i].to ? 1 : 0);
		assert_int_equal(f.p->loss.gaps, after[i].write == next_missing);
		if (after[i].entered)
			assert_int_equal(fold_edge(f.p, 0, after[i].entered, DEP_EDGE_ENTERED, -1),
					 1);
		fold_store_close(&f);
	}
}

/* The thread's next code stands behind segments in which it executed nothing. */
static void segments_without_code(void **state)
{
	struct fold_chunk c[4] = { { .seq = 0 }, { .seq = 1 }, { .seq = 2 }, { .seq = 3 } };
	struct fold_store f;

	(void)state;
	fold_exit(&c[0], id(PLAIN, 0));
	fold_context(&c[2], BRANCH_PC);
	fold_exit(&c[3], id(BRANCH, 0));
	profile_of(&f, c, 4);
	assert_int_equal(fold_edge(f.p, 0, PLAIN_PC, DEP_EDGE_ENTERED, -1), 1);
	assert_int_equal(fold_edge(f.p, TWIN_PC, 0, DEP_EDGE_LEFT, -1), 1);
	assert_int_equal(f.p->nedges, 4);
	fold_store_close(&f);
}

/* ---- damage ---- */

/* An exit that no fragment has, as if the fragment could not be decoded. */
static void unknown_exit(void **state)
{
	struct fold_chunk c[2] = { { .seq = 0, .tail = id(PLAIN, 0), .tail_insn = 1 },
				   { .seq = 1 } };
	struct fold_store f;

	(void)state;
	fold_exit(&c[0], id(FAR, 0));
	fold_exit(&c[0], id(TWIN, 0));
	fold_exit(&c[0], id(FAR, 0));
	fold_exit(&c[1], id(BRANCH, 1));
	profile_of(&f, c, 2);
	dep_code_made(f.code)->numbers.low[id(TWIN, 0)] = 0;
	dep_code_made(f.code)->numbers.block[id(TWIN, 0) / DEP_ID_BLOCK].n = 0;
	fold_profile(&f, 1 << 20, NULL);
	fold_check_division(&f, NULL);
	fold_check_flow(f.p);
	assert_int_equal(f.p->loss.segments, 1);
	assert_int_equal(f.p->loss.gaps, 1);
	/* Where the branch in front of it went to is not known: not to the tail. */
	assert_int_equal(f.p->insns, 2 + 4);
	assert_int_equal(fold_edge(f.p, JMP_PC, PLAIN_PC, DEP_BRANCH_JUMP_INDIRECT, 1), 0);
	assert_int_equal(fold_edge(f.p, 0, BRANCH_PC, DEP_EDGE_ENTERED, -1), 1);
	fold_store_close(&f);
}

static void count_failures(void *arg, const struct dep_segment *seg, const char *why)
{
	(void)seg;
	assert_true(*why);
	++*(int *)arg;
}

/* Damage the control columns of the segments with a bit of @mask. */
static void damage(const struct fold_store *f, u32 mask)
{
	const struct dep_segment *seg;
	char path[256];
	struct dep_store *store;
	size_t i, n;
	FILE *file;
	long at;
	int byte;

	assert_int_equal(dep_store_open(&store, f->dir), 0);
	n = dep_store_segments(store, &seg);
	for (i = 0; i < n; i++) {
		if (!(mask >> i & 1))
			continue;
		snprintf(path, sizeof(path), "%s/" DEP_SEG_NAME, f->dir, seg[i].file);
		file = fopen(path, "r+b");
		assert_non_null(file);
		at = (long)(seg[i].offset + dep_seg_header_bytes(&store->fmt));
		assert_int_equal(fseek(file, at, SEEK_SET), 0);
		byte = fgetc(file) ^ 1;
		assert_int_equal(fseek(file, at, SEEK_SET), 0);
		fputc(byte, file);
		fclose(file);
	}
	dep_store_close(store);
}

/* Two threads with three segments each, of which all combinations are damaged. */
static void damaged_segments(void **state)
{
	struct fold_store f;
	u32 mask, t, i, failed;

	(void)state;
	for (mask = 0; mask < 64; mask++) {
		struct dep_fold_options o = { .failed = count_failures, .arg = &failed };

		fold_store_begin(&f, fold_stream.desc, fold_stream.desc_size);
		for (t = 1; t <= 2; t++)
			for (i = 0; i < 3; i++) {
				struct fold_chunk c = { .seq = i };

				fold_exit(&c, id(FAR, 0));
				fold_exit(&c, id(BRANCH, 0));
				fold_exit(&c, id(TWIN, i & 1));
				fold_store_segment(&f, t, &c);
			}
		assert_int_equal(close_writer(f.w, NULL, 0), 0);
		damage(&f, mask);
		assert_int_equal(dep_store_open(&f.s, f.dir), 0);
		assert_int_equal(dep_code_make(f.s, &f.code), 0);
		failed = 0;
		fold_profile(&f, 1 << 20, &o);
		assert_int_equal(failed, __builtin_popcount(mask));
		assert_int_equal(f.p->loss.segments, failed);
		assert_int_equal(f.p->insns, (6u - failed) * 5);
		fold_check_division(&f, NULL);
		fold_check_flow(f.p);
		fold_store_close(&f);
	}
}

/* ---- callbacks ---- */

static int stop_at_exits(void *part, const uint32_t *exit, size_t n, uint64_t next_pc)
{
	(void)part;
	(void)exit;
	(void)n;
	(void)next_pc;
	return 1;
}

static int nothing(void *part, const struct dep_fold_segment *seg)
{
	(void)part;
	(void)seg;
	return 0;
}

static int refuse(void *part, const struct dep_fold_segment *seg)
{
	(void)part;
	(void)seg;
	return -EBADMSG;
}

static void *no_part(void *self, const struct dep_fragments *code)
{
	(void)code;
	return self;
}

static int no_join(void *self, void *part)
{
	assert_ptr_equal(self, part);
	return 0;
}

static int ends;

static int count_end(void *part, const struct dep_thread *thread)
{
	(void)part;
	assert_int_equal(thread->serial, 1);
	ends++;
	return 0;
}

static int all_exits(void *part, const uint32_t *exit, size_t n, uint64_t next_pc)
{
	(void)exit;
	(void)next_pc;
	*(int *)part += (int)n;
	return 0;
}

/* Any value of a callback ends the pass; a fold that ends early is no damage. */
static void callbacks_end_the_pass(void **state)
{
	const struct dep_fold stops = { .name = "stops", .part = no_part, .segment = nothing,
					.exits = stop_at_exits, .join = no_join };
	const struct dep_fold refuses = { .name = "refuses", .part = no_part, .segment = refuse,
					  .exits = all_exits, .join = no_join };
	const struct dep_fold ordered = { .name = "ordered", .ordered = true, .part = no_part,
					  .segment = nothing, .exits = all_exits,
					  .end = count_end, .join = no_join };
	struct fold_chunk c[3] = { { .seq = 0 }, { .seq = 1 }, { .seq = 2 } };
	struct dep_fold_options o = { .to_ns = 1002 };
	const struct dep_fold *fold;
	struct dep_fold_loss loss;
	struct fold_store f;
	int n = 0, i;
	void *self = &n;

	(void)state;
	for (i = 0; i < 3; i++)
		fold_exit(&c[i], id(PLAIN, 0));
	profile_of(&f, c, 3);
	fold = &stops;
	assert_int_equal(dep_fold_run(f.s, f.code, &fold, &self, 1, NULL, &loss), 1);
	fold = &refuses;
	assert_int_equal(dep_fold_run(f.s, f.code, &fold, &self, 1, NULL, &loss), -EBADMSG);
	assert_int_equal(loss.segments, 0);
	fold = &ordered;
	ends = n = 0;
	assert_int_equal(dep_fold_run(f.s, f.code, &fold, &self, 1, &o, &loss), 0);
	assert_int_equal(n, 2);
	/* Segments behind the selected ones do not keep the thread from ending. */
	assert_int_equal(ends, 1);
	fold_store_close(&f);
}

/* ---- memory ---- */

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* The most that was allocated at the beginning of a segment. */
static int probe_segment(void *part, const struct dep_fold_segment *seg)
{
	size_t now = allocated(), *most = part;

	(void)seg;
	if (now > *most)
		*most = now;
	return 0;
}

static int probe_exits(void *part, const u32 *exit, size_t count, u64 next_pc)
{
	(void)part;
	(void)exit;
	(void)count;
	(void)next_pc;
	return 0;
}

static const struct dep_fold probe = {
	.name = "probe", .part = no_part, .segment = probe_segment, .exits = probe_exits,
	.join = no_join,
};

/* A store of @n segments with loops, indirect branches and records that go on. */
static void long_store(struct fold_store *f, u32 n)
{
	struct fold_chunk c;
	u32 i, k;

	fold_store_begin(f, fold_stream.desc, fold_stream.desc_size);
	for (i = 0; i < n; i++) {
		c = (struct fold_chunk){ .seq = i };
		for (k = 0; k < 10; k++) {
			fold_exit(&c, id(BRANCH, 0));
			fold_exit(&c, id(FAR, 0));
			fold_exit(&c, id(PLAIN, 0));
		}
		fold_store_segment(f, 1, &c);
	}
	fold_store_open(f);
}

/* Memory that a pass for counts takes at most, beyond what was allocated before. */
static size_t memory_of_counts(const struct fold_store *f)
{
	const struct dep_fold *folds[] = { &dep_count_fold, &probe };
	const struct dep_fold_options o = { .jobs = 1 };
	struct dep_counts_all all = { .threads.may_move = DEP_TABLE_MOVES };
	size_t before = allocated(), most = 0;
	void *selves[] = { &all, &most };

	assert_int_equal(dep_fold_run(f->s, f->code, folds, selves, 2, &o, NULL), 0);
	dep_counts_all_free(&all);
	assert_true(most >= before);
	return most - before;
}

/* A recording that is 100 times as long needs no more memory, but for a row of time per segment. */
static void memory_does_not_grow_with_the_length(void **state)
{
	const u32 n = 20;
	struct fold_store f;
	size_t once, longer;

	(void)state;
	long_store(&f, n);
	once = memory_of_counts(&f);
	fold_store_close(&f);
	long_store(&f, 100 * n);
	longer = memory_of_counts(&f);
	fold_store_close(&f);
	/* Tables of rows double when they grow. */
	assert_in_range(longer, 0, once + 2 * 100 * n * sizeof(struct dep_time_count) + 4096);
}

/* Counts and contexts, made 100 times, leave nothing behind. */
static void memory_does_not_grow_with_repetition(void **state)
{
	struct dep_contexts *c;
	struct fold_store f;
	size_t first = 0;
	int i;

	(void)state;
	long_store(&f, 100);
	for (i = 0; i < 100; i++) {
		fold_profile(&f, 256, NULL);
		assert_int_equal(dep_contexts_make(f.s, f.code, NULL, &c), 0);
		dep_contexts_free(c);
		if (i == 1)
			first = allocated();
	}
	assert_in_range(allocated(), 0, first + 4096);
	fold_store_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_record_in_three_segments, set_up,
						fold_tear_down),
		cmocka_unit_test_setup_teardown(killed_inside_a_record, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(partial_at_a_boundary, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(both_exits_to_one_address, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(indirect_at_the_end, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(segments_without_code, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(unknown_exit, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(damaged_segments, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(callbacks_end_the_pass, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(memory_does_not_grow_with_the_length, set_up,
						fold_tear_down),
		cmocka_unit_test_setup_teardown(memory_does_not_grow_with_repetition, set_up,
						fold_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
