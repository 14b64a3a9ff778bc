// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * System calls of the application.  Most pass unchanged; those that concern the engine (memory map,
 * signals, threads, images, gs base) are handled here.
 */
#include "exec.h"
#include "libdep/engine/translate/code_map.h"
#include "leave.h"
#include "mlock.h"
#include "stop_world.h"
#include "rights.h"
#include "rlimit_syscall.h"
#include "seccomp.h"
#include "sigaction.h"
#include "sigframe.h"
#include "sigmask.h"
#include "signal.h"
#include "syscall.h"
#include "thread.h"
#include "tsc.h"
#include "syscall_effects.h"
#include "libdep/abi/restart.h"
#include "libdep/engine/translate/mapping_table.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"
#include "libdep/engine/record/thread_slots.h"
#include "libdep/engine/translate/dispatch.h"

#define ARCH_SET_FS	0x1002
#define ARCH_GET_GS	0x1004

#define PR_SET_NAME			15
#define PR_SET_SECCOMP			22
#define CLONE_NEWPID			0x20000000
#define CLONE_NEWUSER			0x10000000
#define NS_GET_NSTYPE			0xb703
#define PR_SET_SYSCALL_USER_DISPATCH	59

#define MREMAP_FIXED	2
#define MAX_TRIES	1000
#define SHM_RND		020000
#define SHM_REMAP	040000
#define SHM_EXEC	0100000
#define K_IPC_STAT	2

s64 app_syscall_raw(struct tls *t, u64 nr, const u64 args[6]);	/* in calls.S */

s64 app_syscall(struct tls *t, u64 nr, const u64 args[6])
{
	s64 ret;

	ring_reserve_end(t);
	ring_call_begin(t, nr);
	safepoint_enter(t);
	ret = app_syscall_raw(t, nr, args);
	safepoint_leave(t);
	ring_call_end(t);
	return ret;
}

/*
 * Make a system call that ends the other threads: stop them before it, and resume them if it fails.
 */
s64 app_last_syscall(struct tls *t, u64 nr, const u64 args[6], u32 status)
{
	s64 ret;

	stop_world(t, status);
	ring_reserve_end(t);
	ring_put_thread_end(t, status);
	tsc_give_back(t->tsc_forbidden);
	ret = app_syscall(t, nr, args);
	tsc_take_again(t->tsc_forbidden);
	ring_remove_thread_end(t);
	resume_world(t);
	return ret;
}

static u64 page_up(u64 n)
{
	return (n + ADEPT_PAGE - 1) & ~(u64)(ADEPT_PAGE - 1);
}

/*
 * Prepare a range for a system call that replaces or changes its mappings.  Other threads must not
 * run code that is about to disappear.  The pages get the application's protection back, which the
 * call may keep or move to another address.
 *
 * Return: 0 if the range overlaps the engine's memory.
 */
static int take_back(u64 start, u64 len)
{
	if (mem_is_ours(start, len))
		return 0;
	code_unprotect_range(start, start + len);
	code_changed(TRACK_ANY, start, start + len);
	return 1;
}

static s64 sys_mremap(struct tls *t, u64 a[6])
{
	u64 len = page_up(a[1]), new_len = page_up(a[2]), stamp;
	struct tracked_range range;
	s64 ret;

	if (!take_back(a[0], len) || (a[3] & MREMAP_FIXED && !take_back(a[4], new_len)))
		return -E_INVAL;
	track_save(a[0], len ? len : new_len, &range);
	stamp = track_begin();
	ret = app_syscall(t, __NR_mremap, a);
	if (ret < 0 && ret > -4096)
		return ret;
	track_moved(stamp, (u64)ret, a, &range);
	code_changed(stamp, a[0], a[0] + len);
	code_changed(stamp, (u64)ret, (u64)ret + new_len);
	return ret;
}

