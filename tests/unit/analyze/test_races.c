// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The race detector against the reference detector, for random executions: threads that fork and
 * join, locks that are held or not, accesses of all sizes, memory that becomes new. ADEPT_TEST_SEED
 * and ADEPT_TEST_COUNT set seed and number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "libdep/analyze/races/internal.h"
#include "race_oracle.h"
#include "tests/unit/lib/random.h"

static u64 seed_of_run;

/* One execution, given to both detectors. */
struct pair {
	struct race_detector *d;
	struct oracle *o;
	struct race_sync sync[ORACLE_SYNCS];
	u64 base;
	u32 bytes;		/* of memory that is accessed */
	u32 mode, places, threads, events, sites, rate;
	bool disciplined;	/* every byte has its own lock */
	u32 nthreads, nalive;
	u32 alive[ORACLE_THREADS], gone[ORACLE_THREADS], ngone;
	/* of the access */
	struct race_found found[4096];
	u32 nfound;
	/* of the run */
	u64 flagged, wanted, pairs, traces_with_races, traces_with_records;
};

static void note(void *arg, const struct race_found *found)
{
	struct pair *p = arg;

	assert_true(p->nfound < 4096);
	p->found[p->nfound++] = *found;
}

static void fail_here(const struct pair *p, const char *what, u32 byte)
{
	fail_msg("%s at byte %u: ADEPT_TEST_SEED=%llu mode %u places %u threads %u", what, byte,
		 (unsigned long long)seed_of_run, p->mode, p->places, p->threads);
}

static const struct oracle_pair *find_pair(const struct oracle_pair *o, size_t n, u32 byte,
					   const struct race_access *a, bool thread)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (o[i].byte == byte && o[i].pc == a->pc && o[i].flags == a->flags &&
		    (!thread || o[i].thread == a->thread))
			return &o[i];
	return NULL;
}

static const struct oracle_pair *find_thread(const struct oracle_pair *o, size_t n, u32 byte,
					     u32 thread)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (o[i].byte == byte && o[i].thread == thread)
			return &o[i];
	return NULL;
}

static bool is_found(const struct pair *p, u32 byte, const struct oracle_pair *of)
{
	const struct race_found *f;
	u32 i;

	for (i = 0; i < p->nfound; i++) {
		f = &p->found[i];
		if (f->address - p->base <= byte && byte - (f->address - p->base) < f->size &&
		    (!of || (f->prior.pc == of->pc && f->prior.flags == of->flags)))
			return true;
	}
	return false;
}

/* Compare the results of both for an access of @t. */
static void compare(struct pair *p, u32 t, u64 pc, u32 flags, size_t n, bool after_edge)
{
	const struct oracle_pair *o = oracle_pairs(p->o);
	u32 i, b, first;
	size_t j;

	for (i = 0; i < p->nfound; i++) {
		const struct race_found *f = &p->found[i];

		assert_int_equal(f->current.thread, t);
		assert_true(f->current.pc == pc || p->mode & RACE_BYTES);
		assert_int_equal(f->current.flags, flags);
		first = f->address - p->base;
		for (b = first; b < first + f->size; b++)
			if (!(p->mode & RACE_BYTES ? find_thread(o, n, b, f->prior.thread) :
						     find_pair(o, n, b, &f->prior, true)))
				fail_here(p, "a race is reported that is none", b);
	}
	for (j = 0; j < n; j++) {
		bool found = is_found(p, o[j].byte, NULL);

		p->wanted++;
		p->flagged += found;
		if (!found && !after_edge)
			fail_here(p, "a race is missed", o[j].byte);
		if (p->mode & RACE_KEEP_ALL && !after_edge && !is_found(p, o[j].byte, &o[j]))
			fail_here(p, "a pair of places is missed", o[j].byte);
	}
	p->pairs += n;
}

