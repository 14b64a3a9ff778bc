// SPDX-License-Identifier: LGPL-2.1-or-later
/* Steps of calls: push an entry, save the id, count. */
#include "array.h"
#include "state_parts.h"

static bool repeats(const struct dep_cc_entry *a, const struct dep_cc_entry *b)
{
	return a->id == b->id && a->site == b->site && a->caller == b->caller &&
	       a->target == b->target && a->kind == b->kind &&
	       (a->kind == DEP_CC_CALL || a->kind == DEP_CC_INDIRECT);
}

int dep_cc_state_push(struct dep_cc_state *s, u64 site, u32 target, u8 kind, u64 rsp)
{
	struct dep_cc_entry *e;

	if (s->n >= s->max)
		return -E2BIG;
	if (dep_cc_room_for(&s->entry, s->n, &s->room, sizeof(*e)))
		return -ENOMEM;
	e = s->entry + s->n;
	*e = (struct dep_cc_entry){
		.id = s->id, .site = site, .rsp = rsp, .caller = s->function, .target = target,
		.count = 1, .runs = 1, .saved = (u32)s->nsaved, .kind = kind,
	};
	if (s->n)
		e->runs = e[-1].runs + !repeats(e - 1, e);
	s->n++;
	s->handlers += kind == DEP_CC_HANDLER;
	s->id = s->dictionary->max_id + 1;
	s->function = target;
	return 0;
}

int dep_cc_state_save(struct dep_cc_state *s, u64 rsp)
{
	if (s->nsaved >= s->max)
		return -E2BIG;
	if (dep_cc_room_for(&s->saved, s->nsaved, &s->saved_room, sizeof(*s->saved)))
		return -ENOMEM;
	s->saved[s->nsaved++] = (struct dep_cc_saved){
		.rsp = rsp, .id = s->id, .function = s->function,
	};
	return 0;
}

void dep_cc_state_count(struct dep_cc_state *s, bool pushed, u8 how)
{
	struct dep_cc_counts *c = s->counts;

	c->calls++;
	if (pushed) {
		c->pushes++;
		c->fresh += how == DEP_CC_NEW;
		c->recursive += how == DEP_CC_RECURSIVE;
	}
	if (s->n) {
		c->depth += s->n;
		c->compressed += s->entry[s->n - 1].runs;
	}
}
