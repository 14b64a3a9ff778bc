// SPDX-License-Identifier: GPL-2.0-or-later
/* The collector against processes that write any data to the session file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect_fixture.h"

static unsigned int seed;

/*
 * A slot that claims to be free before the end of its thread is stored, or claims to be another
 * process's.
 */
static void test_slot_lies(void **state)
{
	struct fake_process p;
	struct fake_thread t = { 0 };
	struct adept_thread *sh;
	struct collect_fixture f;
	bool ended;
	pid_t pid;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		ended = i == 1;
		collect_begin(&f, 0, 64 << 10, 0);
		pid = collect_start(&f, &p, &t);
		if (!pid) {
			fake_describe(&p, 32);
			fake_record(&t);
			if (ended)
				fake_thread_end(&t);
			__atomic_store_n(&f.shared[0], 1, __ATOMIC_SEQ_CST);
			while (!__atomic_load_n(&f.shared[1], __ATOMIC_SEQ_CST))
				;
			_exit(0);
		}
		while (!__atomic_load_n(&f.shared[0], __ATOMIC_SEQ_CST))
			;
		sh = dep_session_thread(&f.s, 0);
		dep_collector_step(f.c);
		assert_int_equal(sh->state, ended ? ADEPT_SLOT_ENDED : ADEPT_SLOT_LIVE);
		if (i < 2)
			__atomic_store_n(&sh->state, ADEPT_SLOT_FREE, __ATOMIC_SEQ_CST);
		else
			sh->tid = (u32)getpid();
		__atomic_store_n(&f.shared[1], 1, __ATOMIC_SEQ_CST);
		collect_run(&f, pid);
		collect_check(&f);
		assert_int_equal(f.w->records, 1);
		assert_int_equal(f.w->threads_ended, 1);
		collect_end(&f);
	}
}

/* Write @word as a thread that meets a trigger. Return: whether the collector believes it. */
static bool pulled(struct collect_fixture *f, u64 word, struct dep_kept *kept)
{
	struct adept_thread *sh = dep_session_thread(&f->s, 0);

	memset(kept, 0, sizeof(*kept));
	__atomic_store_n(&sh->trigger, word, __ATOMIC_SEQ_CST);
	dep_collector_step(f->c);
	assert_int_equal(sh->trigger, 0);
	return dep_collector_triggered(f->c, kept);
}

/* Triggers that the session does not have, odd times, and more than are looked at. */
static void test_triggers(void **state)
{
	struct adept_triggers g = { .of = { { 0, "f*" }, { 5000000, "g" } } };
	struct fake_process p;
	struct fake_thread t = { 0 };
	struct collect_fixture f;
	struct dep_kept kept;
	u32 i;
	pid_t pid;

	(void)state;
	collect_begin(&f, 0, 64 << 10, 0);
	dep_session_watch(&f.s, &g);
	pid = collect_start(&f, &p, &t);
	if (!pid) {
		__atomic_store_n(&f.shared[0], 1, __ATOMIC_SEQ_CST);
		while (!__atomic_load_n(&f.shared[1], __ATOMIC_SEQ_CST))
			;
		_exit(0);
	}
	while (!__atomic_load_n(&f.shared[0], __ATOMIC_SEQ_CST))
		;
	dep_collector_step(f.c);
	assert_true(pulled(&f, 1, &kept));
	assert_int_equal(kept.reason, DEP_KEEP_CALL);
	assert_string_equal(kept.what, "f*");
	assert_true(pulled(&f, 2 | 7000ull << ADEPT_TRIGGER_BITS, &kept));
	assert_int_equal(kept.reason, DEP_KEEP_SLOW);
	assert_int_equal(kept.value, 7000000);
	/* The process can write the patterns that it sees. */
	strcpy(f.s.map->triggers.of[2].glob, "forged");
	strcpy(f.s.map->triggers.of[0].glob, "forged");
	for (i = 3; i < 256; i++)
		assert_false(pulled(&f, i, &kept));
	assert_false(pulled(&f, 256, &kept));
	assert_true(pulled(&f, 1, &kept));
	assert_string_equal(kept.what, "f*");
	assert_true(pulled(&f, ~0ull - 253, &kept));
	/* Calls in the future and of other triggers; one that began long ago is noted once. */
	for (i = 0; i < 256; i++) {
		dep_session_thread(&f.s, 0)->calling = i | (i == 2 ? ~0ull << 40 : 1u << 8);
		dep_collector_step(f.c);
		assert_false(dep_collector_triggered(f.c, &kept));
	}
	for (i = 0; i < 3; i++) {
		dep_session_thread(&f.s, 0)->calling = 2 | 1u << 8;
		dep_collector_step(f.c);
		assert_int_equal(dep_collector_triggered(f.c, &kept), !i);
	}
	assert_int_equal(kept.reason, DEP_KEEP_LONG);
	for (i = 0; i < 100; i++) {
		dep_session_thread(&f.s, 0)->trigger = 1;
		dep_collector_step(f.c);
	}
	for (i = 0; dep_collector_triggered(f.c, &kept); i++)
		;
	assert_int_equal(i, ADEPT_TRIGGERS);
	__atomic_store_n(&f.shared[1], 1, __ATOMIC_SEQ_CST);
	collect_run(&f, pid);
	collect_end(&f);
}

