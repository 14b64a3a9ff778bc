// SPDX-License-Identifier: GPL-2.0-or-later
/* Predicted races of small random traces, against all orders of their events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/analyze/predict/predict.h"

#define THREADS	4
#define EVENTS	24
#define BYTES	16
#define LOCKS	2
#define SYNCS	2
#define BASE	0x10000ull
#define NOBODY	0xffu

enum what { ACCESS, LOCK, UNLOCK, ACQUIRE, RELEASE };

struct event {
	enum what what;
	unsigned int thread, object, address, size, flags;
	bool reading;
	u64 pc;
	/*
	 * Derived: writer of each byte that it reads; number of its section; events it must follow.
	 */
	unsigned int writer[BYTES];
	unsigned int section;
	unsigned int need[THREADS];
	/* predict_now() before and after the event */
	u64 before, after;
};

struct trace {
	unsigned int n, threads;
	struct event e[EVENTS];
	unsigned int of[THREADS][EVENTS], count[THREADS];	/* by thread */
};

static unsigned int below(unsigned int n)
{
	return (unsigned int)random() % n;
}

/* ---- random traces ---- */

static const unsigned int kinds[] = {
	RACE_READ, RACE_WRITE, RACE_READ | RACE_WRITE, RACE_WRITE | RACE_ATOMIC,
};

/* @locks: mostly critical sections, and accesses that require no other event. */
static void make(struct trace *t, bool own_places, bool locks)
{
	unsigned int held[THREADS] = { 0 }, reading[THREADS] = { 0 }, sections[LOCKS] = { 0 };
	unsigned int i, k, l;
	unsigned int writer[BYTES], released[SYNCS][THREADS] = { { 0 } };

	memset(t, 0, sizeof(*t));
	memset(writer, NOBODY, sizeof(writer));
	for (i = 0; i < BYTES; i++)
		writer[i] = NOBODY;
	t->threads = 2 + below(THREADS - 1);
	while (t->n < EVENTS - 6 + below(6)) {
		struct event *e = &t->e[t->n];
		bool taken = false;

		*e = (struct event){ .thread = below(t->threads), .what = below(12) };
		if (e->what > RELEASE)
			e->what = e->what < 9 ? ACCESS : e->what == 9 ? LOCK : UNLOCK;
		if (locks)
			e->what = "\0\0\0\1\1\1\1\2\2\2\2\3\4"[below(13)];
		e->object = below(2);
		l = 1u << e->object;
		switch (e->what) {
		case ACCESS:
			e->size = locks ? 1 : 1u << below(4);
			e->address = below((locks ? 3 : BYTES) / e->size) * e->size;
			e->flags = locks && below(6) ? RACE_WRITE : kinds[below(4)];
			e->pc = own_places ? t->n + 1 : e->thread + 1;
			for (i = e->address; i < e->address + e->size; i++) {
				e->writer[i] = writer[i];
				if (e->flags & RACE_WRITE)
					writer[i] = t->n;
			}
			break;
		case LOCK:
			e->reading = !below(3);
			for (k = 0; k < t->threads; k++)
				taken |= held[k] & l && (k == e->thread || !e->reading ||
							 !(reading[k] & l));
			if (taken)
				continue;
			held[e->thread] |= l;
			reading[e->thread] = (reading[e->thread] & ~l) | (e->reading ? l : 0);
			e->section = sections[e->object]++;
			break;
		case UNLOCK:
			if (!(held[e->thread] & l))
				continue;
			held[e->thread] &= ~l;
			break;
		case ACQUIRE:
			memcpy(e->need, released[e->object], sizeof(e->need));
			break;
		case RELEASE:
			released[e->object][e->thread] = t->count[e->thread] + 1;
			break;
		}
		t->of[e->thread][t->count[e->thread]++] = t->n++;
	}
}

/* ---- input of the prediction ---- */

