// SPDX-License-Identifier: GPL-2.0-or-later
/* depd's event loop: watches, timers, operations, wakeups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/base/loop.h"

#define MS 1000000ull

static struct loop *loop;
static void *last_called;
static size_t all_taken, all_end_at;	/* bytes of all pairs, and when to end */

/** struct pair - a watched end of a socket, and what it received */
struct pair {
	struct loop_watch w;
	int mine, other;
	unsigned int calls, end_at;	/* call loop_end() after that many calls */
	short revents;
	size_t take;		/* bytes to read in a call */
	size_t taken;
	struct pair *remove;	/* stop watching this pair and free it */
	short change;		/* to these events */
};

static void pair_free(struct pair *p)
{
	loop_remove(loop, &p->w);
	close(p->mine);
	close(p->other);
	free(p);
}

static void pair_ready(struct loop_watch *w, short revents)
{
	struct pair *p = (struct pair *)((char *)w - offsetof(struct pair, w)), *q = p->remove;
	char buf[64];
	ssize_t n;

	last_called = p;
	p->calls++;
	p->revents = revents;
	if (p->take && revents & POLLIN) {
		n = read(p->mine, buf, p->take);
		p->taken += n > 0 ? n : 0;
		all_taken += n > 0 ? n : 0;
	}
	if (p->change)
		loop_watch_change(loop, w, p->change);
	if (p->calls == p->end_at || (all_end_at && all_taken == all_end_at))
		loop_end(loop);
	p->remove = NULL;
	if (q)
		pair_free(q);
}

static struct pair *pair_new(short events)
{
	struct pair *p = calloc(1, sizeof(*p));
	int fd[2];

	assert_non_null(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	p->mine = fd[0];
	p->other = fd[1];
	p->w.ready = pair_ready;
	assert_int_equal(loop_watch_add(loop, &p->w, p->mine, events), 0);
	return p;
}

/** struct tick - a timer, and its action */
struct tick {
	struct loop_timer t;
	unsigned int calls, end_at;
	uint64_t last;
	struct tick *cancel;
	int write_to;
};

static void tick_due(struct loop_timer *t)
{
	struct tick *k = (struct tick *)t;

	k->calls++;
	k->last = loop_now();
	if (k->cancel)
		loop_timer_cancel(loop, &k->cancel->t);
	if (k->write_to)
		assert_int_equal(write(k->write_to, "x", 1), 1);
	if (k->calls == k->end_at)
		loop_end(loop);
}

static void run_ms(unsigned int ms)
{
	struct tick end = { .t.due = tick_due, .end_at = 1 };

	loop_timer_set(loop, &end.t, ms * MS, 0);
	assert_int_equal(loop_run(loop), 0);
	loop_timer_cancel(loop, &end.t);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(loop_create(&loop), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

/* ---- watches ---- */

static void test_level(void **state)
{
	struct pair *p = pair_new(POLLIN);

	(void)state;
	/* Reading one byte per call leads to a call for each byte. */
	p->take = 1;
	assert_int_equal(write(p->other, "0123456789", 10), 10);
	p->end_at = 10;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p->taken, 10);
	run_ms(20);
	assert_int_equal(p->calls, 10);
	/* Reading nothing leads to repeated calls. */
	p->take = 0;
	assert_int_equal(write(p->other, "x", 1), 1);
	p->end_at = 500;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p->calls, 500);
	pair_free(p);
}

static void test_later(void **state)
{
	struct pair *p = pair_new(POLLIN);
	struct tick k = { .t.due = tick_due, .write_to = p->other };

	(void)state;
	/* Data that arrives while the loop waits. */
	p->take = 8;
	p->end_at = 5;
	loop_timer_set(loop, &k.t, 2 * MS, 2 * MS);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p->taken, 5);
	loop_timer_cancel(loop, &k.t);
	pair_free(p);
}

static void test_hangup(void **state)
{
	struct pair *p = pair_new(0);

	(void)state;
	p->end_at = 1;
	close(p->other);
	p->other = -1;
	assert_int_equal(loop_run(loop), 0);
	assert_true(p->revents & POLLHUP);
	pair_free(p);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/*
 * io_uring reports POLLRDHUP without a request: it is not passed on, and does not cause a busy
 * loop.
 */
static void test_half_closed(void **state)
{
	struct pair *p = pair_new(0);
	uint64_t begin;

	(void)state;
	shutdown(p->other, SHUT_WR);
	begin = cpu_ns();
	run_ms(300);
	assert_true(cpu_ns() - begin < 100 * MS);
	assert_int_equal(p->calls, 0);
	/* Other events are still reported, repeatedly, */
	assert_int_equal(loop_watch_change(loop, &p->w, POLLOUT), 0);
	p->end_at = 10;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p->revents, POLLOUT);
	assert_int_equal(loop_watch_change(loop, &p->w, POLLIN | POLLRDHUP), 0);
	p->end_at = 20;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p->revents, POLLIN | POLLRDHUP);
	/* and so is the end. */
	assert_int_equal(loop_watch_change(loop, &p->w, 0), 0);
	run_ms(10);
	assert_int_equal(p->calls, 20);
	p->end_at = 30;
	close(p->other);
	p->other = -1;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p->revents, POLLHUP);
	pair_free(p);
}