static s64 sys_memory(struct tls *t, u64 nr, u64 a[6])
{
	u64 len = page_up(a[1]), stamp;
	s64 ret;

	/* The program must not change the engine's own memory. */
	if (nr == __NR_mmap) {
		if (a[3] & K_MAP_FIXED && !take_back(a[0], len))
			return -E_NOMEM;
	} else if (!take_back(a[0], len)) {
		return -E_INVAL;
	}
	if (nr == __NR_munmap || (nr == __NR_mmap && a[3] & K_MAP_FIXED))
		code_files_unmapped(a[0], a[0] + len);
	stamp = track_begin();
	ret = app_syscall(t, nr, a);
	if (ret < 0 && ret > -4096)
		return ret;
	switch (nr) {
	case __NR_mmap:
		track_mapped((u64)ret, a);
		code_changed(TRACK_ANY, (u64)ret, (u64)ret + len);
		break;
	case __NR_munmap:
		track_unmapped(stamp, a[0], a[0] + len);
		code_changed(stamp, a[0], a[0] + len);
		break;
	case __NR_mprotect:
	case __NR_pkey_mprotect:
		track_protected(a[0], a[0] + len, a[2]);
		code_changed(TRACK_ANY, a[0], a[0] + len);
		break;
	}
	return ret;
}

/* shmat() replaces existing mappings only with SHM_REMAP. */
static s64 sys_shmat(struct tls *t, u64 a[6])
{
	struct { u64 perm[6], size, other[8]; } ds;
	u64 start = a[2] & SHM_RND ? a[1] & ~(u64)(ADEPT_PAGE - 1) : a[1];
	s64 ret = sys3(__NR_shmctl, a[0], K_IPC_STAT, (u64)&ds);

	if (ret < 0)
		return app_syscall(t, __NR_shmat, a);
	if (a[2] & SHM_REMAP && !take_back(start, page_up(ds.size)))
		return -E_INVAL;
	ret = app_syscall(t, __NR_shmat, a);
	if (ret < 0 && ret > -4096)
		return ret;
	track_attached((u64)ret, ds.size, !!(a[2] & SHM_EXEC));
	code_changed(TRACK_ANY, (u64)ret, (u64)ret + page_up(ds.size));
	return ret;
}

static s64 sys_shmdt(struct tls *t, u64 a[6])
{
	u64 stamp = track_begin();
	s64 ret = app_syscall(t, __NR_shmdt, a);

	if (!ret)
		track_detached(stamp, a[0]);
	return ret;
}

static s64 sys_personality(struct tls *t, u64 a[6])
{
	s64 ret = app_syscall(t, __NR_personality, a);

	track_personality();
	return ret;
}

static s64 sys_arch_prctl(struct tls *t, u64 a[6])
{
	s64 ret;

	switch (a[0]) {
	case ARCH_SET_GS:
		if (a[1] >> 47)
			return -E_PERM;
		ring_event(t, ADEPT_EV_GSBASE, &a[1], 8);
		t->app_gs_base = a[1];
		return 0;
	case ARCH_GET_GS:
		if (rt_copy_in(&(u64){ 0 }, (void *)a[1], 8) != 8)
			return -E_FAULT;
		*(u64 *)a[1] = t->app_gs_base;
		return 0;
	}
	ret = app_syscall(t, __NR_arch_prctl, a);
	if (a[0] == ARCH_SET_FS && !ret) {
		t->fs_base = a[1];
		ring_event(t, ADEPT_EV_FSBASE, &a[1], 8);
	}
	return ret;
}

/*
 * System calls that wait with a given signal mask: remove the synchronous signals from the mask,
 * since the engine needs them unblocked.
 */
