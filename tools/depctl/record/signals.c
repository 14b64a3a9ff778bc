// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals of depctl record.
 *
 * depctl blocks all signals and reads them from a signalfd, so that no signal ends depctl while it
 * records a command.  The command runs in depctl's process group.  If the terminal or a process
 * sends a signal to the group, the command receives it directly, so depctl drops it.  If a process
 * sends a signal to depctl alone, depctl passes it on to the command.  The witness
 * (signal_witness.c) distinguishes these cases.
 *
 * Signals that were ignored when depctl started (nohup) stay ignored in depctl and the command.
 *
 * Masks and actions are set by system calls, since libc hides signals 32 and 33.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdep/inject/inject.h"
#include "tools/depctl/depctl.h"
#include "record.h"
#include "signal_witness.h"

#define BIT(sig)	(1ull << ((sig) - 1))
#define LAST_SIGNAL	64
#define UNBLOCKABLE	(BIT(SIGKILL) | BIT(SIGSTOP))
/* Signals that libc's threads use internally; dep_launch() unblocks them for a moment. */
#define OF_LIBC		(BIT(32) | BIT(33))

static int fd = -1;
static uint64_t blocked;	/* signals that signals_catch() has blocked */
static struct witness witness;
static bool interrupted;	/* a SIGINT, SIGQUIT, SIGTERM or SIGHUP has arrived */

static void set_mask(int how, uint64_t mask)
{
	syscall(SYS_rt_sigprocmask, how, &mask, NULL, sizeof(mask));
}

int signals_catch(void)
{
	uint64_t mask = ~UNBLOCKABLE;
	int sig, ret;

	/* A process that ignores SIGCHLD cannot wait for its children. */
	dep_signal_set(SIGCHLD, false);
	for (sig = 1; sig <= LAST_SIGNAL; sig++) {
		if (dep_signal_ignored(sig))
			mask &= ~BIT(sig);
		else if (OF_LIBC & BIT(sig))
			dep_signal_set(sig, true);
	}
	blocked = mask;
	set_mask(SIG_BLOCK, blocked);
	fd = (int)syscall(SYS_signalfd4, -1, &mask, sizeof(mask), SFD_NONBLOCK | SFD_CLOEXEC);
	ret = fd < 0 ? -errno : witness_begin(&witness);
	if (ret)
		warn("signals cannot be passed to the command: %s", strerror(-ret));
	return ret;
}

int signals_fd(void)
{
	return fd;
}

void signals_default(void)
{
	int sig;

	if (fd < 0)
		return;
	close(fd);
	fd = -1;
	witness_end(&witness);
	for (sig = 1; sig <= LAST_SIGNAL; sig++)
		if (blocked & OF_LIBC & BIT(sig))
			dep_signal_set(sig, false);
	set_mask(SIG_UNBLOCK, blocked);
}

void signals_end(void)
{
	witness_end(&witness);
}

/* The terminal stopped the command: stop depctl, too, so that the shell sees the stop. */
static void stop_with(int sig, pid_t child)
{
	raise(sig);
	/* depctl stops here, until it gets SIGCONT. */
	set_mask(SIG_UNBLOCK, BIT(sig));
	set_mask(SIG_BLOCK, blocked);
	kill(child, SIGCONT);
}

static void pass_on(pid_t child, const struct signalfd_siginfo *si)
{
	const union sigval value = { .sival_ptr = (void *)(uintptr_t)si->ssi_ptr };

	if (si->ssi_code == SI_QUEUE && !sigqueue(child, (int)si->ssi_signo, value))
		return;
	kill(child, (int)si->ssi_signo);
}

static void take_signals(pid_t child)
{
	struct signalfd_siginfo si;
	bool group;
	int sig;

	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		sig = (int)si.ssi_signo;
		group = witness_saw(&witness, sig);
		if (sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP)
			interrupted = true;
		/* si_code > 0: sent by the kernel, from the terminal or because of depctl itself */
		if (child && !group && si.ssi_code <= 0)
			pass_on(child, &si);
	}
}

int signals_pass(pid_t child)
{
	siginfo_t si = { .si_pid = 0 };
	bool was;

	set_mask(SIG_BLOCK, blocked);
	take_signals(child);
	was = interrupted;
	interrupted = false;
	if (!child)
		return was;
	if (waitid(P_PID, child, &si, WSTOPPED | WNOHANG) || si.si_pid != child)
		return 0;
	if (si.si_code == CLD_STOPPED &&
	    (si.si_status == SIGTSTP || si.si_status == SIGTTIN || si.si_status == SIGTTOU))
		stop_with(si.si_status, child);
	return 0;
}

void signals_die(int sig)
{
	struct rlimit none = { 0, 0 };

	/* A core file of depctl could overwrite the command's core file. */
	setrlimit(RLIMIT_CORE, &none);
	dep_signal_set(sig, false);
	kill(getpid(), sig);
	set_mask(SIG_UNBLOCK, BIT(sig));
}

void signals_ignore(void)
{
	int sig;

	for (sig = 1; sig <= LAST_SIGNAL; sig++)
		if (!(UNBLOCKABLE & BIT(sig)) && sig != SIGCHLD)
			dep_signal_set(sig, true);
	set_mask(SIG_SETMASK, 0);
}
