// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Signal actions: those of the program, in a table, and those that the kernel has instead.  For
 * every handler of the program, and always for faults, the kernel's action is signal_handler().
 */
#include "seccomp.h"
#include "sigaction.h"
#include "signal.h"

#define NSIG 64
#define K_SIGSTOP 19

/* Signals for which no default action is emulated: KILL CHLD CONT STOP TSTP TTIN TTOU URG WINCH. */
#define SPARING	(SIGBIT(9) | SIGBIT(17) | SIGBIT(18) | SIGBIT(19) | SIGBIT(20) | SIGBIT(21) | \
		 SIGBIT(22) | SIGBIT(23) | SIGBIT(28))

void signal_restorer(void);

/* Signal actions of a process.  A child with CLONE_VM but without CLONE_SIGHAND has its own. */
struct handlers {
	u32 users;
	struct k_sigaction action[NSIG + 1];
};

static struct lock action_lock;

int sigaction_ends_process(u32 signo, const struct k_sigaction *sa)
{
	return !sa->handler && !(SIGBIT(signo) & SPARING);
}

/*
 * Install the kernel's action for @sa.  The engine carries out default actions that end the
 * process, so that the streams are ended first.  A system call that such a signal interrupts is
 * repeated if the signal is ignored by then.
 */
static s64 install(u32 signo, const struct k_sigaction *sa)
{
	struct k_sigaction k = *sa;

	if (SIGBIT(signo) & SYNC_SIGNALS || sa->handler > 1 || sigaction_ends_process(signo, sa)) {
		k.handler = (u64)signal_handler;
		k.flags = (sa->handler ? 0 : SA_RESTART) |
			  (sa->flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT)) |
			  SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER;
		k.restorer = (u64)signal_restorer;
		k.mask = ~SYNC_SIGNALS;
	}
	return sys4(__NR_rt_sigaction, signo, (u64)&k, 0, 8);
}

void sigaction_init(struct tls *t)
{
	struct handlers *h = heap_alloc(sizeof(*h));

	h->users = 1;
	t->handlers = h;
	for (u32 i = 1; i <= NSIG; i++) {
		sys4(__NR_rt_sigaction, i, 0, (u64)&h->action[i], 8);
		if (SIGBIT(i) & SYNC_SIGNALS || h->action[i].handler > 1 ||
		    sigaction_ends_process(i, &h->action[i]))
			install(i, &h->action[i]);
	}
}

void sigaction_inherit(struct tls *child, const struct tls *t, int share)
{
	struct handlers *copy = share ? NULL : heap_alloc(sizeof(*copy));

	lock(&action_lock);
	if (share) {
		t->handlers->users++;
		child->handlers = t->handlers;
	} else {
		*copy = *t->handlers;
		copy->users = 1;
		child->handlers = copy;
	}
	unlock(&action_lock);
}

void sigaction_disinherit(struct tls *t)
{
	struct handlers *h = t->handlers;
	u32 left;

	lock(&action_lock);
	left = --h->users;
	unlock(&action_lock);
	if (!left)
		heap_free(h, sizeof(*h));
}

void sigaction_lock_for_fork(int hold)
{
	if (hold)
		lock(&action_lock);
	else
		unlock(&action_lock);
}

void sigaction_clear(struct tls *t)
{
	struct k_sigaction dfl = { 0 };

	for (u32 i = 1; i <= NSIG; i++) {
		if (t->handlers->action[i].handler < 2)
			continue;
		t->handlers->action[i] = dfl;
		install(i, &dfl);
	}
}

void sigaction_restore(const struct tls *t)
{
	for (u32 i = 1; i <= NSIG; i++)
		if (i != K_SIGKILL && i != K_SIGSTOP)
			sys4(__NR_rt_sigaction, i, (u64)&t->handlers->action[i], 0, 8);
}

void sigaction_begin(struct tls *t, u32 signo, struct k_sigaction *sa)
{
	struct k_sigaction *action = &t->handlers->action[signo];

	lock(&action_lock);
	*sa = *action;
	if (sa->handler > 1 && sa->flags & SA_RESETHAND) {
		action->handler = 0;
		/* The kernel's action for faults is always the same. */
		if (!(SIGBIT(signo) & SYNC_SIGNALS))
			install(signo, action);
	}
	unlock(&action_lock);
}

int sigaction_restarts(struct tls *t)
{
	int restarts;

	lock(&action_lock);
	restarts = !!(t->handlers->action[t->sig.signo].flags & SA_RESTART);
	unlock(&action_lock);
	return restarts;
}

s64 sigaction_syscall(struct tls *t, const u64 a[6])
{
	struct k_sigaction new, old, *action;
	u64 signo = a[0];
	s64 ret = 0;

	if (a[3] != 8 || !signo || signo > NSIG)
		return -E_INVAL;
	if (a[1] && rt_copy_in(&new, (void *)a[1], sizeof(new)) != sizeof(new))
		return -E_FAULT;
	if (a[1] && (signo == K_SIGKILL || signo == K_SIGSTOP))
		return -E_INVAL;
	ret = seccomp_check(__NR_rt_sigaction, signo, 0, 0, 8);
	if (ret)
		return ret;
	action = &t->handlers->action[signo];
	lock(&action_lock);
	old = *action;
	if (a[1]) {
		/* Like the kernel, do not report SIGKILL and SIGSTOP as blocked by a handler. */
		new.mask &= ~(SIGBIT(K_SIGKILL) | SIGBIT(K_SIGSTOP));
		*action = new;
		ret = install((u32)signo, &new);
		if (ret < 0)
			*action = old;
	}
	unlock(&action_lock);
	if (!ret && a[2] && rt_copy_in((void *)a[2], &old, sizeof(old)) != sizeof(old))
		ret = -E_FAULT;
	return ret;
}
