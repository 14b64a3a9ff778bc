// SPDX-License-Identifier: GPL-2.0-or-later
/* Sequences of exits that come again and again, against counts of the words as they are written. */
#include "libdep/fold/sequences.h"
#include "libdep/format/file/budget.h"

#include "fold_store.h"

/*
 * LEFT, in front of RIGHT, goes on to it; the branches of the others are indirect.  LONG has many
 * instructions.  LOST is in no phrase.
 */
enum { SHORT, LONG, RIGHT, LEFT, FRAGMENTS, LOST = FRAGMENTS };

#define NOPS		200u
#define CHUNKS		64u
#define PHRASES		6u
#define PHRASE_MAX	24u
#define FIRST_PC	0x1000ull
#define STEP_PC		0x1000ull

static u8 nops[NOPS + 2];
static struct fold_chunk chunk[CHUNKS];
static u64 count[FRAGMENTS], went[FRAGMENTS][FRAGMENTS];

static u64 pc_of(u32 frag)
{
	return frag == LEFT ? pc_of(RIGHT) - 2 : FIRST_PC + frag * STEP_PC;
}

/* Address of a fragment's branch. */
static u64 branch_of(u32 frag)
{
	return pc_of(frag) + (frag == LONG ? NOPS : frag == LEFT ? 0 : 1);
}

static int set_up(void **state)
{
	static const u8 jump[] = { 0x90, 0xff, 0xe0 };
	static const u8 on[] = { 0xeb, 0x00 };
	struct stream_code codes[] = {
		[SHORT] = { .bytes = jump, .len = sizeof(jump) },
		[LONG] = { .bytes = nops, .len = sizeof(nops) },
		[RIGHT] = { .bytes = jump, .len = sizeof(jump) },
		[LEFT] = { .bytes = on, .len = sizeof(on) },
		[LOST] = { .bytes = jump, .len = sizeof(jump) },
	};
	u32 i;

	(void)state;
	memset(nops, 0x90, NOPS);
	memcpy(nops + NOPS, jump + 1, 2);
	for (i = 0; i <= LOST; i++) {
		codes[i].pc = pc_of(i);
		codes[i].entry_mask = 0xffff;
	}
	fold_set_up(codes, LOST + 1);
	return 0;
}

static int tear_down(void **state)
{
	dep_fold_sequences = DEP_FOLD_SEQUENCES;
	return fold_tear_down(state);
}

/* A phrase is a row of fragments; LEFT is never the last one, and in front of RIGHT. */
static u32 make_phrase(u32 *phrase)
{
	u32 n = 1 + (u32)stream_random(&fold_stream) % PHRASE_MAX, i;

	for (i = 0; i < n; i++) {
		phrase[i] = (u32)stream_random(&fold_stream) % FRAGMENTS;
		if (i && phrase[i - 1] == LEFT)
			phrase[i] = RIGHT;
	}
	if (phrase[n - 1] == LEFT)
		phrase[n - 1] = SHORT;
	return n;
}

static void write_chunks(void)
{
	u32 phrase[PHRASES][PHRASE_MAX], n[PHRASES], i, k, p, last = FRAGMENTS, frag;

	memset(chunk, 0, sizeof(chunk));
	memset(count, 0, sizeof(count));
	memset(went, 0, sizeof(went));
	for (i = 0; i < PHRASES; i++)
		n[i] = make_phrase(phrase[i]);
	for (i = 0; i < CHUNKS; i++) {
		chunk[i].seq = i;
		while (chunk[i].n + PHRASE_MAX <= WORDS) {
			p = (u32)stream_random(&fold_stream) % PHRASES;
			for (k = 0; k < n[p]; k++) {
				frag = phrase[p][k];
				fold_run(&chunk[i], frag);
				count[frag]++;
				if (last < FRAGMENTS)
					went[last][frag]++;
				last = frag;
			}
		}
	}
}

static void check(const struct dep_profile *p)
{
	u64 insns = 0;
	u32 i, k, kind;

	for (i = 0; i < FRAGMENTS; i++) {
		insns += count[i] * (i == LONG ? NOPS + 1 : i == LEFT ? 1 : 2);
		assert_int_equal(fold_count(p, pc_of(i)), count[i]);
		assert_int_equal(fold_count(p, branch_of(i)), count[i]);
		kind = i == LEFT ? DEP_BRANCH_JUMP : DEP_BRANCH_JUMP_INDIRECT;
		for (k = 0; k < FRAGMENTS; k++)
			assert_int_equal(fold_edge(p, branch_of(i), pc_of(k), kind, 1),
					 went[i][k]);
	}
	assert_int_equal(p->insns, insns);
	for (i = 0; i < p->ntimes; i++)
		insns -= p->time[i].insns;
	assert_int_equal(insns, 0);
}