/* An event that arrives while only POLLRDHUP is pending. */
static void test_half_closed_full(void **state)
{
	struct pair *p = pair_new(POLLOUT);
	static char buf[65536];

	(void)state;
	while (write(p->mine, buf, sizeof(buf)) > 0)
		;
	shutdown(p->other, SHUT_WR);
	run_ms(20);
	assert_int_equal(p->calls, 0);
	while (read(p->other, buf, sizeof(buf)) > 0)
		;
	p->end_at = 5;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p->revents, POLLOUT);
	pair_free(p);
}

static void test_bad_descriptor(void **state)
{
	struct pair p = { .w.ready = pair_ready, .end_at = 1 };

	(void)state;
	assert_int_equal(loop_watch_add(loop, &p.w, 1000000, POLLIN), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p.revents, POLLNVAL);
	loop_remove(loop, &p.w);
	loop_remove(loop, &p.w);
	assert_int_equal(loop_watch_change(loop, &p.w, POLLIN), -ENOENT);
}

static void test_error(void **state)
{
	struct pair p = { .w.ready = pair_ready, .end_at = 1 };
	int fd[2];

	(void)state;
	/* The write end of a pipe without a reader. */
	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	assert_int_equal(loop_watch_add(loop, &p.w, fd[1], 0), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_true(p.revents & POLLERR);
	loop_remove(loop, &p.w);
	close(fd[1]);
}

static void test_change(void **state)
{
	struct pair *p = pair_new(POLLIN);

	(void)state;
	run_ms(5);
	assert_int_equal(p->calls, 0);
	/* While the kernel polls for the old ones. */
	assert_int_equal(loop_watch_change(loop, &p->w, POLLOUT), 0);
	p->end_at = 3;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(p->revents, POLLOUT);
	/* From within. */
	p->change = POLLIN;
	p->end_at = 0;
	run_ms(10);
	assert_int_equal(p->calls, 4);
	/* To nothing. */
	assert_int_equal(write(p->other, "x", 1), 1);
	assert_int_equal(loop_watch_change(loop, &p->w, 0), 0);
	run_ms(10);
	assert_int_equal(p->calls, 4);
	pair_free(p);
}

static void test_remove_other(void **state)
{
	struct pair *a = pair_new(POLLIN), *b = pair_new(POLLIN), *c;

	(void)state;
	run_ms(2);
	/* Both completions are queued when the callback of one pair frees the other one. */
	a->remove = b;
	b->remove = a;
	assert_int_equal(write(a->other, "x", 1), 1);
	assert_int_equal(write(b->other, "x", 1), 1);
	a->take = 1;
	b->take = 1;
	/* One of them is left; the kernel's order decides which. */
	last_called = NULL;
	run_ms(10);
	assert_true(last_called == a || last_called == b);
	a = last_called;
	assert_int_equal(a->calls, 1);
	/* The slot is reused, and old completions do not reach its new user. */
	c = pair_new(POLLIN);
	run_ms(10);
	assert_int_equal(c->calls, 0);
	pair_free(c);
	pair_free(a);
}

static void test_remove_self(void **state)
{
	struct pair *p = pair_new(POLLIN);

	(void)state;
	p->remove = p;
	assert_int_equal(write(p->other, "x", 1), 1);
	run_ms(10);
}

static void test_descriptor_again(void **state)
{
	struct pair *p, *q;
	int i, fd;

	(void)state;
	/*
	 * A descriptor number that is reused for another file: completions of the old file are
	 * ignored.
	 */
	for (i = 0; i < 200; i++) {
		p = pair_new(POLLIN);
		if (i & 1)
			run_ms(1);
		fd = p->mine;
		assert_int_equal(write(p->other, "x", 1), 1);
		pair_free(p);
		q = pair_new(POLLIN);
		assert_int_equal(q->mine, fd);
		if (i % 20 == 0)
			run_ms(2);
		assert_int_equal(q->calls, 0);
		q->take = 1;
		q->end_at = 1;
		assert_int_equal(write(q->other, "x", 1), 1);
		assert_int_equal(loop_run(loop), 0);
		pair_free(q);
	}
}

static void test_closed_is_seen(void **state)
{
	struct pair *p = pair_new(POLLIN);
	char c;

	(void)state;
	/* Polling keeps a reference to the file: its peer sees the end as soon as the loop runs. */
	run_ms(2);
	loop_remove(loop, &p->w);
	close(p->mine);
	run_ms(2);
	assert_int_equal(read(p->other, &c, 1), 0);
	close(p->other);
	free(p);
}

static void test_many(void **state)
{
	static struct pair *p[1000];
	unsigned int i, turn;

	(void)state;
	for (i = 0; i < 1000; i++) {
		p[i] = pair_new(POLLIN);
		p[i]->take = 1;
	}
	for (turn = 0; turn < 5; turn++) {
		for (i = 0; i < 1000; i++)
			assert_int_equal(write(p[i]->other, "x", 1), 1);
		all_taken = 0;
		all_end_at = 1000;
		assert_int_equal(loop_run(loop), 0);
		all_end_at = 0;
	}
	for (i = 0; i < 1000; i++) {
		assert_int_equal(p[i]->taken, 5);
		pair_free(p[i]);
	}
}

/* ---- timers ---- */

static void test_timers(void **state)
{
	struct tick a = { .t.due = tick_due }, b = a, c = a, end = a;
	uint64_t begin = loop_now();

	(void)state;
	end.end_at = 1;
	loop_timer_set(loop, &end.t, 55 * MS, 0);
	loop_timer_set(loop, &a.t, 20 * MS, 0);
	loop_timer_set(loop, &b.t, 10 * MS, 10 * MS);
	loop_timer_set(loop, &c.t, 30 * MS, 0);
	a.cancel = &c;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(a.calls, 1);
	assert_in_range(b.calls, 1, 5);
	assert_int_equal(c.calls, 0);
	assert_true(a.last - begin >= 20 * MS);
	assert_true(end.last - begin >= 55 * MS && end.last - begin < 2000 * MS);
	loop_timer_cancel(loop, &b.t);
	loop_timer_cancel(loop, &b.t);
	/* A timer that is set again starts from now; 0 means as soon as possible. */
	loop_timer_set(loop, &end.t, 3600000 * MS, 0);
	loop_timer_set(loop, &end.t, 0, 0);
	end.calls = 0;
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(end.calls, 1);
}

static void test_timers_and_load(void **state)
{
	struct pair *p = pair_new(POLLOUT);	/* always ready */
	struct tick k = { .t.due = tick_due, .end_at = 5 };

	(void)state;
	loop_timer_set(loop, &k.t, MS, MS);
	assert_int_equal(loop_run(loop), 0);
	assert_true(p->calls > 5);
	loop_timer_cancel(loop, &k.t);
	pair_free(p);
}

/* ---- operations ---- */

struct read_op {
	struct loop_op op;
	int fd, res;
	char buf[16];
	unsigned int calls;
};

static void read_prep(struct io_uring_sqe *sqe, void *arg)
{
	struct read_op *r = arg;

	io_uring_prep_read(sqe, r->fd, r->buf, sizeof(r->buf), 0);
}

static void read_done(struct loop_op *op, int res, uint32_t flags)
{
	struct read_op *r = (struct read_op *)op;

	(void)flags;
	r->res = res;
	r->calls++;
	loop_end(loop);
}

static void test_operations(void **state)
{
	struct read_op r = { .op.done = read_done };
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	r.fd = fd[0];
	assert_int_equal(loop_submit(loop, read_prep, &r.op), 0);
	run_ms(5);
	assert_int_equal(r.calls, 0);
	assert_int_equal(write(fd[1], "abc", 3), 3);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(r.res, 3);
	assert_memory_equal(r.buf, "abc", 3);
	/* Cancelling twice does nothing the second time. */
	assert_int_equal(loop_submit(loop, read_prep, &r.op), 0);
	run_ms(5);
	loop_cancel(loop, &r.op);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(r.res, -ECANCELED);
	loop_cancel(loop, &r.op);
	run_ms(5);
	assert_int_equal(r.calls, 2);
	close(fd[0]);
	close(fd[1]);
}

/* ---- waking ---- */

static unsigned int wakes;

static void woken(void *arg)
{
	wakes++;
	if (__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
		loop_end(loop);
}

static void *waker(void *arg)
{
	int i;

	for (i = 0; i < 1000; i++)
		loop_wake(loop);
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	loop_wake(loop);
	return NULL;
}

static void test_wake(void **state)
{
	int done = 0;
	pthread_t t;

	(void)state;
	loop_on_wake(loop, woken, &done);
	assert_int_equal(pthread_create(&t, NULL, waker, &done), 0);
	assert_int_equal(loop_run(loop), 0);
	pthread_join(t, NULL);
	assert_in_range(wakes, 1, 1001);
}

/* In a process where io_uring is denied, as in many containers. */
static int denied(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = f };
	struct loop *l;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 1;
	return loop_create(&l) != -EPERM;
}

static void test_denied(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		_exit(denied());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_non_null(strstr(loop_error(-EPERM), "io_uring_disabled"));
	assert_non_null(strstr(loop_error(-ENOSYS), "5.11"));
}

static void test_refused(void **state)
{
	struct rlimit old, none;
	struct loop *l;
	int ret;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = loop_create(&l);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(ret, -EMFILE);
	assert_non_null(strstr(loop_error(ret), "open files"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_level), TEST(test_later), TEST(test_hangup), TEST(test_half_closed),
		TEST(test_half_closed_full), TEST(test_bad_descriptor),
		TEST(test_error), TEST(test_change), TEST(test_remove_other),
		TEST(test_remove_self), TEST(test_descriptor_again), TEST(test_closed_is_seen),
		TEST(test_many), TEST(test_timers), TEST(test_timers_and_load),
		TEST(test_operations), TEST(test_wake), TEST(test_denied),
		TEST(test_refused),
	};
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < 4096) {
		l.rlim_cur = l.rlim_max < 4096 ? l.rlim_max : 4096;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