/* What the process would do before it isolates itself; thread slot 0 is for later threads. */
static void keep(struct collect_fixture *f, const struct fake_process *p, u32 serials, u32 exits)
{
	struct adept_retired *k = adept_retired_proc(f->s.map, &f->s.layout, p->slot);

	k->exits = exits;
	k->serials = serials;
	k->serial = dep_session_proc(&f->s, p->slot)->serial;
	adept_retired_thread(f->s.map, &f->s.layout, 0)->domain = p->slot + 1;
	__atomic_store_n(&k->domain, p->slot + 1, __ATOMIC_SEQ_CST);
}

/*
 * An isolated process has its own range of serials and exit ids; those of other processes are
 * refused.  Its slots are not reused after its end.
 */
static void test_isolated(void **state)
{
	const u32 serials = 100, exits = ADEPT_FIRST_EXIT + 10 * ADEPT_EXIT_BATCH;
	struct fake_process p, q;
	struct collect_fixture f;
	pid_t pid;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		const bool own_serial = i & 1, own_exits = i & 2;

		collect_begin(&f, 0, 64 << 10, 0);
		pid = collect_start(&f, &p, NULL);
		if (!pid) {
			keep(&f, &p, serials, exits);
			dep_session_proc(&f.s, p.slot)->own.lost_threads = 3;
			dep_session_proc(&f.s, p.slot)->own.lost_descriptors = 5;
			f.s.map->next_serial = serials + (own_serial ? 0 : ADEPT_ISOLATED_SERIALS);
			f.s.map->next_exit = exits + (own_exits ? 0 : ADEPT_ISOLATED_EXITS);
			collect_write(&p, NULL, 20, 20);
			_exit(0);
		}
		collect_run(&f, pid);
		assert_int_equal(f.status, 0);
		assert_int_equal(f.w->threads_ended, own_serial);
		assert_int_equal(!!f.ending.loss.corrupt, !own_serial || !own_exits);
		if (own_serial && own_exits) {
			collect_check(&f);
			assert_int_equal(f.w->records, 20);
		}
		assert_int_equal(f.ending.loss.lost_threads, 3);
		assert_int_equal(f.ending.loss.lost_descriptors, 5);
		assert_int_equal(dep_session_proc(&f.s, 0)->state, ADEPT_SLOT_FREE);
		assert_int_equal(fake_process_begin(&q, &f.s, 0), 0);
		assert_int_not_equal(q.slot, 0);
		collect_end(&f);
	}
}

