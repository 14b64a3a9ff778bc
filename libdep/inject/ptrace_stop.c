// SPDX-License-Identifier: LGPL-2.1-or-later
/* Stops and deaths of traced threads. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define PAUSE_NS	5000	/* first pause between two looks at a thread */
#define LONG_PAUSE_NS	1000000	/* next ones are longer, up to this */

static enum dep_stop classify(int status, int *sig)
{
	int event = status >> 8;

	*sig = status & 0xff;
	if (event == PTRACE_EVENT_EXEC)
		return DEP_STOP_EXEC;
	if (event == PTRACE_EVENT_STOP)
		return *sig == SIGTRAP ? DEP_STOP_INTERRUPT : DEP_STOP_GROUP;
	if (event)
		return DEP_STOP_OTHER;
	if (*sig == (SIGTRAP | 0x80))
		return DEP_STOP_SYSCALL;
	return DEP_STOP_SIGNAL;
}

/* Has the thread ended?  If it is the first one of its process, others may still run. */
static bool has_ended(pid_t tid)
{
	char path[64], buf[512], *p;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	if (f) {
		n = fread(buf, 1, sizeof(buf) - 1, f);
		fclose(f);
	}
	buf[n] = '\0';
	p = strrchr(buf, ')');
	return !p || !strncmp(p, ") Z", 3) || !strncmp(p, ") X", 3);
}

int dep_trace_wait(pid_t tid, bool block, int *sig)
{
	int flags = __WALL | (block ? 0 : WNOHANG);
	siginfo_t si;

	for (;;) {
		/* Do not consume yet: the death of a child must stay for its parent. */
		si.si_pid = 0;
		if (waitid(P_PID, (id_t)tid, &si, flags | WSTOPPED | WEXITED | WNOWAIT)) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!si.si_pid)
			return DEP_STOP_NONE;
		if (si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED)
			return DEP_STOP_DEAD;
		/* A job control stop, reported to the parent and not to the tracer. */
		if (si.si_code == CLD_STOPPED)
			return DEP_STOP_NONE;
		si.si_pid = 0;
		if (!waitid(P_PID, (id_t)tid, &si, __WALL | WNOHANG | WSTOPPED) && si.si_pid)
			return (int)classify(si.si_status, sig);
		/* Killed in between: then waitid() for stops fails with ECHILD. */
	}
}

int dep_trace_wait_used(pid_t tid, int *sig)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	int stop;

	for (;;) {
		stop = dep_trace_wait(tid, false, sig);
		if (stop != DEP_STOP_NONE)
			return stop;
		if (pause.tv_nsec >= LONG_PAUSE_NS && has_ended(tid)) {
			/* It may have been reported since. */
			stop = dep_trace_wait(tid, false, sig);
			return stop == DEP_STOP_NONE ? DEP_STOP_DEAD : stop;
		}
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < LONG_PAUSE_NS)
			pause.tv_nsec *= 2;
	}
}

static bool is_child(pid_t pid)
{
	char path[64], buf[512], *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	p = strrchr(buf, ')');
	/* ") S PPID" */
	return !p || strlen(p) < 5 || atoi(p + 4) == getpid();
}

void dep_trace_reap(pid_t pid, pid_t tid)
{
	siginfo_t si;

	/* A thread that is not reaped keeps its whole process from ending. */
	if (tid != pid || !is_child(pid))
		waitid(P_PID, (id_t)tid, &si, WEXITED | WNOHANG | __WALL);
}
