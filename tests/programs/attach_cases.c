// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: attach-cases.  attach_cases CASE: processes that an attach, or a stop by ptrace, could
 * end, block or change: filters of system calls, blocked signals, signals that interrupt each
 * other, userfaultfd(2), limits, job control, changing ids.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "cases.h"

#define PAUSE_MS	200
#define PAGE		4096ul
#define MIB		(1ul << 20)

#ifndef PR_SET_MDWE
#define PR_SET_MDWE	65
#endif

static atomic_bool over, ready;

static void wait_ready(void)
{
	while (!ready)
		usleep(1000);
}

/* ---- threads in calls that a stop interrupts ---- */

static void sleep_once(void)
{
	struct timespec begun, t = { .tv_nsec = PAUSE_MS * 1000000 };

	clock_gettime(CLOCK_MONOTONIC, &begun);
	check(!nanosleep(&t, NULL), "nanosleep", 0);
	check(ms_since(&begun) >= PAUSE_MS - 1, "ms in nanosleep", ms_since(&begun));
	clock_gettime(CLOCK_MONOTONIC, &begun);
	check(!poll(NULL, 0, PAUSE_MS), "poll", 0);
	check(ms_since(&begun) >= PAUSE_MS - 1, "ms in poll", ms_since(&begun));
}

/* Kill the process for a call of @nr by this thread. */
static void forbid(unsigned int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs", 0);
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), "filter", 0);
}

static void *filtered(void *arg)
{
	forbid((unsigned int)(size_t)arg);
	ready = true;
	while (!over)
		sleep_once();
	return NULL;
}

/* 1: there is no filter yet; 2: one of the threads has it */
static void with_filter(size_t nr)
{
	pthread_t t;

	here();
	t = begin_thread(filtered, (void *)nr);
	wait_ready();
	here();
	over = true;
	pthread_join(t, NULL);
}

/* The kernel restarts some interrupted calls as restart_syscall. */
static void case_filter_restart(void)
{
	with_filter(SYS_restart_syscall);
}

static void case_filter_mmap(void)
{
	with_filter(SYS_mmap);
}

/* The first thread has ended, and has no filter. */
static void *outlives(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	begin_thread(filtered, (void *)SYS_restart_syscall);
	wait_ready();
	here();
	printf("right\n");
	fflush(stdout);
	_exit(0);
}

static void case_filter_zombie(void)
{
	static pthread_t first;

	first = pthread_self();
	begin_thread(outlives, &first);
	pthread_exit(NULL);
}

/* A thread waits again and again, with SIGTRAP blocked; @masked: not during the call */
static void *blocks_trap(void *masked)
{
	struct epoll_event e;
	struct timespec begun;
	int fd = epoll_create1(0), ret;
	sigset_t none, now;

	sigemptyset(&none);
	block(SIG_BLOCK, SIGTRAP);
	ready = true;
	while (!over) {
		clock_gettime(CLOCK_MONOTONIC, &begun);
		ret = epoll_pwait(fd, &e, 1, PAUSE_MS, masked ? &none : NULL);
		check(!ret, "epoll_pwait", ret);
		check(ms_since(&begun) >= PAUSE_MS - 1, "ms in it", ms_since(&begun));
		pthread_sigmask(SIG_BLOCK, NULL, &now);
		check(sigismember(&now, SIGTRAP), "SIGTRAP is blocked", 0);
	}
	return NULL;
}

static void with_trap_blocked(void *masked)
{
	pthread_t t = begin_thread(blocks_trap, masked);

	wait_ready();
	here();
	over = true;
	pthread_join(t, NULL);
}

static void case_trap(void)
{
	with_trap_blocked(NULL);
}

static void case_trap_masked(void)
{
	with_trap_blocked(&over);
}

/* ---- a stack whose pages another thread provides ---- */

#define STACK_PAGES	16

static char *lazy;
static int uffd = -1;
static unsigned long provided;

static void *provides(void *arg)
{
	struct uffdio_zeropage zero;
	struct uffd_msg msg;

	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		usleep(30000);
		zero = (struct uffdio_zeropage){
			.range = { msg.arg.pagefault.address & ~(PAGE - 1), PAGE },
		};
		/* The thread that waits for it can be the last one to run before the check. */
		provided++;
		if (ioctl(uffd, UFFDIO_ZEROPAGE, &zero) && errno != EEXIST)
			wrong("UFFDIO_ZEROPAGE", errno);
	}
	return arg;
}

