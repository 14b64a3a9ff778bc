// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: productions of grammars (libdep/streams), written and read.
 *
 * The first byte of an input says what is done with the others:
 *
 *	bits 0-2	bytes of a symbol, less one
 *	bits 3-5	symbols that are added at a time: 1, 2, 3, 5, 16, 64, 300, or all
 *	bit 6		a grammar that has hardly any memory
 *	bit 7		the others are no symbols, but a serialised grammar
 */
#include <stdint.h>
#include <stdlib.h>

#include "libdep/streams/hot.h"
#include "tests/unit/streams/grammar_check.h"
#include "tests/unit/streams/grammar_read.h"

#define STEPS_MAX	120u	/* symbols of a sequence that is checked after each of them */
#define LENGTH_MAX	(1u << 20)
#define MEMORY		(1u << 20)	/* has no huge pages, which take long to clear */

struct bytes {
	u8 *data;
	size_t n, fail;		/* @fail: number of the call that fails; 0: none */
};

static int put(void *arg, const void *data, size_t size)
{
	struct bytes *b = arg;

	if (b->fail && !--b->fail)
		return 17;
	b->data = realloc(b->data, b->n + size);
	memcpy(b->data + b->n, data, size);
	b->n += size;
	return 0;
}

static void check_write(const struct sequitur *g, struct bytes *b)
{
	u64 size;

	assert_int_equal(sequitur_write(g, put, b, &size), 0);
	assert_int_equal(size, b->n);
	assert_int_equal(sequitur_write(g, NULL, NULL, &size), 0);
	assert_int_equal(size, b->n);
}

static void check_read(const struct bytes *b, const u64 *in, u64 n)
{
	u64 length, *out = grammar_read(b->data, b->n, n, &length);

	assert_non_null(out);
	assert_int_equal(length, n);
	assert_memory_equal(out, in, n * sizeof(*in));
	free(out);
}

/* Writing ends where the receiver fails. */
static void check_failure(const struct sequitur *g, size_t call)
{
	struct bytes b = { .fail = call };
	u64 size;
	int ret = sequitur_write(g, put, &b, &size);

	assert_int_equal(ret, b.fail ? 0 : 17);
	free(b.data);
}

static void check_hot(const struct sequitur *g, u64 n)
{
	const struct hot_limits limits = { n / 50 + 1, 2, 100 };
	struct hot_use *use = calloc(sequitur_rules(g), sizeof(*use));
	u64 *position = calloc(sequitur_rules(g), sizeof(*position)), covered = 0;
	u32 i;

	hot_find(g, &limits, use);
	hot_positions(g, use, position);
	for (i = 0; i < sequitur_rules(g); i++) {
		assert_true(use[i].uses >= (i ? 2 : 1) && use[i].cold_uses <= use[i].uses);
		covered += use[i].hot ? sequitur_length(g, i) * use[i].cold_uses : 0;
		assert_true(use[i].hot ? position[i] + sequitur_length(g, i) <= n :
					 position[i] == UINT64_MAX);
	}
	assert_true(covered <= n);
	free(use);
	free(position);
}

/* A grammar checked after each symbol is built in single steps, and has the same productions. */
static void check_steps(const u64 *in, u64 n, const struct bytes *expected)
{
	struct sequitur *g = sequitur_new(MEMORY);
	struct bytes b = { 0 };
	u64 i;

	for (i = 0; i < n; i++) {
		assert_int_equal(sequitur_append(g, in[i]), 0);
		check_open(g);
	}
	assert_int_equal(sequitur_close(g), 0);
	check_write(g, &b);
	assert_int_equal(b.n, expected->n);
	assert_memory_equal(b.data, expected->data, b.n);
	free(b.data);
	sequitur_free(g);
}

/* Return: the number of symbols for which there was memory. */
static u64 check_grammar(const u64 *in, u64 n, size_t memory, size_t step)
{
	struct sequitur *g = sequitur_new(memory);
	struct bytes b = { 0 };
	u64 at, added = 0;
	size_t part;

	for (at = 0; at < n && added == at; at += part) {
		part = step < n - at ? step : n - at;
		if (step == 1)
			added += !sequitur_append(g, in[at]);
		else
			added += sequitur_append_all(g, in + at, part);
	}
	assert_true(added == n || (sequitur_append(g, 0) == -ENOSPC && added >= 500));
	check_open(g);
	assert_int_equal(g->shared, 0);
	assert_int_equal(sequitur_close(g), 0);
	check_expand(g, in, added);
	check_hot(g, added);
	check_write(g, &b);
	check_read(&b, in, added);
	check_failure(g, added % 97 + 1);
	if (added <= STEPS_MAX)
		check_steps(in, added, &b);
	free(b.data);
	sequitur_free(g);
	return added;
}

static void check_symbols(const u8 *data, size_t size, u8 how)
{
	static const size_t steps[] = { 1, 2, 3, 5, 16, 64, 300, SIZE_MAX };
	size_t width = how % 8 + 1, n = size / width, i, added;
	u64 *in = calloc(n + 1, sizeof(*in));

	for (i = 0; i < n; i++)
		memcpy(&in[i], data + i * width, width);
	for (i = 0; i < n; i += added)
		added = check_grammar(in + i, n - i, how & 64 ? SEQUITUR_MEMORY_MIN : MEMORY,
				      steps[how / 8 % 8]);
	free(in);
}

/* Bytes that are a grammar stand for a sequence, of which a grammar can be made. */
static void check_serialised(const u8 *data, size_t size)
{
	u64 n, *in = grammar_read(data, size, LENGTH_MAX, &n);

	if (in)
		check_grammar(in, n < 4096 ? n : 4096, MEMORY, SIZE_MAX);
	free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (*data & 128)
		check_serialised(data + 1, size - 1);
	else
		check_symbols(data + 1, size - 1, *data);
	return 0;
}
