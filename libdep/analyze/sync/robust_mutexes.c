// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Robust mutexes: the kernel unlocks them when the thread that holds them ends.
 *
 * The thread registers a list head, struct robust_list_head, with the kernel. The list's contents
 * are not recorded, but the writes to its head are. To lock, the C library writes list_op_pending,
 * locks the word, writes the list, and clears list_op_pending. To unlock, it writes list_op_pending
 * and the list before it unlocks the word.
 */
#include <stddef.h>
#include <linux/futex.h>

#include "sync.h"

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
	/* If the array is full, replace the last mutex. */
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
