// SPDX-License-Identifier: LGPL-2.1-or-later
/* Translate a state to a new encoding. */
#include "state_parts.h"

/* Make a call of the old state again, from the function at work in the new one. */
static int call_again(struct dep_cc_state *s, const struct dep_cc_graph *g,
		      const struct dep_cc_frame *f, dep_cc_slot_fn *slot, void *arg,
		      size_t activation)
{
	u32 edge = dep_cc_graph_find(g, s->function, f->site, f->function, f->kind);
	struct dep_cc_code code = { .how = DEP_CC_NEVER };
	int err;

	if (f->kind == DEP_CC_HANDLER)
		return dep_cc_state_push(s, f->site, f->function, f->kind, 0);
	if (edge != DEP_CC_NONE)
		code = dep_cc_code_of(s->encoding, edge);
	if (code.how != DEP_CC_ENCODED)
		return dep_cc_state_push(s, f->site, f->function, f->kind, slot(arg, activation));
	if (code.saves) {
		err = dep_cc_state_save(s, slot(arg, activation));
		if (err)
			return err;
	}
	s->id += code.add;
	s->function = f->function;
	return 0;
}

int dep_cc_state_translate(struct dep_cc_state *s, const struct dep_cc_graph *g,
			   const struct dep_cc_encoding *e, dep_cc_slot_fn *slot, void *arg)
{
	struct dep_cc_state new = {
		.encoding = e, .dictionary = e->dictionary, .function = DEP_CC_ROOT,
		.max = s->max, .origin = s->origin, .counts = s->counts,
	};
	const struct dep_cc_frame *f;
	size_t i, activations = 0;
	int err;

	err = dep_cc_state_chain(s, &s->chain);
	if (err)
		return err;
	for (i = 0; i < s->chain.n; i++)
		activations += s->chain.frame[i].kind != DEP_CC_TAIL;
	for (i = s->chain.n; i-- > 0 && !err;) {
		f = s->chain.frame + i;
		if (f->kind != DEP_CC_TAIL)
			activations--;
		err = call_again(&new, g, f, slot, arg, activations);
	}
	if (err) {
		free(new.entry);
		free(new.saved);
		return err;
	}
	free(s->entry);
	free(s->saved);
	new.chain = s->chain;
	*s = new;
	return 0;
}
