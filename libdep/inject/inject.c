// SPDX-License-Identifier: LGPL-2.1-or-later
/* Put the engine into a process that is stopped at its first instruction. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#define HWCAP2_FSGSBASE	2ul	/* as in the kernel's asm/hwcap2.h */

static bool is_error(s64 ret)
{
	return ret < 0 && ret >= -4095;
}

static void fill_boot(struct adept_boot *b, const struct dep_target *t,
		      const struct user_regs_struct *u, const struct dep_address_space *s)
{
	const u64 regs[16] = {
		u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
		u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15,
	};

	memcpy(b->regs, regs, sizeof(b->regs));
	b->rip = u->rip;
	b->rflags = u->eflags;
	b->fs_base = u->fs_base;
	b->gs_base = u->gs_base;
	b->vdso = s->vdso;
	b->vdso_size = s->vdso_size;
	b->layout = t->layout;
	b->fsgsbase = !!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE);
}

static int write_image(const struct dep_remote *r, const struct dep_target *t,
		       const struct adept_boot *b, const struct dep_address_space *s,
		       struct dep_why *why)
{
	const unsigned char *image = t->image;
	int err;

	/* The engine image begins with the boot parameters. */
	err = dep_memory_write(r->mem, b->image, b, sizeof(*b));
	if (!err)
		err = dep_memory_write(r->mem, b->image + sizeof(*b), image + sizeof(*b),
				       t->image_len - sizeof(*b));
	if (!err)
		err = dep_memory_write(r->mem, b->low, s->text, s->text_len);
	return err ? dep_inject_error(why, -err, "The engine cannot be written to process %d: %s.",
				      r->pid, strerror(-err))
		   : 0;
}

int dep_make_engine(struct dep_plan *plan, const struct dep_target *t, struct adept_boot *b,
		    struct dep_why *why)
{
	struct dep_remote *r = plan->r;
	u64 probe = 0, again;
	s64 fd, rings = -1;
	int err = 0;

	fd = dep_pass_session_fd(r, t, t->fd, &probe, why);
	if (is_error(fd))
		return (int)fd;
	if (t->ring_fd >= 0) {
		rings = dep_pass_session_fd(r, t, t->ring_fd, &again, why);
		err = is_error(rings) ? (int)rings : 0;
	}
	if (!err)
		err = dep_plan_make(plan, t, probe, b, why);
	if (!err)
		err = dep_plan_session(plan, t, (int)fd, b, why);
	if (!err && t->ring_fd >= 0)
		err = dep_plan_rings(plan, t, (int)rings, b, why);
	dep_remote_call(r, SYS_close, (u64)fd, 0, 0, 0, 0, 0);
	if (!is_error(rings))
		dep_remote_call(r, SYS_close, (u64)rings, 0, 0, 0, 0, 0);
	if (!err) {
		fill_boot(b, t, &r->regs, plan->space);
		err = write_image(r, t, b, plan->space, why);
	}
	if (err)
		dep_plan_undo(plan);
	return err;
}

/* Let the process run into the engine. */
static int start_engine(struct dep_remote *r, const struct dep_target *t,
			const struct adept_boot *b, struct dep_why *why)
{
	struct user_regs_struct regs = r->regs;
	int err;

	regs.rip = b->image + t->entry.start;
	regs.rdi = b->image;
	regs.orig_rax = -1ull;
	err = dep_remote_end(r, &regs);
	if (!err && ptrace(PTRACE_DETACH, r->pid, NULL, NULL))
		err = -errno;
	return err ? dep_inject_error(why, -err, "Process %d cannot be detached: %s.", r->pid,
			      strerror(-err)) : 0;
}

/* Put the engine into the process, and let it run. Closes @proc and r->mem, also on failure. */
static int inject(struct dep_remote *r, int proc, const struct dep_target *t, bool held,
		  const struct dep_origin *from, struct dep_injected *out, struct dep_why *why)
{
	struct dep_address_space space = { 0 };
	struct dep_plan plan = { .r = r, .space = &space };
	int err;

	err = dep_address_space_read(&space, r->pid, proc, r->regs.rsp, why);
	if (err)
		goto out_end;
	err = dep_plan_fits(&space, t, &out->base, why);
	if (err)
		goto out_space;
	err = dep_slot_claim(t, from->domain, &out->proc, why);
	if (err)
		goto out_space;
	out->boot.proc = out->proc;
	out->boot.cause = from->cause;
	out->boot.domain = from->domain;
	out->boot.ns = dep_pidns_of(r->pid);
	out->boot.ptracer = (u32)t->ptracer;
	err = dep_remote_find_syscall(r, &space, !(t->flags & DEP_T_NO_VDSO), why);
	if (!err && held)
		err = dep_remote_continue(r, why);
	if (err)
		goto out_slot;
	err = dep_make_engine(&plan, t, &out->boot, why);
	if (err)
		goto out_slot;
	dep_slot_live(t, out->proc, r->pid, out->boot.ns & ADEPT_NS_TIDS, from, &out->serial);
	dep_slot(t, out->proc)->self = out->boot.image;
	/* No system call follows: see no_longer_following() in follow_exec.c. */
	dep_address_space_free(&space);
	close(proc);
	close(r->mem);
	err = start_engine(r, t, &out->boot, why);
	if (!err)
		return 0;
	proc = r->mem = -1;

out_slot:
	dep_slot_drop(t, out->proc);
out_space:
	dep_address_space_free(&space);
out_end:
	dep_remote_end(r, NULL);
	if (proc >= 0) {
		close(proc);
		close(r->mem);
	}
	return err;
}

int dep_inject_stopped(const struct dep_target *t, pid_t pid, struct dep_stopped *how,
		       const struct dep_origin *from, struct dep_injected *out,
		       struct dep_why *why)
{
	int proc, mem = -1, err;
	struct dep_remote r;

	memset(out, 0, sizeof(*out));
	out->pid = pid;
	/* The pid is not reused while the process is traced and stopped. */
	proc = dep_proc_open(pid);
	if (proc < 0)
		return dep_inject_error(why, -proc, "process %d cannot be examined: %s", pid,
				strerror(-proc));
	err = dep_judge(proc, &t->base, from->domain, &out->base, why);
	out->privileged = err == -EACCES;
	if (!err) {
		mem = dep_memory_open(proc);
		if (mem < 0)
			err = dep_inject_error(why, -mem,
					       "The memory of process %d cannot be opened: %s.",
					       pid, strerror(-mem));
	}
	if (!err)
		err = how->held ? dep_remote_begin_held(&r, pid, mem, how->sig, why)
				: dep_remote_begin(&r, pid, mem, why);
	if (!err) {
		err = inject(&r, proc, t, how->held, from, out, why);
		/* The signal has been queued again: do not deliver it twice. */
		if (!r.sig)
			how->sig = 0;
		return err;
	}
	close(proc);
	if (mem >= 0)
		close(mem);
	return err;
}

int dep_inject(const struct dep_target *t, pid_t pid, const struct dep_origin *from,
	       struct dep_injected *out, struct dep_why *why)
{
	return dep_inject_stopped(t, pid, &(struct dep_stopped){ .held = false }, from, out, why);
}

int dep_inject_release(pid_t pid)
{
	return ptrace(PTRACE_DETACH, pid, NULL, NULL) ? -errno : 0;
}
