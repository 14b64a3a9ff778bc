// SPDX-License-Identifier: LGPL-2.1-or-later
/* Walk a context outwards. */
#include "cursor.h"

static void set_id(struct dep_cc_cursor *c, u64 id)
{
	c->flagged = id > c->dictionary->max_id;
	c->id = c->flagged ? id - (c->dictionary->max_id + 1) : id;
	c->steps = 0;
}

void dep_cc_cursor_at(struct dep_cc_cursor *c, const struct dep_cc_dictionary *d, u32 function,
		      u64 id, const struct dep_cc_entry *entry, size_t n)
{
	*c = (struct dep_cc_cursor){
		.dictionary = d, .entry = entry, .n = n, .function = function,
	};
	set_id(c, id);
}

static int leave_entry(struct dep_cc_cursor *c, struct dep_cc_frame *f)
{
	const struct dep_cc_entry *e = c->entry + c->n - 1;
	bool repeats = e->kind == DEP_CC_CALL || e->kind == DEP_CC_INDIRECT;

	if (!e->count || (e->count > 1 && !repeats) || e->kind >= DEP_CC_KINDS)
		return -EBADMSG;
	*f = (struct dep_cc_frame){
		.site = e->site, .function = e->target, .kind = e->kind,
	};
	if (!c->left)
		c->left = e->count;
	c->function = e->caller;
	set_id(c, e->id);
	if (!--c->left)
		c->n--;
	return 1;
}

int dep_cc_cursor_up(struct dep_cc_cursor *c, struct dep_cc_frame *f)
{
	const struct dep_cc_in *e;

	if (dep_cc_cursor_head(c))
		return leave_entry(c, f);
	if (c->function == DEP_CC_ROOT)
		return c->n || c->id || c->flagged ? -EBADMSG : 0;
	e = dep_cc_dictionary_find(c->dictionary, c->function, c->id);
	if (!e || c->steps++ >= c->dictionary->nnodes)
		return -EBADMSG;
	*f = (struct dep_cc_frame){
		.site = e->site, .add = e->add, .function = c->function, .kind = e->kind,
		.encoded = true,
	};
	c->function = e->caller;
	c->id -= e->add;
	return 1;
}

int dep_cc_cursor_chain(struct dep_cc_cursor *c, struct dep_cc_chain *to)
{
	size_t slot = to->n;
	bool loops = false;	/* the tail chain may have some: it has an unencoded call */
	struct dep_cc_frame f;
	int n, err;

	for (;;) {
		n = dep_cc_cursor_up(c, &f);
		if (n <= 0)
			break;
		err = dep_cc_chain_add(to, &f);
		if (err)
			return err;
		if (f.kind == DEP_CC_TAIL) {
			loops |= !f.encoded;
			continue;
		}
		err = loops ? dep_cc_chain_erase(to, slot) : 0;
		if (err)
			return err;
		slot = to->n;
		loops = false;
	}
	/* The root tail-calls nothing. */
	return n ? n : slot == to->n ? 0 : -EBADMSG;
}