/* Drop all pages below that of the stack pointer, which has 1 KiB left. */
static __attribute__((noinline)) void drop_pages(char *below)
{
	check(!madvise(lazy, (size_t)((below - lazy) & ~(long)(PAGE - 1)), MADV_DONTNEED),
	      "madvise", 0);
}

static __attribute__((noinline)) void wait_on_it(int fd)
{
	char here_is = 0, *room = __builtin_alloca((((size_t)&here_is - 1024) & (PAGE - 1)) + 16);
	struct epoll_event e;

	*(volatile char *)room = here_is;
	drop_pages(room);
	check(!epoll_wait(fd, &e, 1, 50), "epoll_wait", 0);
	drop_pages(room);
	/* A fault of the thread itself. */
	check(!*(volatile char *)lazy, "a new page", *lazy);
}

static void on_lazy_stack(void)
{
	int fd = epoll_create1(0);

	while (!over)
		wait_on_it(fd);
}

static void *uses_lazy_stack(void *arg)
{
	static ucontext_t back, there;

	getcontext(&there);
	there.uc_stack.ss_sp = lazy;
	there.uc_stack.ss_size = STACK_PAGES * PAGE;
	there.uc_link = &back;
	makecontext(&there, on_lazy_stack, 0);
	check(!swapcontext(&back, &there), "swapcontext", 0);
	return arg;
}

static void case_userfaultfd(void)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t t;

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	lazy = mmap(NULL, STACK_PAGES * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (size_t)lazy;
	reg.range.len = STACK_PAGES * PAGE;
	check(uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api) && !ioctl(uffd, UFFDIO_REGISTER, &reg),
	      "userfaultfd", uffd);
	begin_thread(provides, NULL);
	t = begin_thread(uses_lazy_stack, NULL);
	here();
	here();
	over = true;
	pthread_join(t, NULL);
	check(provided > 0, "pages provided", (long)provided);
}

/* ---- two signals at once, in a call that a stop would end ---- */

static int handled[2];
static volatile int nhandled;

static void note_handled(int sig, siginfo_t *info, void *context)
{
	(void)context;
	check(nhandled < 2 && info->si_code == SI_TKILL, "unexpected signal", sig);
	handled[nhandled++] = sig;
}

static void *runs(void *arg)
{
	ready = true;
	while (!over)
		sched_yield();
	return arg;
}

/* The suite sends SIGSEGV and SIGBUS to this thread while it is stopped by job control. */
static void case_two_signals(void)
{
	struct timeval limit = { .tv_sec = 60 };
	int pair[2];
	char c;

	/* The kernel does not restart a call with a time-out of a socket. */
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair", errno);
	check(!setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), "time-out",
	      errno);
	set_handler(SIGSEGV, note_handled, 0);
	set_handler(SIGBUS, note_handled, 0);
	begin_thread(runs, NULL);
	wait_ready();
	announce();
	while (!nhandled)
		check(read(pair[0], &c, 1) < 0 && errno == EINTR, "read", errno);
	/* The kernel begins the handler of the lower number, which the other one interrupts. */
	check(nhandled == 2 && handled[0] == SIGSEGV, "handlers", nhandled);
	over = true;
}

/* ---- memory that is limited, locked or not executable ---- */

static unsigned long fold(void)
{
	unsigned long h = 5381, i;
	char *p = malloc(MIB / 4);

	check(p != NULL, "malloc", 0);
	for (i = 0; i < MIB / 4; i++)
		p[i] = (char)(i * 7);
	for (i = 0; i < MIB / 4; i++)
		h = h * 33 + (unsigned char)p[i];
	free(p);
	return h;
}

/* The suite attaches at 1 and detaches at 2. */
static void compute(void)
{
	unsigned long first = fold();
	int i;

	for (i = 0; i < 3; i++) {
		here();
		check(fold() == first, "computed", i);
	}
}

static void case_locked(void)
{
	check(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall", 0);
	compute();
}

static void limit(int which, rlim_t limit)
{
	const struct rlimit l = { limit, limit };

	check(!setrlimit(which, &l), "setrlimit", which);
}

static void case_limit_as(void)
{
	limit(RLIMIT_AS, 64 * MIB);
	compute();
}

static void case_limit_data(void)
{
	limit(RLIMIT_DATA, 16 * MIB);
	compute();
}

static void case_no_exec_gain(void)
{
	check(!prctl(PR_SET_MDWE, 1, 0, 0, 0), "PR_SET_MDWE", 0);
	compute();
}

/* ---- job control ---- */

static void expect_no_change(pid_t pid, const char *when)
{
	int status;
	pid_t ret = waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED);

	check(!ret, when, ret ? status : 0);
}

