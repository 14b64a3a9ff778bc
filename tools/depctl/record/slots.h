/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process slots of a session.  Recorded processes could have written any value to them. */
#ifndef DEPCTL_RECORD_SLOTS_H
#define DEPCTL_RECORD_SLOTS_H

#include "record.h"

static inline uint32_t slot_load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline const struct adept_proc *slot_at(const struct record_launch *l, uint32_t i)
{
	return (const struct adept_proc *)((char *)l->map + l->target.layout.proc_off) + i;
}

/* Number of slots that were ever used. */
static inline uint32_t slots_used(const struct record_launch *l)
{
	uint32_t used = slot_load(&l->map->procs_used), all = l->target.layout.nprocs;

	return used < all ? used : all;
}

static inline uint32_t slot_state(const struct record_launch *l, uint32_t i)
{
	return slot_load(&slot_at(l, i)->state);
}

static inline uint32_t slot_leave(const struct record_launch *l, uint32_t i)
{
	return slot_load(&slot_at(l, i)->leave);
}

static inline pid_t slot_pid(const struct record_launch *l, uint32_t i)
{
	return (pid_t)slot_load(&slot_at(l, i)->pid);
}

#endif
