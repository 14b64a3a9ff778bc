// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The threads of a running process that the engine is put into: checked, written to the engine's
 * table, caught when they return from system calls, moved into the engine.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "internal.h"
#include "running.h"

#define FLAGS		0x202	/* interrupts on, as in each process */
#define INT3		0xcc
/* in /proc/PID/pagemap */
#define PAGEMAP_PRESENT	(1ull << 63)
#define PAGEMAP_FILE	(1ull << 61)

static int fill_entry(struct adept_attached *a, const struct dep_running *t, struct dep_why *why)
{
	const struct user_regs_struct *u = &t->regs;
	const u64 regs[16] = {
		u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
		u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15,
	};

	a->rip = u->rip;
	a->rflags = u->eflags;
	a->fs_base = u->fs_base;
	a->gs_base = u->gs_base;
	a->call = (s64)u->orig_rax;
	a->returned = t->returned;
	memcpy(a->regs, regs, sizeof(a->regs));
	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(a->mask), &a->mask))
		return dep_inject_error(why, errno, "Thread %d cannot be controlled: %m.", t->tid);
	return 0;
}

/* Its number in the process's pid namespace; 0: it has ended. */
static u32 number_of(const struct dep_attaching *a, pid_t tid)
{
	u32 depth;

	return a->boot->ns & ADEPT_NS_TIDS ? dep_pidns_number((u32)tid, &depth) : (u32)tid;
}

void dep_tell_table(struct dep_attaching *a)
{
	struct dep_started *s = a->started;
	struct adept_boot *b = a->boot;

	b->attached = s->table_at;
	b->attached_size = s->table_size;
	b->nattached = s->room;
	b->maps = s->maps_at;
	b->stub = s->starter.page;
	b->undo = dep_starter_undo_code(&s->starter);
}

int dep_fill_table(struct dep_attaching *a, struct dep_why *why)
{
	struct adept_attached *e = a->started->table;
	const struct dep_running *t;
	int err = 0;

	for (t = a->thread; t < a->thread + a->n && !err; t++, e++) {
		*e = (struct adept_attached){
			.late = 1, .returned = t->call, .tid = number_of(a, t->tid),
		};
		if (!e->tid)
			return dep_inject_error(why, EAGAIN, "Thread %d has ended; try again.",
						t->tid);
		if (t->late)
			continue;
		err = dep_refuse_rseq(a->mem, t->tid, why);
		if (!err)
			err = fill_entry(e, t, why);
	}
	return err;
}

void dep_find_stacks(struct dep_attaching *a)
{
	struct adept_attached *e = a->started->table;
	const struct dep_running *t;

	for (t = a->thread; t < a->thread + a->n; t++, e++)
		e->stack_end = dep_address_space_end(&a->started->space,
						     t->late ? t->sp : t->regs.rsp);
}

static bool is_caught(const struct adept_boot *b, u64 pc)
{
	for (u64 i = 0; i < b->ncaught; i++)
		if (b->caught[i].pc == pc)
			return true;
	return false;
}

/* Is @pc in a private mapping?  A write to a shared one would change other processes' memory. */
static bool is_private(int proc, u64 pc)
{
	unsigned long long start, end;
	FILE *f = dep_proc_file(proc, "maps");
	char line[512], perms[5];
	bool private = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx %4s", &start, &end, perms) == 3 && pc >= start &&
		    pc < end) {
			private = perms[3] == 'p';
			break;
		}
	}
	if (f)
		fclose(f);
	return private;
}

/* Is the page with @pc that of the mapped file, without a private copy?  It has been read. */
static bool is_of_file(const struct dep_attaching *a, u64 pc)
{
	const struct adept_boot *b = a->boot;
	int fd;
	u64 entry = 0;

	for (u64 i = 0; i < b->ncaught; i++)
		if (b->caught[i].pc / ADEPT_PAGE == pc / ADEPT_PAGE)
			return b->caught[i].of_file;
	fd = openat(a->proc, "pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (pread(fd, &entry, sizeof(entry), (off_t)(pc / ADEPT_PAGE * sizeof(entry))) !=
	    sizeof(entry))
		entry = 0;
	close(fd);
	return entry & PAGEMAP_PRESENT && entry & PAGEMAP_FILE;
}

int dep_running_catch(struct dep_attaching *a, struct dep_why *why)
{
	const u8 int3 = INT3;
	struct adept_boot *b = a->boot;
	u8 byte;
	int err;
	u32 i;

	for (i = 0; i < a->n; i++) {
		struct adept_caught_pc c = { .pc = a->thread[i].pc };

		if (!a->thread[i].late || is_caught(b, c.pc))
			continue;
		if (b->ncaught == ADEPT_CAUGHT_PCS)
			return dep_inject_error(why, EAGAIN, "The threads wait in system calls at "
						"more than %u places.", ADEPT_CAUGHT_PCS);
		err = is_private(a->proc, c.pc) ? 0 : -EPERM;
		if (!err)
			err = dep_memory_read(a->mem, c.pc, &byte, 1);
		if (!err && byte == INT3)
			err = -EBUSY;
		if (!err) {
			c.byte = byte;
			c.of_file = is_of_file(a, c.pc);
			dep_undo_catches(&a->started->starter.undo, &c);
			err = dep_memory_write(a->mem, c.pc, &int3, 1);
		}
		if (err)
			return dep_inject_error(why, -err, "Thread %d cannot be caught after its "
						"system call: %s.", a->thread[i].tid,
						strerror(-err));
		b->caught[b->ncaught++] = c;
	}
	return 0;
}

void dep_running_release(struct dep_attaching *a)
{
	const struct adept_boot *b = a->boot;
	u8 byte;

	for (u64 i = 0; i < b->ncaught; i++) {
		/* The program may have put other code there. */
		if (dep_memory_read(a->mem, b->caught[i].pc, &byte, 1) || byte != INT3)
			continue;
		byte = (u8)b->caught[i].byte;
		dep_memory_write(a->mem, b->caught[i].pc, &byte, 1);
	}
}

bool dep_running_caught(const struct dep_attaching *a, const struct user_regs_struct *regs)
{
	return is_caught(a->boot, regs->rip - 1);
}

/* One that cannot be moved has been killed. */
static void move(const struct dep_attaching *a, u32 i)
{
	struct user_regs_struct regs = a->thread[i].regs;
	const u64 all = ~0ull;
	pid_t tid = a->thread[i].tid;

	regs.rip = a->boot->image + a->t->entry.thread;
	/* The process could have changed it: a wrong value harms only itself. */
	regs.rdi = a->started->table[i].tls;
	regs.orig_rax = -1ull;
	regs.eflags = FLAGS;
	/* A blocked signal with which a thread is detached is queued again. */
	ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all);
	ptrace(PTRACE_SETREGS, tid, NULL, &regs);
	ptrace(PTRACE_DETACH, tid, NULL, (long)a->thread[i].sig);
}

void dep_move_threads(struct dep_attaching *a)
{
	u32 i;

	for (i = 0; i < a->n; i++)
		if (!a->thread[i].late)
			move(a, i);
}