static u32 random_flags(void)
{
	static const u16 flags[] = {
		RACE_READ, RACE_READ, RACE_READ, RACE_WRITE, RACE_WRITE, RACE_READ | RACE_WRITE,
		RACE_READ | RACE_ATOMIC, RACE_WRITE | RACE_ATOMIC,
		RACE_READ | RACE_WRITE | RACE_ATOMIC, RACE_FREE, RACE_WRITE | RACE_SYSCALL,
		RACE_READ | RACE_INSIDE, RACE_WRITE | RACE_INSIDE,
	};

	return flags[rnd() % (sizeof(flags) / sizeof(flags[0]))];
}

static u32 random_size(u32 bytes)
{
	switch (rnd() % 16) {
	case 0:
		return rnd() % bytes + 1;
	case 1:
		return rnd() % 64 + 1;
	case 2:
		return 16u << rnd() % 3;
	default:
		return 1u << rnd() % 4;
	}
}

static void do_access(struct pair *p, u32 t)
{
	u32 flags = random_flags(), size = random_size(p->bytes), at, sync = 0;
	bool edges = oracle_edges(p->o) && !(p->mode & RACE_HB_ONLY);
	u64 pc = 1 + rnd() % p->sites;
	size_t n;

	if (size > p->bytes)
		size = p->bytes;
	at = rnd() % (p->bytes - size + 1);
	if (rnd() % 2)
		at = at / size * size;
	if (p->disciplined) {
		/* Each lock protects a part of the memory. */
		sync = rnd() % ORACLE_SYNCS;
		at = p->bytes / ORACLE_SYNCS * sync;
		size = rnd() % (p->bytes / ORACLE_SYNCS) + 1;
		oracle_acquire(p->o, t, sync);
		assert_int_equal(race_acquire(p->d, t, &p->sync[sync]), 0);
	}
	p->nfound = 0;
	n = oracle_access(p->o, t, pc, p->base + at, size, flags);
	assert_int_equal(race_access(p->d, t, pc, p->base + at, size, flags), 0);
	compare(p, t, pc, flags & RACE_FREE ? flags | RACE_WRITE : flags, n, edges);
	if (p->disciplined) {
		assert_int_equal(n, 0);
		oracle_release(p->o, t, sync, true);
		assert_int_equal(race_release_store(p->d, t, &p->sync[sync]), 0);
	}
}

static void do_begin(struct pair *p, u32 parent)
{
	u32 t;

	if (p->nthreads == ORACLE_THREADS || p->nalive == p->threads)
		return;
	assert_int_equal(race_thread_begin(p->d, parent, &t), 0);
	assert_int_equal(oracle_begin(p->o, parent), t);
	p->alive[p->nalive++] = t;
	p->nthreads++;
}

static void do_end(struct pair *p, u32 i)
{
	if (p->nalive < 2)
		return;
	race_thread_end(p->d, p->alive[i]);
	p->gone[p->ngone++] = p->alive[i];
	p->alive[i] = p->alive[--p->nalive];
}

static void do_join(struct pair *p, u32 t)
{
	u32 i;

	if (!p->ngone)
		return;
	i = rnd() % p->ngone;
	assert_int_equal(race_thread_join(p->d, t, p->gone[i]), 0);
	oracle_join(p->o, t, p->gone[i]);
	p->gone[i] = p->gone[--p->ngone];
}

static void do_event(struct pair *p)
{
	u32 i = rnd() % p->nalive, t = p->alive[i], sync = rnd() % ORACLE_SYNCS, at;
	bool store = rnd() % 2;

	if (rnd() % 100 < p->rate) {
		do_access(p, t);
		return;
	}
	switch (rnd() % 16) {
	case 0 ... 5:
		assert_int_equal(race_acquire(p->d, t, &p->sync[sync]), 0);
		oracle_acquire(p->o, t, sync);
		break;
	case 6 ... 9:
		if (p->disciplined)
			break;
		oracle_release(p->o, t, sync, store);
		assert_int_equal((store ? race_release_store : race_release)(p->d, t,
									      &p->sync[sync]), 0);
		break;
	case 10:
		do_begin(p, t);
		break;
	case 11:
		do_end(p, i);
		break;
	case 12:
		do_join(p, t);
		break;
	case 13:
		at = rnd() % p->bytes;
		sync = rnd() % (p->bytes - at) + 1;
		oracle_forget(p->o, p->base + at, sync);
		assert_int_equal(race_forget(p->d, p->base + at, sync), 0);
		break;
	case 14:
		assert_int_equal(race_gc(p->d, rnd() % 2), 0);
		break;
	}
}