/* With numbers for all sequences, for none, and for so few that they are used again and again. */
static void counts_are_exact(void **state)
{
	static const u32 numbers[] = { DEP_FOLD_SEQUENCES, 1, 2, 9, 600 };
	struct fold_store f;
	u32 k, round;

	(void)state;
	for (round = 0; round < 4; round++) {
		write_chunks();
		fold_store_write(&f, chunk, CHUNKS);
		for (k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
			dep_fold_sequences = numbers[k];
			fold_profile(&f, 1 << 20, NULL);
			check(f.p);
			fold_check_division(&f, NULL);
		}
		fold_store_close(&f);
	}
}

/* ---- what folds receive ---- */

/* struct seen - a part: what a fold was given, and the sequences with a number */
struct seen {
	u64 exits, hash, repeated;
	u32 n;				/* numbers below this are known */
	u32 forgotten;			/* how often all were */
	u32 sequence[DEP_FOLD_SEQUENCES][DEP_FOLD_SEQUENCE];
};

static void *one_part(void *self, const struct dep_fragments *code)
{
	struct seen *p = self;

	(void)code;
	memset(p, 0, sizeof(*p));
	p->n = 1;
	return p;
}

static int take_segment(void *part, const struct dep_fold_segment *seg)
{
	(void)part;
	(void)seg;
	return 0;
}

static int take_exits(void *part, const u32 *exit, size_t n, u64 next_pc)
{
	struct seen *p = part;
	size_t i;

	p->exits += n;
	for (i = 0; i < n; i++)
		p->hash = p->hash * 31 + exit[i];
	p->hash += next_pc;
	return 0;
}

/* A number that is not new is that of the same exits; a new one is the next one. */
static int take_sequences(void *part, const u32 *exit, size_t n, u64 next_pc, const u32 *sequence)
{
	const size_t size = sizeof(((struct seen *)part)->sequence[0]);
	struct seen *p = part;
	size_t i;

	for (i = 0; i < n / DEP_FOLD_SEQUENCE; i++, exit += DEP_FOLD_SEQUENCE) {
		if (!sequence[i])
			continue;
		assert_true(sequence[i] <= p->n && sequence[i] < DEP_FOLD_SEQUENCES);
		if (sequence[i] == p->n)
			memcpy(p->sequence[p->n++], exit, size);
		else
			p->repeated++;
		assert_memory_equal(p->sequence[sequence[i]], exit, size);
	}
	return take_exits(part, exit - i * DEP_FOLD_SEQUENCE, n, next_pc);
}

static int forget(void *part)
{
	struct seen *p = part;

	p->n = 1;
	p->forgotten++;
	return 0;
}

static int keep(void *self, void *part)
{
	(void)self;
	(void)part;
	return 0;
}

static const struct dep_fold by_exits = {
	.name = "exits", .ordered = true, .part = one_part, .segment = take_segment,
	.exits = take_exits, .join = keep,
};
static const struct dep_fold by_sequences = {
	.name = "sequences", .ordered = true, .part = one_part, .segment = take_segment,
	.sequences = take_sequences, .forget = forget, .join = keep,
};

/*
 * Write exits that the store will not have, also some that end the same exits again and again,
 * short chunks, and events with other exits behind.
 */
static void disturb_chunks(void)
{
	u32 i, k, at;

	for (i = 0; i < CHUNKS; i++) {
		at = (u32)stream_random(&fold_stream) % chunk[i].n;
		if (i % 8 == 1)
			at = DEP_FOLD_SEQUENCE - 1;
		for (k = 0; i % 8 == 1 && k < at; k++)
			chunk[i].word[k] = fold_stream.frag[SHORT].id;
		if (i % 4 == 1)
			chunk[i].word[at] = fold_stream.frag[LOST].id;
		else if (i % 4 == 2)
			chunk[i].n = at % (2 * DEP_FOLD_SEQUENCE);
		if (i % 4 != 3)
			continue;
		chunk[i].n = at / 2;
		fold_context(&chunk[i], FIRST_PC);
		while (chunk[i].n < WORDS)
			fold_run(&chunk[i], (u32)stream_random(&fold_stream) % 2);
	}
}

/* The store has no exit of LOST, as if the fragment could not be decoded. */
static void lose_exit(const struct fold_store *f)
{
	const struct dep_numbers *n = &dep_code_made(f->code)->numbers;
	const u32 id = fold_stream.frag[LOST].id;
	struct dep_id_block *b = &n->block[id / DEP_ID_BLOCK];

	n->low[id] = 0;
	b->n = id - b->first;
}

