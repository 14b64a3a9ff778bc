// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * File descriptors are treated like memory: a system call that uses a descriptor reads it; one that
 * makes or closes a descriptor writes it. So the detector finds a close() of a descriptor that
 * another thread uses at the same time.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "predict_events.h"

#define F_DUPFD			0
#define F_DUPFD_CLOEXEC		1030

/* Does the call use the descriptor in its first argument? *@second: a second descriptor, or -1. */
static bool uses(const struct adept_ev_syscall *c, s64 *second)
{
	*second = -1;
	switch (c->nr) {
	case SYS_sendfile:
	/* dup2() replaces the target's file atomically, so it counts as a use, not as a close. */
	case SYS_dup2:
	case SYS_dup3:
		*second = (s32)c->args[1];
		return true;
	case SYS_splice:
	case SYS_tee:
	case SYS_copy_file_range:
	case SYS_epoll_ctl:
		*second = (s32)c->args[2];
		return true;
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_bind:
	case SYS_listen:
	case SYS_shutdown:
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_ftruncate:
	case SYS_dup:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return true;
	}
	return false;
}

static u64 place_of(const struct sync_thread *t, s64 fd)
{
	return SYNC_DESCRIPTORS + ((u64)t->image->number << SYNC_NUMBER) + (u64)fd * 8;
}

static int use(struct sync_thread *t, u64 pc, s64 fd, u32 flags)
{
	if (fd < 0 || fd >= SYNC_FILES_MAX)
		return 0;
	return sync_access(t, pc, place_of(t, fd), 8,
			   flags | RACE_SYSCALL | SYNC_DESCRIPTOR);
}

/* The call made descriptor @fd. Forget accesses to an earlier descriptor with that number. */
static int make(struct sync_thread *t, u64 pc, s64 fd)
{
	int err = sync_flush(t);

	if (err || fd < 0 || fd >= SYNC_FILES_MAX)
		return err;
	sync_predict_forget(t->process, place_of(t, fd), 8);
	err = race_forget(t->process->detector, place_of(t, fd), 8);
	return err ? err : use(t, pc, fd, RACE_WRITE);
}

static int enter(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc)
{
	s64 second;
	int err = 0;

	if (c->nr == SYS_close)
		return use(t, pc, (s32)c->args[0], RACE_WRITE);
	if (uses(c, &second)) {
		err = use(t, pc, (s32)c->args[0], RACE_READ);
		if (!err)
			err = use(t, pc, second, RACE_READ);
	}
	return err;
}

static int leave(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc)
{
	int err;

	switch (c->nr) {
	case SYS_pipe:
	case SYS_pipe2:
	case SYS_socketpair:
		err = make(t, pc, (s32)c->out);
		return err ? err : make(t, pc, (s32)(c->out >> 32));
	case SYS_fcntl:
		if (c->args[1] != F_DUPFD && c->args[1] != F_DUPFD_CLOEXEC)
			return 0;
		break;
	case SYS_dup:
	case SYS_open:
	case SYS_openat:
	case SYS_creat:
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
	case SYS_eventfd:
	case SYS_eventfd2:
	case SYS_epoll_create:
	case SYS_epoll_create1:
	case SYS_timerfd_create:
	case SYS_memfd_create:
		break;
	case SYS_signalfd:
	case SYS_signalfd4:
		if ((s32)c->args[0] >= 0)
			return 0;
		break;
	default:
		return 0;
	}
	return make(t, pc, (s64)c->result);
}

int sync_descriptors(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool before)
{
	if (t->vforked)
		return 0;
	return before ? enter(t, c, pc) : leave(t, c, pc);
}
