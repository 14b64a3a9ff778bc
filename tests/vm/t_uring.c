// SPDX-License-Identifier: GPL-2.0-or-later
/* A consumer that uses io_uring, and one that uses ioctl because io_uring is denied. */
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <liburing.h>

#include "vm.h"

static void prep_exchange(struct io_uring_sqe *sqe, int fd, struct adept_exchange *x)
{
	struct adept_uring_cmd *u = (void *)sqe->cmd;

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = ADEPT_IOC_EXCHANGE;
	*u = (struct adept_uring_cmd){ .arg = (u64)x };
}

static bool by_uring(struct consumer *c, struct adept_exchange *x)
{
	struct io_uring *ring = c->arg;
	struct io_uring_cqe *cqe;
	int res;

	prep_exchange(io_uring_get_sqe(ring), c->s->fd, x);
	/* With a submission thread it may count the previous one again. */
	must(io_uring_submit(ring) >= 1);
	for (;;) {
		must(!io_uring_wait_cqe(ring, &cqe));
		res = cqe->res;
		/* user_data distinguishes completions of a poll on the same ring */
		if (!cqe->user_data)
			break;
		io_uring_cqe_seen(ring, cqe);
	}
	io_uring_cqe_seen(ring, cqe);
	errno = -res;
	return !res;
}

static void run(const char *what, unsigned int flags, bool fixed)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 50 };
	struct io_uring ring;
	struct consumer c;
	struct session s;
	struct progress *progress = progress_make();
	struct job j[2];
	pid_t pid[2];
	bool ok;
	u32 i;
	int err;

	session_make(&s, 64 * KIB, 3, 2, ADEPT_POLICY_WAIT);
	for (i = 0; i < 2; i++) {
		j[i] = (struct job){ &s, progress, i, 10000 };
		pid[i] = spawn(job_run, &j[i]);
	}
	err = io_uring_queue_init_params(16, &ring, &p);
	if (err) {
		fail("%s: %s", what, strerror(-err));
		return;
	}
	if (fixed)
		must(!io_uring_register_files(&ring, &s.fd, 1));
	consumer_init(&c, &s);
	c.exchange = by_uring;
	c.arg = &ring;
	ok = consumer_until_last(&c, 0, 2, 30000);
	for (i = 0; i < 2; i++)
		ok = ok && !wait_for(pid[i]) && c.st[i].next == 10000;
	check(ok, "exchange by uring command, %s: %lu chunks %s", what, c.chunks,
	      ok ? "" : c.error);
	io_uring_queue_exit(&ring);
	session_close(&s);
}

/* Sleep on the ring only; a completion says that there are chunks. */
static void multishot(void)
{
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	struct __kernel_timespec limit = { .tv_sec = 20 };
	struct consumer c;
	struct session s;
	struct progress *progress = progress_make();
	struct job j = { &s, progress, 0, 15000 };
	u32 polls = 0, rearmed = 0;
	bool ok = true;
	pid_t pid;

	session_make(&s, 64 * KIB, 4, 1, ADEPT_POLICY_WAIT);
	must(!io_uring_queue_init(16, &ring, 0));
	pid = spawn(job_run, &j);
	consumer_init(&c, &s);
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_poll_multishot(sqe, s.fd, POLLIN);
	sqe->user_data = 1;
	must(io_uring_submit(&ring) == 1);
	while (ok && !c.st[0].last_flags) {
		bool more;

		ok = !io_uring_wait_cqe_timeout(&ring, &cqe, &limit) && cqe->res > 0;
		if (!ok)
			break;
		more = cqe->flags & IORING_CQE_F_MORE;
		polls++;
		io_uring_cqe_seen(&ring, cqe);
		ok = consumer_drain(&c);
		if (!more) {
			sqe = io_uring_get_sqe(&ring);
			io_uring_prep_poll_multishot(sqe, s.fd, POLLIN);
			sqe->user_data = 1;
			must(io_uring_submit(&ring) == 1);
			rearmed++;
		}
	}
	if (!ok)
		kill(pid, SIGKILL);
	check(wait_for(pid) == 0 && ok && c.st[0].next == 15000,
	      "multishot poll: %u completions, armed %u times, %lu chunks %s", polls, rearmed + 1,
	      c.chunks, c.error);
	io_uring_queue_exit(&ring);
	session_close(&s);
}

