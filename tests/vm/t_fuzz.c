// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random ioctls, mappings, uring commands and stores, as root and as nobody, while
 * honest writers and a consumer run in a session that nobody must get at.
 */
#include <liburing.h>
#include <sys/stat.h>

#include "vm.h"

#define FDS	24
#define MAPS	24

static unsigned int seed;
static u64 began, span;
static int fds[FDS];
static struct { u8 *p; size_t size; } maps[MAPS];
static u8 *arena;		/* what arguments point to */
#define ARENA	(256 * KIB)

static u64 rnd(void)
{
	return (u64)rand_r(&seed) << 33 ^ (u64)rand_r(&seed) << 12 ^ (u64)rand_r(&seed);
}

static u64 number(void)
{
	static const u64 often[] = { 0, 1, 2, 3, 4, 16, 17, 63, 64, 4095, 4096, 4097, 65535, 65536,
				     131072, 1 << 20, 64 << 20, 0x7fffffff, 0x80000000, 0xffffffff,
				     1ull << 44, 1ull << 45, 1ull << 63, ~0ull, ~0ull - 4095 };

	switch (rnd() % 4) {
	case 0:
		return rnd();
	case 1:
		return rnd() % 8;
	default:
		return often[rnd() % (sizeof(often) / sizeof(often[0]))];
	}
}

static void *pointer(void)
{
	switch (rnd() % 16) {
	case 0:
		return NULL;
	case 1:
		return (void *)number();
	case 2:
		return arena + ARENA - rnd() % 64;
	case 3:
		return maps[rnd() % MAPS].p;
	default:
		return arena + (rnd() % ARENA & ~7ull);
	}
}

static unsigned long command(void)
{
	static const unsigned long known[] = {
		ADEPT_IOC_VERSION, ADEPT_IOC_SESSION_CREATE, ADEPT_IOC_SESSION_LIST,
		ADEPT_IOC_SESSION_ADOPT, ADEPT_IOC_SESSION_INFO, ADEPT_IOC_EXCHANGE,
		ADEPT_IOC_FLUSH, ADEPT_IOC_RESET, ADEPT_IOC_RING_INFO, ADEPT_IOC_SET_POLICY,
		ADEPT_IOC_STATS, ADEPT_IOC_WRITER_FD,
	};

	if (rnd() % 32 == 0)
		return rnd();
	return known[rnd() % 12];
}

/* A valid structure more often than not, then some of its words changed. */
static void fill(unsigned long cmd, void *at)
{
	u64 words[32] = { 0 };
	u32 i;

	switch (cmd) {
	case ADEPT_IOC_SESSION_CREATE: {
		struct adept_session_create *c = (void *)words;

		*c = (struct adept_session_create){
			.version = 1, .chunk_size = 65536 << rnd() % 3, .nchunks = 2 + rnd() % 3,
			.nslots = 1 + rnd() % 8, .policy = rnd() % 3,
			.orphan_wait_ms = rnd() % 300,
			.orphan_keep_ms = rnd() % 2 ? rnd() % 500 : 0 };
		break;
	}
	case ADEPT_IOC_EXCHANGE: {
		struct adept_exchange *x = (void *)words;

		*x = (struct adept_exchange){ .give = (u64)pointer(), .take = (u64)pointer(),
					      .ngive = rnd() % 5, .ntake = rnd() % 40 };
		break;
	}
	case ADEPT_IOC_SESSION_LIST:
		words[0] = (u64)pointer();
		words[1] = rnd() % 20;
		break;
	default:
		words[0] = rnd() % 8 | rnd() % 2 << 32;
		words[1] = rnd() % 16;
	}
	for (i = rnd() % 8 ? 0 : 1 + rnd() % 3; i; i--)
		words[rnd() % 16] = number();
	if ((u64)at - (u64)arena <= ARENA - sizeof(words))
		memcpy(at, words, sizeof(words));
}

static void keep_fd(int fd)
{
	u32 i = 1 + rnd() % (FDS - 1);

	if (fd < 0)
		return;
	if (fds[i] > 0)
		close(fds[i]);
	fds[i] = fd;
}

static int some_fd(void)
{
	return fds[rnd() % FDS];
}

static void do_ioctl(void)
{
	unsigned long cmd = command();
	void *arg = cmd == ADEPT_IOC_WRITER_FD && rnd() % 4 ? NULL : pointer();
	int fd = cmd < ADEPT_IOC_SESSION_CREATE + 3 && rnd() % 2 ? fds[0] : some_fd(), ret;

	if (cmd == ADEPT_IOC_SESSION_CREATE || cmd == ADEPT_IOC_SESSION_ADOPT ||
	    cmd == ADEPT_IOC_SESSION_LIST || cmd == ADEPT_IOC_VERSION)
		fd = rnd() % 8 ? fds[0] : fd;
	fill(cmd, arg);
	ret = ioctl(fd, cmd, arg);
	if (ret >= 0 && (cmd == ADEPT_IOC_SESSION_CREATE || cmd == ADEPT_IOC_SESSION_ADOPT ||
			 cmd == ADEPT_IOC_WRITER_FD))
		keep_fd(ret);
}

static void do_open(void)
{
	static const int flags[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_TRUNC, O_PATH,
				     O_RDWR | O_NONBLOCK, O_RDWR | O_APPEND };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", some_fd());
	keep_fd(open(path, flags[rnd() % 7] | O_CLOEXEC));
}

