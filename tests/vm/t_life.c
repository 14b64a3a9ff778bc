// SPDX-License-Identifier: GPL-2.0-or-later
/* fork, exec, exit, threads, the mapping itself, signals, and refused accesses. */
#include <sys/resource.h>
#include <sys/stat.h>

#include "vm.h"

static struct session s;
static struct progress *progress;

static void writer_in(u8 *area, u32 slot, u64 records)
{
	struct writer w = {
		.window = area + slot * s.info.slot_stride, .stream = slot, .records = records,
		.progress = &progress[slot],
	};

	writer_run(&w);
	progress[slot].ended = 1;
}

static void begin(u32 nslots)
{
	progress = progress_make();
	session_make(&s, 64 * KIB, 4, nslots, ADEPT_POLICY_WAIT);
}

/* The rings of slots 0 to n-1 end as @progress says. */
static void expect(u32 n, const char *what)
{
	struct consumer c;
	bool ok;
	u32 i;

	consumer_init(&c, &s);
	ok = consumer_until_last(&c, 0, n, 20000);
	for (i = 0; ok && i < n; i++) {
		if (c.st[i].next != progress[i].done && c.st[i].next != progress[i].done + 1) {
			snprintf(c.error, sizeof(c.error), "slot %u: %lu records of %lu", i,
				 c.st[i].next, progress[i].done);
			ok = false;
		}
		ok = ok && !slot_cmd(&s, ADEPT_IOC_RESET, i, c.st[i].ring, 0);
	}
	check(ok, "%s %s", what, ok ? "" : c.error);
}

/* ---- the ends of processes ---- */

static int fork_tree(void *arg)
{
	u8 *area = session_enrol(&s);
	pid_t pid;

	(void)arg;
	writer_in(area, 0, 300);
	pid = fork();
	if (!pid) {
		writer_in(area, 1, 500);
		_exit(0);
	}
	writer_in(area, 2, 700);
	return wait_for(pid);
}

static int then_exec(void *arg)
{
	writer_in(session_enrol(&s), 0, 900);
	execl("/bin/sh", "sh", "-c", arg, NULL);
	return 1;
}

static void *endless(void *arg)
{
	u8 *area = arg;
	static u32 next;

	writer_in(area, 1 + __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED), 0);
	return NULL;
}

static int exit_group_others(void *arg)
{
	u8 *area = session_enrol(&s);
	pthread_t t[2];

	must(!pthread_create(&t[0], NULL, endless, area));
	must(!pthread_create(&t[1], NULL, endless, area));
	writer_in(area, 0, 400);
	while (progress[1].done < 200 || progress[2].done < 200)
		;
	if (arg)
		kill(getpid(), SIGKILL);
	exit(0);
}

static int abort_with_core(void *arg)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	(void)arg;
	must(!setrlimit(RLIMIT_CORE, &unlimited));
	must(!chdir("/tmp"));
	writer_in(session_enrol(&s), 0, 400);
	abort();
}

static void ends(void)
{
	struct job { int (*fn)(void *); void *arg; u32 n; int status; const char *what; };
	static const struct job jobs[] = {
		{ fork_tree, NULL, 3, 0, "fork: parent and child write their own rings" },
		{ then_exec, "exit 0", 1, 0, "execve ends the ring" },
		{ exit_group_others, NULL, 3, 0, "exit_group while threads write" },
		{ exit_group_others, "kill", 3, 128 + SIGKILL, "SIGKILL while threads write" },
		{ abort_with_core, NULL, 1, 128 + SIGABRT, "a core is dumped" },
	};
	u32 i;
	pid_t pid;

	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		struct consumer c;
		u32 k, bad;

		begin(jobs[i].n);
		consumer_init(&c, &s);
		pid = spawn(jobs[i].fn, jobs[i].arg);
		bad = !consumer_until_last(&c, 0, jobs[i].n, 20000);
		bad += wait_for(pid) != jobs[i].status;
		for (k = 0; k < jobs[i].n; k++)
			bad += c.st[k].next < progress[k].done ||
			       c.st[k].next > progress[k].done + 1 ||
			       !(c.st[k].last_flags & ADEPT_CHUNK_DEAD);
		check(!bad, "%s %s", jobs[i].what, bad ? c.error : "");
		session_close(&s);
	}
}

/* ---- threads ---- */

static void *one_slot(void *arg)
{
	writer_in(arg, 0, 350);
	return NULL;
}

/* Threads that use one slot in succession. */
static int churn(void *arg)
{
	u8 *area = session_enrol(&s);
	u32 i, n = *(u32 *)arg;

	for (i = 0; i < n; i++) {
		pthread_t t;

		must(!pthread_create(&t, NULL, one_slot, area));
		must(!pthread_join(t, NULL));
		while (__atomic_load_n(&progress[0].ended, __ATOMIC_ACQUIRE))
			usleep(100);
	}
	return 0;
}

