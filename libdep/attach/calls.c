// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which blocked system calls survive a stop by ptrace.
 *
 * A stop interrupts the call.  If the kernel then restarts the call, it continues with the rest of
 * its timeout and the program sees nothing.  If the call returns EINTR, or the number of bytes
 * transferred so far, the program would see that.  Only calls that were measured to restart are
 * listed; all others are assumed not to restart.
 */
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "internal.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_pgetevents
#define SYS_io_pgetevents 333
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool option_is(int fd, int name, long long want)
{
	union { int number; struct timeval time; } value = { .time = { 0 } };
	socklen_t size = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, name, &value, &size))
		return false;
	if (size == sizeof(value.time))
		return value.time.tv_sec == want && !value.time.tv_usec;
	return value.number == want;
}

/*
 * Does the kernel restart a call that waits for data of this socket, or for a connection?  It does
 * if the call has no time-out and needs not more than one byte.
 *
 * The time-out is the socket's.  To ask for it, the tracer has the socket open for a moment.
 */
static bool socket_restarts(const struct scan *s, pid_t tid, u64 fd)
{
	/* A thread can have a table of descriptors of its own. */
	bool same = tid == s->pid || !syscall(SYS_kcmp, s->pid, tid, KCMP_FILES, 0, 0);
	int process = same ? (int)syscall(SYS_pidfd_open, s->pid, 0) : -1;
	int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)fd, 0);
	bool restarts = false;

	if (copy >= 0)
		restarts = option_is(copy, SO_RCVTIMEO, 0) && option_is(copy, SO_RCVLOWAT, 1) &&
			   (option_is(copy, SO_DOMAIN, AF_UNIX) ||
			    option_is(copy, SO_DOMAIN, AF_INET) ||
			    option_is(copy, SO_DOMAIN, AF_INET6));
	if (copy >= 0)
		close(copy);
	if (process >= 0)
		close(process);
	return restarts;
}

/*
 * Does the kernel restart a blocked read of descriptor @fd?  It does for the listed kinds of files,
 * from which a read that waits has transferred nothing yet, and for some sockets.  Not listed are
 * devices.  Only the link in /proc is read, since open() or stat() of the file may block.
 */
static bool read_restarts(const struct scan *s, pid_t tid, u64 fd)
{
	static const char *const files[] = {
		"pipe:[", "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:inotify",
		"anon_inode:[signalfd]", "/dev/pts/", "/dev/tty",
	};
	char name[64], link[64];
	ssize_t n;
	size_t i;

	snprintf(name, sizeof(name), "task/%d/fd/%llu", tid, (unsigned long long)fd);
	n = readlinkat(s->proc, name, link, sizeof(link) - 1);
	if (n < 0)
		return false;
	link[n] = '\0';
	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (begins(link, files[i]))
			return true;
	return begins(link, "socket:[") && socket_restarts(s, tid, fd);
}

/* Does the kernel restart this call, which waits for data or for a connection? */
static bool receive_restarts(const struct scan *s, pid_t tid, s64 nr, const u64 args[6])
{
	u64 flags = nr == SYS_recvfrom ? args[3] : nr == SYS_recvmsg ? args[2] : 0;

	return !(flags & MSG_WAITALL) && socket_restarts(s, tid, args[0]);
}

static bool futex_restarts(u64 op)
{
	op &= FUTEX_CMD_MASK;
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
	       op == FUTEX_LOCK_PI2;
}

/* Calls that return EINTR after a stop.  Without a timeout they can be repeated unchanged. */
static bool waits_for_ever(s64 nr, const u64 args[6])
{
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (s32)args[3] < 0;
	case SYS_epoll_pwait2:
		return !args[3];
	case SYS_semop:
		return true;
	case SYS_semtimedop:
		return !args[3];
	case SYS_rt_sigtimedwait:
		return !args[2];
	default:
		return false;
	}
}

bool call_restarts(const struct scan *s, pid_t tid, s64 nr, const u64 args[6])
{
	if (waits_for_ever(nr, args))
		return true;
	switch (nr) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_restart_syscall:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_futex_waitv:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_flock:
	case SYS_msgrcv:
		return true;
	case SYS_futex:
		return futex_restarts(args[1]);
	case SYS_read:
	case SYS_readv:
		return read_restarts(s, tid, args[0]);
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return receive_restarts(s, tid, nr, args);
	default:
		return false;
	}
}

bool call_restarts_by_another(s64 nr, const u64 args[6])
{
	switch (nr) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_poll:
	case SYS_restart_syscall:
		return true;
	case SYS_futex:
		return args[3];	/* a time-out */
	default:
		return false;
	}
}

bool call_hides_mask(s64 nr, const u64 args[6])
{
	switch (nr) {
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return args[4];
	case SYS_io_pgetevents:
		return args[5];
	default:
		return false;
	}
}

bool call_may_repeat(s64 nr)
{
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
		return true;
	default:
		return false;
	}
}

bool call_is_vfork(s64 nr, const u64 args[6])
{
	/* The flags of clone3 are in memory; it waits for long only with CLONE_VFORK. */
	return nr == SYS_vfork || (nr == SYS_clone && args[0] & CLONE_VFORK) || nr == SYS_clone3;
}
