// SPDX-License-Identifier: LGPL-2.1-or-later
/* Ends of activations: returns, ends of handlers, and stacks that are cut. */
#include "state.h"

/* Drop entries and saved ids with a slot below @rsp that the innermost handler has. */
static void drop_below(struct dep_cc_state *s, u64 rsp, u64 *id, u32 *function)
{
	const struct dep_cc_entry *e;

	while (s->n) {
		e = s->entry + s->n - 1;
		if (e->kind == DEP_CC_HANDLER || e->rsp >= rsp)
			break;
		*id = e->id;
		*function = e->caller;
		s->n--;
	}
}

static size_t saved_of_handler(const struct dep_cc_state *s)
{
	size_t i;

	if (!s->handlers)
		return 0;
	for (i = s->n; i--;)
		if (s->entry[i].kind == DEP_CC_HANDLER)
			return s->entry[i].saved;
	return 0;
}

static void drop_saved_below(struct dep_cc_state *s, u64 rsp)
{
	size_t from;

	if (!s->nsaved || s->saved[s->nsaved - 1].rsp >= rsp)
		return;
	from = saved_of_handler(s);
	while (s->nsaved > from && s->saved[s->nsaved - 1].rsp < rsp)
		s->nsaved--;
}

/* Undo an encoded call below the entries that remain; @id and @function are changed. */
static int undo_call(const struct dep_cc_state *s, const struct dep_cc_graph *g, u32 edge, u64 *id,
		     u32 *function)
{
	struct dep_cc_code code = { .how = DEP_CC_NEW };
	u64 max_id = s->dictionary->max_id;
	struct dep_cc_cursor c;
	struct dep_cc_frame f;

	if (edge < g->nedges && g->edge[edge].kind != DEP_CC_TAIL)
		code = dep_cc_code_of(s->encoding, edge);
	if (code.how == DEP_CC_ENCODED) {
		/* What remains of an id without its flag is not negative. */
		if (code.add > (*id > max_id ? *id - max_id - 1 : *id))
			return -EINVAL;
		*id -= code.add;
		*function = g->edge[edge].caller;
		return 0;
	}
	dep_cc_cursor_at(&c, s->dictionary, *function, *id, s->entry, s->n);
	do {
		if (dep_cc_cursor_head(&c) || dep_cc_cursor_up(&c, &f) != 1)
			return -EINVAL;
	} while (f.kind == DEP_CC_TAIL);
	*id = dep_cc_cursor_id(&c);
	*function = c.function;
	return 0;
}

int dep_cc_state_return(struct dep_cc_state *s, const struct dep_cc_graph *g, u32 edge, u64 rsp)
{
	const struct dep_cc_entry *popped = NULL;
	u64 id = s->id;
	u32 function = s->function;
	size_t n = s->n, nsaved = s->nsaved;

	drop_saved_below(s, rsp);
	drop_below(s, rsp, &id, &function);
	while (s->n && s->entry[s->n - 1].rsp == rsp &&
	       s->entry[s->n - 1].kind != DEP_CC_HANDLER) {
		popped = s->entry + --s->n;
		id = popped->id;
		function = popped->caller;
	}
	if (popped && popped->kind != DEP_CC_TAIL) {
		/* The entry was that of the call. */
	} else if (s->nsaved && s->saved[s->nsaved - 1].rsp == rsp) {
		s->nsaved--;
		id = s->saved[s->nsaved].id;
		function = s->saved[s->nsaved].function;
	} else if (undo_call(s, g, edge, &id, &function)) {
		s->n = n;
		s->nsaved = nsaved;
		return -EINVAL;
	}
	s->id = id;
	s->function = function;
	return 0;
}

static void pop_handler(struct dep_cc_state *s, u64 *id, u32 *function)
{
	const struct dep_cc_entry *e;

	do {
		e = s->entry + --s->n;
	} while (e->kind != DEP_CC_HANDLER);
	*id = e->id;
	*function = e->caller;
	s->handlers--;
	s->nsaved = e->saved;
}

int dep_cc_state_sigreturn(struct dep_cc_state *s)
{
	if (!s->handlers)
		return -EINVAL;
	pop_handler(s, &s->id, &s->function);
	return 0;
}

int dep_cc_state_unwind(struct dep_cc_state *s, u32 function, u64 rsp, u32 handlers)
{
	size_t n = s->n, nsaved = s->nsaved;
	u32 before = s->handlers, at = s->function;
	struct dep_cc_cursor c;
	struct dep_cc_frame f;
	u64 id = s->id;
	int up = 1;

	if (handlers > s->handlers)
		return -EINVAL;
	while (s->handlers > handlers)
		pop_handler(s, &id, &at);
	drop_below(s, rsp, &id, &at);
	drop_saved_below(s, rsp);
	dep_cc_cursor_at(&c, s->dictionary, at, id, s->entry, s->n);
	while (c.function != function && up == 1)
		up = dep_cc_cursor_head(&c) ? 0 : dep_cc_cursor_up(&c, &f);
	if (up != 1) {
		s->n = n;
		s->nsaved = nsaved;
		s->handlers = before;
		return up ? up : -ENOENT;
	}
	s->id = dep_cc_cursor_id(&c);
	s->function = function;
	return 0;
}
