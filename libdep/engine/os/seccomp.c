// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The engine puts a prologue in front of each filter of the program.  The prologue lets the
 * engine's own system calls pass.  It recognises them by their address: a syscall instruction in
 * the engine, except those that make the program's calls.  (rr does the same.)
 *
 * The filter stays in effect after execve.  It works in the new image because the engine usually
 * has the same address there.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "seccomp.h"
#include "sigframe.h"
#include "syscall.h"
#include "thread.h"
#include "libdep/engine/base/thread_list.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/safepoint.h"

#define IP_LOW		offsetof(struct seccomp_data, instruction_pointer)
#define IP_HIGH		(IP_LOW + 4)

/* struct sock_fprog, the argument of prctl() and seccomp() */
struct program {
	u16 len;
	u64 filter;
};

extern u8 app_syscall_done[], thread_clone_done[], thread_vanish_done[], filtered_syscall_done[];

static u32 installed;

static u32 low(const u8 *addr)
{
	return (u32)(u64)addr;
}

#define PROLOGUE	11u	/* instructions in the prologue */

/*
 * All engine addresses have the same upper 32 bits: the engine never crosses a multiple of 4 GiB
 * (inject/memory_layout.c).
 */
static void write_prologue(struct sock_filter *f)
{
	const struct sock_filter code[PROLOGUE] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_HIGH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)(boot.image >> 32), 0, 8),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_LOW),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (u32)boot.image, 0, 6),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (u32)(boot.image + boot.image_size), 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low(app_syscall_done), 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low(thread_clone_done), 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low(thread_vanish_done), 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low(filtered_syscall_done), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		/* Clear the accumulator, as it is at the beginning of a filter. */
		BPF_STMT(BPF_LD | BPF_IMM, 0),
	};

	memcpy(f, code, sizeof(code));
}

/* Install filter @p with a prologue.  @at: index of the argument that points to the filter. */
static s64 install(struct tls *t, u64 nr, const u64 a[6], const struct program *p, unsigned int at)
{
	u64 size = (PROLOGUE + p->len) * sizeof(struct sock_filter), args[6];
	struct sock_filter *f = heap_alloc(size);
	struct program longer = { (u16)(PROLOGUE + p->len), (u64)f };
	u64 got = p->len * sizeof(*f);
	s64 ret = -E_FAULT;

	write_prologue(f);
	memcpy(args, a, sizeof(args));
	args[at] = (u64)&longer;
	if (rt_copy_in(f + PROLOGUE, (void *)p->filter, got) == got)
		ret = app_syscall(t, nr, args);
	heap_free(f, size);
	return ret;
}

/* ---- strict mode ---- */

static int strict_allows(u64 nr)
{
	return nr == __NR_read || nr == __NR_write || nr == __NR_exit || nr == __NR_rt_sigreturn;
}

/*
 * Strict mode would forbid the engine's calls, so a filter replaces it.  The engine checks the
 * program's calls itself: in strict mode the kernel ends a thread by SIGKILL, but a filter ends it
 * by SIGSYS.  The filter is for code that does not go through the engine.  A filter requires
 * no_new_privs, which has no effect where execve is forbidden.
 */
static s64 install_strict(struct tls *t, u64 nr, const u64 a[6])
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_read, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_rt_sigreturn, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter f[PROLOGUE + ARRAY_SIZE(code)];
	struct program p = { ARRAY_SIZE(f), (u64)f };
	s64 ret;

	if (nr == __NR_seccomp && (a[1] || a[2]))
		return -E_INVAL;
	/* Filters and strict mode exclude each other. */
	if (sys6(__NR_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0))
		return -E_INVAL;
	write_prologue(f);
	memcpy(f + PROLOGUE, code, sizeof(code));
	ret = sys6(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	if (!ret)
		ret = sys6(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (u64)&p, 0, 0, 0);
	if (!ret)
		t->strict = 1;
	return ret;
}

static u32 count(struct tls *o, u32 arg)
{
	(void)o;
	return arg;
}

void seccomp_strict(struct tls *t, u64 nr)
{
	if (strict_allows(nr))
		return;
	/* End only this thread if the process has other threads. */
	if (thread_each_other(t, count, 1))
		thread_end(t, K_SIGKILL);
	ring_reserve_end(t);
	ring_put_thread_end(t, K_SIGKILL);
	safepoint_enter(t);
	for (;;)
		sys2(__NR_kill, (u64)sys0(__NR_getpid), K_SIGKILL);
}

s64 seccomp_install(struct tls *t, u64 nr, const u64 a[6])
{
	/* index of the filter argument in both prctl() and seccomp() */
	unsigned int at = 2;
	u64 mode = nr == __NR_prctl ? a[1] : a[0];
	u64 filter = nr == __NR_prctl ? SECCOMP_MODE_FILTER : SECCOMP_SET_MODE_FILTER;
	struct program p;
	s64 ret;

	if (mode == (nr == __NR_prctl ? SECCOMP_MODE_STRICT : SECCOMP_SET_MODE_STRICT))
		return install_strict(t, nr, a);
	/* A filter that is too long to get a prologue also sees the engine's own calls. */
	if (mode != filter || rt_copy_in(&p, (void *)a[at], sizeof(p)) != sizeof(p) || !p.len ||
	    p.len > BPF_MAXINSNS - PROLOGUE)
		ret = app_syscall(t, nr, a);
	else
		ret = install(t, nr, a, &p, at);
	if (ret >= 0 && mode == filter)
		__atomic_store_n(&installed, 1, __ATOMIC_RELAXED);
	return ret;
}

s64 seccomp_check(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	const u64 args[6] = { a, b, c, d };

	return __atomic_load_n(&installed, __ATOMIC_RELAXED) ? filtered_syscall(nr, args) : 0;
}
