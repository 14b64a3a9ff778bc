// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random ioctls, mappings, uring commands and stores, as root and as nobody, while
 * honest writers and a consumer run in a session that nobody must get at.
 *
 * Each fuzzer starts children that write, read its mappings or make calls on its descriptors while
 * it goes on.  Limits are so low that sessions, orphans and memory exceed them now and then.
 *
 * FUZZ_SECONDS says how long; else a minute, or ten with LONG=1.
 */
#include <asm/prctl.h>
#include <liburing.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fuzz.h"

#define CHILDREN 3

static u64 began, span;
static pid_t children[CHILDREN];

/* ---- children, since they will die of most of what they do ---- */

/* gs at any address, also where nothing is mapped, and at one that only the kernel may use. */
static void any_gs(void)
{
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, pointer()))
		syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
}

static void stores(u32 k)
{
	u8 *p = maps[k].p;
	u32 i;

	for (i = 0; i < 200; i++) {
		u64 at = rnd() % 2 ? rnd() % 4 * (65536 + 65536) : rnd() % maps[k].size;

		if (at + 8 >= maps[k].size)
			continue;
		switch (rnd() % 4) {
		case 0:
			store_r15((u64)p + at, 4, rnd());
			break;
		case 1:
			store_plain((u64)p + at, rnd());
			break;
		default:
			store_r15((u64)p + at - rnd() % 8192 / 8 * 8, rnd() % 4096, rnd());
		}
	}
}

/* A valid writer of a random slot; sometimes with its gs elsewhere at each end of a chunk. */
static void write_slot(u32 k)
{
	struct adept_session_info i = { 0 };
	struct writer w = { .stream = 1, .records = rnd() % 2 ? 2000 : 40000 };
	u64 r15, slot = 0;
	u32 n, fd;

	/* A mapping as large as the area is most likely the area. */
	for (fd = 1; fd < FDS; fd++)
		if (!ioctl(fds[fd], ADEPT_IOC_SESSION_INFO, &i) && i.area_size == maps[k].size)
			slot = rnd() % i.nslots * i.slot_stride;
	/* So that closing them elsewhere ends the session's consumer. */
	if (rnd() % 2)
		close_range(fds[0], ~0u, 0);
	w.window = maps[k].p + slot;
	if (rnd() % 2) {
		writer_run(&w);
		return;
	}
	any_gs();
	r15 = store_r15((u64)w.window, 0, 1);
	for (n = 0; n < 100000; n++)
		r15 = store_r15(r15 + 8, 0, 1);
}

static void loads(u32 k)
{
	u32 i;

	for (i = 0; i < 200; i++)
		*(volatile u8 *)(maps[k].p + rnd() % maps[k].size);
}

/* Calls on the descriptors that both have, as long as it is let. */
static void calls(void)
{
	for (;;) {
		do_ioctl();
		if (rnd() % 8 == 0)
			do_memory();
	}
}

/* Sessions from a user namespace, or one within it. */
static void calls_in_namespace(void)
{
	u32 i;

	if (unshare(CLONE_NEWUSER) || (rnd() % 2 && unshare(CLONE_NEWUSER)))
		return;
	for (i = 0; i < 200; i++)
		do_ioctl();
}

static void child(u64 n)
{
	u32 k = rnd() % MAPS;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(3);
	seed ^= (n + 1) * 2654435761u;
	memset(children, 0, sizeof(children));
	/* Few of its mappings are used, so look for one. */
	while (!maps[k].p && k + 1 < MAPS)
		k++;
	switch (rnd() % 8) {
	case 0:
		calls();
		break;
	case 1:
		calls_in_namespace();
		break;
	default:
		if (!maps[k].p)
			break;
		if (rnd() % 4 == 0)
			loads(k);
		else if (rnd() % 3 == 0)
			stores(k);
		else
			write_slot(k);
	}
	_exit(0);
}

static void end_child(u32 i)
{
	if (children[i] > 0) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	children[i] = 0;
}

/* Instead of another one. */
static void do_child(u64 n)
{
	u32 i = rnd() % CHILDREN;

	end_child(i);
	fflush(stdout);
	children[i] = fork();
	if (!children[i])
		child(n);
}

/*
 * A session with a writer, whose chunks are taken while random calls are made on it.  It loses its
 * consumer and is adopted, or its ring is flushed under the writer.
 */
