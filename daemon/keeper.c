// SPDX-License-Identifier: GPL-2.0-or-later
/* Becoming the keeper: a process that nothing of depd's ends or holds up. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keeper.h"

struct keeper_limits keeper_limits = {
	.start_ms = 10000,
	.idle_ms = 600000,
	.fds = KEEPER_FDS_MAX,
};

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
	rlim_t want = KEEPER_FDS_MAX + 16;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= want)
		return;
	r.rlim_cur = want;
	if (r.rlim_max < want) {
		/* allowed to root only */
		if (!setrlimit(RLIMIT_NOFILE, &(struct rlimit){ want, want }))
			return;
		r.rlim_cur = r.rlim_max;
	}
	setrlimit(RLIMIT_NOFILE, &r);
}

/* Leave nothing open but @fd, which becomes 3. */
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

static void become(int fd)
{
	reset_signals();
	raise_limit();
	umask(077);
	prctl(PR_SET_NAME, "depd-keeper");
	if (keep_only(fd) || chdir("/"))
		_exit(1);
	keeper_serve(3);
	_exit(0);
}

int keeper_start(int fd)
{
	int status = 0;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		/* Not depd's child, so that it does not have to be waited for. */
		setsid();
		pid = fork();
		if (!pid)
			become(fd);
		_exit(pid < 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -EAGAIN : 0;
}
