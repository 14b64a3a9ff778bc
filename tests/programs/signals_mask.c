// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Flags: -pthread.  Synchronous signals in the signal mask: read back,
 * sent while blocked, in threads, out of handlers; and what ends the process.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static volatile sig_atomic_t hits, last;
static sigjmp_buf back;
static volatile int *nowhere;

static void note(int sig)
{
	hits++;
	last = sig;
}

static void jump(int sig)
{
	hits++;
	last = sig;
	siglongjmp(back, 1);
}

static void handle(int sig, void (*f)(int), int flags)
{
	struct sigaction sa = { .sa_handler = f, .sa_flags = flags };

	CHECK(!sigaction(sig, &sa, NULL));
}

static sigset_t only(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	if (sig)
		sigaddset(&set, sig);
	return set;
}

static int is_blocked(int sig)
{
	sigset_t now;

	CHECK(!sigprocmask(SIG_BLOCK, NULL, &now));
	return sigismember(&now, sig);
}

/* pthread_create blocks all signals around the clone. */
static void *fault_in_thread(void *unused)
{
	(void)unused;
	CHECK(!is_blocked(SIGSEGV));
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
	CHECK(!is_blocked(SIGSEGV));
	return NULL;
}

static void threads(void)
{
	pthread_t t;

	handle(SIGSEGV, jump, 0);
	hits = 0;
	CHECK(!pthread_create(&t, NULL, fault_in_thread, NULL));
	CHECK(!pthread_join(t, NULL));
	CHECK(hits == 1);
	mix(hits);
}

static void mask_is_kept(void)
{
	static const int sync[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGUSR1 };
	sigset_t set, old, none = only(0);

	for (size_t i = 0; i < sizeof(sync) / sizeof(sync[0]); i++) {
		set = only(sync[i]);
		CHECK(!sigprocmask(SIG_BLOCK, &set, &old) && !sigismember(&old, sync[i]));
		CHECK(is_blocked(sync[i]));
		CHECK(!sigprocmask(SIG_UNBLOCK, &set, &old) && sigismember(&old, sync[i]));
		CHECK(!is_blocked(sync[i]));
		CHECK(!sigprocmask(SIG_SETMASK, &set, NULL) && is_blocked(sync[i]));
		CHECK(!sigprocmask(SIG_SETMASK, &none, NULL) && !is_blocked(sync[i]));
		mix(i);
	}
}

/* Sent while blocked: waits, once, and shows as pending. */
static void held(void)
{
	static const int sync[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV };
	sigset_t set, pending;

	for (size_t i = 0; i < 5; i++) {
		handle(sync[i], note, 0);
		set = only(sync[i]);
		hits = 0;
		CHECK(!sigprocmask(SIG_BLOCK, &set, NULL));
		raise(sync[i]);
		kill(getpid(), sync[i]);
		CHECK(!hits && !sigpending(&pending) && sigismember(&pending, sync[i]));
		CHECK(!sigprocmask(SIG_UNBLOCK, &set, NULL));
		CHECK(last == sync[i]);
		/* one to the thread, one to the process: both, or one of them */
		mix(hits >= 1 && hits <= 2);
		CHECK(!sigpending(&pending) && !sigismember(&pending, sync[i]));
	}
}

static volatile int times, inside, deepest;

static void raises(int sig)
{
	if (++inside > deepest)
		deepest = inside;
	if (times++ < 3)
		raise(sig);
	inside--;
}

/* A handler's own signal is blocked in it, unless it says otherwise. */
static void own_signal_waits(void)
{
	for (int nodefer = 0; nodefer < 2; nodefer++) {
		times = inside = deepest = 0;
		handle(SIGTRAP, raises, nodefer ? SA_NODEFER : 0);
		raise(SIGTRAP);
		CHECK(times == 4 && deepest == (nodefer ? 4 : 1));
		mix((uint64_t)deepest);
	}
}

/* How a child ends that does this. */
static void ends(void (*f)(void))
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		f();
		_exit(3);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	mix((uint64_t)(WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status)));
}

static void fault_while_blocked(void)
{
	sigset_t set = only(SIGSEGV);

	handle(SIGSEGV, jump, 0);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
}

static void faults_again(int sig)
{
	static int faults;

	(void)sig;
	if (faults++ > 5)
		_exit(4);
	*nowhere = 1;
}

static void fault_in_handler(void)
{
	handle(SIGSEGV, faults_again, 0);
	*nowhere = 1;
}

static void fault_in_nodefer_handler(void)
{
	handle(SIGSEGV, faults_again, SA_NODEFER);
	*nowhere = 1;
}

/* longjmp leaves the mask as it is in the handler. */
static void jump_with_mask(void)
{
	handle(SIGSEGV, jump, 0);
	if (!sigsetjmp(back, 0))
		*nowhere = 1;
	if (is_blocked(SIGSEGV))
		*nowhere = 2;
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	mask_is_kept();
	threads();
	held();
	own_signal_waits();
	handle(SIGSEGV, jump, 0);
	ends(fault_while_blocked);
	ends(fault_in_handler);
	ends(fault_in_nodefer_handler);
	ends(jump_with_mask);
	return finish("signals_mask");
}
