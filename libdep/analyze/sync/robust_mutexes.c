// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Robust mutexes: the kernel unlocks those that a thread holds when it ends.
 *
 * The thread has a list of them, whose head it told the kernel: a struct robust_list_head.
 * What stands in it is not in the profile, but when it is written is.  The C library writes
 * list_op_pending, locks, writes list, and clears list_op_pending; to unlock it writes both
 * before it does so.
 */
#include <stddef.h>
#include <linux/futex.h>

#include "events.h"

#define LIST		offsetof(struct robust_list_head, list)
#define PENDING		offsetof(struct robust_list_head, list_op_pending)

void sync_robust_list(struct sync_thread *t, u64 head)
{
	t->robust = (struct sync_robust){ .head = head ? sync_at(t, head) : 0 };
}

static void take(struct sync_robust *r, u64 word)
{
	u32 i = 0;

	while (i < r->nheld && r->held[i] != word)
		i++;
	/* Of more than there is room for the last is given up. */
	if (i == SYNC_HELD_LOCKS)
		i--;
	r->held[i] = word;
	if (i == r->nheld)
		r->nheld++;
}

void sync_robust_write(struct sync_thread *t, u64 address)
{
	struct sync_robust *r = &t->robust;

	if (address == r->head + PENDING)
		r->pending = true;
	else if (address == r->head + LIST && r->locked)
		take(r, r->locked);
	else
		return;
	r->locked = 0;
}

void sync_robust_locked(struct sync_thread *t, u64 word)
{
	struct sync_robust *r = &t->robust;
	u32 i;

	for (i = 0; i < r->nheld; i++)
		if (r->held[i] == word)
			r->held[i] = r->held[--r->nheld];
	if (r->pending)
		r->locked = word;
	r->pending = false;
}

int sync_robust_end(struct sync_thread *t)
{
	int err = 0;

	while (t->robust.nheld && !err)
		err = sync_release(t, SYNC_WORD, t->robust.held[--t->robust.nheld]);
	return err;
}
