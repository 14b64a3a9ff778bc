// SPDX-License-Identifier: GPL-2.0-or-later
/* Hot streams: the paper's example; random grammars against a walk over the whole derivation. */
#include <stdlib.h>

#include "grammar_check.h"
#include "libdep/streams/hot.h"
#include "tests/unit/lib/random.h"

/* Chilimbi and Hirzel, figures 4 to 6: H = 8, lengths from 2 to 7. */
static void test_paper(void **state)
{
	static const struct { u64 length, uses, cold_uses; bool hot; } row[] = {
		{ 15, 1, 1, false },	/* S */
		{ 6, 2, 2, true },	/* B: abcabc, heat 12 */
		{ 3, 4, 0, false },	/* C */
		{ 2, 5, 1, false },	/* A: heat 2 */
	};
	const struct hot_limits limits = { 8, 2, 7 };
	struct sequitur *g = grammar_of("abaabcabcabcabc");
	struct hot_use use[4];
	u64 position[4];
	u32 i;

	(void)state;
	assert_int_equal(sequitur_rules(g), 4);
	hot_find(g, &limits, use);
	for (i = 0; i < 4; i++) {
		assert_int_equal(sequitur_length(g, i), row[i].length);
		assert_int_equal(use[i].uses, row[i].uses);
		assert_int_equal(use[i].cold_uses, row[i].cold_uses);
		assert_int_equal(use[i].hot, row[i].hot);
	}
	hot_positions(g, use, position);
	assert_int_equal(position[1], 3);
	assert_true(position[0] == UINT64_MAX && position[2] == UINT64_MAX);
	sequitur_free(g);
}

static void check_limits(const char *text, struct hot_limits limits, const char *hot)
{
	struct sequitur *g = grammar_of(text);
	struct hot_use use[64];
	char found[64] = "";
	u32 i;

	assert_true(sequitur_rules(g) <= 64);
	hot_find(g, &limits, use);
	for (i = 0; i < sequitur_rules(g); i++)
		if (use[i].hot)
			sprintf(found + strlen(found), "%u", i);
	assert_string_equal(found, hot);
	sequitur_free(g);
}

/* S=3a11 1=22 2=3c 3=ab */
static void test_limits(void **state)
{
	static const char text[] = "abaabcabcabcabc";

	(void)state;
	check_limits(text, (struct hot_limits){ 12, 2, 6 }, "1");
	check_limits(text, (struct hot_limits){ 13, 2, 100 }, "");	/* also not S */
	check_limits(text, (struct hot_limits){ 8, 2, 5 }, "2");
	check_limits(text, (struct hot_limits){ 2, 2, 5 }, "23");
	check_limits(text, (struct hot_limits){ 2, 2, 2 }, "3");
	check_limits(text, (struct hot_limits){ 2, 3, 5 }, "2");
	check_limits(text, (struct hot_limits){ 0, 2, 100 }, "13");
	check_limits("", (struct hot_limits){ 0, 0, ~0ull }, "");
}

/* ---- against a walk over the derivation of the whole sequence ---- */

struct walk {
	const struct sequitur *g;
	const bool *hot;
	u64 *uses, *cold, *first;
	u64 at;
};

static void derive(struct walk *w, u32 rule, bool cold)
{
	struct sequitur_walk at = sequitur_walk(w->g, rule);
	struct sequitur_symbol s;

	w->uses[rule]++;
	if (cold) {
		w->cold[rule]++;
		if (w->at < w->first[rule])
			w->first[rule] = w->at;
	}
	while (sequitur_next(w->g, &at, &s)) {
		if (s.is_rule)
			derive(w, (u32)s.value, cold && !w->hot[rule]);
		else
			w->at++;
	}
}

/*
 * Decide for one rule after another, with a derivation for each: those that contain a rule have
 * been decided by then.
 */