static s64 sys_with_mask(struct tls *t, u64 nr, u64 a[6])
{
	struct { u64 set, size; } ps;
	u64 copy;

	switch (nr) {
	case __NR_rt_sigsuspend:
	case __NR_rt_sigtimedwait:
		a[0] = (u64)sigmask_filter((u64 *)a[0], &copy);
		break;
	case __NR_ppoll:
		a[3] = (u64)sigmask_filter((u64 *)a[3], &copy);
		break;
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		a[4] = (u64)sigmask_filter((u64 *)a[4], &copy);
		break;
	case __NR_pselect6:
		if (a[5] && rt_copy_in(&ps, (void *)a[5], sizeof(ps)) == sizeof(ps)) {
			ps.set = (u64)sigmask_filter((u64 *)ps.set, &copy);
			a[5] = (u64)&ps;
		}
		break;
	}
	return app_syscall(t, nr, a);
}

/*
 * A write by the kernel to a write-protected page of code fails with EFAULT: make the page writable
 * and repeat the call.  Other threads can change the protection of pages meanwhile.
 */
static s64 sys_plain(struct tls *t, u64 nr, const u64 a[6])
{
	u32 before, tries = 0;
	s64 ret;

	do {
		before = code_unprotect_count();
		ret = app_syscall(t, nr, a);
	} while (ret == -E_FAULT && ++tries < MAX_TRIES &&
		 (code_unprotect_range(0, ~0ull) || code_unprotect_count() != before));
	return ret;
}

static s64 sys_set_name(struct tls *t, const u64 a[6])
{
	s64 ret = sys_plain(t, __NR_prctl, a);

	slots_name(t);
	return ret;
}

/* System calls that change user ids, group ids or capabilities. */
static s64 sys_rights(struct tls *t, u64 nr, const u64 a[6])
{
	struct rights before;
	s64 ret;

	rights_begin(&before);
	ret = sys_plain(t, nr, a);
	rights_end(t, &before);
	return ret;
}

/* Get the type of namespace that setns() enters: its type argument may be 0 for any type. */
static u64 kind_of_namespace(const u64 a[6])
{
	s64 kind = a[1] ? (s64)a[1] : sys3(__NR_ioctl, a[0], NS_GET_NSTYPE, 0);

	return kind < 0 ? 0 : (u64)kind;
}

/*
 * unshare() and setns(): after entering a pid namespace, mark the ids of future children as foreign
 * to the collector.  If the namespace is the collector's own, the mark does no harm.
 */
static s64 sys_namespace(struct tls *t, u64 nr, const u64 a[6])
{
	u64 kinds = nr == __NR_setns ? kind_of_namespace(a) : a[0];
	s64 ret = sys_plain(t, nr, a);

	if (!ret && kinds & CLONE_NEWPID)
		__atomic_fetch_or(&boot.ns, ADEPT_NS_CHILDREN, __ATOMIC_RELAXED);
	if (!ret && kinds & CLONE_NEWUSER)
		rights_new_namespace(t);
	return ret;
}

/*
 * Whether the process sends SIGKILL to itself.  The streams must be ended before this call, since
 * no handler can catch SIGKILL.
 */
static int kills_us(u64 nr, const u64 a[6])
{
	s32 target = (s32)a[0];
	u64 sig = nr == __NR_tgkill || nr == __NR_rt_tgsigqueueinfo ? a[2] : a[1];

	if ((u32)sig != K_SIGKILL)
		return 0;
	if (nr == __NR_tkill)
		return !sys3(__NR_tgkill, (u64)sys0(__NR_getpid), (u64)target, 0);
	if (nr == __NR_kill && (!target || target == -sys0(__NR_getpgrp)))
		return 1;
	return target == sys0(__NR_getpid);
}

