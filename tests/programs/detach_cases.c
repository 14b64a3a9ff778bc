// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: detach.  detach_cases [CASE]: brings itself into a state in which it is attached to or
 * detached from, and checks that it does not notice.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "cases.h"

#define CHILDREN 100
#define STACK	65536
#define VALUE	4711

/* ---- signals of faults that are blocked and pending ---- */

static volatile sig_atomic_t got[65], value;

static void count(int sig, siginfo_t *info, void *context)
{
	(void)context;
	got[sig]++;
	value = info->si_code == SI_QUEUE ? info->si_value.sival_int : -1;
}

static void send_blocked(int sig)
{
	sigset_t pending;

	block(SIG_BLOCK, sig);
	sigqueue(getpid(), sig, (union sigval){ .sival_int = VALUE + sig });
	sigpending(&pending);
	check(sigismember(&pending, sig) && !got[sig], "pending", sig);
}

static void take_blocked(int sig)
{
	block(SIG_UNBLOCK, sig);
	check(got[sig] == 1 && value == VALUE + sig, "delivered with its value", value);
}

/* The suite attaches at 1 or 2, and detaches at 2 or not at all. */
static void case_pending(void)
{
	set_handler(SIGSEGV, count, 0);
	set_handler(SIGTRAP, count, 0);
	set_handler(SIGUSR1, count, 0);
	send_blocked(SIGSEGV);
	send_blocked(SIGUSR1);
	here();
	send_blocked(SIGTRAP);
	here();
	take_blocked(SIGTRAP);
	take_blocked(SIGSEGV);
	take_blocked(SIGUSR1);
}

/* ---- handlers ---- */

static char stack[STACK] __attribute__((aligned(16)));

static void check_altstack(int flags)
{
	stack_t now;

	check(!sigaltstack(NULL, &now), "sigaltstack", 0);
	check(now.ss_flags == flags, "flags of the alternate stack", now.ss_flags);
	if (!(flags & SS_DISABLE))
		check(now.ss_sp == stack && now.ss_size == STACK, "alternate stack", 0);
}

static void on_stack(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	char c;

	check(info->si_code == SI_TKILL, "code", info->si_code);
	check(&c >= stack && &c < stack + STACK, "on the alternate stack", 0);
	check(uc->uc_stack.ss_sp == stack, "stack in the frame", 0);
	check_altstack(sig == SIGUSR2 ? SS_DISABLE : SS_ONSTACK);
	here();
	check_altstack(sig == SIGUSR2 ? SS_DISABLE : SS_ONSTACK);
	got[sig]++;
}

/* Vector registers and the mask are as before after a handler in which the engine came or went. */
static void handler_keeps(int sig)
{
	const __m128i v = _mm_set_epi64x(0x0123456789abcdef, 0x1122334455667788);
	long ret = SYS_tgkill;
	sigset_t mask;
	__m128i after;

	block(SIG_BLOCK, SIGHUP);
	__asm__ volatile("movdqa %2, %%xmm15\n\t"
			 "syscall\n\t"
			 "movdqa %%xmm15, %1"
			 : "+a"(ret), "=m"(after)
			 : "m"(v), "D"((long)getpid()), "S"((long)gettid()), "d"((long)sig)
			 : "rcx", "r11", "memory", "xmm15");
	check(!ret, "tgkill", ret);
	check(!memcmp(&v, &after, sizeof(v)), "vector register", sig);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	check(sigismember(&mask, SIGHUP) && !sigismember(&mask, SIGUSR1), "mask", sig);
	check(got[sig] == 1, "handler ran", got[sig]);
}

/* 1: attach in a handler that began natively; 2: detach in one that began in the engine */
static void case_handler(int autodisarm)
{
	const int sig = autodisarm ? SIGUSR2 : SIGUSR1;
	stack_t ss = {
		.ss_sp = stack, .ss_size = STACK, .ss_flags = autodisarm ? (int)(1u << 31) : 0,
	};

	check(!sigaltstack(&ss, NULL), "sigaltstack", 0);
	set_handler(sig, on_stack, SA_ONSTACK);
	handler_keeps(sig);
	check_altstack(ss.ss_flags);
	got[sig] = 0;
	handler_keeps(sig);
	check_altstack(ss.ss_flags);
}

static sigjmp_buf back;

static void jump_out(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	here();
	siglongjmp(back, sig);
}

/* A handler that the attach or the detach has met is left by a jump. */
static void case_jump(void)
{
	int i;

	set_handler(SIGUSR1, jump_out, 0);
	for (i = 0; i < 2; i++)
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
}

