// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Unmap the engine when all threads of a process have left it, by a thread of the injector in the
 * process (starter.c), while the process's threads run natively.
 *
 *	injector			last thread		unmapper
 *	creates the unmapper by it ---> clone ----------------> stopped
 *	moves it, lets it go ---------> native code
 *	for each mapping ------------------------------------->	munmap
 *								exit
 *
 * The engine has excluded its mappings from children that are forked meanwhile (engine/os/leave.c).
 *
 * If the injector dies, the unmapper unmaps those that are in its list, at most DEP_UNDO_MAPS, and
 * exits.  A mapping is removed from the list before it is unmapped: the program may map something
 * else there at once.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "leaving.h"

int dep_unmapper_make(struct dep_leaving *l, pid_t guest, const struct user_regs_struct *regs)
{
	const struct dep_address_space vdso = {
		.vdso = l->boot.vdso, .vdso_size = l->boot.vdso_size,
	};
	struct dep_why why;
	int err;

	/* The thread would have the guest's filters, which let only the engine make its calls. */
	if (!l->boot.vdso || dep_has_more_filters(guest))
		return -ENOTSUP;
	l->unmapper = calloc(1, sizeof(*l->unmapper));
	if (!l->unmapper)
		return -ENOMEM;
	err = dep_starter_make(l->unmapper, l->pid, guest, regs, l->mem, &vdso, &why);
	if (!err) {
		/* Nothing of the program waits until the thread has ended. */
		l->unmapper->r.stops = true;
		/* Without: the program's descriptors are also those of this thread. */
		dep_starter_own_files(l->unmapper);
		return 0;
	}
	dep_unmapper_free(l);
	return err;
}

/* The engine's mappings, with the image as the last one.  Return: their number; 0: unknown */
static u64 read_mappings(const struct dep_leaving *l, struct adept_mapping map[ADEPT_MAPPINGS + 1])
{
	u64 at = l->boot.image + offsetof(struct adept_boot, nmappings), n;

	if (dep_memory_read(l->mem, at, &n, sizeof(n)) || n > ADEPT_MAPPINGS)
		return 0;
	at = l->boot.image + offsetof(struct adept_boot, mapping);
	if (dep_memory_read(l->mem, at, map, n * sizeof(*map)))
		return 0;
	map[n] = (struct adept_mapping){ l->boot.image, l->boot.image_size };
	return n + 1;
}

/* A process that has ended, or executes another program, has no memory at this descriptor. */
static bool has_memory(const struct dep_leaving *l)
{
	u8 byte;

	return !dep_memory_read(l->mem, l->boot.vdso, &byte, 1);
}

/* Return: 0, or a negative errno; -ESRCH: the process has died, or executes another program. */
static int unmap(struct dep_starter *s, const struct adept_mapping *map, u64 n)
{
	u64 listed = 0, i;
	s64 ret;

	for (i = 0; i < n; i++) {
		if (i == listed)
			listed += dep_undo_add(&s->undo, map + i, n - i);
		dep_undo_unmaps(&s->r, map[i].start);
		ret = dep_remote_call(&s->r, SYS_munmap, map[i].start, map[i].size, 0, 0, 0, 0);
		if (ret < 0)
			return (int)ret;
	}
	return 0;
}

int dep_unmapper_run(struct dep_leaving *l)
{
	struct dep_starter *s = l->unmapper;
	struct adept_mapping map[ADEPT_MAPPINGS + 1];
	u64 n = read_mappings(l, map);
	pid_t tid = s->r.pid;
	int err = n ? unmap(s, map, n) : -EINVAL;

	/*
	 * Its threads run: it may end at any time.  If all is unmapped, it does not matter how the
	 * thread ends: it has the status of a process that exits.
	 */
	if (err && !has_memory(l))
		err = -ESRCH;
	if (!err)
		dep_starter_exit(s);
	dep_trace_reap(l->pid, tid);
	if (s->r.held)
		kill(l->pid, s->r.held);
	dep_unmapper_free(l);
	return err && err != -ESRCH;
}

void dep_unmapper_free(struct dep_leaving *l)
{
	if (!l->unmapper)
		return;
	dep_starter_end(l->unmapper);
	free(l->unmapper);
	l->unmapper = NULL;
}
