// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that sleep and look again.
 *
 * Who reads the same after a sleep as before it, by the same instructions, before it writes
 * anything and with no synchronisation in between, sleeps because of what it read.  Once is
 * enough: how often it has to look is chance.
 */
#include <string.h>

#include "events.h"

void order_poll_access(struct order_thread *t, const struct dep_ref *r)
{
	struct order_poll *p = &t->poll;
	bool again = false;
	u32 i;

	if (r->type == DEP_READ) {
		for (i = 0; i < ORDER_POLLED && p->awake; i++)
			again |= p->before[i].pc == r->pc && p->before[i].at == r->addr;
		p->last[p->n++ % ORDER_POLLED] = (struct order_read){ r->pc, r->addr };
	}
	p->awake = again;
	if (again && r->size <= 8)
		dep_places_add(&t->process->scope->spun, r->addr, r->size);
}

void order_poll_others(struct order_thread *t)
{
	t->poll.awake = false;
}

void order_poll_synchronised(struct order_thread *t)
{
	if (t->poll.n || t->poll.awake)
		t->poll = (struct order_poll){ 0 };
}

void order_poll_slept(struct order_thread *t)
{
	struct order_poll *p = &t->poll;

	memcpy(p->before, p->last, sizeof(p->before));
	p->awake = true;
}