static void test_garbage(void **state)
{
	struct fake_process p;
	struct fake_thread t = { 0 };
	struct timespec a, b;
	struct collect_fixture f;
	unsigned int r;
	pid_t pid;
	int i, round;

	(void)state;
	for (round = 0; round < 30; round++) {
		collect_begin(&f, round % 3 == 2 ? ADEPT_S_DROP : 0, 64 << 10, 0);
		f.w->hostile = true;
		r = rand_r(&seed);
		pid = collect_start(&f, &p, &t);
		if (!pid) {
			for (i = 0; i < 1000; i++)
				fake_record(&t);
			for (i = 0; i < 100; i++) {
				fake_scribble(&f.s, &r);
				if (i % 10 == 0)
					usleep(500);
			}
			_exit(0);
		}
		clock_gettime(CLOCK_MONOTONIC, &a);
		collect_run(&f, pid);
		clock_gettime(CLOCK_MONOTONIC, &b);
		collect_check(&f);
		assert_true(b.tv_sec - a.tv_sec < 10);
		collect_end(&f);
	}
}

/* A ring with an invalid head must not block its program. */
static void test_broken_ring(void **state)
{
	struct fake_process p;
	struct fake_thread t = { 0 };
	struct collect_fixture f;
	pid_t pid;
	int i;

	(void)state;
	collect_begin(&f, 0, 64 << 10, 0);
	f.w->hostile = true;
	pid = collect_start(&f, &p, &t);
	if (!pid) {
		dep_session_thread(&f.s, t.slot)->head += 1000;
		fake_ring_doorbell(&f.s);
		for (i = 0; i < 100; i++) {
			struct adept_thread *sh = dep_session_thread(&f.s, t.slot);

			while (sh->head != __atomic_load_n(&sh->tail, __ATOMIC_SEQ_CST))
				usleep(100);
			sh->head++;
			fake_ring_doorbell(&f.s);
		}
		_exit(4);
	}
	collect_run(&f, pid);
	assert_int_equal(WEXITSTATUS(f.status), 4);
	assert_true(f.w->notes > 0);
	collect_end(&f);
}

/* Does what module_chunks.c does if it drops chunks whose first registers are not known. */
static int leave_out(void *arg)
{
	struct collect_fixture *f = arg;
	u32 i;

	for (i = 0; i < f->c->nused && !f->shared[0]; i++) {
		if (!f->c->threads[f->c->used[i]].open)
			continue;
		f->c->threads[f->c->used[i]].unreadable_chunks = 3;
		f->c->threads[f->c->used[i]].unreadable_bytes = 4321;
		__atomic_store_n(&f->shared[0], 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

/* Bytes that are dropped without a request are lost, and counted when the thread has ended. */
static void test_blind_bytes(void **state)
{
	struct fake_process p;
	struct fake_thread t = { 0 };
	struct collect_fixture f;
	pid_t pid;

	(void)state;
	collect_begin(&f, 0, 128 << 10, 0);
	pid = collect_start(&f, &p, &t);
	if (!pid) {
		while (!__atomic_load_n(&f.shared[0], __ATOMIC_SEQ_CST))
			fake_record(&t);
		fake_thread_end(&t);
		_exit(0);
	}
	assert_int_equal(dep_collector_run(f.c, pid, &f.status, leave_out, &f), 0);
	dep_collector_finish(f.c, &f.ending, NULL);
	assert_int_equal(f.w->threads_ended, 1);
	assert_int_equal(f.ending.loss.discarded_bytes, 4321);
	assert_int_equal(f.ending.loss.dropped_bytes, 0);
	collect_end(&f);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_slot_lies),
		cmocka_unit_test(test_isolated),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_broken_ring),
		cmocka_unit_test(test_blind_bytes),
	};

	seed = argc > 1 ? (unsigned int)atoi(argv[1]) : (unsigned int)time(NULL);
	print_message("seed %u\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
