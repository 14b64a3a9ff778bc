// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "signals.h"

int signals_watch(struct loop *l, struct loop_watch *w)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : loop_watch_add(l, w, fd, POLLIN);
}

int signals_next(const struct loop_watch *w)
{
	struct signalfd_siginfo si;

	return read(w->fd, &si, sizeof(si)) == sizeof(si) ? (int)si.ssi_signo : 0;
}
