// SPDX-License-Identifier: GPL-2.0-or-later
/* Start the tracer, a process that continues when depd ends. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/rundir.h"
#include "tracer.h"

enum { SOCKET = 3, LOCK, FDS };		/* descriptor numbers in the tracer */

/* Runs between fork and exec: depd has threads, so it must not allocate or take a lock. */
static void become(const char *rundir, int sock, int lock)
{
	char *argv[] = { TRACER_NAME, (char *)rundir_shown(rundir), NULL }, *envp[] = { NULL };
	int null = open("/dev/null", O_RDWR), i;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	sock = fcntl(sock, F_DUPFD, FDS);
	lock = fcntl(lock, F_DUPFD, FDS);
	if (null < 0 || sock < 0 || lock < 0)
		_exit(1);
	for (i = 0; i < 3; i++)
		dup2(null, i);
	dup2(sock, SOCKET);
	dup2(lock, LOCK);
	if (!close_range(FDS, ~0u, 0))
		execve("/proc/self/exe", argv, envp);
	_exit(1);
}

static int open_lock(const char *rundir)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", rundir, TRACER_LOCK);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

pid_t tracer_start(const char *rundir, int *sock)
{
	int ends[2], lock = open_lock(rundir);
	pid_t pid;

	if (lock < 0)
		return lock;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		pid = -errno;
		goto out;
	}
	pid = fork();
	if (!pid)
		become(rundir, ends[1], lock);
	if (pid < 0)
		pid = -errno;
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	else
		*sock = ends[0];
out:
	close(lock);
	return pid;
}

void tracer_main(void)
{
	prctl(PR_SET_NAME, TRACER_NAME);
	/* Not dumpable: other processes of this user cannot trace it or reach its descriptors. */
	prctl(PR_SET_DUMPABLE, 0);
	/* If SIGCHLD were ignored, wait(2) would not report children. */
	signal(SIGCHLD, SIG_DFL);
	if (chdir("/"))
		_exit(1);
	fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
	fcntl(LOCK, F_SETFD, FD_CLOEXEC);
	while (flock(LOCK, LOCK_EX))
		if (errno != EINTR)
			_exit(1);
	tracer_loop(SOCKET);
	/* Processes that are still traced continue, since the kernel detaches them. */
	_exit(0);
}
