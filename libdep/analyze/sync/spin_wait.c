// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Find threads that wait by reading in a loop.
 *
 * A loop that does nothing but read waits for its words to change, so threads synchronise by these
 * words. The filter finds such loops (libdep/recover/filter/filter.c), since it has all accesses.
 * Loops that sleep are found here: between two sleeps they make the same accesses in each round.
 */
#include <sys/syscall.h>

#include "sync.h"

#define SPINS	8	/* number of equal rounds after which a loop counts as waiting */

static int spin_words(struct sync_thread *t, u64 address, u32 size)
{
	return size <= 8 ? dep_word_set_add(&t->process->scope->spin_words, address, size) : 0;
}

static void mix(struct sync_round *o, u64 what)
{
	u64 h = (o->hash ^ what) * 0x9e3779b97f4a7c15ull;

	o->hash = h ^ h >> 29;
}

static void note_round(struct sync_round *o, const struct dep_ref *r)
{
	mix(o, r->pc ^ r->addr << 20 ^ r->type);
	if (r->type == DEP_READ && o->n < SYNC_ROUND) {
		o->at[o->n] = r->addr;
		o->size[o->n++] = r->size;
	}
}

void sync_wait_access(struct sync_thread *t, const struct dep_ref *r)
{
	note_round(&t->round, r);
	sync_poll_access(t, r);
}

void sync_wait_page(struct sync_thread *t, const struct dep_page_accesses *j)
{
	u32 i;

	mix(&t->round, j->pc ^ j->addr << 20);
	mix(&t->round, j->words);
	for (i = 0; i < j->nwords; i++) {
		mix(&t->round, j->word[i].read);
		mix(&t->round, j->word[i].wrote);
	}
	sync_poll_others(t);
}

/*
 * A thread slept or made another call. A round may equal either of the last two, since a loop may
 * sleep twice.
 */
int sync_wait_call(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	struct sync_round *o = &t->round;
	bool same = o->hash == o->before[0] || o->hash == o->before[1];
	int err = 0;
	u32 i;

	if (c->nr != SYS_nanosleep && c->nr != SYS_clock_nanosleep && c->nr != SYS_sched_yield) {
		sync_poll_synchronised(t);
		return 0;
	}
	sync_poll_slept(t);
	o->same = same ? o->same + 1 : 0;
	for (i = 0; i < o->n && o->same >= SPINS && !err; i++)
		err = spin_words(t, o->at[i], o->size[i]);
	o->before[1] = o->before[0];
	o->before[0] = o->hash;
	o->hash = o->n = 0;
	return err;
}
