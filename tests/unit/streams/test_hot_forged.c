// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hash tables of hot streams, filled from a forged store.
 *
 * XXH3 can be inverted, so a recording can have any number of streams or instructions with the same
 * hash if that has a known seed.  They must take about as long as others.
 */
#define XXH_INLINE_ALL
#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

#include "grammar_check.h"
#include "libdep/streams/hot.h"
#include "libdep/streams/symbols.h"
#include "tests/unit/lib/random.h"

#define STREAMS	20000u
#define PCS	60000u
#define TIMES	10u		/* as long as others that they may take, and ... */
#define SLACK_NS 100000000ull	/* ... this besides */

static u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

/* x * inverse(x) = 1, modulo 2^64; @x is odd. */
static u64 inverse(u64 x)
{
	u64 y = x;
	int i;

	for (i = 0; i < 6; i++)
		y *= 2 - x * y;
	return y;
}

static u64 secret(size_t at)
{
	return XXH_readLE64(XXH3_kSecret + at);
}

/* ---- streams of two symbols ---- */

/* The lower half of the hash with seed 0 is 0: a factor of the product that is hashed is 0. */
static void forge_stream(u64 i, u64 *symbol)
{
	u64 h = i << 32;

	h ^= h >> 32;
	h *= inverse(0x165667919e3779f9ull);
	h ^= h >> 37;
	symbol[0] = secret(24) ^ secret(32);
	symbol[1] = (h - 2 * sizeof(*symbol)) ^ secret(40) ^ secret(48);
	assert_int_equal((u32)XXH3_64bits(symbol, 2 * sizeof(*symbol)), 0);
}

static void random_stream(u64 i, u64 *symbol)
{
	symbol[0] = i;
	symbol[1] = rnd();
}

static u64 time_streams(void (*make)(u64 i, u64 *symbol))
{
	struct hot_streams *s = hot_streams_new(64 << 20);
	const struct hot_stream *t;
	struct sequitur *g;
	u64 i, symbol[2], ns = 0;

	assert_non_null(s);
	for (i = 0; i < STREAMS; i++) {
		make(i, symbol);
		g = sequitur_new(SEQUITUR_MEMORY_MIN);
		assert_non_null(g);
		assert_int_equal(sequitur_append(g, symbol[0]), 0);
		assert_int_equal(sequitur_append(g, symbol[1]), 0);
		assert_int_equal(sequitur_close(g), 0);
		ns -= cpu_ns();
		assert_int_equal(hot_streams_add(s, g, 0, 0, 1, i), 0);
		ns += cpu_ns();
		sequitur_free(g);
	}
	assert_int_equal(hot_streams_all(s, &t), STREAMS);
	hot_streams_free(s);
	return ns;
}

static void test_streams(void **state)
{
	u64 others = time_streams(random_stream), forged = time_streams(forge_stream);

	(void)state;
	print_message("%u streams: %llu us, forged %llu us\n", STREAMS,
		      (unsigned long long)others / 1000, (unsigned long long)forged / 1000);
	assert_true(forged < TIMES * others + SLACK_NS);
}

/* ---- instructions ---- */

static u64 mix(u64 x)
{
	return x ^ (x << 49 | x >> 15) ^ (x << 24 | x >> 40);
}

/* The lower half of the hash with seed 0 is 0. */
static u64 forge_pc(u64 i)
{
	u64 h = i << 32, pc;
	int k;

	h ^= h >> 28 ^ h >> 56;
	h *= inverse(0x9fb21c651e98df25ull);
	h ^= (h >> 35) + sizeof(pc);
	h *= inverse(0x9fb21c651e98df25ull);
	/* mix() 64 times changes nothing. */
	for (k = 0; k < 63; k++)
		h = mix(h);
	h ^= secret(8) ^ secret(16);
	pc = h << 32 | h >> 32;
	assert_int_equal((u32)XXH3_64bits(&pc, sizeof(pc)), 0);
	return pc;
}

static u64 random_pc(u64 i)
{
	return rnd() << 16 | i;
}

static u64 time_pcs(u64 (*make)(u64 i))
{
	struct dep_ref ref = { .addr = 8 };
	struct stream_pcs pcs = { 0 };
	u64 i, symbol, ns = 0;

	for (i = 0; i < PCS; i++) {
		ref.pc = make(i);
		ns -= cpu_ns();
		assert_int_equal(stream_symbol(&pcs, &ref, &symbol), 0);
		ns += cpu_ns();
		assert_true(symbol == (i << STREAM_WORD_BITS | 1) &&
			    stream_word(&pcs, symbol) == 8);
	}
	stream_pcs_free(&pcs);
	return ns;
}

static void test_pcs(void **state)
{
	u64 others = time_pcs(random_pc), forged = time_pcs(forge_pc);

	(void)state;
	print_message("%u instructions: %llu us, forged %llu us\n", PCS,
		      (unsigned long long)others / 1000, (unsigned long long)forged / 1000);
	assert_true(forged < TIMES * others + SLACK_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_pcs),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
