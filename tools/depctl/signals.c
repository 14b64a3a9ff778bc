// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals of depctl record.
 *
 * The command runs in depctl's process group, so what the terminal sends (Ctrl-C,
 * Ctrl-\, Ctrl-Z, hang-up) reaches it without us: those are only survived.  What
 * a process sends to depctl was meant for the command and is handed on.
 *
 * Handlers, never SIG_IGN: the command would inherit that.  What was ignored when
 * depctl started (nohup) stays so, for both.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"

static const int caught[] = {
	SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGPIPE,
	SIGXFSZ, SIGALRM, SIGCHLD,
};

static uint32_t hand_on;	/* bit n: signal n came from a process */
static uint32_t interrupted;	/* INT, QUIT, TERM or HUP, from anywhere */

static void handler(int sig, siginfo_t *si, void *context)
{
	(void)context;
	if (sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP)
		__atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED);
	/* From the kernel: the terminal's, or about depctl's own doings. */
	if (si->si_code > 0 || sig == SIGCHLD || sig == SIGPIPE || sig == SIGXFSZ)
		return;
	__atomic_fetch_or(&hand_on, 1u << sig, __ATOMIC_RELAXED);
}

void signals_catch(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO }, old;
	size_t i;

	/* No SA_RESTART: the collector's sleep shall end. */
	sigemptyset(&sa.sa_mask);
	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++) {
		if (sigaction(caught[i], NULL, &old))
			continue;
		if (old.sa_handler == SIG_IGN && caught[i] != SIGCHLD)
			continue;
		sigaction(caught[i], &sa, NULL);
	}
}

void signals_default(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, old;
	size_t i;

	sigemptyset(&dfl.sa_mask);
	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		if (!sigaction(caught[i], NULL, &old) && old.sa_sigaction == handler)
			sigaction(caught[i], &dfl, NULL);
}

/* The command was stopped by the terminal: let the shell see depctl stop as well. */
static void stop_with(int sig, pid_t child)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, old;

	sigemptyset(&dfl.sa_mask);
	sigaction(sig, &dfl, &old);
	raise(sig);
	sigaction(sig, &old, NULL);
	kill(child, SIGCONT);
}

int signals_pass(bool busy, pid_t child)
{
	uint32_t set = __atomic_exchange_n(&hand_on, 0, __ATOMIC_RELAXED);
	siginfo_t si = { .si_pid = 0 };
	int sig;

	if (!child)
		return __atomic_load_n(&interrupted, __ATOMIC_RELAXED);
	__atomic_store_n(&interrupted, 0, __ATOMIC_RELAXED);
	for (sig = 1; set && sig < 32; sig++)
		if (set & (1u << sig))
			kill(child, sig);

	/* While an execve is followed its stops are the injector's. */
	if (busy)
		return 0;
	if (waitid(P_PID, child, &si, WSTOPPED | WNOHANG) || si.si_pid != child)
		return 0;
	if (si.si_code == CLD_STOPPED &&
	    (si.si_status == SIGTSTP || si.si_status == SIGTTIN || si.si_status == SIGTTOU))
		stop_with(si.si_status, child);
	return 0;
}

void signals_die(int sig)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	struct rlimit none = { 0, 0 };
	sigset_t set;

	/* The command may have left a core; one of depctl would only hide it. */
	setrlimit(RLIMIT_CORE, &none);
	sigemptyset(&dfl.sa_mask);
	sigaction(sig, &dfl, NULL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
