// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random calls on the module: see fuzz.h.
 */
#include <sys/stat.h>
#include <sys/vfs.h>

#include "fuzz.h"

#define IDS	16
#define TAKEN	64
#define VIEWS	1100		/* more than a session may have */

unsigned int seed;
int fds[FDS];
struct fuzz_map maps[MAPS];
u8 *arena;
static u64 ids[IDS];		/* of sessions that there are, or were */
static struct { int fd; struct adept_give give; } taken[TAKEN];	/* chunks, on that descriptor */
static u32 ntaken;

u64 rnd(void)
{
	return (u64)rand_r(&seed) << 33 ^ (u64)rand_r(&seed) << 12 ^ (u64)rand_r(&seed);
}

u64 number(void)
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

void *pointer(void)
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

unsigned long command(void)
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
void fill(int fd, unsigned long cmd, void *at)
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

void keep_fd(int fd)
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

int some_fd(void)
{
	return fds[rnd() % FDS];
}

void do_ioctl(void)
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

void do_open(void)
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

void do_mmap(void)
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
void do_many_views(void)
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
void do_file(void)
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

void do_memory(void)
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
