// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Open the session file, or the kernel module's rings, in a process that has just begun a new
 * image.
 *
 * Usually the process opens the file through the injector's /proc entry. That fails for another
 * user, another pid namespace or without /proc. Then the process makes a socket pair; the injector
 * fetches one end and sends the descriptor through it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/** struct scratch - data for remote calls, in a page of the target */
struct scratch {
	char path[64];
	int pair[2];
	struct msghdr msg;
	struct iovec iov;
	char byte;
	union {
		struct cmsghdr head;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
};

static bool is_error(s64 ret)
{
	return ret < 0 && ret >= -4095;
}

/* Get a copy of the target's descriptor @remote_fd. */
static int fetch(const struct dep_remote *r, int remote_fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, r->files ? r->files : r->pid, 0), fd;

	/* Of a thread, since Linux 6.9. */
	if (pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, r->pid, PIDFD_THREAD);
	if (pidfd < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, remote_fd, 0);
	if (fd < 0)
		fd = -errno;
	close(pidfd);
	return fd;
}

static int send_fd(int sock, int fd)
{
	struct scratch s = { .byte = 1 };
	struct iovec iov = { &s.byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = s.control.buf,
			      .msg_controllen = sizeof(s.control.buf) };

	s.control.head.cmsg_level = SOL_SOCKET;
	s.control.head.cmsg_type = SCM_RIGHTS;
	s.control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&s.control.head), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

/* Receive in the target the descriptor that was sent to its socket @sock. */
static s64 receive(struct dep_remote *r, u64 page, int sock)
{
	struct scratch s = { 0 };
	s64 ret;
	int fd;

	s.iov.iov_base = (void *)(uintptr_t)(page + offsetof(struct scratch, byte));
	s.iov.iov_len = 1;
	s.msg.msg_iov = (void *)(uintptr_t)(page + offsetof(struct scratch, iov));
	s.msg.msg_iovlen = 1;
	s.msg.msg_control = (void *)(uintptr_t)(page + offsetof(struct scratch, control));
	s.msg.msg_controllen = sizeof(s.control);
	ret = dep_memory_write(r->mem, page, &s, sizeof(s));
	if (ret)
		return ret;
	ret = dep_remote_call(r, SYS_recvmsg, (u64)sock, page + offsetof(struct scratch, msg),
			      MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0);
	if (is_error(ret))
		return ret;
	ret = dep_memory_read(r->mem, page, &s, sizeof(s));
	if (ret)
		return ret;
	if (s.control.head.cmsg_type != SCM_RIGHTS ||
	    s.control.head.cmsg_len != CMSG_LEN(sizeof(int)))
		return -EMFILE;
	memcpy(&fd, CMSG_DATA(&s.control.head), sizeof(fd));
	return fd;
}

static s64 by_socket(struct dep_remote *r, int ours, u64 page)
{
	int pair[2], local;
	s64 ret = dep_remote_call(r, SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0,
				  page + offsetof(struct scratch, pair), 0, 0);

	if (is_error(ret))
		return ret;
	ret = dep_memory_read(r->mem, page + offsetof(struct scratch, pair), pair, sizeof(pair));
	if (ret)
		return ret;
	local = fetch(r, pair[0]);
	ret = local;
	if (local >= 0) {
		ret = send_fd(local, ours);
		close(local);
	}
	if (!ret)
		ret = receive(r, page, pair[1]);
	dep_remote_call(r, SYS_close, (u64)pair[0], 0, 0, 0, 0, 0);
	dep_remote_call(r, SYS_close, (u64)pair[1], 0, 0, 0, 0, 0);
	return ret;
}

static s64 by_name(struct dep_remote *r, const struct dep_target *t, int ours, u64 page)
{
	struct scratch s = { 0 };
	int err;

	if (t->flags & DEP_T_NO_PROC)
		return -ENOENT;
	snprintf(s.path, sizeof(s.path), "/proc/%d/fd/%d", getpid(), ours);
	err = dep_memory_write(r->mem, page, s.path, sizeof(s.path));
	if (err)
		return err;
	return dep_remote_call(r, SYS_openat, (u64)AT_FDCWD, page, O_RDWR | O_CLOEXEC, 0, 0, 0);
}

/**
 * dep_pass_session_fd() - open the file of descriptor @ours in the target
 * @probe: receives the address that mmap(NULL) gives to a page
 *
 * Return: the target's file descriptor or a negative errno.
 */
s64 dep_pass_session_fd(struct dep_remote *r, const struct dep_target *t, int ours, u64 *probe,
			struct dep_why *why)
{
	s64 page, fd, err;

	page = dep_remote_call(r, SYS_mmap, 0, ADEPT_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1ull, 0);
	if (is_error(page))
		return dep_inject_error(why, (int)-page, "Process %d cannot map memory: %s.",
					r->pid, strerror((int)-page));
	*probe = (u64)page;
	err = by_name(r, t, ours, *probe);
	fd = is_error(err) ? by_socket(r, ours, *probe) : err;
	r->no_fd = is_error(fd);
	if (r->no_fd)
		dep_inject_error(why, (int)-fd,
			 "Process %d cannot get the session's %s: by name: %s; by socket: %s.",
			 r->pid, ours == t->fd ? "file" : "rings", strerror((int)-err),
			 strerror((int)-fd));
	dep_remote_call(r, SYS_munmap, *probe, ADEPT_PAGE, 0, 0, 0, 0);
	return fd;
}
