// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: first-engine.  Flags: -static
 *
 * no_proc HOW [DIR]: make it impossible to read /proc/self/maps, and then run code that has never
 * run before, wherever it may come from: the program's own, files, anonymous memory that is
 * written, protected, moved and mapped again, shared memory, the stack; in threads, children, vfork
 * children and new images.
 *
 * HOW: none; chroot (into DIR, which is empty); descriptors (all are in use); limit (RLIMIT_NOFILE
 * is 0); errno, kill, trap (seccomp forbids open and openat).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define PAGE	4096
#define THREADS	4
#define ROUNDS	20
#define RW	(PROT_READ | PROT_WRITE)
#define RX	(PROT_READ | PROT_EXEC)
#define RWX	(PROT_READ | PROT_WRITE | PROT_EXEC)

typedef int (*code_fn)(void);

extern char **environ;
static int code_file, shared_file, self_file, many_file;
static int total;		/* of the main thread and its children */
static __thread sigjmp_buf back;

/* mov eax, value; ret */
static void put_code(void *at, int value)
{
	unsigned char code[6] = { 0xb8, 0, 0, 0, 0, 0xc3 };

	memcpy(code + 1, &value, 4);
	memcpy(at, code, sizeof(code));
}

static int run(void *at)
{
	return ((code_fn)at)();
}