static void do_mmap(void)
{
	struct adept_session_info i = { 0 };
	u32 k = rnd() % MAPS;
	int fd = some_fd();
	u64 off = 0, size;

	if (maps[k].p) {
		munmap(maps[k].p, maps[k].size);
		maps[k].p = NULL;
	}
	if (ioctl(fd, ADEPT_IOC_SESSION_INFO, &i))
		return;
	size = i.area_size;
	switch (rnd() % 8) {
	case 0:
		size = number() & 0xfffffff;
		off = number();
		break;
	case 1:
	case 2:
		off = i.data_off;
		break;
	case 3:
		off = i.info_off;
		size = i.info_size;
		break;
	}
	if (!size || size > 1ull << 32)
		return;
	maps[k].size = size;
	maps[k].p = mmap(NULL, size, rnd() % 4 ? PROT_READ | PROT_WRITE : rnd() % 8,
			 rnd() % 16 ? MAP_SHARED : MAP_PRIVATE, fd, off);
	if (maps[k].p == MAP_FAILED)
		maps[k].p = NULL;
}

static void do_memory(void)
{
	static const int advice[] = { MADV_DONTNEED, MADV_WILLNEED, MADV_REMOVE, MADV_DONTFORK,
				      MADV_DOFORK, MADV_KEEPONFORK, MADV_WIPEONFORK, MADV_DODUMP,
				      MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_PAGEOUT,
				      MADV_COLD, MADV_HUGEPAGE, MADV_MERGEABLE };
	u32 k = rnd() % MAPS;
	u8 *p = maps[k].p;
	size_t size = maps[k].size, part;

	if (!p)
		return;
	part = rnd() % 2 ? size : number() % size & ~4095ull;
	switch (rnd() % 6) {
	case 0:
		mprotect(p, part, rnd() % 4);
		break;
	case 1:
		if (mremap(p, size, number() & 0xffffff, rnd() % 2) != MAP_FAILED)
			maps[k].p = NULL;
		break;
	case 2:
		madvise(p, part, advice[rnd() % 14]);
		break;
	case 3:
		mlock(p, part & 0xfffff);
		break;
	case 4:
		msync(p, part & 0xfffff, MS_SYNC);
		break;
	default:
		if (munmap(p, part) == 0 && part)
			maps[k].p = NULL;
	}
}

/* In a child, since it will die of most. */
static int stores(void *arg)
{
	u32 k = (u64)arg, i;
	u8 *p = maps[k].p;

	for (i = 0; i < 200; i++) {
		u64 at = rnd() % 2 ? rnd() % 4 * (65536 + 65536) : rnd() % maps[k].size;

		if (at + 8 >= maps[k].size)
			continue;
		if (rnd() % 2)
			store_r15((u64)p + at - rnd() % 8192 / 8 * 8, rnd() % 4096, rnd());
		else
			store_r15((u64)p + at, 4, rnd());
	}
	return 0;
}

static void do_stores(void)
{
	struct writer w = { .stream = 1, .records = 2000 };
	u32 k = rnd() % MAPS;
	pid_t pid;

	if (!maps[k].p)
		return;
	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		alarm(2);
		if (rnd() % 2) {
			w.window = maps[k].p;
			writer_run(&w);
		}
		_exit(stores((void *)(u64)k));
	}
	if (pid > 0) {
		usleep(rnd() % 20000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
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

			io_uring_prep_rw(IORING_OP_URING_CMD, sqe, some_fd(), NULL, 0, 0);
			sqe->cmd_op = rnd() % 4 ? ADEPT_IOC_EXCHANGE : command();
			fill(ADEPT_IOC_EXCHANGE, arg);
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
				do_stores();
			break;
		case 5 ... 6:
			do_uring(&ring);
			break;
		case 7:
			if (rnd() % 64 == 0) {
				io_uring_queue_exit(&ring);
				must(!io_uring_queue_init(16, &ring,
							  rnd() % 4 ? 0 : IORING_SETUP_SQPOLL));
			}
			break;
		default:
			do_ioctl();
		}
	}
	printf("     %lu operations as %s\n", n, arg ? "nobody" : "root");
	fflush(stdout);
	return 0;
}

/* ---- a session beside it ---- */

static struct progress *progress;

static int honest_writer(void *arg)
{
	struct writer w = { .stream = 0, .progress = progress };

	w.window = session_enrol(arg);
	close(((struct session *)arg)->fd);
	writer_run(&w);
	return 0;
}

int main(void)
{
	bool long_run = getenv("LONG") && *getenv("LONG") == '1';
	const char *given = getenv("SEED");
	struct session s;
	struct consumer c;
	pid_t root, nobody, writer;
	bool ok = true;
	int status;

	seed = given && *given ? (u32)atoi(given) : (u32)time(NULL);
	printf("seed %u\n", seed);
	span = (long_run ? 600 : 60) * 1000000000ull;
	began = now_ns();
	progress = progress_make();
	must(!chmod("/dev/adept", 0666));
	set_param("user_mb", 64);
	/* A random keep time may be weeks, which is right while chunks are unread. */
	set_param("orphan_max_s", 1);
	session_make(&s, 64 * KIB, 4, 1, ADEPT_POLICY_WAIT);
	consumer_init(&c, &s);
	writer = spawn(honest_writer, &s);
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
	check(ok && !c.st[0].lost_chunks, "beside it %lu chunks of another session are exact %s",
	      c.chunks, c.error);
	session_close(&s);
	/* Orphans that the fuzzers left behind live up to a second. */
	check(counter_becomes("sessions", 0) && !counter("rings") && !counter("pages") &&
	      !counter("orphans"), "nothing is left");
	return finish();
}
