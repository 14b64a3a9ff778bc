// SPDX-License-Identifier: LGPL-2.1-or-later
/* Make a struct dep_race, the result of the library, from a race that the detector found. */
#include "race_result.h"

static u32 public_flags(u32 flags)
{
	return (flags & RACE_READ ? DEP_ACCESS_READ : 0) |
	       (flags & RACE_WRITE ? DEP_ACCESS_WRITE : 0) |
	       (flags & RACE_ATOMIC ? DEP_ACCESS_ATOMIC : 0) |
	       (flags & RACE_SYSCALL ? DEP_ACCESS_SYSCALL : 0) |
	       (flags & RACE_FREE ? DEP_ACCESS_FREE : 0) |
	       (flags & SYNC_OBJECT ? DEP_ACCESS_OBJECT : 0) |
	       (flags & SYNC_DESCRIPTOR ? DEP_ACCESS_DESCRIPTOR : 0);
}

/*
 * Set process, address and size of a race: the detector's addresses of descriptors and objects
 * become those of the process image @m.
 */
static void set_place(struct dep_race *r, const struct sync_image *m, const struct race_found *f)
{
	r->process = m->serial;
	r->address = sync_address_of(m, f->address);
	r->size = f->size;
	if (f->current.flags & SYNC_DESCRIPTOR) {
		r->address /= 8;
		r->size = 1;
	}
}

void races_describe(struct sync_events *f, struct sync_process *p, const struct race_found *found,
		    struct dep_race *r)
{
	set_place(r, sync_image_at(f, p, found->current.thread), found);
	r->maybe_atomic = sync_maybe_atomic(f, p, found);
	r->access[0].process = sync_image_at(f, p, found->prior.thread)->serial;
	r->access[1].process = r->process;
	r->access[0].pc = found->prior.pc;
	r->access[1].pc = found->current.pc;
	r->access[0].flags = public_flags(found->prior.flags) |
			     sync_condition(f, p, &found->prior);
	r->access[1].flags = public_flags(found->current.flags) |
			     sync_condition(f, p, &found->current);
}

bool races_asks_atomic(const struct sync_events *sync, const struct sync_process *p,
		       const struct race_found *f, const struct race_access *a)
{
	const struct dep_races_options *o = sync->options;
	const struct sync_image *m;

	if (a->flags & RACE_ATOMIC || !o->is_atomic)
		return false;
	m = sync_image_at(sync, p, a->thread);
	return o->is_atomic(o->arg, m->serial, a->pc, sync_address_of(m, f->address), f->size);
}

static void want_stack(struct sync_stack *w, const struct sync_process *p,
		       const struct race_found *found, const struct race_access *a)
{
	*w = (struct sync_stack){
		.process_serial = p->serial, .index = a->thread, .epoch = a->epoch, .pc = a->pc,
		.address = found->address, .size = found->size, .flags = a->flags,
	};
}

/*
 * Is an access a fused atomic? Some compilers combine an atomic load and an atomic store into one
 * "add" to memory.
 */
static bool is_fused(const struct sync_events *sync, const struct sync_process *p,
		     const struct race_found *f)
{
	u32 both = RACE_READ | RACE_WRITE;

	return ((f->prior.flags & both) == both && races_asks_atomic(sync, p, f, &f->prior)) ||
	       ((f->current.flags & both) == both && races_asks_atomic(sync, p, f, &f->current));
}

void races_fill(struct sync_events *f, struct sync_process *p, const struct race_found *found,
		struct dep_race *r, struct sync_stack *w)
{
	races_describe(f, p, found, r);
	r->maybe_atomic |= is_fused(f, p, found);
	want_stack(w, p, found, &found->prior);
	want_stack(w + 1, p, found, &found->current);
}
