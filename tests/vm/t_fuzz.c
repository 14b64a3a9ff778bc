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
#include <sys/vfs.h>

#include "vm.h"

#define FDS	24
#define MAPS	24
#define CHILDREN 3
#define IDS	16
#define TAKEN	64
#define VIEWS	1100		/* more than a session may have */

static unsigned int seed;
static u64 began, span;
static int fds[FDS];
static struct { u8 *p; size_t size; } maps[MAPS];
static u8 *arena;		/* what arguments point to */
#define ARENA	(256 * KIB)
static pid_t children[CHILDREN];
static u64 ids[IDS];		/* of sessions that there are, or were */
static struct { int fd; struct adept_give give; } taken[TAKEN];	/* chunks, on that descriptor */
static u32 ntaken;
static int toggle = -1;		/* switches the module's tracepoints; root's only */

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
	case 3: {
		u32 k = rnd() % MAPS;

		return maps[k].p ? maps[k].p + rnd() % maps[k].size : NULL;
	}
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

/* Does what is at @p lie within the arena? */
static bool in_arena(const void *p, size_t size)
{
	return (u64)p >= (u64)arena && (u64)p - (u64)arena <= ARENA - size;
}

static void fill_create(struct adept_session_create *c)
{
	const u32 users[] = { 0, 65534, getuid(), number() };

	*c = (struct adept_session_create){
		.version = ADEPT_ABI_VERSION, .chunk_size = 65536 << rnd() % 3,
		.nchunks = 2 + rnd() % 3, .nslots = 1 + rnd() % 8, .policy = rnd() % 3,
		.orphan_wait_ms = rnd() % 300, .orphan_keep_ms = rnd() % 2 ? rnd() % 500 : 0 };
	if (rnd() % 4 == 0) {
		c->flags = ADEPT_CREATE_CHARGE_UID;
		c->charge_uid = users[rnd() % 4];
	}
}

/* Chunks that were taken by this descriptor are given back, or nonsense is. */
static void fill_exchange(int fd, struct adept_exchange *x)
{
	struct adept_give *g;
	u32 i, n = 0;

	*x = (struct adept_exchange){ .give = (u64)pointer(), .take = (u64)pointer(),
				      .ngive = rnd() % 5, .ntake = rnd() % 40 };
	if (rnd() % 4 == 0)
		return;
	g = (void *)(arena + (rnd() % (ARENA - TAKEN * sizeof(*g)) & ~7ull));
	for (i = 0; i < ntaken; i++)
		if (taken[i].fd == fd)
			g[n++] = taken[i].give;
	x->give = (u64)g;
	x->ngive = rnd() % (n + 1);
}

/* The slot's ring as it is now, more often than not. */
static void fill_slot(int fd, struct adept_slot_cmd *c)
{
	struct adept_ring_info i = { .slot = rnd() % 8 };

	*c = (struct adept_slot_cmd){ .slot = i.slot, .flags = rnd() % 2, .ring = rnd() % 16 };
	if (rnd() % 4 && !ioctl(fd, ADEPT_IOC_RING_INFO, &i))
		c->ring = i.ring;
}

/* A valid structure more often than not, then some of its words changed. */
static void fill(int fd, unsigned long cmd, void *at)
{
	u64 words[32] = { 0 };
	u32 i;

	switch (cmd) {
	case ADEPT_IOC_SESSION_CREATE:
		fill_create((void *)words);
		break;
	case ADEPT_IOC_EXCHANGE:
		fill_exchange(fd, (void *)words);
		break;
	case ADEPT_IOC_FLUSH:
	case ADEPT_IOC_RESET:
		fill_slot(fd, (void *)words);
		break;
	case ADEPT_IOC_SESSION_ADOPT:
		words[0] = ids[rnd() % IDS] + (rnd() % 4 ? 0 : rnd() % 8);
		break;
	case ADEPT_IOC_SESSION_LIST:
		words[0] = (u64)pointer();
		words[1] = rnd() % 20;
		break;
	default:
		words[0] = rnd() % 8 | (rnd() % 8 ? 0 : 1ull << 32);
		words[1] = rnd() % 8 ? 0 : rnd() % 16;
	}
	for (i = rnd() % 8 ? 0 : 1 + rnd() % 3; i; i--)
		words[rnd() % 16] = number();
	if (in_arena(at, sizeof(words)))
		memcpy(at, words, sizeof(words));
}

/* What an exchange at @x delivered to @fd is kept, to be given back. */
static void keep_taken(int fd, const struct adept_exchange *x)
{
	const struct adept_desc *d = (void *)x->take;
	u32 i;

	for (i = 0; i < x->taken && i < TAKEN && in_arena(d + i, sizeof(*d)); i++) {
		u32 k = ntaken < TAKEN ? ntaken++ : rnd() % TAKEN;

		taken[k].fd = fd;
		taken[k].give = (struct adept_give){ d[i].slot, d[i].ring, d[i].seq };
	}
}

static void forget_taken(int fd)
{
	u32 i, n = 0;

	for (i = 0; i < ntaken; i++)
		if (taken[i].fd != fd)
			taken[n++] = taken[i];
	ntaken = n;
}