/* A handler that is used once: natively, and in the engine. */
static void case_once(void)
{
	struct sigaction sa;

	set_handler(SIGUSR1, count, SA_RESETHAND);
	set_handler(SIGUSR2, count, SA_RESETHAND);
	raise(SIGUSR1);
	here();
	raise(SIGUSR2);
	here();
	check(got[SIGUSR1] == 1 && got[SIGUSR2] == 1, "handlers ran", got[SIGUSR2]);
	sigaction(SIGUSR1, NULL, &sa);
	check(sa.sa_handler == SIG_DFL, "first handler is reset", 0);
	sigaction(SIGUSR2, NULL, &sa);
	check(sa.sa_handler == SIG_DFL, "second handler is reset", 0);
}

/* ---- system calls ---- */

/*
 * It waits twice for 3 s in a call that a stop would end: natively, and in the engine.  A second
 * thread can be stopped meanwhile.
 */
static void case_late(void)
{
	const struct timeval timeout = { .tv_sec = 3 };
	struct timespec begun;
	int fd[2], i;
	long took;
	char c;

	begin_thread(idle, NULL);
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "socketpair", 0);
	check(!setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), "timeout", 0);
	for (i = 0; i < 2; i++) {
		announce();
		clock_gettime(CLOCK_MONOTONIC, &begun);
		errno = 0;
		check(recv(fd[0], &c, 1, 0) == -1 && errno == EAGAIN, "recv", errno);
		took = ms_since(&begun);
		check(took >= 2990 && took < 6000, "ms in recv", took);
	}
	here();
}

/* A thread sleeps while the process cannot be detached from, since a vfork child runs for 8 s. */
static void *sleeps(void *arg)
{
	struct timespec begun, rest = { .tv_sec = 10 };
	long took;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	check(!nanosleep(&rest, NULL), "nanosleep", 0);
	took = ms_since(&begun);
	check(took >= 10000 && took < 14000, "ms in nanosleep", took);
	return arg;
}

static void case_vfork(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	here();
	thread = begin_thread(sleeps, NULL);
	step++;
	pid = vfork();
	if (!pid) {
		if (write(STDOUT_FILENO, "at 2\n", 5) != 5)
			_exit(1);
		sleep(8);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "child", status);
	check(!pthread_join(thread, NULL), "join", 0);
	here();
}

/* ---- the time stamp counter is forbidden ---- */

static void *is_forbidden(void *arg)
{
	int mode = 0;

	check(!prctl(PR_GET_TSC, &mode) && mode == PR_TSC_SIGSEGV, "PR_GET_TSC", mode);
	return arg;
}

static volatile unsigned long long tsc;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	siglongjmp(back, sig);
}

static void raises(void)
{
	set_handler(SIGSEGV, on_fault, 0);
	if (!sigsetjmp(back, 1)) {
		tsc = __builtin_ia32_rdtsc();
		wrong("rdtsc is permitted", 0);
	}
	is_forbidden(NULL);
}

static void case_tsc(void)
{
	int status;
	pid_t pid;

	check(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "PR_SET_TSC", 0);
	raises();
	here();
	is_forbidden(NULL);
	check(!pthread_join(begin_thread(is_forbidden, NULL), NULL), "join", 0);
	pid = fork();
	if (!pid) {
		is_forbidden(NULL);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "child", status);
	check(execl("/nowhere", "nowhere", NULL) == -1 && errno == ENOENT, "execl", errno);
	is_forbidden(NULL);
	here();
	raises();
}

/* ---- a seccomp filter ---- */

/* It kills the process for all calls but those that the rest of the case makes. */
static void case_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	here();
	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS", 0);
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "PR_SET_SECCOMP", 0);
	here();
	here();
}

/* ---- the first thread ends before the others ---- */

static pthread_t first;

static void await_end_of_first(void)
{
	check(!pthread_join(first, NULL), "join", 0);
}

static void *goes_on(void *later)
{
	if (!later)
		await_end_of_first();
	here();
	if (later) {
		check(!pthread_kill(first, SIGUSR1), "pthread_kill", SIGUSR1);
		await_end_of_first();
	}
	here();
	printf("right\n");
	exit(0);
}

static void end_thread(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	pthread_exit(NULL);
}

static void case_first(void)
{
	first = pthread_self();
	begin_thread(goes_on, NULL);
	pthread_exit(NULL);
}

/* It ends after the attach. */
static void case_later(void)
{
	first = pthread_self();
	set_handler(SIGUSR1, end_thread, 0);
	begin_thread(goes_on, &first);
	idle(NULL);
}

/* ---- children ---- */

