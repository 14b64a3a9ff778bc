// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random executions: a detector that sees only filtered references finds the same racy bytes as one
 * that sees all.  ADEPT_TEST_SEED and ADEPT_TEST_COUNT set seed and number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "dep/races.h"
#include "libdep/analyze/races/detector.h"
#include "libdep/recover/program/program.h"
#include "tests/unit/lib/joined.h"
#include "one_filter.h"
#include "tests/unit/lib/random.h"

#define THREADS		4u
#define LOCKS		3u
#define COUNTERS	2u
#define BLOCKS		4u
#define BLOCK		24u
#define BYTES		96u
#define BASE		0x7f0000001000ull
#define WORD		0x7f0000005000ull	/* of atomic words */
#define COUNTER		0x7f0000006000ull

struct bytes {
	u8 raced[BYTES];
};

static void note(void *arg, const struct race_found *f)
{
	struct bytes *b = arg;
	u32 i;

	for (i = 0; i < f->size; i++)
		b->raced[f->address + i - BASE] = 1;
}

/** struct execution - one detector sees all of it, the other one only filtered references */
struct execution {
	struct bytes all, left;
	struct race_detector *d[2];
	struct race_sync lock[2][LOCKS], counter[2][COUNTERS];
	u32 size[BLOCKS];		/* sizes of allocated blocks */
	u32 index[2][THREADS];
	struct one place;		/* thread whose filter is not used */
	struct dep_filter filter[THREADS];
	u64 shown, seen, counted, held;
};

static void note_forgotten(void *arg, u64 address, u32 size)
{
	struct bytes *b = arg;
	u32 i;

	for (i = 0; i < size; i++)
		if (address + i - BASE < BYTES)
			b->raced[address + i - BASE] = 1;
}