static void run(struct pair *p)
{
	struct race_options options = { .places = p->places, .mode = p->mode };
	struct race_ops ops = { .report = note, .arg = p };
	u64 pairs = p->pairs;
	u32 i;

	assert_int_equal(race_detector_create(&p->d, &ops, &options), 0);
	p->o = oracle_new(p->base, !(p->mode & RACE_HB_ONLY));
	p->nthreads = p->nalive = p->ngone = 0;
	memset(p->sync, 0, sizeof(p->sync));
	do_begin(p, RACE_NO_THREAD);
	/* All threads begin at once, as after attaching to a running program. */
	while (rnd() % 8 == 0 && !p->disciplined)
		do_begin(p, RACE_NO_THREAD);
	for (i = 0; i < p->events; i++)
		do_event(p);
	p->traces_with_records += p->d->shadow.owns.nchunks != 0;
	for (i = 0; i < ORACLE_SYNCS; i++)
		race_sync_free(p->d, &p->sync[i]);
	oracle_free(p->o);
	race_detector_free(p->d);
	p->traces_with_races += p->pairs > pairs;
}

static void run_many(u32 mode, bool disciplined, const char *what)
{
	static const u32 bytes[] = { 8, 16, 24, 100, 300, ORACLE_BYTES };
	u64 n = from_env("ADEPT_TEST_COUNT", from_env("LONG", 0) ? 50000 : 2000), i;
	static struct pair p;

	memset(&p, 0, sizeof(p));
	for (i = 0; i < n; i++) {
		/* Seed each execution, so that it can be repeated alone. */
		seed_of_run = from_env("ADEPT_TEST_SEED", 0) + i;
		rnd_state = seed_of_run * 0x2545f4914f6cdd1du;
		p.mode = mode;
		p.disciplined = disciplined;
		p.places = rnd() % 4 + 1;
		p.threads = rnd() % 7 + 2;
		p.sites = rnd() % 20 + 1;
		p.bytes = bytes[rnd() % 64 ? rnd() % 5 : 5];
		p.events = p.bytes == ORACLE_BYTES ? 60 : rnd() % 400;
		p.rate = rnd() % 60 + 30;
		p.base = 0x7fff00001000u - rnd() % 20;
		run(&p);
	}
	assert_true(mode & RACE_BYTES ? p.traces_with_records > n / 4 : !p.traces_with_records);
	print_message("%s: %llu of %llu executions have races; of %llu racy pairs of accesses and "
		      "bytes the later access is found of %.4f %%\n", what,
		      (unsigned long long)p.traces_with_races, (unsigned long long)n,
		      (unsigned long long)p.pairs, p.wanted ? 100. * p.flagged / p.wanted : 100.);
}

static void every_pair(void **s)
{
	(void)s;
	run_many(RACE_HB_ONLY | RACE_KEEP_ALL, false, "all places");
}

static void every_race(void **s)
{
	(void)s;
	run_many(RACE_HB_ONLY, false, "happens before");
}

static void every_byte(void **s)
{
	(void)s;
	run_many(RACE_HB_ONLY | RACE_BYTES, false, "bytes");
}

static void schedulable(void **s)
{
	(void)s;
	run_many(0, false, "SHB");
	run_many(RACE_KEEP_ALL, false, "SHB, all places");
}

static void no_races(void **s)
{
	(void)s;
	run_many(0, true, "disciplined");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair),
		cmocka_unit_test(every_race),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(schedulable),
		cmocka_unit_test(no_races),
	};
	char seed[32];

	if (!getenv("ADEPT_TEST_SEED")) {
		snprintf(seed, sizeof(seed), "%llu", (unsigned long long)time(NULL));
		setenv("ADEPT_TEST_SEED", seed, 1);
	}
	print_message("ADEPT_TEST_SEED=%s\n", getenv("ADEPT_TEST_SEED"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