static s64 do_syscall(struct tls *t, u64 nr, u64 a[6])
{
	if (unlikely(t->strict))
		seccomp_strict(t, nr);
	switch (nr) {
	case __NR_exit:
		return thread_exit(t, a[0]);
	case __NR_exit_group:
		thread_exit_group(t, a[0]);
	case __NR_clone:
	case __NR_clone3:
	case __NR_fork:
	case __NR_vfork:
		return thread_sys_clone(t, nr, a);
	case __NR_execve:
	case __NR_execveat:
		return exec_syscall(t, nr, a);
	case __NR_kill:
	case __NR_tkill:
	case __NR_tgkill:
	case __NR_rt_sigqueueinfo:
	case __NR_rt_tgsigqueueinfo:
		if (kills_us(nr, a))
			return app_last_syscall(t, nr, a, K_SIGKILL);
		break;
	case __NR_mmap:
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
	case __NR_madvise:
		return sys_memory(t, nr, a);
	case __NR_mremap:
		return sys_mremap(t, a);
	case __NR_mlock:
	case __NR_mlock2:
	case __NR_munlock:
	case __NR_mlockall:
	case __NR_munlockall:
		return mlock_syscall(t, nr, a);
	case __NR_shmat:
		return sys_shmat(t, a);
	case __NR_shmdt:
		return sys_shmdt(t, a);
	case __NR_getrlimit:
	case __NR_setrlimit:
	case __NR_prlimit64:
		return rlimit_syscall(t, nr, a);
	case __NR_personality:
		return sys_personality(t, a);
	case __NR_rt_sigaction:
		return sigaction_syscall(t, a);
	case __NR_sigaltstack:
		return signal_sigaltstack(t, a);
	case __NR_rt_sigprocmask:
		return sigmask_procmask(t, a);
	case __NR_rt_sigpending:
		return sigmask_pending(t, a);
	case __NR_rt_sigsuspend:
	case __NR_rt_sigtimedwait:
	case __NR_ppoll:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_pselect6:
		return sys_with_mask(t, nr, a);
	case __NR_arch_prctl:
		return sys_arch_prctl(t, a);
	case __NR_rseq:
		/*
		 * Restartable sequences: the kernel could not restart one that runs in the code
		 * cache, and glibc works without them.  But after an attach, glibc has already
		 * registered threads, and it aborts if a new thread cannot register.
		 */
		if (!boot.nattached)
			return -E_NOSYS;
		break;
	case __NR_unshare:
	case __NR_setns:
		return sys_namespace(t, nr, a);
	case __NR_setuid:
	case __NR_setreuid:
	case __NR_setresuid:
	case __NR_setfsuid:
	case __NR_setgid:
	case __NR_setregid:
	case __NR_setresgid:
	case __NR_setfsgid:
	case __NR_capset:
		return sys_rights(t, nr, a);
	case __NR_seccomp:
		return seccomp_install(t, nr, a);
	case __NR_prctl:
		if (a[0] == PR_SET_SECCOMP)
			return seccomp_install(t, nr, a);
		if (a[0] == PR_SET_NAME)
			return sys_set_name(t, a);
		/*
		 * The engine needs rdtsc for timestamps, and its own system calls must not be
		 * dispatched to the program.
		 */
		if (a[0] == PR_SET_SYSCALL_USER_DISPATCH ||
		    (tsc_forbids(a) && !t->tsc_forbidden))
			return -E_INVAL;
		return tsc_forbids(a) ? 0 : tsc_prctl(t, a, sys_plain(t, nr, a));
	}
	return sys_plain(t, nr, a);
}

/* The two file descriptors that pipe() or socketpair() has stored to memory; 0 for other calls. */
static u64 descriptors_made(u64 nr, const u64 a[6])
{
	u64 fds = 0, at;

	switch (nr) {
	case __NR_pipe:
	case __NR_pipe2:
		at = a[0];
		break;
	case __NR_socketpair:
		at = a[3];
		break;
	default:
		return 0;
	}
	return rt_copy_in(&fds, (void *)at, 8) == 8 ? fds : 0;
}

void syscall_record(struct tls *t, u64 nr, s64 ret)
{
	const u64 *r = t->regs;
	const u64 a[6] = { r[X86_RDI], r[X86_RSI], r[X86_RDX], r[X86_R10], r[X86_R8], r[X86_R9] };
	struct adept_ev_syscall ev = {
		.nr = (u32)nr, .result = (u64)ret, .before = t->before, .after = rt_timestamp(),
		.out = ret ? 0 : descriptors_made(nr, a),
		.args = { a[0], a[1], a[2], a[3], a[4], a[5] },
	};

	syscall_effects_record(t, &ev);
	ring_event(t, ADEPT_EV_SYSCALL, &ev, sizeof(ev));
}