static void *map(size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = mmap(NULL, size, prot, flags | (fd < 0 ? MAP_ANONYMOUS : 0), fd, offset);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Code of the program that nobody has run. */
#define FRESH(n) \
	__attribute__((noinline, section("fresh" #n), aligned(PAGE))) static int fresh##n(int v) \
	{ \
		return v * 3 + n; \
	}
FRESH(1)
FRESH(2)
FRESH(3)

static int from_file(void)
{
	char *p = map(2 * PAGE, PROT_READ, MAP_PRIVATE, code_file, 0);
	int sum;

	CHECK(mmap(p + PAGE, PAGE, RX, MAP_PRIVATE | MAP_FIXED, code_file, PAGE) == p + PAGE);
	sum = run(p + PAGE);
	CHECK(!mprotect(p, PAGE, RX));
	sum += run(p);
	/* Text relocations: written, and run again. */
	CHECK(!mprotect(p + PAGE, PAGE, RW));
	put_code(p + PAGE, 77);
	CHECK(!mprotect(p + PAGE, PAGE, RX));
	sum += run(p + PAGE);
	CHECK(!munmap(p, 2 * PAGE));
	return sum;
}

static int written(void)
{
	char *p = map(3 * PAGE, RW, MAP_PRIVATE, -1, 0), *q;
	int sum = 0;

	for (int i = 0; i < 3; i++)
		put_code(p + i * PAGE, 1000 + i);
	CHECK(!mprotect(p + PAGE, PAGE, RX));
	sum += run(p + PAGE);
	CHECK(!mprotect(p, 3 * PAGE, RX));
	sum += run(p) + run(p + 2 * PAGE);
	/* Moved; the old place is anybody's, so this comes there only as a rule. */
	q = map(8 * PAGE, PROT_NONE, MAP_PRIVATE, -1, 0);
	CHECK(mremap(p, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q + PAGE) == q + PAGE);
	p = mmap(p, PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	put_code(p, 5);
	sum += run(p) + run(q + PAGE) + run(q + 3 * PAGE);
	put_code(p, 6);
	sum += run(p);
	CHECK(!munmap(p, PAGE) && !munmap(q, 8 * PAGE));
	/* The same addresses again, as a rule. */
	p = map(3 * PAGE, RWX, MAP_PRIVATE, -1, 0);
	put_code(p, 9);
	sum += run(p);
	CHECK(!munmap(p, 3 * PAGE));
	return sum;
}

static int shared(void)
{
	char *w = map(PAGE, RW, MAP_SHARED, shared_file, 0);
	char *x = map(PAGE, RX, MAP_SHARED, shared_file, 0);
	int sum = 0;

	for (int i = 0; i < 3; i++) {
		put_code(w, i * 100);
		sum += run(x);
	}
	/* What is made executable later is shared all the same. */
	CHECK(!mprotect(w, PAGE, RWX));
	for (int i = 0; i < 3; i++) {
		put_code(w, i * 1000);
		sum += run(x) + run(w);
	}
	CHECK(!munmap(w, PAGE) && !munmap(x, PAGE));
	return sum;
}

static int on_stack(void)
{
	char room[3 * PAGE], *p = (char *)(((uintptr_t)room + PAGE) & -PAGE);

	CHECK(!mprotect(p, PAGE, RWX));
	put_code(p, 4711);
	return run(p);
}

static void on_signal(int sig)
{
	siglongjmp(back, sig);
}

/* It must not be executed. */
static int data(void)
{
	char *p = map(PAGE, RW, MAP_PRIVATE, -1, 0);
	int sig = sigsetjmp(back, 1);

	if (!sig) {
		put_code(p, 1);
		run(p);
	}
	CHECK(!munmap(p, PAGE));
	return sig;
}

/* ---- mappings that are cut, joined, moved and protected at random ---- */

#define PAGES	48
#define STEPS	1500

static struct {
	int prot;		/* -1: not mapped */
	int value;		/* what its code returns, -1: it has none */
} model[PAGES];
static char *area;

static void set_model(int from, int to, int prot, int value)
{
	for (; from < to; from++) {
		model[from].prot = prot;
		model[from].value = value;
	}
}

static int all_mapped(int from, int to)
{
	while (from < to && model[from].prot >= 0)
		from++;
	return from == to;
}

static void map_at_random(int from, int to, int prot)
{
	size_t size = (size_t)(to - from) * PAGE;
	char *p = area + from * PAGE;

	if (rnd() % 4 == 0) {
		CHECK(mmap(p, size, prot, MAP_PRIVATE | MAP_FIXED, many_file, 0) == p);
		set_model(from, to, prot, 0);
		for (int i = from; i < to; i++)
			model[i].value = 500 + (i - from);
		return;
	}
	CHECK(mmap(p, size, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	for (int i = from; i < to; i++) {
		model[i].value = (int)(rnd() % 100000);
		put_code(area + i * PAGE, model[i].value);
		model[i].prot = prot;
	}
	CHECK(!mprotect(p, size, prot));
}

static void move_at_random(int from, int to)
{
	int n = to - from, at = (int)(rnd() % (unsigned int)(PAGES - n + 1));
	size_t size = (size_t)n * PAGE;
	char *p = area + from * PAGE, *q = area + at * PAGE;

	if ((at < to && at + n > from) || !all_mapped(from, to))
		return;
	if (mremap(p, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, q) != q) {
		/* Several mappings; what was in the way is gone all the same. */
		munmap(q, size);
		set_model(at, at + n, -1, -1);
		return;
	}
	memcpy(&model[at], &model[from], (size_t)n * sizeof(model[0]));
	set_model(from, to, -1, -1);
}

static void look_at_random(void)
{
	int i = (int)(rnd() % PAGES), sig;

	if (model[i].prot >= 0 && model[i].prot & PROT_EXEC) {
		CHECK(model[i].value >= 0);
		CHECK(run(area + i * PAGE) == model[i].value);
		return;
	}
	sig = sigsetjmp(back, 1);
	if (!sig) {
		run(area + i * PAGE);
		CHECK(!"no signal");
	}
	CHECK(sig == SIGSEGV);
}

static void random_mappings(void)
{
	static const int prots[] = { RX, RX, RWX, RW, PROT_READ, PROT_NONE, RX };

	area = map(PAGES * PAGE, PROT_NONE, MAP_PRIVATE, -1, 0);
	set_model(0, PAGES, PROT_NONE, -1);
	for (int step = 0; step < STEPS; step++) {
		int from = (int)(rnd() % PAGES);
		unsigned int most = PAGES - from > 8 ? 8 : (unsigned int)(PAGES - from);
		int to = from + 1 + (int)(rnd() % most);
		int prot = prots[rnd() % (sizeof(prots) / sizeof(prots[0]))];

		switch (rnd() % 5) {
		case 0:
		case 1:
			map_at_random(from, to, prot);
			break;
		case 2:
			CHECK(!munmap(area + from * PAGE, (size_t)(to - from) * PAGE));
			set_model(from, to, -1, -1);
			break;
		case 3:
			for (int i = from; i < to; i++)
				if (model[i].value < 0 || model[i].prot < 0)
					to = i;
			if (to > from) {
				CHECK(!mprotect(area + from * PAGE, (size_t)(to - from) * PAGE,
						prot));
				for (int i = from; i < to; i++)
					model[i].prot = prot;
			}
			break;
		default:
			move_at_random(from, to);
		}
		for (int i = 0; i < 6; i++)
			look_at_random();
	}
	CHECK(!munmap(area, PAGES * PAGE));
}

static int all(int with_shared)
{
	int sum = from_file() + written() + on_stack() + data();

	return with_shared ? sum + shared() : sum;
}

static void *thread(void *arg)
{
	intptr_t sum = 0;

	for (int i = 0; i < ROUNDS; i++)
		sum += all(0) + (intptr_t)arg;
	return (void *)sum;
}

static void threads(void)
{
	pthread_t t[THREADS];
	void *ret;

	for (intptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, thread, (void *)i));
	for (int i = 0; i < THREADS; i++) {
		CHECK(!pthread_join(t[i], &ret));
		mix((uint64_t)(intptr_t)ret);
	}
}

static void wait_for(pid_t pid, const char *what)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	printf("%s: status %x\n", what, (unsigned int)status);
	mix((uint64_t)status);
}

static void children(const char *how)
{
	char *argv[] = { "no_proc", "again", (char *)how, NULL };
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(((all(1) + fresh2(1)) & 63) + 1);
	wait_for(pid, "fork");
	pid = vfork();
	if (!pid) {
		syscall(SYS_execveat, self_file, "", argv, environ, AT_EMPTY_PATH);
		_exit(100);
	}
	wait_for(pid, "vfork and execve");
	pid = fork();
	if (!pid) {
		syscall(SYS_execveat, self_file, "", argv, environ, AT_EMPTY_PATH);
		_exit(100);
	}
	wait_for(pid, "fork and execve");
}

static void forbid(unsigned int action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(filter) / sizeof(filter[0]), filter };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
}

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	(void)context;
	mix((uint64_t)sig);
	mix((uint64_t)info->si_syscall);
	mix((uint64_t)info->si_errno);
}

/* The program's own calls are forbidden as they were. */
static void try_open(void)
{
	int fd;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		fd = (int)syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY, 0);
		_exit(fd < 0 ? errno : 0);
	}
	wait_for(pid, "open");
}

static void prepare(void)
{
	char page[2 * PAGE] = "";

	put_code(page, 31);
	put_code(page + PAGE, 32);
	code_file = memfd_create("code", 0);
	shared_file = memfd_create("shared", 0);
	self_file = open("/proc/self/exe", O_RDONLY);
	CHECK(code_file >= 0 && shared_file >= 0 && self_file >= 0);
	CHECK(write(code_file, page, sizeof(page)) == sizeof(page));
	CHECK(!ftruncate(shared_file, PAGE));
	many_file = memfd_create("many", 0);
	for (int i = 0; i < 8; i++) {
		put_code(page, 500 + i);
		CHECK(write(many_file, page, PAGE) == PAGE);
	}
}

static void hinder(const char *how, const char *dir)
{
	struct sigaction trap = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO };
	const struct rlimit none = { 0, 0 };

	if (!strcmp(how, "chroot")) {
		CHECK(!chdir(dir) && !chroot("."));
	} else if (!strcmp(how, "descriptors")) {
		const struct rlimit few = { 64, 64 };

		CHECK(!setrlimit(RLIMIT_NOFILE, &few));
		while (dup(0) >= 0)
			;
		CHECK(errno == EMFILE);
	} else if (!strcmp(how, "limit")) {
		CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	} else if (!strcmp(how, "errno")) {
		forbid(SECCOMP_RET_ERRNO | EXDEV);
	} else if (!strcmp(how, "kill")) {
		forbid(SECCOMP_RET_KILL_PROCESS);
	} else if (!strcmp(how, "trap")) {
		CHECK(!sigaction(SIGSYS, &trap, NULL));
		forbid(SECCOMP_RET_TRAP | 5);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_NODEFER };

	const char *how = argc > 2 ? argv[1] : "none", *dir = argc > 2 ? argv[2] : ".";

	CHECK(!sigaction(SIGSEGV, &sa, NULL));
	if (!strcmp(how, "again")) {
		/* A new image, under what the old one has done. */
		total = written() + on_stack() + data() + fresh3(2);
		return (total & 63) + 1;
	}
	prepare();
	hinder(how, dir);
	total = all(1) + fresh1(1);
	mix((uint64_t)total);
	printf("%d\n", total);
	random_mappings();
	threads();
	children(how);
	try_open();
	return finish("no_proc");
}