static void thread_slots(void)
{
	struct consumer c;
	u32 n = 40, i, bad = 0;
	pid_t pid;

	begin(1);
	consumer_init(&c, &s);
	pid = spawn(churn, &n);
	for (i = 0; i < n; i++) {
		struct adept_ring_info ri;

		while (!__atomic_load_n(&progress[0].ended, __ATOMIC_ACQUIRE))
			consumer_drain(&c);
		ri = ring_info(&s, 0);
		bad += slot_cmd(&s, ADEPT_IOC_RESET, 0, ri.ring, ADEPT_RESET_FORCE) != -EBUSY;
		bad += slot_cmd(&s, ADEPT_IOC_FLUSH, 0, ri.ring + 1, 0) != -ENOENT;
		bad += slot_cmd(&s, ADEPT_IOC_FLUSH, 0, ri.ring, 0) != 0;
		bad += slot_cmd(&s, ADEPT_IOC_FLUSH, 0, ri.ring, 0) != 0;
		bad += !consumer_drain(&c) || c.st[0].next != 350 ||
		       c.st[0].last_flags != (ADEPT_CHUNK_LAST | ADEPT_CHUNK_UNFINISHED);
		bad += ring_info(&s, 0).state != ADEPT_RING_ENDED;
		bad += slot_cmd(&s, ADEPT_IOC_RESET, 0, ri.ring, 0) != 0;
		bad += ring_info(&s, 0).state != ADEPT_RING_NONE;
		progress[0].done = 0;
		__atomic_store_n(&progress[0].ended, 0, __ATOMIC_RELEASE);
	}
	bad += wait_for(pid);
	check(!bad && session_stats(&s).rings_made == n,
	      "%u threads one after the other in a slot: flush, reset %s", n, bad ? c.error : "");
	session_close(&s);
}

static int flushed_alive(void *arg)
{
	writer_in(session_enrol(&s), 0, (u64)arg);
	return 0;
}

/* A consumer's error: it is counted, and the writer continues. */
static void flush_of_living(void)
{
	pid_t pid;

	begin(1);
	pid = spawn(flushed_alive, (void *)(u64)20000);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	must(!slot_cmd(&s, ADEPT_IOC_FLUSH, 0, ring_info(&s, 0).ring, 0));
	check(!wait_for(pid) && session_stats(&s).after_end > 0,
	      "a ring flushed under its waiting writer: %llu gaps met",
	      session_stats(&s).after_end);
	session_close(&s);
}

/* ---- the mapping ---- */