static void check_hot(const struct sequitur *g, struct hot_limits l)
{
	u32 n = sequitur_rules(g), i;
	bool *hot = calloc(n, sizeof(*hot));
	u64 *uses = calloc(n, 8), *cold = calloc(n, 8), *first = malloc(8 * n);
	u64 *position = calloc(n, 8), covered = 0, length;
	struct hot_use *use = calloc(n, sizeof(*use));
	struct walk w = { g, hot, uses, cold, first, 0 };

	hot_find(g, &l, use);
	hot_positions(g, use, position);
	for (i = 0; i < n; i++) {
		w.at = 0;
		memset(uses, 0, 8 * n);
		memset(cold, 0, 8 * n);
		memset(first, 0xff, 8 * n);
		derive(&w, 0, true);
		length = sequitur_length(g, i);
		hot[i] = i && cold[i] && length >= l.min_length && length <= l.max_length &&
			 length * cold[i] >= l.heat;
		assert_int_equal(use[i].uses, uses[i]);
		assert_int_equal(use[i].cold_uses, cold[i]);
		assert_int_equal(use[i].hot, hot[i]);
		assert_int_equal(position[i], hot[i] ? first[i] : UINT64_MAX);
		covered += hot[i] ? length * cold[i] : 0;
	}
	assert_true(covered <= sequitur_length(g, 0));
	free(hot);
	free(uses);
	free(cold);
	free(first);
	free(position);
	free(use);
}

static struct sequitur *random_grammar(u64 n)
{
	struct sequitur *g = sequitur_new(1 << 20);
	u64 symbols = 1 + rnd() % 5, word[8][6], i, k;

	assert_non_null(g);
	for (i = 0; i < 8; i++)
		for (k = 0; k < 6; k++)
			word[i][k] = rnd() % symbols;
	while (n--) {
		i = rnd() % 8;
		for (k = 0; k <= i % 6; k++)
			assert_int_equal(sequitur_append(g, word[i][k]), 0);
	}
	assert_int_equal(sequitur_close(g), 0);
	return g;
}

static void test_random(void **state)
{
	u64 cases = from_env("ADEPT_TEST_COUNT", 2000), i;
	struct hot_limits l;
	struct sequitur *g;

	(void)state;
	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	print_message("seed %llu\n", (unsigned long long)rnd_state);
	for (i = 0; i < cases; i++) {
		g = random_grammar(rnd() % 100);
		l.heat = rnd() % 40;
		l.min_length = rnd() % 4;
		l.max_length = l.min_length + rnd() % 30;
		check_hot(g, l);
		sequitur_free(g);
	}
}

/* ---- sets of streams ---- */

static void add(struct hot_streams *s, const char *text, u32 owner, u64 times, u64 where)
{
	struct sequitur *g = grammar_of(text);

	assert_int_equal(hot_streams_add(s, g, 0, owner, times, where), 0);
	sequitur_free(g);
}

static void test_set(void **state)
{
	struct hot_streams *s = hot_streams_new(1 << 20);
	const struct hot_stream *t;
	char text[16];
	u32 i;

	(void)state;
	assert_non_null(s);
	assert_int_equal(hot_streams_all(s, &t), 0);
	add(s, "abab", 1, 3, 10);
	add(s, "aba", 1, 5, 11);
	add(s, "abab", 1, 4, 12);
	add(s, "abab", 2, 1, 13);
	add(s, "aba", 1, 0, 9);
	assert_int_equal(hot_streams_all(s, &t), 3);
	assert_true(t[0].times == 7 && t[0].where == 10 && t[0].length == 4);
	assert_true(t[1].times == 5 && t[1].where == 9 && t[1].length == 3);
	assert_true(t[2].times == 1 && t[2].where == 13 && t[2].owner == 2);
	assert_int_equal(hot_symbols(s, &t[0])[3], 'b');
	for (i = 0; i < 2000; i++) {
		sprintf(text, "%u", 1000000 + i % 1000);
		add(s, text, 1, 1, i);
	}
	assert_int_equal(hot_streams_all(s, &t), 1003);
	for (i = 3; i < 1003; i++)
		assert_true(t[i].times == 2 && t[i].where == i - 3 &&
			    hot_symbols(s, &t[i])[6] == '0' + (i - 3) % 10);
	hot_streams_free(s);
}

static void test_set_limit(void **state)
{
	struct hot_streams *s = hot_streams_new(10000);
	struct sequitur *g;
	char text[16];
	u32 i;
	int err = 0;

	(void)state;
	assert_non_null(s);
	for (i = 0; !err; i++) {
		assert_true(i < 1000);
		sprintf(text, "%u", 1000000 + i);
		g = grammar_of(text);
		err = hot_streams_add(s, g, 0, 0, 1, 0);
		sequitur_free(g);
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(i > 20);
	hot_streams_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paper),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_set_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