u8 *syscall_handle(struct tls *t)
{
	struct exit *x = dispatch_exit_taken(t);
	u64 *r = t->regs;
	u64 nr = r[X86_RAX];
	u64 insn = x->target - 2, rcx = r[X86_RCX], r11 = r[X86_R11];
	u64 a[6] = { r[X86_RDI], r[X86_RSI], r[X86_RDX], r[X86_R10], r[X86_R8], r[X86_R9] };
	s64 ret;

	t->before = rt_timestamp();
	t->resume_pc = x->target;
	t->resume_known = x->mask;
	/* The syscall instruction always sets rcx and r11. */
	r[X86_RCX] = x->target;
	r[X86_R11] = t->flags;
	if (nr == __NR_rt_sigreturn) {
		signal_sigreturn(t);
		ret = SYS_ABORTED;
	} else {
		ret = do_syscall(t, nr, a);
	}
	if (ret == SYS_ABORTED) {
		/*
		 * A signal arrived before the call was made: its handler returns to the syscall
		 * instruction.
		 */
		r[X86_RCX] = rcx;
		r[X86_R11] = r11;
		t->resume_pc = insn;
		/*
		 * ring_reserve_end() may have begun a chunk whose header has the registers after
		 * the instruction, so record the registers from before it.
		 */
		ring_record_context(t, insn);
		return dispatch_resume(t);
	}
	r[X86_RAX] = (u64)ret;
	syscall_record(t, nr, ret);
	return dispatch_to(t, x->target, x->mask);
}

/* Make an interrupted call that would return restart code @code; SYS_ABORTED if a signal came. */
static s64 call_again(struct tls *t, s64 code)
{
	const u64 *r = t->regs;
	u64 a[6] = { r[X86_RDI], r[X86_RSI], r[X86_RDX], r[X86_R10], r[X86_R8], r[X86_R9] };

	/* For restart_syscall the kernel has kept the rest of the time-out. */
	if (code == -ADEPT_RESTART_BLOCK)
		return app_syscall(t, __NR_restart_syscall, a);
	return do_syscall(t, (u64)t->interrupted_call, a);
}

/* After a signal's handler: does the kernel make the call again? */
static int is_made_again(struct tls *t, s64 code)
{
	return code == -ADEPT_RESTARTNOINTR ||
	       (code == -ADEPT_RESTARTSYS && sigaction_restarts(t));
}

u8 *syscall_go_on(struct tls *t)
{
	s64 code, ret;

	t->resume_known = KNOWN_ALL;
	do {
		code = (s64)t->regs[X86_RAX];
		t->before = rt_timestamp();
		/* A stop may have aborted the call; app_syscall() has waited until it was over. */
		t->pending &= ~(u64)PENDING_STOP;
		if (t->pending & PENDING_HELD)
			sigmask_release(t);
		ret = call_again(t, code);
		if (ret == SYS_ABORTED && leave_requested(t))
			leave_wait(t, t->interrupted_call);
	} while (ret == SYS_ABORTED && !(t->pending & PENDING_SIGNAL));
	if (ret == SYS_ABORTED && is_made_again(t, code)) {
		t->regs[X86_RAX] = (u64)t->interrupted_call;
		t->resume_pc -= 2;
	} else {
		if (ret == SYS_ABORTED)
			ret = -E_INTR;
		t->regs[X86_RAX] = (u64)ret;
		syscall_record(t, (u64)t->interrupted_call, ret);
	}
	ring_record_context(t, t->resume_pc);
	return dispatch_to(t, t->resume_pc, KNOWN_ALL);
}
