// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that wait for another one by looking again and again.
 *
 * A loop that does nothing but read waits for what it reads; whatever its variable is by name,
 * it is one that threads synchronise by.  One that sleeps in between does other things as well,
 * but the same ones each time.
 */
#include <sys/syscall.h>

#include "feed.h"

#define SPINS	8	/* who reads the same so often in vain, waits */

static int spun(struct order_thread *t, u64 address, u32 size)
{
	u64 word = address / 4;

	for (; size <= 8 && word <= (address + size - 1) / 4; word++)
		if (!order_object_get(&t->process->objects, ORDER_SPUN, word))
			return order_no_memory();
	return 0;
}

static int note_spin(struct order_spin *s, struct order_thread *t, const struct dep_ref *r)
{
	if (r->type != DEP_READ) {
		s->n = 0;
		return 0;
	}
	if (s->pc == r->pc && s->at == r->addr)
		return ++s->n == SPINS ? spun(t, r->addr, r->size) : 0;
	/* Others may be read in the same loop. */
	if (!s->n || s->pc == r->pc) {
		s->pc = r->pc;
		s->at = r->addr;
		s->n = 1;
	} else if (++s->n > 4 * SPINS) {
		s->n = 0;
	}
	return 0;
}

static void note_round(struct order_round *o, const struct dep_ref *r)
{
	u64 h = o->hash ^ r->pc ^ r->addr << 20 ^ r->type;

	h *= 0x9e3779b97f4a7c15ull;
	o->hash = h ^ h >> 29;
	if (r->type == DEP_READ && o->n < ORDER_ROUND) {
		o->at[o->n] = r->addr;
		o->size[o->n++] = r->size;
	}
}

int order_wait_access(struct order_thread *t, const struct dep_ref *r, enum dep_code code)
{
	if (code == DEP_CODE_PROGRAM)
		note_round(&t->round, r);
	return note_spin(&t->spin, t, r);
}

/* Two rounds may take turns, as in a loop that sleeps twice. */
int order_wait_call(struct order_thread *t, const struct adept_ev_syscall *c)
{
	struct order_round *o = &t->round;
	bool same = o->hash == o->before[0] || o->hash == o->before[1];
	int err = 0;
	u32 i;

	if (c->nr != SYS_nanosleep && c->nr != SYS_clock_nanosleep && c->nr != SYS_sched_yield)
		return 0;
	o->same = same ? o->same + 1 : 0;
	for (i = 0; i < o->n && o->same >= SPINS && !err; i++)
		err = spun(t, o->at[i], o->size[i]);
	o->before[1] = o->before[0];
	o->before[0] = o->hash;
	o->hash = o->n = 0;
	return err;
}
