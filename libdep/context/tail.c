// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tail calls, which replace the activation at work. */
#include "state_parts.h"

/**
 * struct slot - the tail chain at work; its frames are in the scratch chain, innermost first
 * @begin: in the function that was called
 * @loop: it has the called function already
 */
struct slot {
	struct dep_cc_cursor begin;
	bool loop;
};

/* Find the tail chain at work, with @callee as its last function. */
static int find_slot(struct dep_cc_state *s, const struct dep_cc_frame *callee, struct slot *slot)
{
	struct dep_cc_cursor c;
	struct dep_cc_frame f;
	int n, err;

	*slot = (struct slot){ 0 };
	s->chain.n = 0;
	err = dep_cc_chain_add(&s->chain, callee);
	if (err)
		return err;
	dep_cc_cursor_at(&c, s->dictionary, s->function, s->id, s->entry, s->n);
	for (;;) {
		slot->begin = c;
		n = dep_cc_cursor_up(&c, &f);
		if (n <= 0)
			return n ? n : -EINVAL;	/* the root tail-calls nothing */
		slot->loop |= f.function == callee->function;
		err = dep_cc_chain_add(&s->chain, &f);
		if (err || f.kind != DEP_CC_TAIL)
			return err;
	}
}

/*
 * Make the tail chain anew from the scratch chain, from which loops were erased.
 *
 * This needs no more entries than there are, so it cannot fail: a loop has an unencoded call, which
 * is erased.
 */
static int make_slot(struct dep_cc_state *s, const struct slot *slot, u64 rsp)
{
	const struct dep_cc_frame *f;
	int err = 0;
	size_t i;

	s->function = slot->begin.function;
	s->id = dep_cc_cursor_id(&slot->begin);
	s->n = slot->begin.n;
	for (i = s->chain.n - 1; i-- > 0 && !err;) {
		f = s->chain.frame + i;
		if (f->encoded) {
			s->id += f->add;
			s->function = f->function;
		} else {
			err = dep_cc_state_push(s, f->site, f->function, DEP_CC_TAIL, rsp);
		}
	}
	return err;
}

/*
 * Loops that encoded calls have closed are erased with the next loop that an unencoded call closes.
 * Until then each entry has another target, so their number is bounded.
 */
int dep_cc_state_tail_unencoded(struct dep_cc_state *s, u64 site, u32 callee, u64 rsp, u8 how)
{
	struct dep_cc_frame f = { .site = site, .function = callee, .kind = DEP_CC_TAIL };
	struct slot slot;
	int err;

	err = find_slot(s, &f, &slot);
	if (err)
		return err;
	if (slot.loop) {
		err = dep_cc_chain_erase(&s->chain, 0);
		if (!err)
			err = make_slot(s, &slot, rsp);
	} else {
		err = dep_cc_state_push(s, site, callee, DEP_CC_TAIL, rsp);
	}
	if (err)
		return err;
	s->counts->loops += slot.loop;
	dep_cc_state_count(s, !slot.loop, how);
	return 0;
}

int dep_cc_state_tail(struct dep_cc_state *s, struct dep_cc_graph *g, u32 edge, u64 rsp)
{
	struct dep_cc_edge *e = g->edge + edge;
	struct dep_cc_code code;
	int err;

	if (edge >= g->nedges || e->caller != s->function || e->kind != DEP_CC_TAIL)
		return -EINVAL;
	code = dep_cc_code_of(s->encoding, edge);
	if (code.how == DEP_CC_ENCODED) {
		s->id += code.add;
		s->function = e->callee;
		dep_cc_state_count(s, false, code.how);
	} else {
		err = dep_cc_state_tail_unencoded(s, e->site, e->callee, rsp, code.how);
		if (err)
			return err;
	}
	e->calls++;
	return 0;
}
