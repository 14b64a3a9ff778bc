// SPDX-License-Identifier: LGPL-2.1-or-later
/* Contexts of a stack: begin, copy, record, and calls. */
#include <string.h>

#include "state_parts.h"

int dep_cc_state_init(struct dep_cc_state *s, const struct dep_cc_encoding *e,
		      struct dep_cc_counts *counts, const struct dep_cc_state *creator)
{
	struct dep_cc_origin *o;
	int err;

	*s = (struct dep_cc_state){
		.encoding = e, .dictionary = e->dictionary, .function = DEP_CC_ROOT,
		.max = DEP_CC_MAX, .counts = counts,
		.chain.max = SIZE_MAX / 64,
	};
	if (!creator)
		return 0;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->refs = 1;
	err = dep_cc_state_record(creator, true, &o->record);
	if (err) {
		free(o);
		return err;
	}
	s->origin = o;
	return 0;
}

void dep_cc_state_free(struct dep_cc_state *s)
{
	free(s->entry);
	free(s->saved);
	dep_cc_origin_put(s->origin);
	dep_cc_chain_free(&s->chain);
	*s = (struct dep_cc_state){ 0 };
}

int dep_cc_state_copy(struct dep_cc_state *to, const struct dep_cc_state *from)
{
	*to = *from;
	to->chain = (struct dep_cc_chain){ .max = from->chain.max };
	to->room = from->n;
	to->saved_room = from->nsaved;
	to->entry = calloc(from->n + 1, sizeof(*to->entry));
	to->saved = calloc(from->nsaved + 1, sizeof(*to->saved));
	if (!to->entry || !to->saved) {
		free(to->entry);
		free(to->saved);
		*to = (struct dep_cc_state){ 0 };
		return -ENOMEM;
	}
	if (from->n)
		memcpy(to->entry, from->entry, from->n * sizeof(*to->entry));
	if (from->nsaved)
		memcpy(to->saved, from->saved, from->nsaved * sizeof(*to->saved));
	dep_cc_origin_get(to->origin);
	return 0;
}

int dep_cc_state_record(const struct dep_cc_state *s, bool compress, struct dep_cc_record *r)
{
	struct dep_cc_entry *to;
	size_t i, n;

	*r = (struct dep_cc_record){
		.stamp = s->dictionary->stamp, .function = s->function, .id = s->id,
	};
	n = !s->n ? 0 : compress ? s->entry[s->n - 1].runs : s->n;
	r->entry = calloc(n + 1, sizeof(*r->entry));
	if (!r->entry)
		return -ENOMEM;
	for (i = 0; i < s->n; i++) {
		to = r->entry + r->n;
		if (compress && i && s->entry[i].runs == s->entry[i - 1].runs) {
			to[-1].count++;
			continue;
		}
		*to = s->entry[i];
		r->n++;
	}
	r->origin = dep_cc_origin_get(s->origin);
	return 0;
}

int dep_cc_state_chain(const struct dep_cc_state *s, struct dep_cc_chain *to)
{
	struct dep_cc_cursor c;

	to->n = 0;
	dep_cc_cursor_at(&c, s->dictionary, s->function, s->id, s->entry, s->n);
	return dep_cc_cursor_chain(&c, to);
}

int dep_cc_state_call(struct dep_cc_state *s, struct dep_cc_graph *g, u32 edge, u64 rsp)
{
	struct dep_cc_edge *e = g->edge + edge;
	struct dep_cc_code code;
	int err = 0;

	if (edge >= g->nedges || e->caller != s->function || e->kind == DEP_CC_TAIL ||
	    e->kind == DEP_CC_HANDLER)
		return -EINVAL;
	code = dep_cc_code_of(s->encoding, edge);
	if (code.how == DEP_CC_ENCODED) {
		if (code.saves) {
			err = dep_cc_state_save(s, rsp);
			if (err)
				return err;
			s->counts->saves++;
		}
		s->id += code.add;
		s->function = e->callee;
	} else {
		err = dep_cc_state_push(s, e->site, e->callee, e->kind, rsp);
		if (err)
			return err;
	}
	e->calls++;
	dep_cc_state_count(s, code.how != DEP_CC_ENCODED, code.how);
	return 0;
}

int dep_cc_state_enter(struct dep_cc_state *s, u64 site, u32 callee, enum dep_cc_kind kind, u64 rsp)
{
	int err;

	if (kind == DEP_CC_HANDLER || kind >= DEP_CC_KINDS || callee == DEP_CC_ROOT ||
	    (s->function == DEP_CC_ROOT) != (kind == DEP_CC_START))
		return -EINVAL;
	if (kind == DEP_CC_TAIL)
		return dep_cc_state_tail_unencoded(s, site, callee, rsp, DEP_CC_NEVER);
	err = dep_cc_state_push(s, site, callee, kind, rsp);
	if (!err)
		dep_cc_state_count(s, true, DEP_CC_NEVER);
	return err;
}

int dep_cc_state_handler(struct dep_cc_state *s, u64 pc, u32 handler)
{
	int err = s->nsaved > UINT32_MAX ? -E2BIG : 0;

	if (!err)
		err = dep_cc_state_push(s, pc, handler, DEP_CC_HANDLER, 0);
	if (!err)
		dep_cc_state_count(s, true, DEP_CC_NEVER);
	return err;
}
