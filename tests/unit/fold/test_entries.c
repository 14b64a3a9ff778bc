// SPDX-License-Identifier: GPL-2.0-or-later
/* Entries of functions that only indirect calls reach, wherever a call is in a batch of exits. */
#include "libdep/contexts/moves.h"

#include "fold_store.h"

/* The branches of all are indirect; that of CALL is a call.  TARGET is the first of TARGETS. */
enum { PLAIN, CALL, TARGET };

#define TARGETS		96u
#define FRAGMENTS	(TARGET + TARGETS)
#define CHUNKS		8u
#define GROUPS		(WORDS / DEP_FOLD_SEQUENCE)	/* of a chunk */

#define FIRST_PC	0x1000ull
#define STEP_PC		0x100ull

static struct fold_chunk chunk[CHUNKS];

static u64 pc_of(u32 frag)
{
	return FIRST_PC + frag * STEP_PC;
}

static int set_up(void **state)
{
	static const u8 jump[] = { 0x90, 0xff, 0xe0 }, call[] = { 0x90, 0xff, 0xd0 };
	struct stream_code codes[FRAGMENTS];
	u32 i;

	(void)state;
	for (i = 0; i < FRAGMENTS; i++)
		codes[i] = (struct stream_code){
			.pc = pc_of(i), .bytes = i == CALL ? call : jump, .len = sizeof(jump),
			.entry_mask = 0xffff,
		};
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

static int tear_down(void **state)
{
	dep_fold_sequences = DEP_FOLD_SEQUENCES;
	return fold_tear_down(state);
}

/* A group of 8 records: @first, then CALL and @second or nothing, then PLAIN, and @last. */
static void write_group(struct fold_chunk *c, u32 first, u32 second, u32 last)
{
	u32 i;

	fold_run(c, first);
	fold_run(c, second == PLAIN ? PLAIN : CALL);
	fold_run(c, second);
	for (i = 3; i + 1 < DEP_FOLD_SEQUENCE; i++)
		fold_run(c, PLAIN);
	fold_run(c, last);
}

/* Mostly PLAIN */
static u32 any_target(void)
{
	u32 n = (u32)stream_random(&fold_stream) % (8 * TARGETS);

	return n < TARGETS ? TARGET + n : PLAIN;
}

/* Groups that have come before, some with a call at the end, and targets behind them. */
static void write_chunks(void)
{
	u32 i, k;

	memset(chunk, 0, sizeof(chunk));
	for (i = 0; i < CHUNKS; i++) {
		chunk[i].seq = i;
		for (k = 0; k < GROUPS; k++)
			write_group(&chunk[i], any_target(), any_target(),
				    stream_random(&fold_stream) % 2 ? PLAIN : CALL);
	}
}

/* Fails unless exactly the targets that the words have behind a call are entries. */
static void check(const struct dep_moves *m)
{
	bool called[FRAGMENTS] = { false }, behind = false;
	u32 i, k, frag, n = 0;
	s64 at;

	for (i = 0; i < CHUNKS; i++)
		for (k = 0; k < chunk[i].n; k++) {
			for (frag = 0; fold_stream.frag[frag].id != chunk[i].word[k]; frag++)
				;
			called[frag] |= behind;
			behind = frag == CALL;
		}
	for (i = 0; i < FRAGMENTS; i++) {
		at = dep_moves_at(m, 1, pc_of(i));
		assert_true(at >= 0);
		assert_int_equal(m->entry[at], called[i]);
		n += called[i];
	}
	assert_in_range(n, TARGETS / 8, TARGETS - TARGETS / 8);
}

static void called_indirectly(void **state)
{
	static const u32 numbers[] = { DEP_FOLD_SEQUENCES, 1, 600 };
	struct dep_moves_source from = { .jobs = 1 };
	struct dep_profile *counts;
	struct dep_moves *m;
	struct fold_store f;
	u32 round, i;

	(void)state;
	for (round = 0; round < 20; round++) {
		write_chunks();
		fold_store_write(&f, chunk, CHUNKS);
		assert_int_equal(dep_profile_make(f.s, f.code, NULL, &counts), 0);
		for (i = 0; i < 2 * sizeof(numbers) / sizeof(*numbers); i++) {
			dep_fold_sequences = numbers[i / 2];
			from.counts = i % 2 ? counts : NULL;
			assert_int_equal(dep_moves_make(f.s, f.code, &m), 0);
			assert_int_equal(dep_moves_entries(m, &from), 0);
			check(m);
			dep_moves_free(m);
		}
		dep_profile_free(counts);
		fold_store_close(&f);
	}
}

/*
 * If the code at an address has changed in between, counts cannot tell what led to a place, so they
 * are not used.  Here they are wrong: they have a call that the store does not have.
 */
static void check_changed(bool changes)
{
	const struct stream_code codes[] = {
		FOLD_CODE(FIRST_PC, 0xff, 0xd0), FOLD_CODE(FIRST_PC + STEP_PC, 0xff, 0xe0),
		FOLD_CODE(FIRST_PC, 0xff, 0xe0),
	};
	const struct dep_edge_count wrong = {
		.from = FIRST_PC, .to = FIRST_PC + STEP_PC, .count = 1, .process = 1,
		.kind = DEP_BRANCH_CALL_INDIRECT,
	};
	const struct dep_profile counts = { .edge = &wrong, .nedges = 1 };
	const struct dep_moves_source from = { .counts = &counts, .jobs = 1 };
	struct fold_chunk c = { 0 };
	struct dep_moves *m;
	struct fold_store f;
	s64 at;

	fold_set_up(codes, changes ? 3 : 2);
	fold_run(&c, 1);
	fold_store_write(&f, &c, 1);
	assert_int_equal(dep_moves_make(f.s, f.code, &m), 0);
	at = dep_moves_at(m, 1, wrong.to);
	assert_true(at >= 0);
	assert_int_equal(dep_moves_entries(m, &from), 0);
	assert_int_equal(m->entry[at], !changes);
	dep_moves_free(m);
	fold_store_close(&f);
	fold_tear_down(NULL);
}

static void changed_code(void **state)
{
	(void)state;
	check_changed(false);
	check_changed(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(called_indirectly, set_up, tear_down),
		cmocka_unit_test(changed_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