/* Rings that are torn down with armed polls and commands in flight. */
static int tear_down(void *arg)
{
	static struct adept_exchange x[16];
	static struct adept_desc d[16][8];
	struct session *s = ((struct job *)arg)->s;
	u32 how = ((struct job *)arg)->slot, i;
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	must(!io_uring_queue_init(32, &ring, how & 1 ? IORING_SETUP_SQPOLL : 0));
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_poll_multishot(sqe, s->fd, POLLIN);
	for (i = 0; i < 16; i++) {
		x[i] = (struct adept_exchange){ .take = (u64)d[i], .ntake = 8 };
		sqe = io_uring_get_sqe(&ring);
		prep_exchange(sqe, s->fd, &x[i]);
		if (how & 2)
			io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	}
	io_uring_submit(&ring);
	if (how & 4) {
		sqe = io_uring_get_sqe(&ring);
		io_uring_prep_cancel(sqe, NULL, IORING_ASYNC_CANCEL_ANY);
		io_uring_submit(&ring);
	}
	switch (how >> 3) {
	case 0:
		io_uring_queue_exit(&ring);
		return 0;
	case 1:
		return 0;
	case 2:
		execl("/bin/sh", "sh", "-c", "exit 0", NULL);
		return 1;
	}
	kill(getpid(), SIGKILL);
	return 1;
}

static void teardown(void)
{
	struct session s;
	struct consumer c;
	struct progress *progress = progress_make();
	struct job w = { &s, progress, 0, 0 };
	u32 how, bad = 0;
	pid_t pid;

	session_make(&s, 64 * KIB, 16, 1, ADEPT_POLICY_DROP);
	pid = spawn(job_run, &w);
	for (how = 0; how < 32; how++) {
		struct job j = { &s, progress, how, 0 };
		int status = wait_for(spawn(tear_down, &j));

		bad += status != (how >> 3 == 3 ? 128 + SIGKILL : 0);
	}
	check(!bad, "rings torn down in 32 ways with commands in flight");
	kill(pid, SIGKILL);
	wait_for(pid);
	/* They did not return the chunks that they took; these stay readable and can be dropped. */
	consumer_init(&c, &s);
	check(!slot_cmd(&s, ADEPT_IOC_RESET, 0, ring_info(&s, 0).ring, ADEPT_RESET_FORCE),
	      "and the session is in order");
	session_close(&s);
}

static void arguments(void)
{
	struct adept_exchange x = { 0 };
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct session s, w;
	int res[5], i, fd;

	session_make(&s, 64 * KIB, 2, 1, ADEPT_POLICY_WAIT);
	fd = ioctl(s.fd, ADEPT_IOC_WRITER_FD, 0);
	session_fd(&w, fd);
	must(!io_uring_queue_init(8, &ring, 0));
	for (i = 0; i < 5; i++) {
		sqe = io_uring_get_sqe(&ring);
		prep_exchange(sqe, i == 3 ? fd : s.fd, i == 1 ? (void *)8 : &x);
		if (i == 2)
			sqe->cmd_op = ADEPT_IOC_STATS;
		if (i == 4)
			((struct adept_uring_cmd *)sqe->cmd)->reserved = 1;
		must(io_uring_submit(&ring) == 1 && !io_uring_wait_cqe(&ring, &cqe));
		res[i] = cqe->res;
		io_uring_cqe_seen(&ring, cqe);
	}
	check(!res[0] && res[1] == -EFAULT && res[2] == -ENOTTY && res[3] == -EACCES &&
	      res[4] == -EINVAL, "arguments of uring commands: %d %d %d %d %d", res[0], res[1],
	      res[2], res[3], res[4]);
	io_uring_queue_exit(&ring);
	close(fd);
	session_close(&s);
}

static int without_uring(void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, code };
	struct io_uring ring;
	struct consumer c;
	struct session s;
	struct progress *progress = progress_make();
	struct job j = { &s, progress, 0, 5000 };
	pid_t pid;

	(void)arg;
	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
	must(io_uring_queue_init(8, &ring, 0) == -EPERM);
	session_make(&s, 64 * KIB, 2, 1, ADEPT_POLICY_WAIT);
	pid = spawn(job_run, &j);
	consumer_init(&c, &s);
	return !(consumer_until_last(&c, 0, 1, 20000) && !wait_for(pid) && c.st[0].next == 5000);
}

int main(void)
{
	run("submitted", 0, false);
	run("submission thread", IORING_SETUP_SQPOLL, false);
	run("fixed file", 0, true);
	multishot();
	arguments();
	teardown();
	check(!wait_for(spawn(without_uring, NULL)), "io_uring denied: the same by ioctl");
	check(counter_becomes("sessions", 0) && !counter("rings") && !counter("pages"),
	      "nothing is left");
	return finish();
}
