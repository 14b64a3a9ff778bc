// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: pause.  pause_cases [CASE]: at 1 the suite pauses its recording, and at 2 it resumes it.
 * Between them the program changes what the engine knows of it.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "cases.h"

#define PAGE	4096
#define HUGE	(8ull << 30)	/* more than the engine keeps hashes for */
#define RX	(PROT_READ | PROT_EXEC)
#define RW	(PROT_READ | PROT_WRITE)
#define RWX	(PROT_READ | PROT_WRITE | PROT_EXEC)
#define ANON	(MAP_PRIVATE | MAP_ANONYMOUS)

/* ---- code ---- */

/* Write a function that returns @value. */
static void write_code(unsigned char *at, unsigned char value)
{
	const unsigned char code[] = { 0xb8, value, 0, 0, 0, 0xc3 };	/* mov $value, %eax; ret */

	memcpy(at, code, sizeof(code));
}

static int call(const unsigned char *at)
{
	int (*f)(void) = (int (*)(void))at;

	return f();
}

static unsigned char *map(int prot, int flags, int fd, void *at)
{
	unsigned char *p = mmap(at, PAGE, prot, flags, fd, 0);

	check(p != MAP_FAILED, "mmap", fd);
	return p;
}

static int file_with(unsigned char value)
{
	int fd = memfd_create("code", 0);
	unsigned char *p;

	check(fd >= 0 && !ftruncate(fd, PAGE), "memfd", fd);
	p = map(RW, MAP_SHARED, fd, NULL);
	write_code(p, value);
	munmap(p, PAGE);
	return fd;
}

/* Five functions: each is changed in another way during the pause. */
static void case_code(void)
{
	int one = file_with(1), two = file_with(2), shared = file_with(1), i;
	unsigned char *patched = map(RW, ANON, -1, NULL), *writable = map(RWX, ANON, -1, NULL);
	unsigned char *replaced = map(RX, MAP_PRIVATE, one, NULL);
	unsigned char *moved = map(RX, MAP_PRIVATE, one, NULL);
	unsigned char *alias = map(RW, MAP_SHARED, shared, NULL);
	unsigned char *written = map(RX, MAP_SHARED, shared, NULL);
	unsigned char *same = map(RX, MAP_PRIVATE, one, NULL);
	unsigned char *huge = mmap(NULL, HUGE, RWX, ANON | MAP_NORESERVE, -1, 0);
	unsigned char *all[] = { patched, writable, replaced, moved, written };

	check(huge != MAP_FAILED, "mmap", 0);
	write_code(huge, 1);
	write_code(patched, 1);
	write_code(writable, 1);
	mprotect(patched, PAGE, RX);
	for (i = 0; i < 5; i++)
		check(call(all[i]) == 1 && call(same) == 1 && call(huge) == 1, "before", i);
	here();
	for (i = 0; i < 5; i++)
		check(call(all[i]) == 1 && call(same) == 1, "in the pause", i);
	mprotect(patched, PAGE, RW);
	write_code(patched, 2);
	mprotect(patched, PAGE, RX);
	write_code(writable, 2);
	map(RX, MAP_PRIVATE | MAP_FIXED, two, replaced);
	munmap(moved, PAGE);
	write_code(alias, 2);
	write_code(huge, 2);
	here();
	map(RX, MAP_PRIVATE | MAP_FIXED, two, moved);
	for (i = 0; i < 5; i++)
		check(call(all[i]) == 2 && call(same) == 1, "after the pause", i);
	check(call(huge) == 2, "in a huge mapping", call(huge));
	/* What the engine protects against writing again. */
	write_code(writable, 3);
	check(call(writable) == 3, "written again", call(writable));
}

/* ---- signals ---- */

static volatile sig_atomic_t first, second;
static char stack[65536];

static void count_first(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	first += info->si_value.sival_int;
}

