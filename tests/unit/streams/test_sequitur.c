// SPDX-License-Identifier: GPL-2.0-or-later
/* Sequitur: published examples, both properties after each symbol, time, memory, written form. */
#include <stdlib.h>

#include "grammar_check.h"
#include "grammar_read.h"
#include "tests/unit/lib/random.h"

static void check_example(const char *text, const char *expected)
{
	struct sequitur *g = grammar_of(text);
	struct sequitur_size size;
	u64 in[64], n;

	assert_string_equal(print_grammar(g), expected);
	for (n = 0; text[n]; n++)
		in[n] = (u8)text[n];
	check_expand(g, in, n);
	sequitur_size(g, &size);
	assert_int_equal(size.symbols, n);
	assert_int_equal(size.rules, sequitur_rules(g));
	sequitur_free(g);
}

static void test_examples(void **state)
{
	(void)state;
	check_example("", "S=");
	check_example("a", "S=a");
	check_example("ab", "S=ab");
	/* Nevill-Manning and Witten, figure 1 (a), (b) and table 1 */
	check_example("abcdbc", "S=a1d1 1=bc");
	check_example("abcdbcabcdbc", "S=11 1=a2d2 2=bc");
	check_example("abcdbcabcd", "S=121 1=a2d 2=bc");
	/* Chilimbi and Hirzel, PLDI 2002, figure 4 */
	check_example("abaabcabcabcabc", "S=3a11 1=22 2=3c 3=ab");
	/* a rule that is used once is gone again */
	check_example("abcabdabcabd", "S=11 1=2c2d 2=ab");
	check_example("abcabcabc", "S=111 1=abc");
}

static void test_runs(void **state)
{
	(void)state;
	check_example("aa", "S=aa");
	check_example("aaa", "S=aaa");
	check_example("aaaa", "S=11 1=aa");
	check_example("aaaaa", "S=11a 1=aa");
	check_example("aaaaaaaa", "S=11 1=22 2=aa");
	check_example("baaabaaa", "S=11 1=baaa");
	check_example("aaabaaab", "S=11 1=aaab");
}

/* A random sequence with copies of earlier parts and runs. */
static u64 random_sequence(u64 *in, u64 max)
{
	u64 symbols = 1 + rnd() % 6, n = 0, from, length;

	while (n < max) {
		switch (rnd() % 4) {
		case 0:
			if (!n)
				break;
			from = rnd() % n;
			for (length = 1 + rnd() % 9; length-- && n < max;)
				in[n++] = in[from++];
			break;
		case 1:
			from = rnd() % symbols;
			for (length = 1 + rnd() % 6; length-- && n < max;)
				in[n++] = from;
			break;
		default:
			in[n++] = rnd() % symbols;
		}
	}
	return n;
}

/* Repeated parts that were made rules at once, and those made symbol by symbol. */
static void check_equal(const struct sequitur *g, const struct sequitur *h)
{
	struct sequitur_symbol a, b;
	struct sequitur_walk v, w;
	u32 i;

	assert_int_equal(sequitur_rules(g), sequitur_rules(h));
	for (i = 0; i < sequitur_rules(g); i++) {
		v = sequitur_walk(g, i);
		w = sequitur_walk(h, i);
		while (sequitur_next(g, &v, &a)) {
			assert_true(sequitur_next(h, &w, &b));
			assert_true(a.value == b.value && a.is_rule == b.is_rule);
		}
		assert_false(sequitur_next(h, &w, &b));
	}
}

static void test_random(void **state)
{
	u64 cases = from_env("ADEPT_TEST_COUNT", 600), i, j, n, part, in[300];
	struct sequitur *g, *same;

	(void)state;
	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	print_message("seed %llu\n", (unsigned long long)rnd_state);
	for (i = 0; i < cases; i++) {
		n = random_sequence(in, rnd() % 300);
		g = sequitur_new(1 << 20);
		same = sequitur_new(1 << 20);
		assert_true(g && same);
		for (j = 0; j < n; j++) {
			assert_int_equal(sequitur_append(g, in[j]), 0);
			check_open(g);
		}
		for (j = 0; j < n; j += part) {
			part = 1 + rnd() % 40;
			if (part > n - j)
				part = n - j;
			assert_int_equal(sequitur_append_all(same, in + j, part), part);
			if (!(rnd() % 4))
				check_open(same);
		}
		assert_int_equal(g->shared, 0);
		assert_int_equal(sequitur_close(g), 0);
		check_expand(g, in, n);
		assert_int_equal(sequitur_close(same), 0);
		check_equal(g, same);
		sequitur_free(same);
		sequitur_free(g);
	}
}

static struct sequitur *grammar_of_n(const u64 *in, u64 n)
{
	struct sequitur *g = sequitur_new(64 << 20);
	u64 i;

	assert_non_null(g);
	for (i = 0; i < n; i++)
		assert_int_equal(sequitur_append(g, in[i]), 0);
	return g;
}

#define LONG	(1u << 18)

/* A run of 2^k equal symbols has a rule for each power of two below it but the last. */
static void test_equal(void **state)
{
	u64 *in = calloc(LONG, sizeof(*in));
	struct sequitur_size size;
	struct sequitur *g;
	u64 n, rules;

	(void)state;
	assert_non_null(in);
	for (n = 4, rules = 2; n <= LONG; n *= 2, rules++) {
		g = grammar_of_n(in, n);
		check_open(g);
		assert_int_equal(sequitur_close(g), 0);
		sequitur_size(g, &size);
		assert_int_equal(size.rules, rules);
		assert_int_equal(size.body, 2 * rules);
		check_expand(g, in, n);
		sequitur_free(g);
	}
	free(in);
}

