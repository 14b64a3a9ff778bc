// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Start the holder process of the fd store, which keeps descriptors for the next depd.
 *
 * The holder executes depd's file again under another process name.  A plain fork would have depd's
 * command line, and `kill $(pidof depd)` would end both.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holder.h"
#include "daemon/base/rundir.h"

static void reset_signals(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		sigaction(sig, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGPIPE, &sa, NULL);
	sigprocmask(SIG_SETMASK, &(sigset_t){ 0 }, NULL);
}

static void raise_limit(void)
{
	rlim_t want = HOLDER_FDS_MAX + 16;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= want)
		return;
	r.rlim_cur = want;
	if (r.rlim_max < want) {
		/* Only root may raise the hard limit. */
		if (!setrlimit(RLIMIT_NOFILE, &(struct rlimit){ want, want }))
			return;
		r.rlim_cur = r.rlim_max;
	}
	setrlimit(RLIMIT_NOFILE, &r);
}

/* Close all descriptors but @fd, which becomes 3; 0 to 2 become /dev/null. */
static int keep_only(int fd)
{
	int null, i;

	fd = fcntl(fd, F_DUPFD, 4);
	null = open("/dev/null", O_RDWR);
	if (fd < 0 || null < 0)
		return -errno;
	for (i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			return -errno;
	if (dup2(fd, 3) < 0 || close_range(4, ~0u, 0))
		return -errno;
	return 0;
}

static void become(int fd, const char *rundir)
{
	char start[16], idle[16], fds[16], *envp[] = { NULL };
	char *argv[] = { HOLDER_NAME, start, idle, fds,
			 (char *)rundir_shown(rundir), NULL };

	snprintf(start, sizeof(start), "%u", holder_limits.start_ms);
	snprintf(idle, sizeof(idle), "%u", holder_limits.idle_ms);
	snprintf(fds, sizeof(fds), "%u", holder_limits.fds);
	reset_signals();
	raise_limit();
	umask(077);
	if (!keep_only(fd))
		execve("/proc/self/exe", argv, envp);
	_exit(1);
}

void holder_main(int argc, char **argv)
{
	prctl(PR_SET_NAME, HOLDER_NAME);
	/* Not dumpable: other processes of this user cannot trace it and take its descriptors. */
	prctl(PR_SET_DUMPABLE, 0);
	if (argc < 4 || chdir("/"))
		_exit(1);
	holder_limits = (struct holder_limits){
		.start_ms = (unsigned int)strtoul(argv[1], NULL, 10),
		.idle_ms = (unsigned int)strtoul(argv[2], NULL, 10),
		.fds = (uint32_t)strtoul(argv[3], NULL, 10),
	};
	holder_serve(3);
	_exit(0);
}

int holder_start(int fd, const char *rundir)
{
	int status = 0;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		/* After the second fork the holder is no child of depd, which need not reap it. */
		setsid();
		pid = fork();
		if (!pid)
			become(fd, rundir);
		_exit(pid < 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -EAGAIN : 0;
}
