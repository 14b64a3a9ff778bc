// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Call stacks of threads, maintained from their calls and returns, for race prediction: it compares
 * places while it reads the events. The stacks of reports come from the calling contexts, see
 * places.c.
 */
#include <stdlib.h>

#include "hooked_functions.h"

#define MAX_JUMPS	16u	/* maximum number of tail calls shown for one frame */

static int push(struct sync_thread *t, u64 pc, u64 sp)
{
	u32 room;
	void *more;

	if (t->depth == t->stack_room) {
		room = t->stack_room ? t->stack_room * 2 : 64;
		more = realloc(t->stack, room * sizeof(*t->stack));
		if (!more)
			return sync_no_memory();
		t->stack = more;
		t->stack_room = room;
	}
	t->stack[t->depth].pc = pc;
	t->stack[t->depth++].sp = sp;
	return 0;
}

/*
 * Remember a jump that may be a tail call: one at which the stack pointer is as at the entry of
 * the function.
 */
static void note_jump(struct sync_thread *t, const struct dep_call *c)
{
	const struct dep_races_options *o = t->sync->options;

	t->jump = 0;
	if (!t->depth || (c->sp && t->stack[t->depth - 1].sp != c->sp) || !o->leaves ||
	    sync_code(t->sync, t->image, c->pc) != DEP_CODE_PROGRAM)
		return;
	t->jump = c->pc;
}

int sync_note_call(struct sync_thread *t, const struct dep_call *c)
{
	bool is_call = !c->is_return && !c->is_jump;

	/* Remove the frames that a return, longjmp() or an exception has left. */
	while (t->depth && t->stack[t->depth - 1].sp < c->sp + is_call)
		t->depth--;
	t->jump = 0;
	if (c->is_jump)
		note_jump(t, c);
	return is_call ? push(t, c->pc, c->sp) : 0;
}

static bool leaves(struct sync_thread *t, u64 from, u64 to)
{
	const struct dep_races_options *o = t->sync->options;
	struct sync_image *m = t->image;
	struct sync_leap *l;

	if (!m->leap)
		m->leap = calloc(SYNC_LEAPS, sizeof(*m->leap));
	if (!m->leap)
		return false;
	l = &m->leap[(from ^ to << 20) * 0x9e3779b97f4a7c15ull >> 54];
	if (l->from != from || l->to != to) {
		pthread_mutex_lock(&t->sync->asking);
		*l = (struct sync_leap){ from, to, o->leaves(o->arg, m->serial, from, to) };
		pthread_mutex_unlock(&t->sync->asking);
	}
	return l->leaves;
}

int sync_note_pc(struct sync_thread *t, u64 pc)
{
	u64 from = t->jump, sp;
	u32 i, n = 0;

	t->jump = 0;
	if (!t->depth || !leaves(t, from, pc))
		return 0;
	/* If functions tail-call each other in a cycle, cut the stack back to the earlier frame. */
	sp = t->stack[t->depth - 1].sp;
	for (i = t->depth - 1; i && t->stack[i - 1].sp == sp; i--, n++) {
		if (t->stack[i].pc == from) {
			t->depth = i + 1;
			return 0;
		}
	}
	return n < MAX_JUMPS ? push(t, from, sp) : 0;
}