static void count_second(int sig, siginfo_t *info, void *context)
{
	char here_too;

	(void)sig;
	(void)context;
	check(&here_too >= stack && &here_too < stack + sizeof(stack), "alternate stack", 0);
	second += info->si_value.sival_int;
}

static void queue(int sig, int value)
{
	check(!sigqueue(getpid(), sig, (union sigval){ .sival_int = value }), "sigqueue", sig);
}

static void case_signals(void)
{
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };

	set_handler(SIGUSR1, count_first, 0);
	queue(SIGUSR1, 1);
	block(SIG_BLOCK, SIGUSR2);
	here();
	queue(SIGUSR1, 10);
	check(first == 11, "in the pause", first);
	check(!sigaltstack(&ss, NULL), "sigaltstack", 0);
	set_handler(SIGUSR1, count_second, SA_ONSTACK);
	set_handler(SIGUSR2, count_first, 0);
	queue(SIGUSR2, 100);
	here();
	queue(SIGUSR1, 1);
	check(second == 1 && first == 11, "after the pause", first);
	block(SIG_UNBLOCK, SIGUSR2);
	check(first == 111, "pending since the pause", first);
}

/* ---- threads ---- */

static volatile int stop_old, ncreated;

static void *old_thread(void *arg)
{
	while (!stop_old)
		usleep(1000);
	return arg;
}

static void *new_thread(void *arg)
{
	unsigned long i, sum = 0;

	__atomic_add_fetch(&ncreated, 1, __ATOMIC_SEQ_CST);
	while (!told_to_end())
		for (i = 0; i < 1000; i++)
			sum += i & (unsigned long)arg;
	return (void *)(sum % 1000 == 0 ? arg : NULL);
}

static void case_threads(void)
{
	pthread_t old[4], new[4];
	void *ret;
	long i;

	for (i = 0; i < 4; i++)
		old[i] = begin_thread(old_thread, (void *)(i + 1));
	here();
	for (i = 0; i < 2; i++)
		new[i] = begin_thread(new_thread, (void *)0);
	stop_old = 1;
	for (i = 0; i < 4; i++)
		check(!pthread_join(old[i], &ret) && ret == (void *)(i + 1), "joined", i);
	here();
	for (i = 2; i < 4; i++)
		new[i] = begin_thread(new_thread, (void *)0);
	while (__atomic_load_n(&ncreated, __ATOMIC_SEQ_CST) < 4)
		usleep(1000);
	announce();
	for (i = 0; i < 4; i++)
		check(!pthread_join(new[i], &ret) && !ret, "new one joined", i);
}

/* ---- children ---- */

static int run_child(const char *program)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		if (program)
			execl(program, program, NULL);
		_exit(7);
	}
	check(child > 0 && waitpid(child, &status, 0) == child, "child", child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void case_children(void)
{
	here();
	check(run_child(NULL) == 7 && run_child("/bin/true") == 0, "in the pause", 0);
	here();
	check(run_child(NULL) == 7 && run_child("/bin/true") == 0, "after the pause", 0);
}

static void case_exec(void)
{
	here();
	execl("/proc/self/exe", "pause_cases", "nothing", NULL);
}

static void case_nothing(void)
{
	here();
}

/* ---- a call that a stop would end ---- */

/* The call goes on while the recording is paused; then the pause is complete. */
static void case_late(void)
{
	const struct timeval timeout = { .tv_sec = 1 };
	struct timespec begun;
	int pair[2];
	char c;

	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair", 0);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	begin_thread(idle, NULL);
	here();
	announce();
	clock_gettime(CLOCK_MONOTONIC, &begun);
	check(recv(pair[0], &c, 1, 0) < 0 && errno == EAGAIN, "recv", 0);
	check(ms_since(&begun) >= 999, "timeout", ms_since(&begun));
	here();
	here();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "code", case_code }, { "signals", case_signals }, { "threads", case_threads },
		{ "children", case_children }, { "exec", case_exec }, { "nothing", case_nothing },
		{ "late", case_late },
	};

	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc == 2 ? argv[1] : "code");
}
