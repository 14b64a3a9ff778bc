// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Put the engine into a running process.
 *
 *	injector			its thread in the process	the process's threads
 *	a guest makes it (starter.c)					run
 *	maps memory, by its calls -----> makes them
 *	writes image
 *	lets it run -------------------> boot_build()
 *	(the caller stops all threads) -------------------------------> stopped
 *	writes table of threads
 *	lets it run -------------------> boot_limits(), boot_commit(), exit
 *	sets registers and detaches ----------------------------------> thread_attached
 *									late threads: int3 behind
 *									the system call, signal
 *									handler, thread_attached
 *
 * Until boot_commit() everything can be undone.  See engine/os/attach.c for the other side.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_facts.h"
#include "internal.h"
#include "running.h"

#define SPARE_THREADS	64	/* room for threads that are created until all are stopped */

static int no_memory(pid_t pid, s64 err, struct dep_why *why)
{
	return dep_inject_error(why, (int)-err, "Process %d cannot map memory: %s.", pid,
				strerror((int)-err));
}

static int no_access(pid_t pid, int err, struct dep_why *why)
{
	return dep_inject_error(why, -err, "The memory of process %d cannot be accessed: %s.", pid,
				strerror(-err));
}

/* Full check of one thread: the first thread may have ended. */
static int judge(struct dep_attaching *a, pid_t tid, struct dep_why *why)
{
	char name[32];
	int task, err;

	snprintf(name, sizeof(name), "task/%d", tid);
	task = openat(a->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (task < 0)
		return dep_inject_error(why, EAGAIN, "Thread %d has ended; try again.", tid);
	err = dep_judge(task, &a->t->base, false, &a->base, why);
	close(task);
	return err ? err : dep_judge_thread(a->proc, tid, &a->base, why);
}

int dep_running_check(struct dep_attaching *a, struct dep_running *thread, u32 n,
		      struct dep_why *why)
{
	int err = judge(a, thread[0].tid, why);
	u32 i;

	a->thread = thread;
	a->n = n;
	for (i = 1; i < n && !err; i++)
		err = dep_judge_thread(a->proc, thread[i].tid, &a->base, why);
	return err;
}

/* The starter needs a system call instruction there. */
static int check_vdso(const struct dep_attaching *a, struct dep_why *why)
{
	const struct dep_address_space *s = &a->started->space;
	char byte;

	if (dep_vdso_call(a->mem, s))
		return 0;
	/* a->mem is the memory of the program before an execve, and the map that of the new one. */
	if (s->vdso && dep_memory_read(a->mem, s->vdso, &byte, 1))
		return dep_executes(a->pid, why);
	return dep_inject_error(why, ENOTSUP, "Process %d has no vdso.", a->pid);
}

static int begin(struct dep_attaching *a, pid_t tid, struct dep_why *why)
{
	pid_t pid = a->pid;
	int err;

	memset(a->boot, 0, sizeof(*a->boot));
	a->mem = dep_memory_open(a->proc);
	if (a->mem < 0)
		return dep_inject_error(why, a->mem == -EACCES ? EPERM : -a->mem,
					"The memory of process %d cannot be opened: %s.", pid,
					strerror(-a->mem));
	a->started = calloc(1, sizeof(*a->started));
	if (!a->started)
		return dep_inject_error(why, ENOMEM, "No memory.");
	err = judge(a, tid, why);
	if (!err)
		err = dep_refuse_rseq_sections(a->proc, pid, why);
	if (!err)
		err = dep_address_space_read_used(&a->started->space, pid, a->proc, why);
	if (!err)
		err = a->paused ? dep_paused_begin(a, why) :
				  dep_plan_fits(&a->started->space, a->t, &a->base, why);
	if (err)
		return err;
	return check_vdso(a, why);
}

int dep_running_begin(struct dep_attaching *a, const struct dep_target *t, pid_t pid, int proc,
		      pid_t tid, struct adept_boot *boot, struct dep_why *why)
{
	*a = (struct dep_attaching){ .t = t, .pid = pid, .proc = proc, .boot = boot };
	return begin(a, tid, why);
}

int dep_running_begin_paused(struct dep_attaching *a, const struct dep_target *t, u32 slot,
			     pid_t pid, int proc, pid_t tid, struct adept_boot *boot,
			     struct dep_why *why)
{
	*a = (struct dep_attaching){
		.t = t, .pid = pid, .proc = proc, .boot = boot, .paused = true, .slot = slot,
	};
	return begin(a, tid, why);
}

/* ---- the engine, before the commit ---- */

int dep_running_enter(struct dep_attaching *a, const struct dep_running *guest, pid_t *tid,
		      struct dep_why *why)
{
	struct dep_starter *s = &a->started->starter;
	int err = dep_refuse_rseq(a->mem, guest->tid, why);

	if (!err)
		err = dep_starter_make(s, a->pid, guest->tid, &guest->regs, a->mem,
				       &a->started->space, why);
	*tid = s->r.pid;
	return err;
}

/* Map memory for the table of threads, and for text behind it. */
static int map_table(struct dep_attaching *a, u32 room, struct dep_why *why)
{
	struct dep_started *s = a->started;
	u64 size = (room * sizeof(*s->table) + ADEPT_PAGE - 1) & ~(u64)(ADEPT_PAGE - 1);
	s64 at;

	s->table = calloc(room, sizeof(*s->table));
	if (!s->table)
		return dep_inject_error(why, ENOMEM, "No memory.");
	s->table_size = size + DEP_ADDRESS_SPACE_TEXT;
	/* The engine of a paused process will have its address, also if the injector dies. */
	if (!a->paused)
		dep_undo_expect(&s->starter.r, s->table_size);
	at = dep_remote_call(&s->starter.r, SYS_mmap, 0, s->table_size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1ull, 0);
	if (!a->paused)
		dep_undo_made(&s->starter.r, at);
	if (at < 0 && at >= -4095) {
		s->table_size = 0;
		return no_memory(a->pid, at, why);
	}
	s->room = room;
	s->table_at = (u64)at;
	/* As for other memory: see memory_layout.c. */
	dep_remote_call(&s->starter.r, SYS_madvise, s->table_at, s->table_size, MADV_DONTFORK,
			0, 0, 0);
	s->maps_at = s->table_at + size;
	return 0;
}

static int claim_slot(struct dep_attaching *a, struct dep_why *why)
{
	const struct dep_origin from = { .cause = ADEPT_BY_ATTACH };
	struct dep_started *s = a->started;
	struct adept_boot *b = a->boot;
	int err = dep_slot_claim(a->t, from.domain, &s->slot, why);

	if (err)
		return err;
	s->has_slot = true;
	b->proc = s->slot;
	b->cause = from.cause;
	b->ns = dep_pidns_of(a->pid);
	b->ptracer = (u32)a->t->ptracer;
	return 0;
}

/* The collector does not look at the ring yet: the slot is not live. */
static void describe(struct dep_attaching *a)
{
	const struct adept_session *l = &a->t->layout;
	struct dep_started *s = a->started;
	u8 *ring = (u8 *)a->t->session + l->desc_off + (u64)s->slot * l->desc_size;

	a->boot->described = dep_facts_write(ring, l->desc_size, a->proc);
}

static int make_engine(struct dep_attaching *a, struct dep_why *why)
{
	struct dep_started *s = a->started;
	struct adept_boot *b = a->boot;
	int err;

	dep_tell_table(a);
	s->plan = (struct dep_plan){ .r = &s->starter.r, .space = &s->space };
	err = dep_make_engine(&s->plan, a->t, b, why);
	return err && s->starter.r.no_fd && !s->starter.r.files ? -EXDEV : err;
}

static int no_start(pid_t pid, int err, struct dep_why *why)
{
	if (err != -ETIMEDOUT)
		return dep_inject_error(why, ESRCH, "Process %d has ended.", pid);
	return dep_inject_error(why, ETIMEDOUT, "The engine did not start in process %d within %d "
				"seconds; its memory stays mapped there.", pid,
				DEP_STARTER_SECONDS);
}

/* Let the thread run one of the engine's functions. */
static int run(struct dep_attaching *a, u64 function, struct dep_why *why)
{
	const struct adept_boot *b = a->boot;
	int ret = dep_starter_run(&a->started->starter, b->image + function, b->image,
				  b->image + a->t->entry.reported);

	if (ret < 0)
		return no_start(a->pid, ret, why);
	return ret ? dep_inject_error(why, ENOMEM, "The engine in process %d has not enough "
				      "memory.", a->pid) : 0;
}

int dep_running_build(struct dep_attaching *a, bool alone, u32 room, struct dep_why *why)
{
	int err;

	if (!alone && dep_starter_own_files(&a->started->starter))
		return -EXDEV;
	err = map_table(a, room + SPARE_THREADS, why);
	if (!err && a->paused)
		err = dep_paused_prepare(a, why);
	if (!err && !a->paused)
		err = claim_slot(a, why);
	if (!err && !a->paused) {
		describe(a);
		err = make_engine(a, why);
	}
	return err ? err : run(a, a->t->entry.build, why);
}

static void free_started(struct dep_attaching *a)
{
	if (!a->started)
		return;
	dep_address_space_free(&a->started->space);
	free(a->started->table);
	free(a->started);
	a->started = NULL;
}

void dep_running_undo(struct dep_attaching *a)
{
	struct dep_started *s = a->started;
	int held;

	if (!s)
		return;
	held = s->starter.r.held;
	if (s->starter.r.pid) {
		dep_plan_undo(&s->plan);
		if (!a->paused)
			dep_undo_unmaps(&s->starter.r, s->table_at);
		if (s->table_size)
			dep_remote_call(&s->starter.r, SYS_munmap, s->table_at, s->table_size,
					0, 0, 0, 0);
		dep_starter_end(&s->starter);
	}
	if (held)
		kill(a->pid, held);
	if (s->has_slot)
		dep_slot_drop(a->t, s->slot);
	dep_paused_end(a, false);
	free_started(a);
}

/* ---- commit ---- */

/* The program may have changed its mappings since dep_running_begin(). */
static int write_maps(struct dep_attaching *a, struct dep_why *why)
{
	struct dep_started *s = a->started;
	int err;

	err = dep_address_space_read_again(&s->space, a->pid, a->proc, why);
	if (err)
		return err;
	err = dep_memory_write(a->mem, s->maps_at, s->space.text, s->space.text_len);
	return err ? no_access(a->pid, err, why) : 0;
}

static int write_table(struct dep_attaching *a, struct dep_why *why)
{
	const struct dep_started *s = a->started;
	struct adept_boot *b = a->boot;
	u64 counts = b->image + offsetof(struct adept_boot, nattached);
	u64 caught = b->image + offsetof(struct adept_boot, ncaught);
	int err;

	b->nattached = a->n;
	err = dep_memory_write(a->mem, s->table_at, s->table, a->n * sizeof(*s->table));
	if (!err)
		err = dep_memory_write(a->mem, counts, &b->nattached, sizeof(b->nattached));
	if (!err)
		err = dep_memory_write(a->mem, caught, &b->ncaught,
				       sizeof(b->ncaught) + sizeof(b->caught));
	return err ? no_access(a->pid, err, why) : 0;
}

static int prepare(struct dep_attaching *a, struct dep_why *why)
{
	int err = 0;

	if (a->n > a->started->room)
		err = dep_inject_error(why, EAGAIN, "Process %d creates threads too fast; try "
				       "again.", a->pid);
	if (!err)
		err = dep_fill_table(a, why);
	if (!err)
		err = write_maps(a, why);
	if (!err)
		dep_find_stacks(a);
	if (!err)
		err = write_table(a, why);
	/* In a pause the limits stay raised. */
	if (err || a->started->space.unlimited || a->paused)
		return err;
	return run(a, a->t->entry.limits, why);
}

int dep_running_commit(struct dep_attaching *a, struct dep_injected *out, struct dep_why *why)
{
	const struct adept_boot *b = a->boot;
	const struct dep_origin from = {
		.cause = ADEPT_BY_ATTACH, .described = (u32)b->described,
	};
	struct dep_started *s = a->started;
	int err = prepare(a, why);

	if (err)
		return err;
	if (a->paused) {
		s->slot = a->slot;
		s->serial = dep_slot(a->t, a->slot)->serial;
	} else {
		/* Not before: a slot that was live counts as that of a process that has begun. */
		dep_slot_live(a->t, s->slot, a->pid, b->ns & ADEPT_NS_TIDS, &from, &s->serial);
		dep_slot(a->t, s->slot)->self = b->image;
	}
	*out = (struct dep_injected){ .pid = a->pid, .base = a->base, .proc = s->slot,
				      .serial = s->serial };
	err = dep_starter_last(&s->starter, b->image + a->t->entry.commit, b->image);
	if (!err)
		err = dep_memory_read(a->mem, s->table_at, s->table, a->n * sizeof(*s->table));
	if (err)
		return no_start(a->pid, err, why);
	dep_move_threads(a);
	if (s->starter.r.held)
		kill(a->pid, s->starter.r.held);
	dep_paused_end(a, true);
	free_started(a);
	return 0;
}

void dep_running_end(struct dep_attaching *a)
{
	dep_running_undo(a);
	if (a->mem >= 0)
		close(a->mem);
	a->mem = -1;
}
