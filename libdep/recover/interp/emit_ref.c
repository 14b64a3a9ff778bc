// SPDX-License-Identifier: LGPL-2.1-or-later
/* Emit references through the filter, and references and timestamps that it has kept back. */
#include "emit_ref.h"

/* Emit the deferred accesses of one page.  Return: false if there are none, or on r->failed. */
static bool put_page_accesses(struct dep_interp *r)
{
	struct dep_page_accesses *j;
	struct dep_item *it;

	r->failed = dep_batch_room(&r->out, r->reserve + 1);
	j = r->failed ? NULL : dep_batch_page(&r->out);
	if (!j) {
		r->failed = r->failed ? r->failed : r->out.stopped;
		return false;
	}
	if (!dep_filter_flush(r->filter, j))
		return false;
	r->out.joined_used += sizeof(*j) + j->nwords * sizeof(j->word[0]);
	it = &r->out.item[r->out.n];
	it->kind = DEP_ITEM_PAGE;
	it->joined = j;
	r->out.n += r->out.want_ref;
	return true;
}

int dep_put_deferred(struct dep_interp *r, bool last)
{
	struct dep_ref ref;

	while (!r->failed && r->filter->seen.later && put_page_accesses(r))
		;
	while (last && !r->failed && dep_filter_last(r->filter, &ref)) {
		r->failed = dep_batch_room(&r->out, r->reserve + 1);
		if (!r->failed)
			dep_show_ref(r, &ref);
	}
	return r->failed;
}

int dep_interp_put_off(struct dep_interp *r)
{
	return dep_put_deferred(r, true);
}

/* Emit the withheld timestamp of a locked instruction: a reference of the instruction follows. */
void dep_interp_put_stopped(struct dep_interp *r)
{
	struct dep_filter *s = r->filter;
	struct dep_item *it;

	r->failed = r->failed ? r->failed : dep_batch_room(&r->out, r->reserve + 1);
	if (r->failed)
		return;
	it = &r->out.item[r->out.n];
	it->kind = DEP_ITEM_TIMESTAMP;
	it->timestamp = (struct dep_lock_timestamp){
		.pc = s->held.pc, .timestamp = s->held.timestamp };
	r->out.n += r->out.want_timestamp;
	s->held.pc = 0;
}

bool dep_put_first(struct dep_interp *r, u8 code, struct dep_ref *ref)
{
	enum dep_filtered what = dep_filter_first(r->filter, code, ref);

	if (what == DEP_FILTER_DROP ||
	    (what == DEP_FILTER_FLUSH_THEN_EMIT && dep_interp_put_off(r)))
		return false;
	if (r->filter->held.pc)
		dep_interp_put_stopped(r);
	dep_show_ref(r, ref);
	if (!(ref->type & DEP_REF_RELEASES))
		return false;
	dep_filter_new_interval(r->filter);
	return true;
}