/* Fibonacci words are as deep as a grammar of their length can be. */
static void test_fibonacci(void **state)
{
	u64 *in = calloc(LONG, sizeof(*in)), a = 1, n = 2, i, next;
	struct sequitur_size size;
	struct sequitur *g;

	(void)state;
	assert_non_null(in);
	in[1] = 1;
	while (n + a <= LONG) {		/* F(k + 1) = F(k) F(k - 1) */
		for (i = 0; i < a; i++)
			in[n + i] = in[i];
		next = n + a;
		a = n;
		n = next;
	}
	g = grammar_of_n(in, n);
	check_open(g);
	assert_int_equal(sequitur_close(g), 0);
	sequitur_size(g, &size);
	assert_in_range(size.body, 20, 200);
	check_expand(g, in, n);
	sequitur_free(g);
	free(in);
}

/* Ten times the symbols need at most about ten times the steps. */
static void test_linear(void **state)
{
	u64 *in = calloc(LONG, sizeof(*in)), n, i;
	struct sequitur_size size;
	struct sequitur *g;
	unsigned int kind;

	(void)state;
	assert_non_null(in);
	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	for (kind = 0; kind < 4; kind++) {
		for (n = LONG / 64; n <= LONG; n *= 8) {
			if (kind == 0)
				random_sequence(in, n);
			for (i = 0; i < n && kind; i++)
				in[i] = kind == 1 ? rnd() % 1000 : kind == 2 ? i : i * i % 1009;
			g = grammar_of_n(in, n);
			sequitur_size(g, &size);
			assert_true(size.steps <= 6 * n);
			sequitur_free(g);
		}
	}
	free(in);
}

/* Any value may be a symbol, also those that look like numbers of nodes. */
static void test_values(void **state)
{
	static const u64 value[] = { 0, 1, 2, 3, ~0ull, 1ull << 63, 1u << 30, 3u << 30 };
	u64 in[512], i;
	struct sequitur *g;

	(void)state;
	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	for (i = 0; i < 512; i++)
		in[i] = value[rnd() % 8];
	g = grammar_of_n(in, 512);
	check_open(g);
	assert_int_equal(sequitur_close(g), 0);
	check_expand(g, in, 512);
	sequitur_free(g);
}

static void test_limit(void **state)
{
	u64 *in = calloc(LONG, sizeof(*in)), n, memory, last = 0;
	struct sequitur_size size;
	struct sequitur *g;

	(void)state;
	assert_non_null(in);
	assert_null(sequitur_new(SEQUITUR_MEMORY_MIN - 1));
	assert_int_equal(errno, EINVAL);
	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	for (memory = SEQUITUR_MEMORY_MIN; memory <= 2 << 20; memory = memory * 3 / 2) {
		g = sequitur_new(memory);
		assert_non_null(g);
		for (n = 0;; n++) {
			assert_true(n < LONG);
			in[n] = rnd() % 5000;
			if (sequitur_append(g, in[n]))
				break;
			sequitur_size(g, &size);
			assert_true(size.memory <= memory);
		}
		assert_true(n >= last / 10 * 9 && n > memory / 60);
		last = n;
		assert_int_equal(sequitur_append(g, 0), -ENOSPC);
		check_open(g);
		assert_int_equal(sequitur_close(g), 0);
		assert_int_equal(sequitur_append(g, 0), -ENOSPC);
		check_expand(g, in, n);
		sequitur_free(g);
	}
	free(in);
}

static int fail_third(void *arg, u64 symbol)
{
	u64 *n = arg;

	(void)symbol;
	return ++*n == 3 ? 17 : 0;
}

static void test_stop(void **state)
{
	struct sequitur *g = grammar_of("abcabcabc");
	u64 n = 0;

	(void)state;
	assert_int_equal(sequitur_expand(g, 0, fail_third, &n), 17);
	assert_int_equal(n, 3);
	sequitur_free(g);
}

/* ---- the serialised form, read back ---- */

struct bytes {
	u8 data[1 << 16];
	size_t n;
};

static int put(void *arg, const void *data, size_t size)
{
	struct bytes *b = arg;

	assert_true(b->n + size <= sizeof(b->data));
	memcpy(b->data + b->n, data, size);
	b->n += size;
	return 0;
}

static void test_write(void **state)
{
	static struct bytes b;
	u64 i, j, n, size, in[300], length, *out;
	struct sequitur *g;

	(void)state;
	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	for (i = 0; i < 300; i++) {
		n = random_sequence(in, 1 + rnd() % 299);
		for (j = 0; j < n; j++)
			in[j] = in[j] * 0x123456789abcdefull;
		g = grammar_of_n(in, n);
		assert_int_equal(sequitur_close(g), 0);
		b.n = 0;
		assert_int_equal(sequitur_write(g, put, &b, &size), 0);
		assert_int_equal(size, b.n);
		assert_int_equal(sequitur_write(g, NULL, NULL, &size), 0);
		assert_int_equal(size, b.n);
		out = grammar_read(b.data, b.n, n, &length);
		assert_non_null(out);
		assert_int_equal(length, n);
		assert_memory_equal(out, in, n * sizeof(*in));
		free(out);
		sequitur_free(g);
	}
	/* 2 symbols, 0x61 and + 1; 2 rules: 1 1, and a b */
	g = grammar_of("abab");
	b.n = 0;
	assert_int_equal(sequitur_write(g, put, &b, &size), 0);
	assert_int_equal(size, 10);
	assert_memory_equal(b.data, "\2\x61\1\2\2\3\3\2\0\2", 10);
	sequitur_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_fibonacci),
		cmocka_unit_test(test_linear),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
