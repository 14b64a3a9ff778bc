// SPDX-License-Identifier: LGPL-2.1-or-later
/* Stops and deaths of traced threads. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

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
