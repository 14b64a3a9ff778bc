// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The engine in a process that is paused: its threads run natively, and the engine stays in memory
 * with all that it has translated.  To resume, the engine gets a new table of threads and is
 * started again, as in an attach.
 *
 * What is read from the process's memory may be anything: it decides only what happens to this
 * process.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "owner.h"
#include "running.h"

int dep_engine_find(const struct dep_target *t, const struct adept_proc *p, pid_t pid, int mem,
		    struct adept_boot *boot, struct dep_why *why)
{
	u64 image = __atomic_load_n(&p->self, __ATOMIC_RELAXED);
	struct adept_entries entry;
	int err;

	err = dep_memory_read(mem, image, boot, sizeof(*boot));
	if (!err)
		err = dep_memory_read(mem, image + sizeof(*boot), &entry, sizeof(entry));
	/* If it has executed another program, its slot is soon given back. */
	if (err)
		return dep_inject_error(why, err == -EFAULT ? EAGAIN : -err,
					"The memory of process %d cannot be read: %s.", pid,
					strerror(-err));
	if (boot->image != image)
		return dep_inject_error(why, EAGAIN, "Process %d begins to execute another "
					"program; try again.", pid);
	if (boot->proc != (u64)(p - dep_slot(t, 0)))
		return dep_inject_error(why, ESTALE, "Process %d has executed another program; try "
					"again.", pid);
	if (memcmp(&entry, &t->entry, sizeof(entry)))
		return dep_inject_error(why, ENOTSUP, "Process %d is recorded by another version "
					"of Adept, which must do this.", pid);
	return 0;
}

bool dep_is_paused(const struct dep_target *t, u32 slot)
{
	const struct adept_proc *p = dep_slot(t, slot);
	u32 state = __atomic_load_n(&p->leave, __ATOMIC_SEQ_CST);

	return state == ADEPT_LEAVE_PAUSED ||
	       (state == ADEPT_LEAVE_RESUMING && adept_owner_died(&p->leave_tracer));
}

static bool change(struct adept_proc *p, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&p->leave, &from, to, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/* Only one caller may resume; one that has died has not. */
static int claim(struct dep_attaching *a, struct adept_proc *p, struct dep_why *why)
{
	u32 from = ADEPT_LEAVE_PAUSED;

	if (__atomic_load_n(&p->leave, __ATOMIC_SEQ_CST) == ADEPT_LEAVE_RESUMING &&
	    adept_owner_died(&p->leave_tracer))
		from = ADEPT_LEAVE_RESUMING;
	if (!change(p, from, ADEPT_LEAVE_RESUMING))
		return dep_inject_error(why, EBUSY, "Process %d is not paused, or some of its "
					"threads have not left the engine yet.", a->pid);
	a->started->owner = dep_slot_own(a->t, p);
	if (a->started->owner)
		return 0;
	change(p, ADEPT_LEAVE_RESUMING, ADEPT_LEAVE_PAUSED);
	return dep_inject_error(why, ENOMEM, "No memory.");
}

int dep_paused_begin(struct dep_attaching *a, struct dep_why *why)
{
	struct adept_proc *p = dep_slot(a->t, a->slot);
	struct adept_boot *b = a->boot;
	int err;

	if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != ADEPT_SLOT_LIVE ||
	    p->pid != (u32)a->pid)
		return dep_inject_error(why, ESRCH, "Process %d is not in its session any more.",
					a->pid);
	err = dep_engine_find(a->t, p, a->pid, a->mem, b, why);
	if (err)
		return err;
	b->ncaught = 0;
	return claim(a, p, why);
}

static int write_boot(const struct dep_attaching *a)
{
	const struct adept_boot *b = a->boot;
	size_t from = offsetof(struct adept_boot, nattached);

	return dep_memory_write(a->mem, b->image + from, (const char *)b + from,
				offsetof(struct adept_boot, caught) - from);
}

int dep_paused_prepare(struct dep_attaching *a, struct dep_why *why)
{
	struct dep_started *s = a->started;
	struct adept_boot *b = a->boot;
	u64 old = b->attached, old_size = b->attached_size;
	int err;

	dep_tell_table(a);
	err = write_boot(a);
	if (err)
		return dep_inject_error(why, -err, "The memory of process %d cannot be written: "
					"%s.", a->pid, strerror(-err));
	if (old_size)
		dep_remote_call(&s->starter.r, SYS_munmap, old, old_size, 0, 0, 0, 0);
	return 0;
}

void dep_paused_end(struct dep_attaching *a, bool done)
{
	struct dep_started *s = a->started;
	struct adept_boot *b = a->boot;

	if (!s->owner)
		return;
	if (!done && b->attached == s->table_at && s->table_size) {
		b->attached = b->attached_size = 0;
		write_boot(a);
	}
	/* If the engine is ready, it has changed the state itself. */
	if (!done)
		change(dep_slot(a->t, a->slot), ADEPT_LEAVE_RESUMING, ADEPT_LEAVE_PAUSED);
	dep_owner_free(s->owner);
	s->owner = NULL;
}