static void do_session(void)
{
	struct adept_session_create c = {
		.version = ADEPT_ABI_VERSION, .chunk_size = 65536, .nchunks = 2 + rnd() % 3,
		.nslots = 1, .policy = rnd() % 3, .orphan_wait_ms = 300, .orphan_keep_ms = 1000,
	};
	struct adept_session_adopt a = { 0 };
	struct adept_exchange x = { .take = (u64)arena, .ntake = 1 };
	struct writer w = { .stream = 2 };
	struct session s = { .fd = ioctl(fds[0], ADEPT_IOC_SESSION_CREATE, &c) };
	pid_t pid;
	u32 i;

	if (s.fd < 0 || ioctl(s.fd, ADEPT_IOC_SESSION_INFO, &s.info))
		return;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGALRM, SIG_DFL);
		alarm(5);
		w.window = mmap(NULL, s.info.area_size, PROT_READ | PROT_WRITE, MAP_SHARED,
				ioctl(s.fd, ADEPT_IOC_WRITER_FD, 0), 0);
		close_range(fds[0], ~0u, 0);
		if (w.window != MAP_FAILED)
			writer_run(&w);
		_exit(0);
	}
	for (i = 0; i < 20 && x.taken == 0; i++) {
		sleep_ms(20);
		ioctl(s.fd, ADEPT_IOC_EXCHANGE, &x);
	}
	if (rnd() % 2)
		slot_cmd(&s, ADEPT_IOC_FLUSH, 0, ring_info(&s, 0).ring, 0);
	a.id = s.info.id;
	close(s.fd);
	/* By now, or never: other fuzzers may have it. */
	s.fd = ioctl(fds[0], ADEPT_IOC_SESSION_ADOPT, &a);
	for (i = 0; i < 20; i++)
		do_ioctl();
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	keep_fd(s.fd);
}

/* With no room for another descriptor. */
static void do_few_descriptors(void)
{
	struct rlimit old, few;
	u32 i;

	if (getrlimit(RLIMIT_NOFILE, &old))
		return;
	few = old;
	few.rlim_cur = 4;
	must(!setrlimit(RLIMIT_NOFILE, &few));
	for (i = 0; i < 16; i++)
		do_ioctl();
	must(!setrlimit(RLIMIT_NOFILE, &old));
}

static void do_uring(struct io_uring *ring)
{
	u32 n = 1 + rnd() % 4, i;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;

	for (i = 0; i < n; i++) {
		sqe = io_uring_get_sqe(ring);
		if (!sqe)
			break;
		switch (rnd() % 4) {
		case 0:
			io_uring_prep_poll_multishot(sqe, some_fd(), POLLIN);
			break;
		case 1:
			io_uring_prep_cancel(sqe, NULL, IORING_ASYNC_CANCEL_ANY);
			break;
		default: {
			void *arg = pointer();
			u64 u[2] = { (u64)arg, rnd() % 8 ? 0 : number() };

			int fd = some_fd();

			io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
			sqe->cmd_op = rnd() % 4 ? ADEPT_IOC_EXCHANGE : command();
			fill(fd, ADEPT_IOC_EXCHANGE, arg);
			memcpy(sqe->cmd, u, sizeof(u));
			if (rnd() % 4 == 0)
				io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
		}
		}
	}
	io_uring_submit(ring);
	while (!io_uring_peek_cqe(ring, &cqe))
		io_uring_cqe_seen(ring, cqe);
}

