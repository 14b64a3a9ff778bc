// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples in time: no instruction is lost, and times never go back, whatever the store says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/lib/random.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/export/names.h"
#include "tools/depctl/export/samples.h"

#define ROWS		64u
#define CONTEXTS	4u	/* 0 is not exported */
#define THREADS		3u

/* ---- a store ---- */

static struct dep_thread thread[THREADS];
static struct dep_process process = { .serial = 1, .pid = 77 };
static struct dep_segment segment[ROWS];
static struct dep_context context[CONTEXTS];
static struct dep_context_time row[ROWS];
static struct dep_contexts contexts = { .context = context, .time = row, .ncontexts = CONTEXTS };
static struct export x = { .l.contexts = &contexts };
static size_t nsegments, nthreads;

size_t dep_store_segments(struct dep_store *s, const struct dep_segment **out)
{
	(void)s;
	*out = segment;
	return nsegments;
}

size_t dep_store_threads(struct dep_store *s, const struct dep_thread **out)
{
	(void)s;
	*out = thread;
	return nthreads;
}

const struct dep_thread *thread_of(struct dep_store *s, uint32_t serial)
{
	size_t i;

	(void)s;
	for (i = 0; i < nthreads; i++)
		if (thread[i].serial == serial)
			return &thread[i];
	return NULL;
}

const struct dep_process *process_of(struct dep_store *s, uint32_t serial)
{
	(void)s;
	return serial == process.serial ? &process : NULL;
}

uint32_t functions_of(const struct functions *f, uint32_t i)
{
	(void)f;
	return i;
}

const char *export_program(const struct export *e, uint32_t serial)
{
	(void)e;
	return serial == 1 ? "program" : "[unknown]";
}

void warn(const char *fmt, ...)
{
	fail_msg("%s", fmt);
}

static void begin(size_t threads)
{
	nthreads = threads;
	nsegments = contexts.ntimes = 0;
	for (size_t i = 0; i < threads; i++)
		thread[i] = (struct dep_thread){ .serial = (uint32_t)i + 2, .process = 1,
						 .tid = 77 + (uint32_t)i };
}

/* A segment of thread @t, with @insns instructions in each of the contexts [1, 1 + @n). */
static void add(uint32_t t, uint64_t start_ns, uint32_t n, uint64_t insns)
{
	uint32_t i;

	segment[nsegments++] = (struct dep_segment){ .thread = t, .start_ns = start_ns };
	for (i = 0; i < n; i++)
		row[contexts.ntimes++] = (struct dep_context_time){
			.start_ns = start_ns, .thread = t, .context = 1 + i, .insns = insns };
}

static int by_time(const void *pa, const void *pb)
{
	const struct dep_context_time *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->context < b->context ? -1 : a->context > b->context;
}