static void keep_fd(int fd)
{
	u32 i = 1 + rnd() % (FDS - 1);
	struct adept_session_info info;

	if (fd < 0)
		return;
	if (fds[i] > 0) {
		close(fds[i]);
		forget_taken(fds[i]);
	}
	fds[i] = fd;
	if (!ioctl(fd, ADEPT_IOC_SESSION_INFO, &info))
		ids[rnd() % IDS] = info.id;
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
	fill(fd, cmd, arg);
	ret = ioctl(fd, cmd, arg);
	if (!ret && cmd == ADEPT_IOC_EXCHANGE && in_arena(arg, sizeof(struct adept_exchange)))
		keep_taken(fd, arg);
	if (ret >= 0 && (cmd == ADEPT_IOC_SESSION_CREATE || cmd == ADEPT_IOC_SESSION_ADOPT ||
			 cmd == ADEPT_IOC_WRITER_FD))
		keep_fd(ret);
}

static void do_open(void)
{
	static const int flags[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_TRUNC, O_PATH,
				     O_RDWR | O_NONBLOCK, O_RDWR | O_APPEND };
	char path[64];
	int fd = some_fd();

	if (!fd)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	keep_fd(open(path, flags[rnd() % 7] | O_CLOEXEC));
}

static void do_mmap(void)
{
	struct adept_session_info i = { 0 };
	u32 k = rnd() % MAPS;
	int fd = some_fd(), prot;
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
	case 4:
		/* A part of the data. */
		off = i.data_off + (rnd() % size & ~4095ull);
		size = 4096 << rnd() % 8;
		break;
	}
	if (!size || size > 1ull << 32)
		return;
	prot = off ? PROT_READ : PROT_READ | PROT_WRITE;
	maps[k].size = size;
	maps[k].p = mmap(NULL, size, rnd() % 8 ? prot : (int)(rnd() % 8),
			 rnd() % 16 ? MAP_SHARED : MAP_PRIVATE, fd, off);
	if (maps[k].p == MAP_FAILED)
		maps[k].p = NULL;
}

/* Views until one is refused. */
static void do_many_views(void)
{
	static void *views[VIEWS];
	struct adept_session_info i = { 0 };
	int fd = some_fd(), n;

	if (ioctl(fd, ADEPT_IOC_SESSION_INFO, &i))
		return;
	for (n = 0; n < VIEWS; n++) {
		views[n] = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, i.data_off);
		if (views[n] == MAP_FAILED)
			break;
	}
	if (n)
		mprotect(views[0], 4096, PROT_NONE);
	while (n--)
		munmap(views[n], 8192);
}

/* What a file may be asked for, and these refuse. */
static void do_file(void)
{
	int fd = some_fd();
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	struct statfs fs;
	char buf[16];

	/* Not the console, of which a read may wait for ever. */
	if (!fd)
		return;
	switch (rnd() % 8) {
	case 0:
		fchmod(fd, rnd() % 0777);
		break;
	case 1:
		fchown(fd, 0, 0);
		break;
	case 2:
		if (ftruncate(fd, number()))
			fstatfs(fd, &fs);
		break;
	case 3:
		if (read(fd, buf, sizeof(buf)) < 0)
			fsync(fd);
		break;
	case 4:
		if (write(fd, buf, sizeof(buf)) < 0)
			lseek(fd, number(), SEEK_SET);
		break;
	default:
		poll(&p, 1, 0);
	}
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
	void *to;

	if (!p)
		return;
	part = rnd() % 2 ? size : number() % size & ~4095ull;
	switch (rnd() % 7) {
	case 0:
		mprotect(p, part, rnd() % 4);
		break;
	case 6:
		/* To an address of the same page offset, where nothing else is. */
		to = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			  0);
		if (to != MAP_FAILED &&
		    mremap(p, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to)
			maps[k].p = to;
		else if (to != MAP_FAILED)
			munmap(to, size);
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

	toggle = arg ? -1 : open("/sys/kernel/tracing/events/adept/enable", O_WRONLY | O_CLOEXEC);
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
			} else if (rnd() % 64 == 0 && toggle >= 0) {
				must(write(toggle, rnd() % 4 ? "0" : "1", 1) == 1);
			}
			break;
		default:
			do_ioctl();
		}
	}
	for (i = 0; i < CHILDREN; i++)
		end_child(i);
	if (toggle >= 0)
		must(write(toggle, "0", 1) == 1);
	printf("     %lu operations as %s in %lu s\n", n, arg ? "nobody" : "root",
	       (now_ns() - began) / 1000000000);
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

static const struct { const char *name; long value; } limits[] = {
	{ "user_mb", 16 },
	{ "user_sessions", 12 },
	{ "user_orphans", 3 },
	/* A random keep time may be weeks, which is right while chunks are unread. */
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
	bool ok = true;
	int status;
	u32 i;

	seed = given && *given ? (u32)atoi(given) : (u32)time(NULL);
	printf("seed %u\n", seed);
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
	/* Its memory is charged to root's limit with its first store, so before there is less. */
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
	check(ok && !c.st[0].lost_chunks, "beside it %lu chunks of another session are exact %s",
	      c.chunks, c.error);
	session_close(&s);
	/* Orphans that the fuzzers left behind live up to a second. */
	check(counter_becomes("sessions", 0) && !counter("rings") && !counter("pages") &&
	      !counter("orphans"), "nothing is left");
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		set_param(limits[i].name, before[i]);
	return finish();
}
