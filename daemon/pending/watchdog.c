// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Watchdog: a small process that resumes pending processes when depd has died.
 *
 * It also resumes each process that has been pending for PENDING_MS, so a depd that hangs only
 * delays programs.  It has the map of pending processes, a socket over which depd ends it, and a
 * pidfd of depd.  It must close all other descriptors: those of the BPF programs would keep the
 * programs attached.
 *
 * The watchdog executes depd's file again under another process name.  A plain fork would have
 * depd's command line, and `kill $(pidof depd)` would end both.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec_watch.h"
#include "pending.h"

#define ROUND_MS 1000

enum { TABLE, SOCKET, DEPD, FDS };	/* descriptor numbers in the watchdog */

static void close_others(void)
{
	if (!syscall(SYS_close_range, FDS, ~0u, 0))
		return;
	for (int fd = FDS; fd < 65536; fd++)
		close(fd);
}

/* Move the descriptors @fd to 0, 1 and 2, and close all others. */
static void keep_only(int fd[FDS])
{
	for (int i = 0; i < FDS; i++)
		fd[i] = fcntl(fd[i], F_DUPFD, FDS);
	for (int i = 0; i < FDS; i++)
		dup2(fd[i], i);
	close_others();
}

__attribute__((noreturn))
static void watch(const char *pin)
{
	struct pollfd p[] = {
		{ .fd = SOCKET, .events = POLLIN },
		{ .fd = DEPD, .events = POLLIN },
	};
	char c;

	for (;;) {
		if (poll(p, 2, ROUND_MS) > 0) {
			if (p[0].revents && read(SOCKET, &c, 1) == 1)
				_exit(0);
			/* The socket was closed, so depd is ending: wait for its pidfd only. */
			p[0].fd = -1;
			if (p[1].revents)
				break;
		}
		pending_resume(TABLE, PENDING_MS);
	}
	pending_resume_all(TABLE);
	if (*pin)
		unlink(pin);
	_exit(0);
}

/* Runs between fork and exec: depd has threads, so it must not allocate or take a lock. */
static void become(int fd[FDS], const char *pin)
{
	char *argv[] = { WATCHDOG_NAME, (char *)pin, NULL }, *envp[] = { NULL };

	keep_only(fd);
	execve("/proc/self/exe", argv, envp);
	_exit(1);
}

void watchdog_main(int argc, char **argv)
{
	prctl(PR_SET_NAME, WATCHDOG_NAME);
	if (argc < 2 || chdir("/"))
		_exit(1);
	watch(argv[1]);
}

int watchdog_start(int table, const char *pin)
{
	int ends[2], fd[FDS], err = 0;
	sigset_t all, mask;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	fd[TABLE] = table;
	fd[SOCKET] = ends[0];
	fd[DEPD] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (fd[DEPD] < 0) {
		err = -errno;
		goto out;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	pid = fork();
	if (!pid) {
		/* After a second fork the watchdog is no child of depd.  Signals stay blocked. */
		setsid();
		if (fork())
			_exit(0);
		become(fd, pin);
	}
	if (pid < 0)
		err = -errno;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(fd[DEPD]);
out:
	close(ends[0]);
	if (!err)
		return ends[1];
	close(ends[1]);
	return err;
}

void watchdog_end(int fd)
{
	send(fd, "q", 1, MSG_NOSIGNAL);
	close(fd);
}