static int has_engine(void)
{
	static char maps[65536];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	check(fd >= 0, "open", fd);
	while ((got = read(fd, maps + n, sizeof(maps) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	maps[n] = '\0';
	return strstr(maps, "adept-session") != NULL;
}

/*
 * Create children all the time, from before the attach until the engine is gone.  The last CHILDREN
 * of them are alive then.
 */
static void case_forks(void)
{
	static pid_t child[CHILDREN];
	unsigned int n, i, had = 0;

	announce();
	for (n = 0; has_engine() || !had; n++) {
		had |= (unsigned int)has_engine();
		i = n % CHILDREN;
		if (child[i]) {
			kill(child[i], SIGKILL);
			check(waitpid(child[i], NULL, 0) == child[i], "waitpid", child[i]);
		}
		child[i] = fork();
		check(child[i] >= 0, "fork", child[i]);
		if (!child[i])
			idle(NULL);
	}
	here();
	for (i = 0; i < CHILDREN; i++)
		if (child[i])
			kill(child[i], SIGKILL);
}

/* A child ends after some milliseconds, in the way @how; the parent expects this status. */
static const struct {
	const char *program;
	int signal, status;
} ends[] = {
	{ NULL, 0, 0 }, { NULL, 0, 3 << 8 }, { NULL, SIGKILL, SIGKILL }, { "exit 5", 0, 5 << 8 },
};

#define ENDS	(sizeof(ends) / sizeof(ends[0]))
#define ALIVE	12	/* children at a time; a multiple of ENDS */

__attribute__((noreturn))
static void end_child(unsigned int how, unsigned int us)
{
	usleep(us);
	if (ends[how].signal)
		kill(getpid(), ends[how].signal);
	if (ends[how].program)
		execl("/bin/sh", "sh", "-c", ends[how].program, (char *)NULL);
	_exit(ends[how].status >> 8);
}

/* Children end all the time, until there is something to read. */
static void case_ends(void)
{
	pid_t child[ALIVE] = { 0 };
	unsigned int n, i;
	int status;

	announce();
	for (n = 0; n % ALIVE || !told_to_end(); n++) {
		i = n % ALIVE;
		if (child[i]) {
			check(waitpid(child[i], &status, 0) == child[i], "waitpid", child[i]);
			check(status == ends[i % ENDS].status, "status", status);
		}
		child[i] = fork();
		check(child[i] >= 0, "fork", child[i]);
		if (!child[i])
			end_child(i % ENDS, n * 7919 % 30000);
	}
	for (i = 0; i < ALIVE; i++) {
		check(waitpid(child[i], &status, 0) == child[i], "waitpid", child[i]);
		check(status == ends[i % ENDS].status, "status", status);
	}
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	got[sig]++;
}

/* A handler without SA_RESTART ends a call in which the thread was at the detach. */
static void case_eintr(void)
{
	const struct itimerval in = { .it_value.tv_sec = 4 };
	struct pollfd none = { .fd = -1 };
	struct timespec begun, left = { .tv_sec = 20 };

	set_handler(SIGALRM, on_alarm, 0);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	setitimer(ITIMER_REAL, &in, NULL);
	announce();
	check(nanosleep(&left, &left) == -1 && errno == EINTR, "nanosleep", errno);
	check(got[SIGALRM] == 1, "alarms", got[SIGALRM]);
	check(left.tv_sec >= 12 && left.tv_sec < 17, "seconds left", left.tv_sec);
	check(poll(&none, 1, 0) == 0, "poll", errno);
}

/* ---- code that changes, limits, descriptors ---- */

static void case_code(void)
{
	static const unsigned char get[6] = { 0xb8, 0, 0, 0, 0, 0xc3 };	/* mov $0,%eax; ret */
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*f)(void);
	int i;

	check(p != MAP_FAILED, "mmap", 0);
	memcpy(p, get, sizeof(get));
	memcpy(&f, &p, sizeof(f));
	for (i = 0; i < 4000; i++) {
		if (i % 1000 == 0)
			here();
		p[1] = (unsigned char)i;
		check(f() == (i & 0xff), "generated code", i);
	}
}

/* Until there is something to read. */
static void case_descriptors(void)
{
	const int lowest = open("/dev/null", O_RDONLY);
	int fd;

	close(lowest);
	announce();
	while (!told_to_end()) {
		fd = open("/dev/null", O_RDONLY);
		check(fd == lowest, "descriptor", fd);
		check(!close(fd), "close", fd);
	}
}

static void case_altstack(void)
{
	case_handler(0);
}

static void case_autodisarm(void)
{
	case_handler(1);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "pending", case_pending }, { "jump", case_jump }, { "once", case_once },
		{ "late", case_late }, { "eintr", case_eintr }, { "code", case_code },
		{ "descriptors", case_descriptors }, { "vfork", case_vfork },
		{ "forks", case_forks }, { "tsc", case_tsc }, { "first", case_first },
		{ "later", case_later }, { "filter", case_filter },
		{ "ends", case_ends },
		{ "altstack", case_altstack }, { "autodisarm", case_autodisarm },
	};

	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc == 2 ? argv[1] : "code");
}
