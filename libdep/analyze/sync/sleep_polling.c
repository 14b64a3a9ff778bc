// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Find threads that wait by polling: they sleep and read again.
 *
 * If a thread reads the same word by the same instruction before and after a sleep, without a write
 * or synchronisation in between, it polls that word. One repetition is enough evidence: the number
 * of repetitions depends on chance.
 */
#include <string.h>

#include "sync.h"

void sync_poll_access(struct sync_thread *t, const struct dep_ref *r)
{
	struct sync_poll *p = &t->poll;
	bool again = false;
	u32 i;

	if (r->type == DEP_READ) {
		for (i = 0; i < SYNC_POLLED && p->awake; i++)
			again |= p->before[i].pc == r->pc && p->before[i].at == r->addr;
		p->last[p->n++ % SYNC_POLLED] = (struct sync_read){ r->pc, r->addr };
	}
	p->awake = again;
	if (again && r->size <= 8)
		dep_word_set_add(&t->process->scope->spin_words, r->addr, r->size);
}

void sync_poll_others(struct sync_thread *t)
{
	t->poll.awake = false;
}

void sync_poll_synchronised(struct sync_thread *t)
{
	if (t->poll.n || t->poll.awake)
		t->poll = (struct sync_poll){ 0 };
}

void sync_poll_slept(struct sync_thread *t)
{
	struct sync_poll *p = &t->poll;

	memcpy(p->before, p->last, sizeof(p->before));
	p->awake = true;
}
