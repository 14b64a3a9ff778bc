// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find out whether a signal was sent to depctl alone or to its process group.
 *
 * The command is in depctl's process group.  It has received a signal that was sent to the group,
 * but depctl must pass on a signal that was sent to depctl alone.  A siginfo_t does not distinguish
 * the two.  So depctl forks a witness: a process of the group that no other process sends signals
 * to, and that has all signals blocked.  A signal is pending in the witness only if it was sent to
 * the group.
 *
 *	kill(0, SIGUSR1):	pending in depctl, the witness, the command
 *	kill(depctl, SIGUSR1):	pending in depctl
 *
 * The kernel sends a signal to the processes of a group one after the other, with its tasklist lock
 * held for reading.  setpgid() takes this lock for writing.  So after a setpgid() the witness has
 * received each signal to the group that depctl has received.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "signal_witness.h"

#define ANSWER_MS	200	/* maximum wait for the witness, which may be stopped */

/* True if @sig was pending.  A raw system call, since libc does not allow signals 32 and 33. */
static bool take_pending(int sig)
{
	const struct timespec none = { 0, 0 };
	uint64_t set = 1ull << (sig - 1);

	return syscall(SYS_rt_sigtimedwait, &set, NULL, &none, sizeof(set)) == sig;
}

__attribute__((noreturn))
static void serve(int sock)
{
	unsigned char sig, saw;

	while (recv(sock, &sig, 1, 0) == 1) {
		saw = sig >= 1 && sig <= 64 && take_pending(sig);
		if (send(sock, &saw, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

/* Close inherited descriptors: the reader of a pipe waits until all writing ends are closed. */
static void close_others(int sock)
{
	if (sock > 0)
		close_range(0, (unsigned int)sock - 1, 0);
	close_range((unsigned int)sock + 1, ~0u, 0);
}

int witness_begin(struct witness *w)
{
	int pair[2], err;

	*w = (struct witness){ .sock = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	w->pid = fork();
	if (!w->pid) {
		prctl(PR_SET_NAME, "depctl-witness");
		close_others(pair[1]);
		serve(pair[1]);
	}
	err = errno;
	close(pair[1]);
	if (w->pid > 0) {
		w->sock = pair[0];
		return 0;
	}
	w->pid = 0;
	close(pair[0]);
	return -err;
}

bool witness_saw(struct witness *w, int sig)
{
	struct pollfd p = { .fd = w->sock, .events = POLLIN };
	unsigned char c = (unsigned char)sig;

	if (!w->pid)
		return false;
	/* Drop answers to earlier requests that came after the timeout. */
	while (recv(w->sock, &c, 1, MSG_DONTWAIT) == 1)
		;
	/* Only for the tasklist lock (see above): the call does not change the process group. */
	setpgid(0, getpgrp());
	c = (unsigned char)sig;
	if (send(w->sock, &c, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1 || poll(&p, 1, ANSWER_MS) != 1)
		return false;
	return recv(w->sock, &c, 1, MSG_DONTWAIT) == 1 && c;
}

void witness_end(struct witness *w)
{
	if (!w->pid)
		return;
	close(w->sock);
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*w = (struct witness){ .sock = -1 };
}