static void begin_execution(struct execution *x)
{
	u32 i, k;

	memset(x, 0, sizeof(*x));
	begin_one(&x->place, false);
	for (k = 0; k < 2; k++) {
		const struct race_options o = { .mode = RACE_HB_ONLY | (k ? RACE_BYTES : 0) };
		const struct race_ops ops = {
			.report = note, .arg = k ? &x->left : &x->all,
			.forgotten = k ? note_forgotten : NULL,
		};

		assert_int_equal(race_detector_create(&x->d[k], &ops, &o), 0);
		for (i = 0; i < THREADS; i++)
			assert_int_equal(race_thread_begin(x->d[k], i ? x->index[k][0] :
							   RACE_NO_THREAD, &x->index[k][i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(dep_filter_init(&x->filter[i], &x->place.scope, i + 1), 0);
	/* One word is already known as a counter. */
	for (i = 0; i < DEP_ATOMIC_COUNTERS_OFTEN; i++)
		dep_atomic_counters_count(&x->place.counters, COUNTER, 8, 1);
}

static void end_execution(struct execution *x)
{
	u32 i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < LOCKS; i++)
			race_sync_free(x->d[k], &x->lock[k][i]);
		for (i = 0; i < COUNTERS; i++)
			race_sync_free(x->d[k], &x->counter[k][i]);
		race_detector_free(x->d[k]);
	}
	for (i = 0; i < THREADS; i++)
		dep_filter_free(&x->filter[i]);
	end_one(&x->place);
}

static void access_byte(struct execution *x, u32 t)
{
	static const u32 types[] = { DEP_READ, DEP_READ, DEP_WRITE, DEP_MODIFY };
	u32 type = types[rnd() % 4], size = 1u << rnd() % 4;
	u64 address = BASE + rnd() % (BYTES - 16);
	u32 flags = type, pc = rnd() % 50;
	struct dep_ref r;
	u64 bits;

	if (rnd() % 16 == 0)
		size = 1 + rnd() % 16;
	race_access(x->d[0], x->index[0][t], pc, address, size, flags);
	x->seen++;
	r = (struct dep_ref){ pc, address, size, (u16)type, 0 };
	/* Defer most references that can be deferred. */
	if (rnd() % 4)
		x->filter[t].singly = DEP_FILTER_SINGLY;
	/* as machine code does */
	bits = ~0ull >> (64 - size);
	if (rnd() % 2 && dep_filter_defer_near(&x->filter[t], DEP_CODE_PROGRAM, pc, address,
					       type & DEP_WRITE ? 0 : bits,
					       type & DEP_WRITE ? bits : 0))
		return;
	if (!show(&x->filter[t], DEP_CODE_PROGRAM, &r))
		return;
	x->shown++;
	race_access(x->d[1], x->index[1][t], pc, r.addr, r.size, flags);
}

static void show_joined(struct execution *x, u32 t, bool last)
{
	union joined_room room;
	struct dep_ref r;

	while (dep_filter_flush(&x->filter[t], &room.j)) {
		x->shown++;
		race_access_page(x->d[1], x->index[1][t], &room.j, 0);
	}
	while (last && dep_filter_last(&x->filter[t], &r)) {
		x->shown++;
		race_access(x->d[1], x->index[1][t], r.pc, r.addr, r.size, r.type);
	}
}

static void show_deferred(struct execution *x, u32 t)
{
	show_joined(x, t, true);
}

/* By a locked instruction, or by a plain write to a word that is known as atomic. */
static void synchronise(struct execution *x, u32 t)
{
	u32 l = rnd() % LOCKS, k;
	struct dep_ref r = { 1, WORD + 4 * l, 4, DEP_WRITE, 0 };
	bool plain = rnd() % 2;

	if (!plain) {
		show_deferred(x, t);
		dep_filter_timestamp(&x->filter[t], 0);
		r.type = DEP_MODIFY;
		assert_int_equal(dep_filter_first(&x->filter[t], DEP_CODE_PROGRAM, &r),
				 DEP_FILTER_EMIT);
	} else if (dep_filter_first(&x->filter[t], DEP_CODE_PROGRAM, &r) ==
		   DEP_FILTER_FLUSH_THEN_EMIT) {
		show_deferred(x, t);
		dep_filter_new_interval(&x->filter[t]);
	}
	/* The filtered detector does not see an unknown release. */
	for (k = 0; k < 2; k++) {
		if (k && plain && !(r.type & DEP_REF_RELEASES))
			continue;
		if (!plain)
			race_acquire(x->d[k], x->index[k][t], &x->lock[k][l]);
		race_release(x->d[k], x->index[k][t], &x->lock[k][l]);
	}
	if (!plain)
		dep_filter_timestamp(&x->filter[t], DEP_TK_AFTER);
}

/* As recovery does. */
static void pass_timestamp(struct execution *x, u32 t, u32 how)
{
	struct dep_filter *s = &x->filter[t];
	u64 held = s->held.pc;

	if (dep_filter_locks(s, how, DEP_CODE_PROGRAM))
		show_joined(x, t, false);
	dep_filter_timestamp(s, how);
	s->held.pc = 0;
	if (how & DEP_TK_AFTER)
		x->held += held != 0;
	else if (dep_filter_holds(s, how, DEP_CODE_PROGRAM))
		s->held.pc = 1;
}

/* By a locked instruction that counts, by another one on the same word, or by a plain read. */
static void count(struct execution *x, u32 t)
{
	static const u32 hows[] = { 0, DEP_TK_COUNTS, DEP_TK_COUNTS | DEP_TK_UNUSED };
	u32 how = hows[rnd() % 3], l = rnd() % COUNTERS, k;
	struct dep_ref r = { 1, COUNTER + 8 * l, 8, DEP_READ, 0 };
	bool plain = rnd() % 16 == 0;
	enum dep_filtered what;

	if (!plain) {
		pass_timestamp(x, t, how);
		r.type = DEP_MODIFY;
	}
	what = dep_filter_first(&x->filter[t], DEP_CODE_PROGRAM, &r);
	if (what == DEP_FILTER_FLUSH_THEN_EMIT)
		show_deferred(x, t);
	if (what != DEP_FILTER_DROP)
		x->filter[t].held.pc = 0;
	for (k = 0; k < 2; k++)
		if (!plain && !(k && r.type & DEP_REF_COUNTS))
			race_release(x->d[k], x->index[k][t], &x->counter[k][l]);
	x->counted += (r.type & DEP_REF_COUNTS) != 0;
	if (!plain)
		pass_timestamp(x, t, how | DEP_TK_AFTER);
	/* The thread has seen the old value, by a flag or by reading it. */
	for (k = 0; k < 2; k++)
		if (!(how & DEP_TK_UNUSED) && (!k || what != DEP_FILTER_DROP))
			race_acquire(x->d[k], x->index[k][t], &x->counter[k][l]);
}

/* By a system call that only acquires. */
static void receive(struct execution *x, u32 t)
{
	u32 l = rnd() % LOCKS, k;

	show_deferred(x, t);
	for (k = 0; k < 2; k++)
		race_acquire(x->d[k], x->index[k][t], &x->lock[k][l]);
}

/* Call a function with an argument and a result; return the size that is new to the filter. */
static u64 call_it(struct execution *x, u32 t, u32 function, u64 a, u64 result)
{
	struct dep_call_values passed = { .sp = 0x1000, .value = { a } };
	struct dep_function_call f = { .function = function, .known = 1, .passed = &passed };
	u64 again;

	if (dep_filter_passes(&x->filter[t], &f))
		show_joined(x, t, false);
	again = dep_filter_function(&x->filter[t], &f, DEP_CODE_LIBRARY);
	passed = (struct dep_call_values){ .sp = 0x1008, .value = { result } };
	f = (struct dep_function_call){ .is_return = 1, .known = 1, .passed = &passed };
	if (dep_filter_passes(&x->filter[t], &f))
		show_joined(x, t, false);
	a = dep_filter_function(&x->filter[t], &f, DEP_CODE_PROGRAM);
	return function == DEP_F_MALLOC_USABLE_SIZE ? a : again;
}

static void forget(struct execution *x, u32 t, u64 address, u64 size)
{
	u32 k;

	/* No other thread's reference may come between a deferred reference and its emission. */
	for (k = 0; k < THREADS; k++)
		if (k != t)
			show_joined(x, k, false);
	for (k = 0; k < 2; k++)
		assert_int_equal(race_forget_by(x->d[k], x->index[k][t], address, size), 0);
}

/* Any thread frees a block, uses it after that, or allocates it again without a free. */
static void use_heap(struct execution *x, u32 t)
{
	u32 b = rnd() % BLOCKS, size = 1 + rnd() % BLOCK, k;
	u64 address = BASE + BLOCK * b, again;

	switch (rnd() % 4) {
	case 0:
		call_it(x, t, DEP_F_MALLOC, size, address);
		forget(x, t, address, size);
		x->size[b] = size;
		break;
	case 1:
		size = size > x->size[b] ? size : x->size[b];
		again = call_it(x, t, DEP_F_MALLOC_USABLE_SIZE, address, size);
		if (!x->size[b])
			break;
		again = again > x->size[b] ? again : x->size[b];
		for (; again < size; again++)
			x->left.raced[address + again - BASE] = 1;
		forget(x, t, address + x->size[b], size - x->size[b]);
		x->size[b] = size;
		break;
	default:
		again = call_it(x, t, DEP_F_FREE, address, 0);
		for (k = 0; k < 2 && x->size[b]; k++)
			race_access(x->d[k], x->index[k][t], 1, address, x->size[b],
				    RACE_WRITE | RACE_FREE);
		for (; again < x->size[b]; again++)
			x->left.raced[address + again - BASE] = 1;
		x->size[b] = 0;
	}
}

static void executions(void **unused)
{
	u64 n = from_env("ADEPT_TEST_COUNT", 3000), raced = 0, shown = 0, seen = 0, counted = 0;
	u64 held = 0;
	struct execution x;
	u32 i, rate;
	bool heap;

	(void)unused;
	rnd_state = from_env("ADEPT_TEST_SEED", (u64)time(NULL));
	printf("seed %llu\n", (unsigned long long)rnd_state);
	while (n--) {
		begin_execution(&x);
		x.place.scope.singly = rnd() % 2;
		rate = 2 + rnd() % 30;
		heap = rnd() % 2;
		for (i = 0; i < 400; i++) {
			if (rnd() % rate == 0)
				synchronise(&x, rnd() % THREADS);
			else if (rnd() % rate == 0)
				count(&x, rnd() % THREADS);
			else if (rnd() % rate == 0)
				receive(&x, rnd() % THREADS);
			else if (heap && rnd() % 8 == 0)
				use_heap(&x, rnd() % THREADS);
			else
				access_byte(&x, rnd() % THREADS);
		}
		for (i = 0; i < THREADS; i++)
			show_deferred(&x, i);
		for (i = 0; i < BYTES; i++) {
			raced += x.all.raced[i];
			/* never fewer; more if a word became atomic too late */
			assert_true(!x.all.raced[i] || x.left.raced[i]);
		}
		shown += x.shown;
		seen += x.seen;
		counted += x.counted;
		held += x.held;
		end_execution(&x);
	}
	assert_true(raced > 0);
	assert_true(shown < seen);
	assert_true(counted > 0);
	assert_true(held > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