static void mapping(void)
{
	u8 *area;
	size_t size;
	char path[64];
	int fd;

	begin(3);
	size = s.info.area_size;
	area = session_enrol(&s);
	writer_in(area, 0, 500);
	check(munmap(area + 4096, 4096) && errno == EINVAL, "munmap of a part");
	check(munmap(area + size - 4096, 4096) && errno == EINVAL, "munmap of the end");
	check(mprotect(area, 65536, PROT_NONE) && errno == EINVAL, "mprotect of a part");
	check(madvise(area, 65536, MADV_DONTFORK) && errno == EINVAL, "madvise of a part");
	check(mremap(area, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
		     (u8 *)((u64)area & ~0xffffffffull) - (1ull << 40)) == MAP_FAILED,
	      "mremap to another place");
	check(mremap(area, size, size + 4096, MREMAP_MAYMOVE) == MAP_FAILED, "mremap to more");
	check(mremap(area, size, size - 4096, 0) == MAP_FAILED, "mremap to less");
	check(mremap(area, 0, size, MREMAP_MAYMOVE) == MAP_FAILED, "mremap to twice");
	check(mprotect(area, size, PROT_READ | PROT_WRITE | PROT_EXEC) && errno == EACCES,
	      "it cannot be executable");
	check(!mprotect(area, size, PROT_NONE) && !mprotect(area, size, PROT_READ | PROT_WRITE),
	      "mprotect of the whole");
	check(!madvise(area, 65536, MADV_DONTNEED) && *(u32 *)area == rec_id(0, rec_values(0, 0)),
	      "MADV_DONTNEED takes nothing away");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	check(mmap(NULL, size - 4096, 3, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
	      "it cannot be mapped in part");
	check(mmap(NULL, size, 3, MAP_SHARED, fd, 4096) == MAP_FAILED, "or displaced");
	check(mmap(NULL, size, 3, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EINVAL,
	      "or private");
	check(mmap(NULL, size, 7, MAP_SHARED, fd, 0) == MAP_FAILED, "or executable");
	check(ftruncate(fd, 0) && fchmod(fd, 0666) && fchown(fd, 1, 1) &&
	      open(path, O_RDWR | O_TRUNC) < 0,
	      "truncate, chmod, chown are refused");
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED, "or without writing");
	close(fd);
	check(mmap(NULL, size, 3, MAP_SHARED, s.fd, 0) == MAP_FAILED && errno == EACCES,
	      "or through the consumer's file");
	must(!munmap(area, size));
	check(ring_info(&s, 0).state == ADEPT_RING_DEAD, "munmap of the whole ends the ring");
	expect(1, "and what it held is read");
	session_close(&s);
}

static bool maps_again(void *at, int flags)
{
	char path[64];
	int fd;
	u8 *p;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0);
	p = mmap(at, s.info.area_size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
	close(fd);
	return p != MAP_FAILED;
}

/* A child has the mapping that it inherited, and cannot make another one. */
static int child_maps(void *arg)
{
	return maps_again(NULL, 0) || errno != EBUSY || munmap(arg, s.info.area_size) ||
	       !maps_again(NULL, 0);
}

/* A process can have only one mapping, since freeing a ring visits them all. */
static void one_mapping(void)
{
	u8 *area;

	begin(2);
	area = session_enrol(&s);
	check(!maps_again(NULL, 0) && errno == EBUSY, "a second mapping: %s", strerror(errno));
	check(!wait_for(spawn(child_maps, area)), "nor in a child, but one instead of the first");
	writer_in(area, 0, 100);
	check(maps_again(area, MAP_FIXED) && ring_info(&s, 0).state == ADEPT_RING_DEAD,
	      "a mapping in the place of the first");
	writer_in(area, 1, 200);
	must(!munmap(area, s.info.area_size));
	expect(2, "what was written through both");
	session_close(&s);
}

/* ---- refused accesses ---- */

enum { OWN_START, BODY_EARLY, GAP_EARLY, WRONG_BASE, FAR, READ_GAP, PLAIN, PARENT, OTHER_MAP };

static int child_store(void *arg)
{
	store_r15((u64)arg, 4, 1);
	return 0;
}

static int store_by_own_mapping(void *arg)
{
	must(!munmap(arg, s.info.area_size));
	store_r15((u64)session_enrol(&s), 4, 1);
	return 0;
}

static int misbehave(void *arg)
{
	u8 *area = session_enrol(&s), *gap = area + s.info.chunk_size;

	switch ((long)arg) {
	case OWN_START:
		store_r15((u64)area, 4, 1);
		return 0;
	case BODY_EARLY:
		store_r15((u64)area + 4096, 4, 1);
		return 0;
	case GAP_EARLY:
		store_r15((u64)gap - 8, 4, 1);
		return 0;
	}
	store_r15((u64)area, 4, 1);
	switch ((long)arg) {
	case WRONG_BASE:
		store_r15((u64)area, s.info.chunk_size, 1);
		return 0;
	case FAR:
		store_r15((u64)gap, 3840, 1);
		return 0;
	case READ_GAP:
		return *(volatile u8 *)gap;
	case PLAIN:
		/* r15 has the right value, but the store does not use it */
		asm volatile("mov %%r15, %%rbx\n\tmov %0, %%r15\n\t"
			     "movq $1, (%1)\n\tmov %%rbx, %%r15"
			     : : "r"(gap - 8), "r"(gap) : "rbx", "memory");
		return 0;
	case PARENT:
		must(dies_by(child_store, area) == SIGSEGV);
		kill(getpid(), SIGSEGV);
		return 0;
	case OTHER_MAP:
		must(dies_by(store_by_own_mapping, area) == SIGSEGV);
		kill(getpid(), SIGSEGV);
		return 0;
	}
	return 0;
}

static void refusals(void)
{
	static const struct { long what; int sig; const char *name; } t[] = {
		{ OWN_START, 0, "the first store" },
		{ BODY_EARLY, SIGSEGV, "first store elsewhere" },
		{ GAP_EARLY, SIGSEGV, "first store across the gap" },
		{ WRONG_BASE, SIGSEGV, "a gap far from r15" },
		{ FAR, SIGSEGV, "3840 bytes after r15" },
		{ READ_GAP, SIGSEGV, "a read of the gap" },
		{ PLAIN, SIGSEGV, "a store by another register" },
		{ PARENT, SIGSEGV, "a child in its parent's ring" },
		{ OTHER_MAP, SIGSEGV, "another mapping's ring" },
	};
	u32 i;
	int sig;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		begin(1);
		sig = dies_by(misbehave, (void *)t[i].what);
		check(sig == t[i].sig && (!sig || session_stats(&s).refused), "%s: %s", t[i].name,
		      sig ? strsignal(sig) : "accepted");
		session_close(&s);
	}
}

