// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector against a fake engine and a fake writer: nothing is lost or duplicated, descriptors
 * come first; kills and full disks.  test_collect_hostile.c has invalid data.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect_fixture.h"

static unsigned int seed;

struct worker {
	struct fake_process *p;
	u32 n;
};

static void *worker(void *arg)
{
	struct worker *w = arg;

	collect_write(w->p, NULL, w->n, 5000);
	return NULL;
}

static void test_threads(void **state)
{
	struct fake_process p;
	struct worker w = { &p, 200000 };
	pthread_t t[4];
	struct collect_fixture f;
	pid_t pid;
	int i;

	(void)state;
	collect_begin(&f, 0, 256 << 10, 0);
	pid = collect_start(&f, &p, NULL);
	if (!pid) {
		for (i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, worker, &w);
		for (i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
		_exit(7);
	}
	collect_run(&f, pid);
	collect_check(&f);
	assert_true(WIFEXITED(f.status) && WEXITSTATUS(f.status) == 7);
	assert_int_equal(f.w->records, 4 * 200000);
	assert_int_equal(f.w->threads, 4);
	assert_int_equal(f.w->threads_ended, 4);
	assert_int_equal(f.w->processes_ended, 1);
	assert_int_equal(f.ending.loss.discarded_bytes, 0);
	assert_int_equal(f.ending.loss.unfinished_threads, 0);
	collect_end(&f);
}

/* Children continue with the exit ids of their parent, and outlive the first process. */
static void test_forks(void **state)
{
	struct fake_process p, q;
	struct collect_fixture f;
	pid_t pid;
	int i;

	(void)state;
	collect_begin(&f, 0, 256 << 10, 0);
	pid = collect_start(&f, &p, NULL);
	if (!pid) {
		for (i = 0; i < 8; i++) {
			fake_describe(&p, 64);
			if (fork())
				continue;
			if (fake_process_begin(&q, &f.s, 1))
				abort();
			q.id = p.id;
			usleep(i * 3000);
			collect_write(&q, NULL, 60000, 1000);
			_exit(0);
		}
		collect_write(&p, NULL, 10, 1);
		_exit(0);
	}
	collect_run(&f, pid);
	collect_check(&f);
	assert_int_equal(f.w->records, 8 * 60000 + 10);
	assert_int_equal(f.w->processes_ended, 9);
	collect_end(&f);
}

static void test_kill(void **state)
{
	struct collect_fixture f;
	pid_t pid, killer;
	u64 n;
	int i;

	(void)state;
	for (i = 0; i < 40; i++) {
		collect_begin(&f, 0, 128 << 10, 0);
		pid = collect_start_writer(&f, f.shared, 2000000000, 3000, 0);
		n = rand_r(&seed) % 20000;
		killer = fork();
		if (!killer) {
			usleep(n);
			kill(pid, SIGKILL);
			_exit(0);
		}
		collect_run(&f, pid);
		waitpid(killer, NULL, 0);
		collect_check(&f);
		assert_true(WIFSIGNALED(f.status) && WTERMSIG(f.status) == SIGKILL);
		/* A record that is complete but not counted yet may have arrived, too. */
		if (f.w->records != *f.shared)
			assert_int_equal(f.w->records, *f.shared + 1);
		assert_int_equal(f.w->threads_ended, f.w->threads);
		/* The threads of the fake engine have no safe points before their end. */
		assert_int_equal(f.ending.loss.unfinished_threads, f.w->threads);
		collect_end(&f);
	}
}

static void test_slow_store(void **state)
{
	struct collect_fixture f;
	pid_t pid;
	int drop;

	(void)state;
	for (drop = 0; drop < 2; drop++) {
		collect_begin(&f, drop ? ADEPT_S_DROP : 0, 64 << 10, 0);
		f.w->delay_us = 500;
		f.w->strict = !drop;
		pid = collect_start_writer(&f, NULL, 500000, 100000, 0);
		collect_run(&f, pid);
		collect_check(&f);
		assert_int_equal(f.w->records * FAKE_RECORD + f.ending.loss.dropped_bytes,
				 500000 * FAKE_RECORD);
		if (drop) {
			assert_true(f.ending.loss.dropped_chunks > 0);
			assert_true(f.w->gaps > 0);
		}
		collect_end(&f);
	}
}

static bool any_ended(struct dep_session *s)
{
	u32 i;

	for (i = 0; i < s->layout.nprocs; i++)
		if (__atomic_load_n(&dep_session_proc(s, i)->state, __ATOMIC_RELAXED) ==
		    ADEPT_SLOT_ENDED)
			return true;
	return false;
}

/*
 * Wait for a slot as the engine does: 0.1 s, and longer while slots of ended processes are in use.
 */
static void begin_when_free(struct fake_process *p, struct dep_session *s, u64 *waits)
{
	int left = 100;

	while (fake_process_begin(p, s, 1)) {
		if (any_ended(s))
			(*waits)++;
		else if (!left--)
			_exit(1);
		fake_ring_doorbell(s);
		usleep(1000);
	}
}

/*
 * More processes than slots, one after another, with slots in use until they are stored: all are
 * stored.
 */
static void test_short_processes(void **state)
{
	const int n = 400;
	struct fake_process p, q;
	struct collect_fixture f;
	int i, status;
	pid_t pid;

	(void)state;
	collect_begin(&f, 0, 64 << 10, 0);
	f.w->hold = f.shared;
	pid = collect_start(&f, &p, NULL);
	for (i = 0; !pid && i < n; i++) {
		if (!fork()) {
			begin_when_free(&q, &f.s, f.shared);
			q.id = p.id;
			collect_write(&q, NULL, 20, 20);
			_exit(0);
		}
		if (wait(&status) < 0 || status)
			_exit(1);
	}
	if (!pid)
		_exit(0);
	collect_run(&f, pid);
	collect_check(&f);
	assert_int_equal(f.status, 0);
	/* Otherwise the table was never full, and the test shows nothing. */
	assert_true(*f.shared > 0);
	assert_int_equal(f.w->processes_ended, n + 1);
	assert_int_equal(f.w->records, n * 20);
	collect_end(&f);
}

/*
 * The disk is full, or the store has its maximum size: the program continues, and losses are
 * counted.
 */
static void test_stop(void **state)
{
	struct collect_fixture f;
	pid_t pid;
	int full;

	(void)state;
	for (full = 0; full < 2; full++) {
		collect_begin(&f, 0, 128 << 10, full ? 0 : 1 << 20);
		f.w->fail_with = full ? ENOSPC : 0;
		f.w->fail_after = 10;
		pid = collect_start_writer(&f, NULL, 1000000, 1000, 3);
		assert_int_equal(dep_collector_run(f.c, pid, &f.status, NULL, NULL), 0);
		if (full)
			assert_string_equal(dep_collector_error(f.c), dep_error());
		else
			assert_string_equal(dep_collector_error(f.c), "");
		dep_collector_finish(f.c, &f.ending, NULL);
		collect_check(&f);
		assert_int_equal(WEXITSTATUS(f.status), 3);
		assert_int_equal(f.w->records * FAKE_RECORD + f.ending.loss.discarded_bytes,
				 1000000 * FAKE_RECORD);
		assert_true(f.ending.loss.discarded_bytes > 0);
		if (!full)
			assert_in_range(f.w->bytes, 1 << 20, (1 << 20) + f.s.layout.chunk_size);
		collect_end(&f);
	}
}

static void test_null(void **state)
{
	struct collect_fixture f;
	pid_t pid;

	(void)state;
	collect_begin(&f, ADEPT_S_NULL, 128 << 10, 0);
	pid = collect_start_writer(&f, NULL, 100000, 1000, 0);
	collect_run(&f, pid);
	collect_check(&f);
	assert_int_equal(f.w->segments, 0);
	assert_int_equal(f.w->null_bytes, 100000 * FAKE_RECORD);
	assert_int_equal(f.ending.loss.discarded_bytes, 0);
	assert_int_equal(f.w->descriptors, 100);
	collect_end(&f);
}

/* Called once, before the next pidfd is opened. */
static void (*before_pidfd)(pid_t pid);

/* Replaces libc's syscall(), which the collector calls. */
long syscall(long nr, ...)
{
	static long (*real)(long nr, ...);
	void (*hook)(pid_t pid) = before_pidfd;
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (nr == SYS_pidfd_open && hook) {
		before_pidfd = NULL;
		hook((pid_t)a[0]);
	}
	return real(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static u64 *go_on;

static void let_it_end(pid_t pid)
{
	__atomic_store_n(go_on, 1, __ATOMIC_SEQ_CST);
	waitpid(pid, NULL, 0);
}

/*
 * A process that writes and ends after the collector has read its threads and before it opens its
 * slot.
 */
static void test_gone_at_once(void **state)
{
	struct fake_process p;
	struct fake_thread t = { 0 };
	struct collect_fixture f;
	pid_t pid;

	(void)state;
	collect_begin(&f, 0, 1 << 20, 0);
	pid = collect_start(&f, &p, &t);
	if (!pid) {
		fake_describe(&p, 32);
		fake_record(&t);
		__atomic_store_n(&f.shared[0], 1, __ATOMIC_SEQ_CST);
		while (!__atomic_load_n(&f.shared[1], __ATOMIC_SEQ_CST))
			;
		while (t.count < 60000)
			fake_record(&t);
		fake_thread_end(&t);
		_exit(0);
	}
	while (!__atomic_load_n(&f.shared[0], __ATOMIC_SEQ_CST))
		;
	go_on = &f.shared[1];
	before_pidfd = let_it_end;
	collect_run(&f, 0);
	collect_check(&f);
	assert_null(before_pidfd);
	assert_int_equal(f.w->records, 60000);
	assert_int_equal(f.w->threads_ended, 1);
	assert_int_equal(f.ending.loss.unfinished_threads, 0);
	collect_end(&f);
}

/* Slots and their memory are reused. */
static void test_short_threads(void **state)
{
	struct fake_process p;
	struct collect_fixture f;
	struct stat st;
	pid_t pid;
	int i;

	(void)state;
	collect_begin(&f, 0, 1 << 20, 0);
	pid = collect_start(&f, &p, NULL);
	if (!pid) {
		for (i = 0; i < 4000; i++) {
			while (dep_session_thread(&f.s, 0)->state != ADEPT_SLOT_FREE &&
			       dep_session_thread(&f.s, 100)->state != ADEPT_SLOT_FREE)
				usleep(100);
			collect_write(&p, NULL, 10 + i % 5, 5);
		}
		_exit(0);
	}
	collect_run(&f, pid);
	collect_check(&f);
	assert_int_equal(f.w->threads_ended, 4000);
	assert_int_equal(f.w->records, 4000 * 12);
	assert_int_equal(fstat(f.s.fd, &st), 0);
	/* Only the tables: no ring has kept a page. */
	assert_true((u64)st.st_blocks * 512 < 4u << 20);
	collect_end(&f);
}

/* A descriptor ring that wraps around many times, with padding of all sizes. */
static void test_descriptors(void **state)
{
	struct fake_process p;
	struct fake_thread t = { 0 };
	struct collect_fixture f;
	pid_t pid;
	int i;

	(void)state;
	collect_begin(&f, 0, 128 << 10, 0);
	pid = collect_start(&f, &p, &t);
	if (!pid) {
		for (i = 0; i < 40000; i++) {
			fake_describe(&p, 32 + 8 * (rand_r(&seed) % 300));
			fake_record(&t);
		}
		fake_thread_end(&t);
		_exit(0);
	}
	collect_run(&f, pid);
	collect_check(&f);
	assert_int_equal(f.w->descriptors, 40000);
	assert_int_equal(f.w->records, 40000);
	collect_end(&f);
}

static int give_up(void *arg)
{
	struct collect_fixture *f = arg;

	return *f->shared > 100000 ? 5 : 0;
}

/* Abandoned programs continue. */
static void test_abandon(void **state)
{
	struct collect_fixture f;
	pid_t pid;

	(void)state;
	collect_begin(&f, 0, 128 << 10, 0);
	pid = collect_start_writer(&f, f.shared, 3000000, 1000000, 9);
	assert_int_equal(dep_collector_run(f.c, pid, &f.status, give_up, &f), 5);
	dep_collector_finish(f.c, &f.ending, NULL);
	collect_check(&f);
	assert_int_equal(f.s.map->abandoned, 1);
	assert_int_equal(waitpid(pid, &f.status, 0), pid);
	assert_int_equal(WEXITSTATUS(f.status), 9);
	assert_true(f.w->records > 100000 - 1);
	assert_int_equal(f.w->threads_ended, 1);
	collect_end(&f);
}
int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_slow_store),
		cmocka_unit_test(test_short_processes),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_gone_at_once),
		cmocka_unit_test(test_short_threads),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_abandon),
	};

	seed = argc > 1 ? (unsigned int)atoi(argv[1]) : (unsigned int)time(NULL);
	print_message("seed %u\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