static void tell(struct predict *p, struct trace *t)
{
	struct predict_sync sync[SYNCS] = { { 0 } };
	unsigned int i;

	for (i = 0; i < t->threads; i++)
		assert_int_equal(predict_thread(p, i, RACE_NO_THREAD, 0), 0);
	for (i = 0; i < t->n; i++) {
		struct event *e = &t->e[i];

		e->before = predict_now(p, e->thread);
		switch (e->what) {
		case ACCESS:
			assert_int_equal(predict_access(p, e->thread, &(struct predict_access){
				.pc = e->pc, .address = BASE + e->address, .size = e->size,
				.flags = e->flags, .place = i + 1,
			}, false), 0);
			break;
		case LOCK:
			assert_int_equal(predict_lock(p, e->thread, e->object, e->reading, i + 1),
					 0);
			break;
		case UNLOCK:
			assert_int_equal(predict_unlock(p, e->thread, e->object, i + 1), 0);
			break;
		case ACQUIRE:
			assert_int_equal(predict_acquire(p, e->thread, &sync[e->object], i + 1),
					 0);
			break;
		case RELEASE:
			assert_int_equal(predict_release(p, e->thread, &sync[e->object], i + 1),
					 0);
			break;
		}
		e->after = predict_now(p, e->thread);
	}
	for (i = 0; i < SYNCS; i++)
		predict_sync_free(&sync[i]);
}

/* ---- all orders ---- */

struct state {
	unsigned char cut[THREADS], writer[BYTES];
};

static bool holds(const struct trace *t, const struct state *s, unsigned int thread,
		  const struct event *lock)
{
	bool held = false;
	unsigned int i;

	for (i = 0; i < s->cut[thread]; i++) {
		const struct event *e = &t->e[t->of[thread][i]];

		if (e->object != lock->object)
			continue;
		if (e->what == LOCK)
			held = !(e->reading && lock->reading);
		else if (e->what == UNLOCK)
			held = false;
	}
	return held;
}

/* @any: sections may exchange their order. */
static bool may_lock(const struct trace *t, const struct state *s, const struct event *lock,
		     bool any)
{
	unsigned int k, i;

	for (k = 0; k < t->threads; k++) {
		if (holds(t, s, k, lock))
			return false;
		for (i = 0; i < s->cut[k] && !any; i++) {
			const struct event *e = &t->e[t->of[k][i]];

			if (e->what == LOCK && e->object == lock->object &&
			    e->section > lock->section && !(e->reading && lock->reading))
				return false;
		}
	}
	return true;
}

/* Execute the next event of @thread if its requirements are met. */
static bool go_on(const struct trace *t, struct state *s, unsigned int thread, bool any)
{
	unsigned int i, n = t->of[thread][s->cut[thread]];
	const struct event *e = &t->e[n];

	switch (e->what) {
	case ACCESS:
		for (i = e->address; i < e->address + e->size; i++) {
			if (e->flags & RACE_READ && s->writer[i] != e->writer[i])
				return false;
		}
		for (i = e->address; i < e->address + e->size; i++)
			if (e->flags & RACE_WRITE)
				s->writer[i] = (unsigned char)n;
		break;
	case LOCK:
		if (!may_lock(t, s, e, any))
			return false;
		break;
	case ACQUIRE:
		for (i = 0; i < t->threads; i++)
			if (i != thread && s->cut[i] < e->need[i])
				return false;
		break;
	case UNLOCK:
	case RELEASE:
		break;
	}
	s->cut[thread]++;
	return true;
}

#define SEEN	(1u << 20)

struct all {
	const struct trace *t;
	struct state *seen;
	unsigned char *used;
	unsigned int n;
	bool any;
	bool race[EVENTS][EVENTS], most[EVENTS][EVENTS];
};

static bool is_new(struct all *a, const struct state *s)
{
	u64 h = 0;
	unsigned int i;

	for (i = 0; i < sizeof(*s); i++)
		h = (h ^ ((const unsigned char *)s)[i]) * 0x100000001b3ull;
	for (i = (unsigned int)(h ^ h >> 32) % SEEN; a->used[i]; i = (i + 1) % SEEN)
		if (!memcmp(&a->seen[i], s, sizeof(*s)))
			return false;
	assert_true(++a->n < SEEN / 2);
	a->used[i] = 1;
	a->seen[i] = *s;
	return true;
}

