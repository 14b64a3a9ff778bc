// SPDX-License-Identifier: GPL-2.0-or-later
/* Start the process of an instance, which is a user's depd under the front. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "front.h"

/* Session ids per request.  A user has few, since the user's instances share a rate limit. */
#define LEASE_ROOT	1024u
#define LEASE_USER	16u

enum { SOCKET = 3, FDS };	/* descriptor numbers in the instance */

/* Execute depd's file again, so that the instance has none of the front's memory. */
static void become(const char *rundir, int sock, int log)
{
	char *argv[] = { INSTANCE_NAME, (char *)rundir, NULL }, *envp[] = { NULL };
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	sock = fcntl(sock, F_DUPFD, FDS);
	log = fcntl(log, F_DUPFD, FDS);
	if (null < 0 || sock < 0 || log < 0)
		_exit(1);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	dup2(sock, SOCKET);
	if (!close_range(FDS, ~0u, 0))
		execve("/proc/self/exe", argv, envp);
	_exit(1);
}

struct link_ids instance_ids(struct instance *i)
{
	uint32_t n = account_rate(i->account, RATE_IDS, i->user.uid ? LEASE_USER : LEASE_ROOT,
				  loop_now());

	return ids_lease(i->front, n);
}

static int send_start(struct instance *i, const char *rundir, int page)
{
	static struct link_msg m;
	int fds[LINK_FDS] = { page, front_rules_fd(i->front) }, ret;

	memset(&m, 0, sizeof(m));
	m.op = LINK_START;
	m.start.user = i->user;
	m.start.ids = instance_ids(i);
	m.start.sessions = i->user.uid ? ACCOUNT_SESSIONS_MAX : FRONT_SESSIONS_MAX;
	front_config(i->front, &i->user, &m.start.config);
	memcpy(m.start.rundir, rundir, strlen(rundir));
	ret = fds[1] < 0 ? fds[1] : link_send(i->sock, &m, fds, 2);
	if (fds[1] >= 0)
		close(fds[1]);
	return ret;
}

static int hook_all(struct instance *i)
{
	struct loop *l = i->front->loop;
	int ret;

	i->pidfd = (int)syscall(SYS_pidfd_open, i->pid, 0);
	if (i->pidfd < 0)
		return -errno;
	ret = loop_watch_add(l, &i->gone, i->pidfd, POLLIN);
	if (!ret)
		ret = loop_watch_add(l, &i->ready, i->sock, POLLIN);
	return ret ? ret : loop_watch_add(l, &i->says, i->log, POLLIN);
}

int instance_start(struct instance *i)
{
	int ends[2], log[2], page = -1, ret;
	char rundir[PATH_MAX];

	ret = snprintf(rundir, sizeof(rundir), "%s/user/%s", i->front->rundir, i->name);
	if (ret < 0 || ret >= (int)sizeof(rundir))
		return -ENAMETOOLONG;
	ret = dir_make(i->front->users, i->name, &i->user);
	if (ret)
		return ret;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	/* Log lines that do not fit into the pipe are lost: neither side waits for the other. */
	if (pipe2(log, O_CLOEXEC | O_NONBLOCK)) {
		ret = -errno;
		close(ends[0]);
		close(ends[1]);
		return ret;
	}
	i->pid = fork();
	if (!i->pid)
		become(rundir, ends[1], log[1]);
	ret = i->pid < 0 ? -errno : 0;
	close(ends[1]);
	close(log[1]);
	i->sock = ends[0];
	i->log = log[0];
	i->pidfd = -1;
	i->sent = 0;
	i->got = 0;
	i->nline = 0;
	i->start_ns = loop_now();
	i->heard_ns = i->start_ns;
	if (!ret)
		ret = page_make(&i->page, !i->user.uid, &page);
	if (!ret)
		ret = send_start(i, rundir, page);
	if (page >= 0)
		close(page);
	if (!ret)
		ret = hook_all(i);
	if (!ret)
		return 0;
	if (i->pid > 0) {
		kill(i->pid, SIGKILL);
		waitpid(i->pid, NULL, 0);
	}
	i->pid = 0;
	return ret;
}
