// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sequences: paths are counted together with those in front of them.
 *
 * A window is what decides into which rows the next paths of an activation go: the last paths that
 * it executed, at most p->iterations - 1 of them.  Equal windows are the same one.  A window has no
 * list of its paths.  It has the counter of a path that led to it, and that has the window in front
 * of the path: each step back finds one path.
 */
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "libdep/format/file/error.h"
#include "pass.h"

u64 dep_path_hash_bits = UINT64_MAX;

static struct dep_path_window *window_at(const struct dep_path_pass *p, u32 window)
{
	return DEP_PATH_ROW(struct dep_path_window, p->window, window - 1);
}

/* The paths of a window that ends with path @c, or that ends in front of it if @c is NULL. */
static u32 numbers(const struct dep_path_pass *p, const struct dep_path_counter *c, u32 window,
		   u64 *number)
{
	u32 n = 0;

	for (;;) {
		if (!c && window)
			c = dep_path_counter_at(p, window_at(p, window)->counter);
		if (!c || n == p->iterations - 1)
			return n;
		number[n++] = c->number;
		window = c->before;
		c = NULL;
	}
}

u32 dep_path_window(const struct dep_path_pass *p, u32 window, u64 *number)
{
	return numbers(p, NULL, window, number);
}

static bool is_window(const struct dep_path_pass *p, u32 window, const u64 *number, u32 n)
{
	u64 have[DEP_PATH_ITERATIONS];

	return dep_path_window(p, window, have) == n &&
	       !memcmp(have, number, n * sizeof(*number));
}

/* The window that ends with the path of counter @i; or a negative errno. */
static s64 find_window(struct dep_path_pass *p, u32 i)
{
	const struct dep_path_counter *c = dep_path_counter_at(p, i);
	u64 number[DEP_PATH_ITERATIONS];
	u32 n = numbers(p, c, 0, number);
	u64 hash = XXH3_64bits_withSeed(number, n * sizeof(*number), p->seed);
	struct dep_row_key key = { .a = hash & dep_path_hash_bits, .b = c->function };
	bool added;
	s64 at;

	/* Windows with the same hash have consecutive keys. */
	for (; (at = dep_row_find(&p->window_map, &key)) >= 0; key.c++)
		if (is_window(p, (u32)at + 1, number, n))
			return at + 1;
	at = dep_path_index(p, &p->window_map, &key, &p->window, sizeof(struct dep_path_window),
			    &added);
	if (at < 0)
		return at;
	window_at(p, (u32)at + 1)->counter = i;
	return at + 1;
}

/* Windows that do not fit stay unknown: what follows is not counted, rather than in a wrong row. */
static int set_after(struct dep_path_pass *p, u32 i)
{
	s64 window = find_window(p, i);

	if (window < 0 && window != -ENOSPC)
		return (int)window;
	dep_path_counter_at(p, i)->after = window < 0 ? DEP_PATH_NO : (u32)window;
	return 0;
}

/* The same path often follows again; otherwise its counter is looked up. */
static s64 count(struct dep_path_pass *p, const struct dep_path_counter *what)
{
	u32 next = what->before ? window_at(p, what->before)->next : 0;
	struct dep_path_counter *c;
	s64 i;

	if (next) {
		c = dep_path_counter_at(p, next - 1);
		if (c->number == what->number && c->block == what->block) {
			c->count++;
			return next - 1;
		}
	}
	i = dep_path_count(p, what);
	if (i >= 0 && what->before)
		window_at(p, what->before)->next = (u32)i + 1;
	return i;
}

int dep_path_count_next(struct dep_path_pass *p, const struct dep_path_counter *what, u32 *after)
{
	s64 i;
	int err = 0;

	if (what->before == DEP_PATH_NO) {
		p->not_counted++;
		return 0;
	}
	i = count(p, what);
	if (i < 0 && i != -ENOSPC)
		return (int)i;
	if (!after)
		return 0;
	*after = DEP_PATH_NO;
	if (i < 0)
		return 0;
	if (!dep_path_counter_at(p, (u32)i)->after)
		err = set_after(p, (u32)i);
	*after = dep_path_counter_at(p, (u32)i)->after;
	return err;
}

static int count_stretch(struct dep_path_pass *p, const struct dep_path_stretch *s, u64 sum,
			 u32 *sequence)
{
	struct dep_path_counter what = {
		.number = sum, .count = 1, .function = s->function, .block = DEP_PATH_NO,
		.before = *sequence,
	};
	u32 i;
	int err = dep_path_count_next(p, &what, sequence);

	for (i = 0; i < s->nlater && !err; i++) {
		what.number = *DEP_PATH_ROW(u64, p->later, s->later + i);
		what.before = *sequence;
		err = dep_path_count_next(p, &what, sequence);
	}
	return err;
}

void dep_path_ended_in_sequence(void *self, u32 stretch, u64 sum, u32 *sequence)
{
	struct dep_path_pass *p = self;
	int err = count_stretch(p, dep_path_stretch_at(p, stretch), sum, sequence);

	if (!p->err)
		p->err = err;
}
