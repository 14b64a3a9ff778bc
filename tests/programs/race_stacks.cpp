// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Races below calls that are hard to follow. The program prints the stack of each racing access as
 * backtrace() sees it.
 *
 * Suite: races_stacks
 *
 * Output: for each access a line "NAME MODULE+OFFSET...", callers only, innermost first.
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa))
#define MAX 1024

struct seen {
	const char *name;
	int n;
	void *frame[MAX];
};

static struct seen *seen;		/* shared with children */
static int *nseen;

/* One for each case: the name of the variable is that of the case. */
static int at_tail, at_longjmp, at_throw, at_handler, at_altstack, at_recursion, at_coroutine;
static int *at_fork;
static volatile int sink;

/* Note the callers of the function that calls this. */
NOINLINE static void here(const char *name)
{
	struct seen *s = seen + __atomic_fetch_add(nseen, 1, __ATOMIC_RELAXED);

	s->name = name;
	s->n = backtrace(s->frame, MAX);
}

/* ---- tail calls ---- */

NOINLINE static int tail_to(int n)
{
	here("at_tail");
	at_tail += n;
	return n;
}

NOINLINE static int tail_middle(int n)
{
	return tail_to(n + 1);
}

NOINLINE static int tail_from(int n)
{
	sink = n;
	return tail_middle(n + 1);
}

static void *run_tail(void *)
{
	sink = tail_from(1) + 1;
	return nullptr;
}

/* ---- longjmp ---- */

static jmp_buf jump;

NOINLINE static int deep(int n)
{
	if (n)
		return deep(n - 1) + sink;
	if (sink != -1)
		longjmp(jump, 1);
	return 0;
}

NOINLINE static void land()
{
	here("at_longjmp");
	if (!setjmp(jump))
		sink = deep(20);
	at_longjmp++;
}

static void *run_longjmp(void *)
{
	land();
	sink = 1;
	return nullptr;
}

/* ---- exceptions ---- */

NOINLINE static int thrower(int n)
{
	if (!n)
		throw std::runtime_error("x");
	return thrower(n - 1) + sink;
}

NOINLINE static void catches()
{
	here("at_throw");
	try {
		sink = thrower(20);
	} catch (const std::exception &) {
		at_throw++;
	}
}

static void *run_throw(void *)
{
	catches();
	sink = 2;
	return nullptr;
}

/* ---- callbacks in handlers ---- */

/* Each case has code of its own: races of the same two instructions are one. */
NOINLINE static void callback()
{
	here("at_handler");
	at_handler++;
}

static void handler(int)
{
	void (*volatile f)() = callback;

	f();
	sink = 3;
}

NOINLINE static void callback_alternate()
{
	here("at_altstack");
	at_altstack++;
}

static void handler_alternate(int)
{
	void (*volatile f)() = callback_alternate;

	f();
	sink = 4;
}

NOINLINE static void raiser(int n)
{
	if (n)
		raiser(n - 1);
	else
		pthread_kill(pthread_self(), SIGUSR1);
	sink = n;
}

static void handle(void (*function)(int), int flags)
{
	struct sigaction act = {};

	act.sa_handler = function;
	act.sa_flags = flags;
	sigaction(SIGUSR1, &act, nullptr);
}

static void *run_handler(void *)
{
	handle(handler, 0);
	raiser(3);
	sink = 5;
	return nullptr;
}

/* The alternate stack is above that of the thread: it is part of the main thread's. */
static void *run_altstack(void *memory)
{
	stack_t alt = {};

	alt.ss_sp = memory;
	alt.ss_size = 65536;
	sigaltstack(&alt, nullptr);
	handle(handler_alternate, SA_ONSTACK);
	raiser(3);
	sink = 6;
	return nullptr;
}

/* ---- recursion ---- */

NOINLINE static int down(int n)
{
	int ret = 0;

	if (n) {
		ret = down(n - 1);
	} else {
		here("at_recursion");
		at_recursion++;
	}
	sink = n;
	return ret + 1;
}

static void *run_recursion(void *)
{
	sink = down(500);
	return nullptr;
}

/* ---- coroutines ---- */

static ucontext_t base, coroutine;

NOINLINE static void inside(int n)
{
	if (n) {
		inside(n - 1);
	} else {
		swapcontext(&coroutine, &base);
		here("at_coroutine");
		at_coroutine++;
	}
	sink = n;
}

static void coroutine_main()
{
	inside(4);
	swapcontext(&coroutine, &base);
}

NOINLINE static void resume(int n)
{
	if (n)
		resume(n - 1);
	else
		swapcontext(&base, &coroutine);
	sink = n;
}

static void *run_coroutine(void *)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = malloc(65536);
	coroutine.uc_stack.ss_size = 65536;
	coroutine.uc_link = &base;
	makecontext(&coroutine, coroutine_main, 0);
	resume(2);
	resume(5);
	return nullptr;
}

/* ---- fork ---- */

NOINLINE static pid_t forker(int n)
{
	pid_t pid = n ? forker(n - 1) : fork();

	if (!n && !pid) {
		here("at_fork");
		(*at_fork)++;
		_exit(0);
	}
	sink = n;
	return pid;
}

static void fork_case()
{
	pid_t pid = forker(5);

	(*at_fork)++;
	waitpid(pid, nullptr, 0);
}

/* ---- all of them ---- */

static void *other(void *at)
{
	(*(volatile int *)at)++;
	return nullptr;
}

static void both(void *(*run)(void *), int *at, void *arg)
{
	pthread_t a, b;

	pthread_create(&a, nullptr, run, arg);
	pthread_create(&b, nullptr, other, at);
	pthread_join(a, nullptr);
	pthread_join(b, nullptr);
}

static void *shared(size_t size)
{
	return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int main()
{
	char alternate[65536];
	void *first[4];
	int i, k;

	seen = (struct seen *)shared(32 * sizeof(*seen));
	nseen = (int *)shared(4096);
	at_fork = nseen + 64;
	backtrace(first, 4);
	both(run_tail, &at_tail, nullptr);
	both(run_longjmp, &at_longjmp, nullptr);
	both(run_throw, &at_throw, nullptr);
	both(run_handler, &at_handler, nullptr);
	both(run_altstack, &at_altstack, alternate);
	both(run_recursion, &at_recursion, nullptr);
	both(run_coroutine, &at_coroutine, nullptr);
	fork_case();
	for (i = 0; i < *nseen; i++) {
		printf("%s", seen[i].name);
		/* The first two are here() and the function with the access. */
		for (k = 2; k < seen[i].n; k++) {
			Dl_info info = {};

			dladdr(seen[i].frame[k], &info);
			printf(" %s+%lx", info.dli_fname ? info.dli_fname : "?",
			       (unsigned long)((char *)seen[i].frame[k] -
					       (char *)info.dli_fbase));
		}
		printf("\n");
	}
	return 0;
}
