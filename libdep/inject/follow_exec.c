// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Follow execve.
 *
 *	process                           collector
 *	exec_tid, REQUEST, wakeup ----> begin: PTRACE_SEIZE(exec_tid)
 *	continues <---------------------- READY (or NATIVE)
 *	execve -------------------------> poll: PTRACE_EVENT_EXEC: inject, detach
 *	  or: execve failed
 *	FAILED, wakeup ---------------> poll: PTRACE_INTERRUPT
 *	                                  poll: stopped: detach
 *	continues <---------------------- NONE
 *
 * A thread that is not the leader gets the leader's tid when its execve succeeds: the stop is then
 * reported for the process id.
 *
 * A vfork child uses its parent's slot, in whose memory it runs. The parent continues when the
 * child has left that memory, which is before the collector sees the stop, and sets NONE. So the
 * collector changes a state only if it is the one that it answers.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define BLOCKED_NS	5000000000ull	/* wait for the tracer of a detach at most so long */

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

/* Change the state to @to, unless it is not @from. */
static bool answer(const struct dep_target *t, u32 slot, u32 from, u32 to)
{
	u32 *state = &dep_slot(t, slot)->exec_state;

	if (!__atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	syscall(SYS_futex, state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return true;
}

/* Why the image runs natively if following failed with @err. */
static enum adept_native kind_of(int err)
{
	return err == -EACCES ? ADEPT_NATIVE_PRIVILEGED :
	       err == -ENOTSUP ? ADEPT_NATIVE_BY_DESIGN : ADEPT_NATIVE_LOST;
}

/* Count the image as native, and let it run. If execve fails, the collector corrects the count. */
static void refuse(const struct dep_target *t, u32 slot, enum adept_native kind)
{
	__atomic_store_n(&dep_slot(t, slot)->exec_native, kind, __ATOMIC_RELAXED);
	if (answer(t, slot, ADEPT_EXEC_REQUEST, ADEPT_EXEC_NATIVE))
		adept_native_add(t->session, kind);
}

void dep_follow_exec_refuse(const struct dep_target *t, u32 slot)
{
	if (slot < t->layout.nprocs)
		refuse(t, slot, ADEPT_NATIVE_LOST);
}

u32 dep_follow_exec_lost(const struct dep_target *t, u32 slot)
{
	u32 *state = &dep_slot(t, slot)->exec_state, ready = ADEPT_EXEC_READY;

	if (!__atomic_compare_exchange_n(state, &ready, ADEPT_EXEC_NATIVE, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return ready;
	return ADEPT_EXEC_READY;
}

static bool is_ours(const struct dep_target *t, pid_t pid)
{
	return pid == getpid() || (t->collector && pid == t->collector);
}

/*
 * Does a thread of this session request execve, in the memory of the slot's process? All numbers
 * come from the process and are not trusted.
 */
static int check_request(struct dep_follow *f, const struct dep_target *t, struct dep_task *task,
			 struct dep_why *why)
{
	pid_t slot_pid = f->pid;
	bool other;
	int ret;

	if (f->pid <= 0 || f->tid <= 0 || is_ours(t, f->pid))
		return dep_inject_error(why, EINVAL, "Slot %u asks for an impossible execve.",
					f->slot);
	f->proc = dep_proc_open(f->tid);
	if (f->proc < 0 || dep_task_read(task, f->proc))
		return dep_inject_error(why, ESRCH, "There is no thread %d.", f->tid);
	f->child = task->pid != slot_pid;
	f->pid = task->pid;
	other = f->child && !dep_task_shares(task, f->tid, slot_pid);
	/* If the parent was killed, the vfork child may be the only process left in the slot. */
	ret = other ? dep_address_space_has_file(slot_pid, t->dev, t->ino) : 0;
	if (is_ours(t, f->pid) || (other && ret != -ESRCH && ret != -ENOENT))
		return dep_inject_error(why, EPERM, "Process %d has no thread %d.", slot_pid,
					f->tid);
	if (dep_address_space_has_file(f->pid, t->dev, t->ino) != 1)
		return dep_inject_error(why, EPERM, "Process %d does not belong to this session.",
				f->pid);
	return dep_judge_member(f->proc, &t->base, why);
}

static int check_image(const struct dep_follow *f, const struct adept_proc *p,
		       const struct dep_task *task, struct dep_why *why)
{
	const struct dep_exec_args args = {
		.path = __atomic_load_n(&p->exec_path, __ATOMIC_RELAXED),
		.dirfd = __atomic_load_n(&p->exec_dirfd, __ATOMIC_RELAXED),
		.flags = __atomic_load_n(&p->exec_flags, __ATOMIC_RELAXED),
	};
	char file[PATH_MAX];

	/* With CAP_SYS_PTRACE, check after execve: reading the file here may be slow. */
	if (dep_judge_raises())
		return 0;
	if (!args.path || !dep_request_privileged(task, f->tid, &args, file, sizeof(file)))
		return 0;
	return dep_inject_error(why, EACCES,
				"privileged: set-uid, set-gid or file capabilities of %s",
				*file ? file : "the file");
}

static bool is_dead(struct dep_follow *f)
{
	struct dep_task task;

	if (f->tid > 0 && f->proc < 0)
		f->proc = dep_proc_open(f->tid);
	return f->tid > 0 && (f->proc < 0 || dep_task_read(&task, f->proc) || task.dead);
}

/*
 * Check the traced thread again: its tid may have been reused just before, or the process may have
 * executed another program. If it has died, that is noticed later.
 */
static int check_traced(struct dep_follow *f, const struct dep_target *t, struct dep_why *why)
{
	int err = dep_judge_member(f->proc, &t->base, why);

	close(f->proc);
	f->proc = -1;
	return err == -ESRCH ? 0 : err;
}

/*
 * Does the tracer of a detach or of a pause trace the threads of process @pid?  It may have begun
 * with the slot of the program that the process executed before.
 */
static bool is_leaving(const struct dep_target *t, u32 pid)
{
	u32 i, n = __atomic_load_n(&t->session->procs_used, __ATOMIC_RELAXED);
	const struct adept_proc *p;

	for (i = 0; i < n && i < t->layout.nprocs; i++) {
		p = dep_slot(t, i);
		if (__atomic_load_n(&p->pid, __ATOMIC_RELAXED) == pid &&
		    __atomic_load_n(&p->leave_tracer, __ATOMIC_SEQ_CST) &&
		    !adept_owner_died(&p->leave_tracer))
			return true;
	}
	return false;
}

int dep_follow_exec_begin(struct dep_follow *f, const struct dep_target *t, u32 slot,
			  struct dep_why *why)
{
	struct adept_proc *p;
	struct dep_task task;
	int err;

	memset(f, 0, sizeof(*f));
	f->proc = -1;
	if (slot >= t->layout.nprocs)
		return dep_inject_error(why, EINVAL, "There is no process slot %u.", slot);
	p = dep_slot(t, slot);
	f->slot = slot;
	f->pid = (pid_t)__atomic_load_n(&p->pid, __ATOMIC_RELAXED);
	f->tid = (pid_t)__atomic_load_n(&p->exec_tid, __ATOMIC_RELAXED);
	f->serial = __atomic_load_n(&p->serial, __ATOMIC_RELAXED);
	err = check_request(f, t, &task, why);
	if (!err)
		err = check_image(f, p, &task, why);
	if (!err && ptrace(PTRACE_SEIZE, f->tid, NULL, PTRACE_O_TRACEEXEC)) {
		if (errno == EPERM && is_leaving(t, (u32)f->pid))
			f->blocked_ns = now_ns();
		err = dep_inject_error(why, errno, "Thread %d cannot be traced: %m.", f->tid);
	}
	if (f->blocked_ns) {
		close(f->proc);
		f->proc = -1;
		return 0;
	}
	if (err) {
		/* Test before the answer: a natively executed program may end at once. */
		if (is_dead(f)) {
			err = -ESRCH;
			answer(t, slot, ADEPT_EXEC_REQUEST, ADEPT_EXEC_NATIVE);
		} else {
			refuse(t, slot, kind_of(err));
		}
		if (f->proc >= 0)
			close(f->proc);
		f->proc = -1;
		return err;
	}
	err = check_traced(f, t, why);
	if (err) {
		refuse(t, slot, kind_of(err));
	} else {
		/*
		 * If the tracer dies, the image is counted as lost by these fields. No system call
		 * may come between this and the answer.
		 */
		f->counted = true;
		__atomic_store_n(&p->exec_native, ADEPT_NATIVE_LOST, __ATOMIC_RELAXED);
		__atomic_fetch_add(&t->session->following, 1, __ATOMIC_RELAXED);
	}
	if (err || !answer(t, slot, ADEPT_EXEC_REQUEST, ADEPT_EXEC_READY)) {
		/* The request was withdrawn or is invalid: detach again. */
		f->letting_go = true;
		ptrace(PTRACE_INTERRUPT, f->tid, NULL, NULL);
	}
	return 0;
}

/*
 * ptrace failed: the stopped thread must have been killed. Its parent is notified after the tracer
 * has reaped it; there may be no event yet.
 */
static int dying(struct dep_follow *f)
{
	f->letting_go = true;
	return DEP_FOLLOW_PENDING;
}

static void no_longer_following(struct dep_follow *f, const struct dep_target *t)
{
	if (f->counted)
		adept_count_down(&t->session->following);
	f->counted = false;
}

static int inject_new_image(struct dep_follow *f, const struct dep_target *t,
			    struct dep_injected *out, struct dep_why *why)
{
	const struct dep_origin from = {
		.cause = ADEPT_BY_EXEC, .parent_serial = f->serial,
		.domain = dep_slot_domain(t, f->slot),
	};
	int err;

	err = dep_inject(t, f->pid, &from, out, why);
	if (err && dep_inject_release(f->pid))
		return dying(f);
	out->native = err;
	/* 32-bit programs are not recorded; any other failure is a loss. */
	if (err)
		adept_native_add(t->session, kind_of(err));
	/* Before any system call: a tracer that dies in one must not count the image as lost. */
	no_longer_following(f, t);
	/* Last: READY means that the tracer has not come this far. */
	answer(t, f->slot, ADEPT_EXEC_READY, ADEPT_EXEC_NONE);
	return err ? DEP_FOLLOW_NATIVE : DEP_FOLLOW_EXECED;
}

/* The thread died. Answer its request: a process that shares its memory may wait for that. */
static int dead(struct dep_follow *f, const struct dep_target *t, pid_t tid)
{
	dep_trace_reap(f->pid, tid);
	if (!answer(t, f->slot, ADEPT_EXEC_FAILED, ADEPT_EXEC_NONE))
		answer(t, f->slot, ADEPT_EXEC_READY, ADEPT_EXEC_NONE);
	return DEP_FOLLOW_DEAD;
}

/* Detach a stopped thread. */
static int cancel(struct dep_follow *f, const struct dep_target *t, pid_t tid, int sig)
{
	if (ptrace(PTRACE_DETACH, tid, NULL, (long)sig))
		return dying(f);
	answer(t, f->slot, ADEPT_EXEC_FAILED, ADEPT_EXEC_NONE);
	return DEP_FOLLOW_CANCELLED;
}

static int handle_stop(struct dep_follow *f, const struct dep_target *t, pid_t tid, int stop,
		       int sig, struct dep_injected *out, struct dep_why *why)
{
	switch (stop) {
	case DEP_STOP_DEAD:
		return dead(f, t, tid);
	case DEP_STOP_EXEC:
		f->tid = f->pid;
		return inject_new_image(f, t, out, why);
	case DEP_STOP_SIGNAL:
		if (f->letting_go)
			return cancel(f, t, tid, sig);
		ptrace(PTRACE_CONT, tid, NULL, (long)sig);
		return DEP_FOLLOW_PENDING;
	case DEP_STOP_GROUP:
		if (f->letting_go)
			return cancel(f, t, tid, 0);
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
		return DEP_FOLLOW_PENDING;
	default:
		if (f->letting_go)
			return cancel(f, t, tid, 0);
		ptrace(PTRACE_CONT, tid, NULL, NULL);
		return DEP_FOLLOW_PENDING;
	}
}

/* Wait for the requesting thread, or for the process id that it may have got by execve. */
static int next_report(const struct dep_follow *f, pid_t *tid, int *sig)
{
	int stop;

	*tid = f->tid;
	stop = dep_trace_wait(f->tid, false, sig);
	if (stop == -ECHILD && f->tid != f->pid) {
		*tid = f->pid;
		stop = dep_trace_wait(f->pid, false, sig);
	}
	return stop;
}

/* The tracer of a detach had the thread: try again to answer the request. */
static int begin_again(struct dep_follow *f, const struct dep_target *t, struct dep_injected *out,
		       struct dep_why *why)
{
	u64 since = f->blocked_ns;
	int err;

	if (__atomic_load_n(&dep_slot(t, f->slot)->exec_state, __ATOMIC_ACQUIRE) !=
	    ADEPT_EXEC_REQUEST)
		return DEP_FOLLOW_CANCELLED;
	/* The process itself could make it look like a detach that does not end. */
	if (now_ns() - since > BLOCKED_NS) {
		dep_inject_error(why, EPERM, "Thread %d is traced by another process.", f->tid);
		refuse(t, f->slot, ADEPT_NATIVE_LOST);
		return DEP_FOLLOW_REFUSED;
	}
	err = dep_follow_exec_begin(f, t, f->slot, why);
	if (f->blocked_ns)
		f->blocked_ns = since;
	out->pid = f->pid;
	return !err ? DEP_FOLLOW_PENDING : err == -ESRCH ? DEP_FOLLOW_DEAD : DEP_FOLLOW_REFUSED;
}

static int poll_once(struct dep_follow *f, const struct dep_target *t, struct dep_injected *out,
		     struct dep_why *why)
{
	const u32 *state = &dep_slot(t, f->slot)->exec_state;
	int sig = 0, stop, event;
	pid_t tid;

	memset(out, 0, sizeof(*out));
	out->pid = f->pid;
	if (f->blocked_ns)
		return begin_again(f, t, out, why);
	for (;;) {
		stop = next_report(f, &tid, &sig);
		if (stop == DEP_STOP_NONE)
			break;
		if (stop < 0) {
			dep_inject_error(why, -stop, "Process %d is gone.", f->pid);
			if (!answer(t, f->slot, ADEPT_EXEC_FAILED, ADEPT_EXEC_NONE))
				answer(t, f->slot, ADEPT_EXEC_READY, ADEPT_EXEC_NONE);
			return DEP_FOLLOW_DEAD;
		}
		event = handle_stop(f, t, tid, stop, sig, out, why);
		if (event != DEP_FOLLOW_PENDING)
			return event;
	}
	if (!f->letting_go &&
	    __atomic_load_n(state, __ATOMIC_ACQUIRE) == ADEPT_EXEC_FAILED) {
		f->letting_go = true;
		ptrace(PTRACE_INTERRUPT, f->tid, NULL, NULL);
	}
	return DEP_FOLLOW_PENDING;
}

int dep_follow_exec_poll(struct dep_follow *f, const struct dep_target *t,
			 struct dep_injected *out, struct dep_why *why)
{
	int event = poll_once(f, t, out, why);

	if (event != DEP_FOLLOW_PENDING)
		no_longer_following(f, t);
	return event;
}
