// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exit_status.h"
#include "daemon/base/log.h"

#define WAIT_NS		5000000000ull	/* how long the parent may take to wait for the process */

/* From linux/pidfd.h of Linux 6.15, which older headers do not have: struct pidfd_info. */
struct exit_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];	/* pid, tgid, ppid, and user and group ids */
	int32_t exit_code;	/* as from wait(2) */
};
#define GET_INFO	_IOWR(0xff, 11, struct exit_info)
#define INFO_EXIT	(1u << 3)

_Static_assert(sizeof(struct exit_info) == 64, "the kernel knows the structure by its size");

void exit_status_watch(struct session *s, pid_t pid)
{
	if (s->keep_if == DEP_KEEP_IF_ALWAYS && !s->last_bytes)
		return;
	s->first_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (s->first_fd < 0)
		log_msg(LOG_WARNING, s->id, "how process %d ends will not be known: %m", pid);
}

/* Return: 0; -EAGAIN: the parent has not waited for the process; or another negative errno. */
static int ask(int pidfd, int *status)
{
	struct exit_info info = { .mask = INFO_EXIT };

	if (ioctl(pidfd, GET_INFO, &info))
		return -errno;
	if (!(info.mask & INFO_EXIT))
		return -EAGAIN;
	*status = info.exit_code;
	return 0;
}

/* Say in the store why it is kept whatever --keep-if asks for. */
static void stay_unknown(struct session *s, int err)
{
	struct pollfd p = { .fd = s->first_fd, .events = POLLIN };
	const char *why = err != -EAGAIN ? "this needs Linux 6.15" :
			  poll(&p, 1, 0) > 0 ? "its parent has not waited for it" :
			  "it goes on unrecorded";

	dep_collector_message(s->collector, "how the first process ended is not known: %s", why);
	log_msg(LOG_WARNING, s->id, "how the first process ended is not known: %s", why);
}

bool exit_status_ready(struct session *s)
{
	int status = -1, ret;

	if (s->first_fd < 0)
		return true;
	ret = ask(s->first_fd, &status);
	if (!s->idle_ns)
		s->idle_ns = loop_now();
	if (ret == -EAGAIN && loop_now() - s->idle_ns < WAIT_NS)
		return false;
	if (ret)
		stay_unknown(s, ret);
	exit_status_end(s);
	s->status = status;
	s->exit_reported = !ret;
	return true;
}

void exit_status_end(struct session *s)
{
	if (s->first_fd >= 0)
		close(s->first_fd);
	s->first_fd = -1;
}