/* Two folds with sequences and one without in one pass receive the same exits. */
static void folds_receive_the_same(void **state)
{
	static const struct dep_fold *const folds[] = { &by_sequences, &by_exits, &by_sequences };
	static const u32 numbers[] = { DEP_FOLD_SEQUENCES, 1, 9, 600 };
	struct seen *p = calloc(3, sizeof(*p));
	void *selves[] = { p, p + 1, p + 2 };
	struct dep_fold_loss loss;
	struct fold_store f;
	u32 k;

	(void)state;
	assert_non_null(p);
	write_chunks();
	disturb_chunks();
	fold_store_write(&f, chunk, CHUNKS);
	lose_exit(&f);
	for (k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
		dep_fold_sequences = numbers[k];
		if (dep_fold_run(f.s, f.code, folds, selves, 3, NULL, &loss))
			fail_msg("%s", dep_error());
		assert_int_equal(loss.segments, CHUNKS / 4);
		assert_true(p[1].exits > CHUNKS / 2 * WORDS / 2);
		assert_int_equal(p[0].exits, p[1].exits);
		assert_int_equal(p[0].hash, p[1].hash);
		assert_memory_equal(p, p + 2, sizeof(*p));
		/* 600 are too few, because a batch may need 512. */
		assert_int_equal(p[0].forgotten > 0, numbers[k] <= 600);
		assert_int_equal(p[0].repeated > 0, numbers[k] > 1);
	}
	fold_store_close(&f);
	free(p);
}

static void *count_part(void *self, const struct dep_fragments *code)
{
	(void)code;
	++*(u32 *)self;
	return self;
}

static int no_exits(void *part, const u32 *exit, size_t n, u64 next_pc)
{
	(void)part;
	(void)exit;
	(void)n;
	(void)next_pc;
	return 0;
}

/* Number of workers that a pass with @jobs has, in a store with CHUNKS units. */
static u32 workers_of(struct fold_store *f, u32 jobs)
{
	static const struct dep_fold fold = {
		.name = "workers", .part = count_part, .segment = take_segment,
		.exits = no_exits, .join = keep,
	};
	const struct dep_fold_options options = { .jobs = jobs };
	const struct dep_fold *folds[] = { &fold };
	const u64 before = dep_fold_unit_bytes;
	u32 n = 0;
	void *selves[] = { &n };
	int err;

	dep_fold_unit_bytes = 1;
	err = dep_fold_run(f->s, f->code, folds, selves, 1, &options, NULL);
	dep_fold_unit_bytes = before;
	assert_int_equal(err, 0);
	return n;
}

/* The tables of all workers have a budget: that of a small store is not enough for 64. */
static void workers_of_small_stores(void **state)
{
	struct fold_store f;

	(void)state;
	write_chunks();
	fold_store_write(&f, chunk, CHUNKS);
	assert_int_equal(workers_of(&f, 1), 1);
	assert_int_equal(workers_of(&f, 7), 7);
	assert_int_equal(workers_of(&f, CHUNKS), dep_budget_fold(0) / DEP_SEQUENCES_BYTES);
	fold_store_close(&f);
}

/* ---- the table ---- */

/* A sequence has a number from the second time on, until the numbers are used for others. */
static void numbers(void **state)
{
	const u32 places = DEP_SEQUENCES_BUCKETS;
	u32 id[2][DEP_FOLD_SEQUENCE] = { { 1000 }, { 2000 } }, exit[DEP_FOLD_SEQUENCE] = { 3 };
	struct dep_sequences_found found, same;
	u32 other[DEP_FOLD_SEQUENCE] = { 3000 };
	struct dep_sequences all;

	(void)state;
	assert_int_equal(dep_sequences_init(&all), 0);
	dep_sequences_find(&all, id[0], 2, &found);
	assert_int_equal(found.number[0] + found.number[1], 0);
	assert_int_equal(dep_sequences_add(&all, id[0], exit, found.hash[0]), 0);
	assert_int_equal(dep_sequences_add(&all, id[1], exit, found.hash[1]), 0);
	assert_int_equal(dep_sequences_add(&all, id[1], exit, found.hash[1]), 1);
	dep_sequences_find(&all, id[0], 2, &found);
	assert_int_equal(found.number[0], 0);
	assert_int_equal(found.number[1], 1);
	assert_memory_equal(all.sequence[1].exit, exit, sizeof(exit));
	/* The same place in the table, but other exits. */
	assert_int_equal(dep_sequences_add(&all, id[0], exit, found.hash[1]), 0);
	do {
		other[0]++;
		dep_sequences_find(&all, other, 1, &same);
	} while (same.hash[0] % places != found.hash[1] % places);
	assert_int_not_equal(other[0], id[1][0]);
	assert_int_equal(same.number[0], 0);
	assert_false(dep_sequences_full(&all, 100));
	dep_fold_sequences = 2;
	assert_true(dep_sequences_full(&all, 1));
	assert_int_equal(dep_sequences_add(&all, id[0], exit, found.hash[0]), 0);
	dep_sequences_clear(&all);
	assert_int_equal(dep_sequences_add(&all, id[0], exit, found.hash[0]), 1);
	dep_sequences_find(&all, id[0], 2, &found);
	assert_int_equal(found.number[0], 1);
	assert_int_equal(found.number[1], 0);
	dep_sequences_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_are_exact, set_up, tear_down),
		cmocka_unit_test_setup_teardown(folds_receive_the_same, set_up, tear_down),
		cmocka_unit_test_setup_teardown(workers_of_small_stores, set_up, tear_down),
		cmocka_unit_test_setup_teardown(numbers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
