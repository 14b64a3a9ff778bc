// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that asks the collector to follow its execve, as the engine would:
 *
 *	inject_exec HOW FILE ARGS..
 *
 * HOW is "leader", "thread" (execve in another thread), "fail" (execve a file that
 * is not there), "twice" (the same, then FILE), "pending" (with a blocked signal
 * pending), "stopped" (stop itself while the collector waits), "thread-stopped",
 * "vfork" (in a vfork child, whose status it returns), "vfork-killed" (the child waits
 * for its answer when it is killed, then the same).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdep/abi/session_file.h"
#include "session_map.h"

static struct adept_session *session;
static struct adept_proc *self;
static int stop;

static void find_session(void)
{
	unsigned long start;
	char line[4352];
	FILE *f = fopen("/proc/self/maps", "re");
	struct adept_proc *p;

	while (fgets(line, sizeof(line), f)) {
		if (is_session_map(line) && sscanf(line, "%lx-", &start) == 1) {
			session = (struct adept_session *)start;
			break;
		}
	}
	fclose(f);
	if (!session)
		exit(90);
	p = (struct adept_proc *)((char *)session + session->proc_off);
	for (u32 i = 0; i < session->nprocs && !self; i++)
		if (p[i].state == ADEPT_SLOT_LIVE && p[i].pid == (u32)getpid())
			self = &p[i];
	if (!self)
		exit(91);
}

static void set_and_wait(u32 state)
{
	__atomic_store_n(&self->exec_state, state, __ATOMIC_RELEASE);
	__atomic_add_fetch(&session->wakeup, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &session->wakeup, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&self->exec_state, __ATOMIC_ACQUIRE) == state)
		syscall(SYS_futex, &self->exec_state, FUTEX_WAIT, state, NULL, NULL, 0);
}

static void announce(const char *path)
{
	self->exec_path = (u64)path;
	self->exec_dirfd = AT_FDCWD;
	self->exec_tid = (u32)syscall(SYS_gettid);
	set_and_wait(ADEPT_EXEC_REQUEST);
}

static void fail_once(char **argv)
{
	announce(NULL);
	if (self->exec_state != ADEPT_EXEC_READY)
		exit(92);
	if (execv("/does/not/exist", argv) != -1 || errno != ENOENT)
		exit(93);
	set_and_wait(ADEPT_EXEC_FAILED);
	if (self->exec_state != ADEPT_EXEC_NONE)
		exit(94);
}

static void *run(void *arg)
{
	char **argv = arg;

	announce(argv[0]);
	if (stop)
		raise(SIGSTOP);
	execv(argv[0], argv);
	exit(95);
}

/* The parent goes on when the child is gone, in whichever way, and ends its request. */
static int in_vfork(char **argv, int killed)
{
	pid_t pid;
	int status;

	pid = vfork();
	if (!pid) {
		announce(argv[0]);
		if (killed)
			raise(SIGKILL);
		execv(argv[0], argv);
		_exit(95);
	}
	__atomic_store_n(&self->exec_state, ADEPT_EXEC_NONE, __ATOMIC_RELEASE);
	if (waitpid(pid, &status, 0) != pid)
		exit(97);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	pthread_t thread;
	sigset_t set;

	find_session();
	if (!strcmp(how, "fail")) {
		fail_once(argv + 2);
		return 7;
	}
	if (!strcmp(how, "twice"))
		fail_once(argv + 2);
	if (!strcmp(how, "vfork-killed") && in_vfork(argv + 2, 1) != 128 + SIGKILL)
		return 99;
	if (strstr(how, "vfork"))
		return in_vfork(argv + 2, 0);
	stop = !!strstr(how, "stopped");
	if (strstr(how, "thread")) {
		pthread_create(&thread, NULL, run, argv + 2);
		pthread_join(thread, NULL);
		return 96;
	}
	if (!strcmp(how, "pending")) {
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, NULL);
		raise(SIGUSR1);
	}
	run(argv + 2);
	return 98;
}