static const struct event *next(const struct trace *t, const struct state *s, unsigned int k)
{
	const struct event *e = s->cut[k] < t->count[k] ? &t->e[t->of[k][s->cut[k]]] : NULL;

	return e && e->what == ACCESS ? e : NULL;
}

static bool do_race(const struct event *a, const struct event *b)
{
	return a && b && (a->flags | b->flags) & RACE_WRITE &&
	       !(a->flags & b->flags & RACE_ATOMIC) && a->address < b->address + b->size &&
	       b->address < a->address + a->size;
}

static void explore(struct all *a, const struct state *s)
{
	const struct trace *t = a->t;
	unsigned int i, k;
	struct state then;

	if (!is_new(a, s))
		return;
	for (i = 0; i < t->threads; i++)
		for (k = 0; k < i; k++)
			if (do_race(next(t, s, i), next(t, s, k)))
				a->race[next(t, s, i) - t->e][next(t, s, k) - t->e] =
				a->race[next(t, s, k) - t->e][next(t, s, i) - t->e] = true;
	for (i = 0; i < t->threads; i++) {
		then = *s;
		if (s->cut[i] < t->count[i] && go_on(t, &then, i, a->any))
			explore(a, &then);
	}
}

/* ---- comparing ---- */

struct found {
	const struct trace *t;
	const struct all *all;
	bool race[EVENTS + 1][EVENTS + 1];	/* by places */
	unsigned int n;
};

static unsigned int numbered(const struct trace *t, unsigned int thread, u64 number)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		if (t->e[i].thread == thread && t->e[i].before == number &&
		    t->e[i].after > number)
			return i;
	fail();
	return 0;
}

static const struct event *pending(const struct trace *t, const struct state *s, unsigned int k,
				   u64 to)
{
	const struct event *e = s->cut[k] < t->count[k] ? &t->e[t->of[k][s->cut[k]]] : NULL;

	return e && e->after <= to ? e : NULL;
}

/* Events that predict_now() does not number happen as soon as they can. */
static void settle(const struct trace *t, struct state *s, const u64 *to)
{
	const struct event *e;
	unsigned int k;
	bool more = true;

	while (more) {
		more = false;
		for (k = 0; k < t->threads; k++) {
			e = pending(t, s, k, to[k]);
			more |= e && e->before == e->after && go_on(t, s, k, true);
		}
	}
}

static void run_to(const struct trace *t, struct state *s, unsigned int thread, u64 *to)
{
	const struct event *e;

	settle(t, s, to);
	while ((e = pending(t, s, thread, to[thread]))) {
		if (!go_on(t, s, thread, true)) {
			/* The last event may wait for an unnumbered event of another thread. */
			assert_true(e->before == e->after);
			break;
		}
		settle(t, s, to);
	}
}

static int report(void *arg, const struct predict_race *r)
{
	struct found *f = arg;
	const struct event *a, *b;
	struct state s = { 0 };
	unsigned int i, ends = 0;
	u64 to[THREADS] = { 0 };

	a = &f->t->e[numbered(f->t, r->found.prior.thread, r->number[0])];
	b = &f->t->e[numbered(f->t, r->found.current.thread, r->number[1])];
	assert_true(a < b);
	assert_int_equal(a->pc, r->found.prior.pc);
	assert_true(r->found.address >= BASE + a->address && r->found.address >= BASE + b->address);
	assert_true(f->all->most[a - f->t->e][b - f->t->e]);
	assert_int_equal(r->more_steps, 0);
	memset(s.writer, NOBODY, sizeof(s.writer));
	for (i = 0; i < r->nsteps; i++) {
		to[r->step[i].thread] = r->step[i].to;
		run_to(f->t, &s, r->step[i].thread, to);
		if (r->step[i].end == PREDICT_ACCESS)
			ends |= 1u << r->step[i].thread;
	}
	settle(f->t, &s, to);
	assert_int_equal(ends, 1u << a->thread | 1u << b->thread);
	assert_ptr_equal(next(f->t, &s, a->thread), a);
	assert_ptr_equal(next(f->t, &s, b->thread), b);
	f->race[a->pc][b->pc] = f->race[b->pc][a->pc] = true;
	f->n++;
	return 0;
}