static void next_change(pid_t pid, int *status)
{
	check(waitpid(pid, status, WUNTRACED | WCONTINUED) == pid, "waitpid", errno);
}

/* At each odd number the child is stopped; its parent must see nothing but its own signals. */
static void case_stopped(void)
{
	unsigned long first = fold();
	int status, i;
	pid_t pid = fork();

	while (!pid) {
		check(fold() == first, "child", 0);
		usleep(1000);
	}
	printf("child %d\n", pid);
	for (i = 0; i < 3; i++) {
		kill(pid, SIGSTOP);
		next_change(pid, &status);
		check(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "stopped", status);
		here();
		expect_no_change(pid, "while it is stopped");
		kill(pid, SIGCONT);
		next_change(pid, &status);
		check(WIFCONTINUED(status), "continued", status);
		here();
		expect_no_change(pid, "while it runs");
	}
	kill(pid, SIGTERM);
	next_change(pid, &status);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "ended", status);
}

/* ---- ids that change all the time ---- */

static void *changes_ids(void *arg)
{
	while (!over) {
		/* Of this thread only, unlike setresuid(). */
		check(!syscall(SYS_setresuid, -1, 65534, -1), "setresuid", 0);
		usleep(2000);
		check(!syscall(SYS_setresuid, -1, 0, -1), "setresuid back", 0);
		usleep(2000);
	}
	return arg;
}

static void *changes_dumpable(void *arg)
{
	while (!over) {
		check(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "not dumpable", 0);
		usleep(2000);
		check(!prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable", 0);
		usleep(2000);
	}
	return arg;
}

static void while_changing(void *(*f)(void *))
{
	unsigned long first = fold();
	pthread_t t = begin_thread(f, NULL);

	announce();
	while (!told_to_end())
		check(fold() == first, "computed", 0);
	over = true;
	pthread_join(t, NULL);
}

static void case_ids(void)
{
	while_changing(changes_ids);
}

static void case_dumpable(void)
{
	while_changing(changes_dumpable);
}

/* ---- code of the engine that never ends ---- */

#define CODE_AT		0x1000
#define CODE_SIZE	0x1c000

/* Where is the engine's image?  0: not there yet. */
static unsigned long find_image(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, image = 0;
	bool session = false;
	char line[512], perms[5];

	while (f && fgets(line, sizeof(line), f)) {
		session |= !!strstr(line, "adept-session");
		if (!image && sscanf(line, "%lx-%*x %4s", &start, perms) == 2 &&
		    !strcmp(perms, "rwxp"))
			image = start;
	}
	if (f)
		fclose(f);
	return session ? image : 0;
}

/* Write code that runs in circles over that of the engine, again and again. */
static void *changes_engine(void *arg)
{
	static unsigned char code[CODE_SIZE];
	int mem = open("/proc/self/mem", O_RDWR), i;
	unsigned long image;

	memset(code, 0x90, sizeof(code));	/* nop */
	for (i = 1; i <= CODE_SIZE / 64; i++)
		memcpy(code + i * 64 - 2, "\xeb\xfe", 2);	/* jmp to itself */
	while (!over) {
		image = find_image();
		for (i = 0; image && i < 100; i++)
			pwrite(mem, code, sizeof(code), (off_t)(image + CODE_AT));
	}
	close(mem);
	return arg;
}

/* With many threads the engine's start takes long enough to be met. */
static void case_hostile(void)
{
	int i;

	for (i = 0; i < 500; i++)
		begin_thread(idle, NULL);
	while_changing(changes_engine);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "filter-restart", case_filter_restart }, { "filter-mmap", case_filter_mmap },
		{ "filter-zombie", case_filter_zombie },
		{ "trap", case_trap }, { "trap-masked", case_trap_masked },
		{ "two-signals", case_two_signals },
		{ "userfaultfd", case_userfaultfd }, { "locked", case_locked },
		{ "limit-as", case_limit_as }, { "limit-data", case_limit_data },
		{ "no-exec-gain", case_no_exec_gain }, { "stopped", case_stopped },
		{ "ids", case_ids }, { "dumpable", case_dumpable },
		{ "hostile", case_hostile },
	};

	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc == 2 ? argv[1] : "locked");
}