static int by_thread(const void *pa, const void *pb)
{
	const struct dep_segment *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static bool before(struct moment a, struct moment b)
{
	return a.ns < b.ns || (a.ns == b.ns && a.ps < b.ps);
}

/* Check all times, and return the sum of instructions. */
static uint64_t all(struct samples *s)
{
	struct moment last = { 0 }, at;
	struct segment_samples b = { 0 };
	uint64_t sum = 0, done;
	size_t i, next = 0;

	qsort(row, contexts.ntimes, sizeof(*row), by_time);
	qsort(segment, nsegments, sizeof(*segment), by_thread);
	assert_int_equal(samples_begin(s, &x), 0);
	while (samples_next(s, &b)) {
		assert_int_equal(b.first, next);
		next += b.n;
		at = samples_time(&b, 0);
		assert_true(b.new_thread || !before(at, last));
		last = at;
		done = 0;
		for (i = b.first; i < next; i++) {
			assert_int_equal(samples_row(s, i)->thread, b.serial);
			done += samples_row(s, i)->insns;
			at = samples_time(&b, done);
			/* Times behind the largest one are equal to it. */
			assert_true(before(last, at) || at.ns == UINT64_MAX);
			last = at;
		}
		assert_int_equal(done, b.insns);
		sum += done;
	}
	assert_int_equal(next, s->n);
	samples_end(s);
	return sum;
}

/* ---- tests ---- */

static void evenly(void **state)
{
	struct segment_samples b = { 0 };
	struct samples s;

	(void)state;
	begin(2);
	thread[0].end_ns = 1000;
	add(2, 100, 2, 5);
	add(2, 300, 1, 7);
	add(3, 50, 1, 1);
	assert_int_equal(all(&s), 18);
	assert_int_equal(samples_begin(&s, &x), 0);
	assert_true(samples_next(&s, &b));
	assert_true(b.new_thread);
	assert_int_equal(samples_tid(&b), 77);
	assert_int_equal(samples_pid(&b), 77);
	assert_string_equal(samples_name(&s, &b), "program");
	assert_int_equal(samples_time(&b, 0).ns, 100);
	assert_int_equal(samples_time(&b, 5).ns, 200);
	assert_int_equal(samples_time(&b, 10).ns, 300);
	assert_true(samples_next(&s, &b));
	assert_false(b.new_thread);
	assert_int_equal(samples_time(&b, 1).ns, 400);
	assert_int_equal(samples_time(&b, 7).ns, 1000);
	assert_true(samples_next(&s, &b));
	assert_true(b.new_thread);
	/* When this thread ended is not known: each instruction takes a picosecond. */
	assert_int_equal(samples_time(&b, 1).ns, 50);
	assert_int_equal(samples_time(&b, 1).ps, 1);
	assert_false(samples_next(&s, &b));
	samples_end(&s);
}

/* A thread ends where the next one with its id begins, if that was before its end. */
static void same_id(void **state)
{
	struct segment_samples b = { 0 };
	struct samples s;

	(void)state;
	begin(2);
	thread[1].tid = thread[0].tid;
	thread[0].end_ns = 500;
	add(2, 100, 1, 5);
	add(3, 300, 1, 5);
	assert_int_equal(all(&s), 10);
	assert_int_equal(samples_begin(&s, &x), 0);
	assert_true(samples_next(&s, &b));
	assert_int_equal(samples_time(&b, 5).ns, 300);
	samples_end(&s);
}

/* What is not exported takes no time. */
static void selected(void **state)
{
	bool chosen[CONTEXTS] = { true, true, false, true };
	struct samples s;

	(void)state;
	begin(2);
	add(2, 100, 3, 5);
	add(3, 100, 1, 20);
	row[contexts.ntimes++] = (struct dep_context_time){ .start_ns = 100, .thread = 2,
							    .insns = 1000 };
	x.chosen = chosen;
	assert_int_equal(all(&s), 30);
	x.chosen = NULL;
	x.thread = 3;
	assert_int_equal(all(&s), 20);
	x.thread = 0;
	x.process = 9;
	assert_int_equal(all(&s), 0);
	x.process = 0;
}

static void hostile(void **state)
{
	struct segment_samples b = { 0 };
	struct samples s;

	(void)state;
	/* Segments at one time, one that does not fit before the next, the end before the begin. */
	begin(1);
	thread[0].end_ns = 5;
	add(2, 10, 1, 5);
	add(2, 10, 1, 5);
	add(2, 11, 1, 1000000);
	add(2, 12, 1, 3);
	assert_int_equal(all(&s), 1000013);

	/* The largest times and counts. */
	begin(1);
	thread[0].end_ns = UINT64_MAX;
	add(2, 0, 1, UINT64_MAX / 2);
	add(2, UINT64_MAX - 1, 1, UINT64_MAX / 4);
	all(&s);

	/* A thread that the store does not have. */
	begin(0);
	add(9, 10, 1, 5);
	assert_int_equal(all(&s), 5);
	assert_int_equal(samples_begin(&s, &x), 0);
	assert_true(samples_next(&s, &b));
	assert_int_equal(samples_tid(&b), 0);
	assert_int_equal(samples_pid(&b), 0);
	assert_string_equal(samples_name(&s, &b), "[unknown]");
	samples_end(&s);
}

/* A number below @limit. */
static uint64_t up_to(uint64_t limit)
{
	return rnd() % limit;
}

static void random_rows(void **state)
{
	uint64_t sum, insns;
	struct samples s;
	int round, i;
	uint32_t n;

	(void)state;
	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	for (round = 0; round < 2000; round++) {
		begin(THREADS);
		sum = 0;
		for (i = 0; i < 12; i++) {
			insns = 1 + up_to(1u << up_to(30));
			n = 1 + (uint32_t)up_to(3);
			add(2 + (uint32_t)up_to(THREADS), up_to(1u << up_to(30)), n, insns);
			sum += n * insns;
		}
		thread[0].end_ns = up_to(1u << up_to(30));
		assert_int_equal(all(&s), sum);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evenly),
		cmocka_unit_test(same_id),
		cmocka_unit_test(selected),
		cmocka_unit_test(hostile),
		cmocka_unit_test(random_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