static struct predict *look(struct trace *t, u64 limit)
{
	struct predict *p;

	assert_int_equal(predict_create(&p, limit), 0);
	tell(p, t);
	predict_again(p);
	tell(p, t);
	return p;
}

static unsigned int one(struct all *a, bool own_places, bool locks, unsigned int *reversed,
			unsigned int *missed)
{
	struct trace t;
	struct found f = { .t = &t, .all = a };
	struct state s = { 0 };
	struct predict *p;
	unsigned int i, k;

	make(&t, own_places, locks);
	a->t = &t;
	a->n = 0;
	memset(a->used, 0, SEEN);
	memset(a->race, 0, sizeof(a->race));
	memset(s.writer, NOBODY, sizeof(s.writer));
	a->any = true;
	explore(a, &s);
	memcpy(a->most, a->race, sizeof(a->race));
	memset(a->race, 0, sizeof(a->race));
	memset(a->used, 0, SEEN);
	a->n = 0;
	a->any = false;
	explore(a, &s);
	p = look(&t, 0);
	assert_int_equal(predict_find(p, 0, report, &f), 0);
	for (i = 0; i < t.n && own_places; i++)
		for (k = 0; k < i; k++) {
			if (a->race[i][k] && !f.race[i + 1][k + 1])
				fail_msg("events %u and %u are not found", k, i);
			*reversed += f.race[i + 1][k + 1] && !a->race[i][k];
			*missed += a->most[i][k] && !f.race[i + 1][k + 1];
		}
	predict_free(p);
	return f.n;
}

static void many(bool own_places, bool locks, unsigned int rounds)
{
	struct all a = { 0 };
	unsigned int i, n = 0, reversed = 0, missed = 0;

	a.seen = malloc(SEEN * sizeof(*a.seen));
	a.used = malloc(SEEN);
	for (i = 0; i < rounds; i++)
		n += one(&a, own_places, locks, &reversed, &missed);
	free(a.seen);
	free(a.used);
	assert_true(n > rounds / 2);
	/* Races that are not sync-preserving may be missed. */
	if (own_places && locks)
		assert_true(reversed);
	print_message("%u races, %u of them with sections exchanged; %u missed\n", n, reversed,
		      missed);
}

static void test_every_race(void **state)
{
	(void)state;
	many(true, false, 1500);
}

static void test_sections(void **state)
{
	(void)state;
	many(true, true, 1500);
}

/* If several accesses have the same pc, every reported race is still possible. */
static void test_places(void **state)
{
	(void)state;
	many(false, false, 500);
	many(false, true, 500);
}

static int count(void *arg, const struct predict_race *r)
{
	(void)r;
	++*(unsigned int *)arg;
	return 0;
}

static void access_word(struct predict *p, u32 thread, u64 pc, u64 address, u32 flags)
{
	predict_access(p, thread, &(struct predict_access){
		.pc = pc, .address = address, .size = 4, .flags = flags,
	}, false);
}

/* Two writes, each after or (@inside) within a critical section of the same lock. */
static unsigned int simple(bool inside, u64 limit, bool *stopped)
{
	struct predict *p;
	unsigned int n = 0, i;

	assert_int_equal(predict_create(&p, limit), 0);
	for (i = 0; i < 2; i++) {
		access_word(p, 0, 1, BASE, RACE_WRITE);
		predict_lock(p, 0, 7, false, 0);
		predict_unlock(p, 0, 7, 0);
		predict_lock(p, 1, 7, false, 0);
		if (inside)
			access_word(p, 0, 3, BASE + 8, RACE_READ);
		predict_unlock(p, 1, 7, 0);
		access_word(p, 1, 2, BASE, RACE_WRITE);
		if (!i)
			predict_again(p);
	}
	*stopped = predict_stopped(p);
	assert_int_equal(predict_find(p, 0, count, &n), 0);
	predict_free(p);
	return n;
}

static void test_limit(void **state)
{
	bool stopped;
	u64 limit;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(simple(false, 0, &stopped), 1);
	assert_false(stopped);
	/* With too little work allowed the search stops; it never reports a wrong number. */
	for (limit = 1; limit < 100000; limit += 501) {
		n = simple(true, limit, &stopped);
		assert_true(n == 1 || stopped);
	}
	assert_int_equal(n, 1);
}