static int fuzz(void *arg)
{
	struct io_uring ring;
	u32 i;
	u64 n;

	if (arg)
		must(!setgid(65534) && !setuid(65534));
	seed ^= (u64)arg;
	fds[0] = open("/dev/adept", O_RDWR | O_CLOEXEC);
	must(fds[0] >= 0);
	arena = mmap(NULL, ARENA + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	must(arena != MAP_FAILED && !mprotect(arena + ARENA, 4096, PROT_NONE));
	must(!io_uring_queue_init(16, &ring, 0));
	for (n = 0; now_ns() - began < span; n++) {
		switch (rnd() % 16) {
		case 0:
			keep_fd(-1);
			do_open();
			break;
		case 1 ... 2:
			do_mmap();
			break;
		case 3:
			do_memory();
			break;
		case 4:
			if (rnd() % 8 == 0)
				do_child(n);
			else
				do_file();
			break;
		case 5 ... 6:
			do_uring(&ring);
			break;
		case 7:
			if (rnd() % 64 == 0) {
				io_uring_queue_exit(&ring);
				must(!io_uring_queue_init(16, &ring,
							  rnd() % 4 ? 0 : IORING_SETUP_SQPOLL));
			} else if (rnd() % 32 == 0) {
				do_session();
			} else if (rnd() % 64 == 0) {
				do_few_descriptors();
			} else if (rnd() % 256 == 0) {
				do_many_views();
			}
			break;
		default:
			do_ioctl();
		}
	}
	for (i = 0; i < CHILDREN; i++)
		end_child(i);
	printf("     %lu operations as %s in %lu s\n", n, arg ? "nobody" : "root",
	       (now_ns() - began) / 1000000000);
	fflush(stdout);
	return 0;
}

/*
 * Switch the module's tracepoints on or off.  Only while no other thread executes the module: the
 * kernel replaces instructions, and after that QEMU can go on executing the translation of an old
 * one, an int3, without end.
 */
static void set_tracing(bool on)
{
	int fd = open("/sys/kernel/tracing/events/adept/enable", O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, on ? "1" : "0", 1) == 1);
	close(fd);
}

/* ---- a session in parallel ---- */

static struct progress *progress;

static int honest_writer(void *arg)
{
	struct writer w = { .stream = 0, .progress = progress };

	w.window = session_enrol(arg);
	close(((struct session *)arg)->fd);
	writer_run(&w);
	return 0;
}

static const struct { const char *name; long value; } limits[] = {
	{ "user_mb", 16 },
	{ "user_sessions", 12 },
	{ "user_orphans", 3 },
	/* A random keep time may be weeks, which is allowed while chunks are unread. */
	{ "orphan_max_s", 1 },
};

int main(void)
{
	bool long_run = getenv("LONG") && *getenv("LONG") == '1';
	const char *given = getenv("SEED"), *seconds = getenv("FUZZ_SECONDS");
	long before[sizeof(limits) / sizeof(limits[0])];
	struct session s;
	struct consumer c;
	pid_t root, nobody, writer;
	bool ok = true, traced;
	int status;
	u32 i;

	seed = given && *given ? (u32)atoi(given) : (u32)time(NULL);
	traced = seed % 2;
	printf("seed %u, tracepoints %s\n", seed, traced ? "on" : "off");
	set_tracing(traced);
	span = (seconds && *seconds ? (u32)atoi(seconds) : long_run ? 600 : 60) * 1000000000ull;
	began = now_ns();
	progress = progress_make();
	must(!chmod("/dev/adept", 0666));
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		before[i] = param(limits[i].name);
		set_param(limits[i].name, limits[i].value);
	}
	session_make(&s, 64 * KIB, 4, 1, ADEPT_POLICY_WAIT);
	consumer_init(&c, &s);
	writer = spawn(honest_writer, &s);
	/*
	 * Its memory counts against root's limit from its first store, so wait for that before
	 * lowering it.
	 */
	while (!progress[0].done)
		sleep_ms(1);
	nobody = spawn(fuzz, (void *)1);
	root = fork();
	must(root >= 0);
	if (!root) {
		session_close(&s);
		_exit(fuzz(NULL));
	}
	while (ok && now_ns() - began < span) {
		struct pollfd p = { .fd = s.fd, .events = POLLIN };

		poll(&p, 1, 100);
		ok = consumer_drain(&c);
	}
	progress[0].go = 1;
	ok = ok && consumer_until_last(&c, 0, 1, 10000) && c.st[0].next == progress[0].done;
	if (!ok)
		kill(writer, SIGKILL);
	wait_for(writer);
	status = wait_for(nobody);
	check(!status, "fuzzing as nobody (%d)", status);
	status = wait_for(root);
	check(!status, "fuzzing as root (%d)", status);
	check(ok && !c.st[0].lost_chunks, "in parallel %lu chunks of another session are exact %s",
	      c.chunks, c.error);
	session_close(&s);
	/* Orphans of the fuzzers live up to a second longer. */
	check(counter_becomes("sessions", 0) && !counter("rings") && !counter("pages") &&
	      !counter("orphans"), "nothing is left");
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		set_param(limits[i].name, before[i]);
	set_tracing(false);
	return finish();
}
