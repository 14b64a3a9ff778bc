// SPDX-License-Identifier: LGPL-2.1-or-later
/* A graph, its encodings, and the stacks that go by them. */
#include "encoder.h"

int dep_cc_encoder_init(struct dep_cc_encoder *en)
{
	int err;

	*en = (struct dep_cc_encoder){
		.policy = DEP_CC_POLICY_DEFAULT, .limit = DEP_CC_CONTEXTS_MAX, .sample = 64,
	};
	err = dep_cc_graph_init(&en->graph);
	if (!err)
		err = dep_cc_encode(&en->encoding, &en->history, &en->graph, en->limit);
	if (err)
		dep_cc_encoder_free(en);
	return err;
}

void dep_cc_encoder_free(struct dep_cc_encoder *en)
{
	dep_cc_encoding_free(&en->encoding);
	dep_cc_history_free(&en->history);
	dep_cc_graph_free(&en->graph);
}

static void add(struct dep_cc_encoder *en, struct dep_cc_stack *s, dep_cc_slot_fn *slot, void *arg)
{
	s->slot = slot;
	s->arg = arg;
	s->next = en->stacks;
	s->link = &en->stacks;
	if (s->next)
		s->next->link = &s->next;
	en->stacks = s;
}

int dep_cc_encoder_begin(struct dep_cc_encoder *en, struct dep_cc_stack *s,
			 const struct dep_cc_state *creator, dep_cc_slot_fn *slot, void *arg)
{
	int err = dep_cc_state_init(&s->state, &en->encoding, &en->counts, creator);

	if (!err)
		add(en, s, slot, arg);
	return err;
}

int dep_cc_encoder_fork(struct dep_cc_encoder *en, struct dep_cc_stack *s,
			const struct dep_cc_state *from, dep_cc_slot_fn *slot, void *arg)
{
	int err = dep_cc_state_copy(&s->state, from);

	if (!err)
		add(en, s, slot, arg);
	return err;
}

void dep_cc_encoder_end(struct dep_cc_stack *s)
{
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	dep_cc_state_free(&s->state);
}

bool dep_cc_encoder_sample(struct dep_cc_encoder *en, u32 edge)
{
	struct dep_cc_since *since = &en->since;

	if (en->counts.calls % en->sample)
		return false;
	if (edge != DEP_CC_NONE)
		dep_cc_policy_sample(since, &en->graph, &en->encoding, edge);
	since->calls = en->counts.calls - en->at.calls;
	since->pushes = en->counts.fresh - en->at.fresh;
	since->edges = en->encoding.nedges;
	since->new_edges = en->graph.nedges - en->encoding.nedges;
	en->triggers = dep_cc_policy_triggers(&en->policy, since);
	return en->triggers;
}

int dep_cc_encoder_call(struct dep_cc_encoder *en, struct dep_cc_stack *s,
			const struct dep_cc_call *c, u32 *edge)
{
	struct dep_cc_state *st = &s->state;
	int err;

	*edge = c->known - 1;
	if (!c->known)
		*edge = dep_cc_graph_edge(&en->graph, st->function, c->site, c->callee, c->kind);
	if (*edge == DEP_CC_NONE && en->graph.nedges < en->graph.max &&
	    (st->function == DEP_CC_ROOT) == (c->kind == DEP_CC_START))
		return -ENOMEM;
	if (*edge == DEP_CC_NONE)
		err = dep_cc_state_enter(st, c->site, c->callee, c->kind, c->rsp);
	else if (c->kind == DEP_CC_TAIL)
		err = dep_cc_state_tail(st, &en->graph, *edge, c->rsp);
	else
		err = dep_cc_state_call(st, &en->graph, *edge, c->rsp);
	if (err)
		return err;
	return dep_cc_encoder_sample(en, *edge);
}

int dep_cc_encoder_encode(struct dep_cc_encoder *en)
{
	struct dep_cc_stack *s;
	struct dep_cc_made *made;
	int err;

	err = dep_cc_encode(&en->encoding, &en->history, &en->graph, en->limit);
	if (err)
		return err;
	made = &en->history.at[en->history.n - 1]->made;
	made->calls = en->counts.calls;
	made->triggers = en->triggers;
	en->at = en->counts;
	en->since = (struct dep_cc_since){ 0 };
	en->triggers = 0;
	for (s = en->stacks; s && !err; s = s->next)
		err = dep_cc_state_translate(&s->state, &en->graph, &en->encoding, s->slot,
					     s->arg);
	return err;
}