static void by_the_kernel(void)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	u8 *area;
	u64 r15;

	begin(2);
	area = session_enrol(&s);
	check(read(fd, area, 8) < 0 && errno == EFAULT, "a system call makes no ring");
	store_r15((u64)area, 4, 1);
	check(read(fd, area + 100, 8) == 8, "but may write to one");
	check(read(fd, area + s.info.chunk_size, 8) < 0 && errno == EFAULT, "not to its gap");
	r15 = store_r15((u64)area + s.info.chunk_size - 8, 4, 0x1122334455667788);
	check(r15 == (u64)area + s.info.chunk_stride && *(u64 *)(r15 + 4) == 0x1122334455667788,
	      "a store that straddles the end is whole after it");
	check(ring_info(&s, 0).filled == 1 && ring_info(&s, 0).chunk == 1,
	      "one chunk is published");
	munmap(area, s.info.area_size);
	session_close(&s);
	close(fd);
}

/* ---- waiting ---- */

static volatile int handled;

static void on_signal(int sig)
{
	(void)sig;
	handled++;
	progress[1].done = handled;
}

static int write_with_handler(void *arg)
{
	struct sigaction a = { .sa_handler = on_signal };

	(void)arg;
	must(!sigaction(SIGUSR1, &a, NULL));
	writer_in(session_enrol(&s), 0, 5000);
	return 0;
}

static char state_of(pid_t pid)
{
	char path[64], buf[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && read(fd, buf, sizeof(buf) - 1) > 0);
	close(fd);
	return *(strrchr(buf, ')') + 2);
}

static bool state_becomes(pid_t pid, char state)
{
	int i;

	for (i = 0; i < 500 && state_of(pid) != state; i++)
		sleep_ms(10);
	return state_of(pid) == state;
}

static void waiting(void)
{
	struct consumer c;
	pid_t pid;
	int i;

	begin(1);
	consumer_init(&c, &s);
	pid = spawn(write_with_handler, NULL);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	check(state_becomes(pid, 'S'), "a writer that waits sleeps");
	for (i = 1; i <= 5; i++) {
		kill(pid, SIGUSR1);
		while (*(volatile u64 *)&progress[1].done < (u64)i)
			sleep_ms(1);
	}
	pass("its signal handlers run");
	kill(pid, SIGSTOP);
	check(state_becomes(pid, 'T'), "it can be stopped");
	kill(pid, SIGCONT);
	check(consumer_until_last(&c, 0, 1, 20000) && !wait_for(pid) && c.st[0].next == 5000,
	      "and nothing of its stream is lost %s", c.error);
	session_close(&s);

	begin(1);
	pid = spawn(flushed_alive, (void *)(u64)20000);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	kill(pid, SIGKILL);
	check(wait_for(pid) == 128 + SIGKILL, "a writer that waits can be killed");
	expect(1, "and all that it had is read");
	session_close(&s);
}

/* ---- limits ---- */

static int first_store(void *arg)
{
	u8 *area = session_enrol(&s);

	store_r15((u64)area + (u64)arg * s.info.slot_stride, 4, 1);
	pause();
	return 0;
}

static void limits(void)
{
	long user = param("user_mb"), total = param("total_mb"), sessions = param("user_sessions");
	struct adept_session_create c = {
		.version = ADEPT_ABI_VERSION, .chunk_size = MIB, .nchunks = 2, .nslots = 4,
	};
	struct session more;
	pid_t pid;

	progress = progress_make();
	session_make(&s, MIB, 4, 4, ADEPT_POLICY_WAIT);
	set_param("user_mb", 5);
	pid = spawn(first_store, NULL);
	while (!session_stats(&s).rings)
		sleep_ms(1);
	check(dies_by(first_store, (void *)1) == SIGBUS, "over the user's limit");
	set_param("user_mb", user);
	set_param("total_mb", 5);
	check(dies_by(first_store, (void *)1) == SIGBUS, "over the limit of all");
	set_param("total_mb", total);
	kill(pid, SIGKILL);
	wait_for(pid);
	set_param("user_sessions", 1);
	check(session_try(&more, &c) == -EDQUOT, "too many sessions");
	set_param("user_sessions", sessions);
	c.version++;
	check(session_try(&more, &c) == -EPROTONOSUPPORT, "a newer version");
	c.version -= 2;
	check(session_try(&more, &c) == -EPROTONOSUPPORT, "an older version");
	c.version++;
	c.reserved[2] = 1;
	check(session_try(&more, &c) == -EINVAL, "a reserved field");
	c.reserved[2] = 0;
	c.chunk_size = 65537;
	check(session_try(&more, &c) == -EINVAL, "a chunk of 65537 bytes");
	session_close(&s);
}

int main(void)
{
	ends();
	thread_slots();
	flush_of_living();
	mapping();
	one_mapping();
	refusals();
	by_the_kernel();
	waiting();
	limits();
	check(counter_becomes("sessions", 0) && !counter("rings") && !counter("pages"),
	      "nothing is left");
	return finish();
}
