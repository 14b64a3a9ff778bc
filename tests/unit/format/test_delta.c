// SPDX-License-Identifier: GPL-2.0-or-later
/* Values as differences: what comes out is what went in, however many are taken at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "libdep/format/codec/delta.h"
#include "tests/unit/lib/random.h"

#define MOST	200u
#define PIECE	6u	/* fewer than are taken at once where the processor can; an even number */

struct streams {
	u64 difference[MOST];
	u8 lens[MOST + 16], each[MOST], bytes[8 * MOST + 8];
	u32 n, bytes_size;
};

/* @n values at random, of every length. */
static void make(struct streams *s, u32 n)
{
	u64 last, value;
	u32 i;

	s->n = n;
	s->bytes_size = 0;
	for (i = 0; i < n; i++) {
		last = rnd();
		value = last + (rnd() % 4 ? rnd() >> rnd() % 64 : 0) * (rnd() % 2 ? 1 : -1ull);
		s->difference[i] = value - last;
		s->lens[i] = s->each[i] = (u8)dep_delta_put(&last, value, s->bytes + s->bytes_size);
		s->bytes_size += s->lens[i];
	}
	assert_int_equal(dep_delta_lens(s->lens, n), (n + 1) / 2);
}

static int take(const struct streams *s, u32 from, u32 n, u64 *out)
{
	struct dep_delta_in in = { .lens = s->lens + from / 2, .bytes = s->bytes };
	u32 i;

	for (i = 0; i < from; i++)
		in.bytes += s->each[i];
	for (; i < from + n; i++)
		in.bytes_size += s->each[i];
	return dep_delta_differences(&in, out, n);
}

static void differences(void **state)
{
	u64 out[MOST];
	struct streams s;
	u32 k, from, n;

	(void)state;
	rnd_state = from_env("ADEPT_TEST_SEED", (u64)time(NULL));
	printf("seed %llu\n", (unsigned long long)rnd_state);
	for (k = 0; k < 2000; k++) {
		make(&s, rnd() % MOST);
		assert_int_equal(take(&s, 0, s.n, out), 0);
		assert_memory_equal(out, s.difference, s.n * sizeof(*out));
		for (from = 0; from < s.n; from += n) {
			n = s.n - from < PIECE ? s.n - from : PIECE;
			assert_int_equal(take(&s, from, n, out), 0);
			assert_memory_equal(out, s.difference + from, n * sizeof(*out));
		}
	}
}

/* Lengths that none has, or that are not what is there. */
static void bad_lengths(void **state)
{
	struct dep_delta_in in;
	u64 out[MOST];
	struct streams s;
	u32 k, i;

	(void)state;
	for (k = 0; k < 2000; k++) {
		make(&s, 1 + rnd() % (MOST - 1));
		in = (struct dep_delta_in){ s.lens, s.bytes, s.bytes_size };
		i = rnd() % ((s.n + 1) / 2);
		s.lens[i] ^= 1u << rnd() % 4;
		assert_int_equal(dep_delta_differences(&in, out, s.n), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences),
		cmocka_unit_test(bad_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