/*
 * A pair of accesses that may be ordered either way, by predict_after() or predict_needs(), is not
 * reported.
 */
static void test_unsure(void **state)
{
	unsigned int n = 0, i, sure;
	struct predict *p;

	(void)state;
	for (sure = 0; sure < 2; sure++) {
		assert_int_equal(predict_create(&p, 0), 0);
		for (i = 0; i < 2; i++) {
			access_word(p, 0, 1, BASE, RACE_WRITE);
			access_word(p, 0, 3, BASE + 8, RACE_WRITE);
			if (!sure)
				predict_after(p, 1, 0, 0);
			access_word(p, 1, 4, BASE + 8, RACE_WRITE);
			if (!sure)
				predict_needs(p, 0, 1, 1);
			access_word(p, 1, 2, BASE, RACE_WRITE);
			if (!i)
				predict_again(p);
		}
		n = 0;
		assert_int_equal(predict_find(p, 0, count, &n), 0);
		assert_int_equal(n, sure ? 2 : 0);
		predict_free(p);
	}
}

/* Searching for a witness counts as work: many read sections that may all be open at once. */
static void test_work(void **state)
{
	unsigned int n = 0, i, k, sections = 3000;
	struct predict *p;

	(void)state;
	assert_int_equal(predict_create(&p, 0), 0);
	for (i = 0; i < 2; i++) {
		for (k = 0; k < 2 * sections; k++) {
			predict_lock(p, k < sections, 7, true, 1);
			predict_unlock(p, k < sections, 7, 1);
		}
		access_word(p, 0, 1, BASE, RACE_WRITE);
		access_word(p, 1, 2, BASE, RACE_WRITE);
		if (!i)
			predict_again(p);
	}
	assert_int_equal(predict_find(p, sections * sections / 2, count, &n), 1);
	assert_int_equal(n, 0);
	assert_int_equal(predict_find(p, 2 * sections * sections, count, &n), 0);
	assert_int_equal(n, 1);
	predict_free(p);
}

/* Sections of one thread, one after the other, need less work. */
static void test_work_alone(void **state)
{
	unsigned int n = 0, i, k, sections = 3000;
	struct predict *p;

	(void)state;
	assert_int_equal(predict_create(&p, 0), 0);
	for (i = 0; i < 2; i++) {
		for (k = 0; k < sections; k++) {
			predict_lock(p, 0, 7, false, 1);
			predict_unlock(p, 0, 7, 1);
		}
		access_word(p, 0, 1, BASE, RACE_WRITE);
		access_word(p, 1, 2, BASE, RACE_WRITE);
		if (!i)
			predict_again(p);
	}
	assert_int_equal(predict_find(p, 100 * sections, count, &n), 0);
	assert_int_equal(n, 1);
	predict_free(p);
}

/* @places pcs in each thread; each pair races more than once and is reported up to a limit. */
static void report_pairs(unsigned int places, unsigned int want, int ret)
{
	unsigned int n = 0, i, k, m;
	struct predict *p;

	assert_int_equal(predict_create(&p, 0), 0);
	for (i = 0; i < 2; i++) {
		for (m = 0; m < 3; m++)
			for (k = 0; k < places * places; k++) {
				u64 at = BASE + 8 * (k + m * places * places);

				access_word(p, 0, 1 + k / places, at, RACE_WRITE);
				access_word(p, 1, 1 + places + k % places, at, RACE_WRITE);
			}
		if (!i)
			predict_again(p);
	}
	assert_int_equal(predict_find(p, 0, count, &n), ret);
	assert_int_equal(n, want);
	predict_free(p);
}

static void test_reports(void **state)
{
	(void)state;
	report_pairs(50, 2500, 0);
	report_pairs(70, PREDICT_REPORTS, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_race),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_unsure),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_work_alone),
		cmocka_unit_test(test_reports),
	};
	const char *seed = getenv("ADEPT_TEST_SEED");

	srandom(seed ? (unsigned int)strtoul(seed, NULL, 0) : 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
