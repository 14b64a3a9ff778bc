// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records of which a segment has a part.
 *
 * A segment can begin and end inside a record (adept_position), and an event can end one early
 * (ADEPT_EV_PARTIAL). Such a part runs from one cut of its program to another one.
 */
#include <errno.h>

#include "libdep/format/codec/descriptor.h"
#include "segment.h"

/* Run the operations between two cuts of a program; the values begin at r->value. */
static int run_piece(struct dep_interp *r, const struct dep_program *p, const struct dep_cut *from,
		     const struct dep_cut *to, u32 last_insn)
{
	const struct dep_details *in;
	struct dep_static n;
	int err;

	if (from->op > to->op || from->word > to->word || from->insn > to->insn)
		return dep_fail(-EBADMSG, "fragment %u ends before it begins", p->d->first_exit);
	err = dep_interp_reserve(r, p);
	if (!err)
		err = dep_program_details(p, &in);
	if (err)
		return err;
	n = dep_program_static(p, from->op, to->op);
	r->counts.refs += n.refs;
	r->counts.reads += n.reads;
	r->counts.writes += n.writes;
	r->counts.blocks += n.blocks;
	r->counts.instructions += to->insn - from->insn;
	r->counts.values_used += to->word - from->word;
	if (r->tracer)
		r->tracer->piece(r->tracer->arg, p, in, from->insn, to->insn);
	r->known = to->known;
	dep_settle_exit(r);
	r->pc = to->insn < p->d->ninsns ? in->insn[to->insn].pc : 0;
	r->last_pc = to->insn ? in->insn[to->insn - 1].pc : 0;
	return dep_interp_ops(r, p, from->op, to->op, last_insn);
}

/* Run the rest of the record that began in the previous segment; it ends at @to. */
static int run_head(struct dep_interp *r, const struct dep_cursor *at, const struct dep_program *p,
		    const struct dep_cut *to, u32 last_insn)
{
	const struct adept_position *head = &r->columns->h.head;
	const struct adept_store *st = dep_desc_stores(p->d);
	struct dep_cut from;
	u32 n = head->nvals;
	int err;

	err = dep_program_cut(p, head->insn, n, &from);
	if (err)
		return err;
	/* Stores of the first instruction run again: vectors, for example, are not in registers. */
	while (n && st[n - 1].insn == head->insn)
		n--;
	err = dep_program_cut(p, head->insn, n, &from);
	if (err)
		return err;
	if (from.word > to->word || to->word > at->value_end - r->value)
		return dep_fail(-EBADMSG, "values end inside a record");
	/* Skip copies of values that the previous segment consumed. */
	r->value += from.word;
	r->counts.values_used += from.word;
	return run_piece(r, p, &from, to, last_insn);
}

int dep_run_head_record(struct dep_interp *r, const struct dep_cursor *at,
			const struct dep_exit_info *x, u32 id)
{
	const struct dep_program *p;
	struct dep_cut to = { 0 };
	int err;

	err = dep_fragment_program(r, r->columns->h.head.frag, &p);
	if (err)
		return err;
	if (x->program != p)
		return dep_fail(-EBADMSG, "exit %u does not belong to fragment %u", id,
				p->d->first_exit);
	if (x->words > at->value_end - r->value)
		return dep_fail(-EBADMSG, "values end inside a record");
	dep_take_values(r, id, 0, x->words);
	to.op = x->op_end;
	to.word = x->words;
	to.known = x->known;
	to.insn = x->ninsns;
	err = run_head(r, at, p, &to, x->ninsns);
	dep_take_exit(r, x);
	return err;
}

/* String instruction @insn was interrupted after some iterations; @post is its pointer register. */
static int run_interrupted(struct dep_interp *r, const struct dep_program *p, u32 insn, u64 post)
{
	const struct dep_details *details;
	const struct dep_insn *in;
	u8 code;
	int err;

	err = dep_program_details(p, &details);
	if (err)
		return err;
	in = details->insn + insn;
	if (insn >= p->d->ninsns || !(in->flags & DEP_I_STRING))
		return dep_fail(-EBADMSG, "no string instruction was interrupted");
	code = r->filter ? dep_filter_code(r->filter, in->pc) : 0;
	err = dep_interp_string(r, &p->unusual[in->string].string, code, in->pc, post, 1);
	/* rcx was decremented, too; a context event follows. */
	r->known &= (u16)~X86_BIT(X86_RCX);
	return err;
}

int dep_run_partial(struct dep_interp *r, const struct dep_cursor *at,
		    const struct adept_ev_partial *ev, int head)
{
	struct dep_cut from = { 0 }, to;
	const struct dep_program *p;
	const struct dep_details *in;
	u32 n, words = ev->val_bytes / 8;
	int err;

	err = dep_fragment_program(r, ev->frag, &p);
	if (!err)
		err = dep_program_details(p, &in);
	if (err)
		return err;
	if (words > DEP_DELTA_RUN || words > (size_t)(at->value_end - r->value))
		return dep_fail(-EBADMSG, "values end inside a record");
	dep_take_values(r, ADEPT_EV_PARTIAL, 0, words);
	/* Find the number of stores. */
	for (n = 0; n < p->d->nstores && in->store[n].word < words; n++)
		;
	err = dep_program_cut(p, ev->ninsns, n, &to);
	if (err)
		return err;
	if (to.word != words || to.needs_extra)
		return dep_fail(-EBADMSG, "%u values of a fragment left in the middle", words);
	if (head) {
		if (ev->frag != r->columns->h.head.frag)
			return dep_fail(-EBADMSG, "left fragment %u, began in %u", ev->frag,
					r->columns->h.head.frag);
		err = run_head(r, at, p, &to, ev->ninsns);
	} else {
		err = dep_check_entry(r, p);
		from.known = p->entry_mask;
		if (!err)
			err = run_piece(r, p, &from, &to, ev->ninsns);
	}
	return err || !ev->has_extra ? err : run_interrupted(r, p, ev->ninsns, ev->extra);
}

int dep_run_tail(struct dep_interp *r, struct dep_cursor *at, int head)
{
	const struct dep_seg_header *h = &r->columns->h;
	struct dep_cut from = { 0 }, to;
	const struct dep_program *p;
	bool interrupted;
	u32 last_insn;
	int err;

	err = dep_fragment_program(r, h->tail.frag, &p);
	if (!err)
		err = dep_program_cut(p, h->tail.insn, h->tail.nvals, &to);
	if (err)
		return err;
	if (to.word != h->tail_values)
		return dep_fail(-EBADMSG, "%u values of an unfinished record, not %u",
				h->tail_values, to.word);
	if (to.needs_extra && !h->tail.has_extra)
		return dep_fail(-EBADMSG, "a string instruction's end is missing");
	at->value_end += h->tail_values;
	if (h->tail_values > DEP_DELTA_RUN || h->tail_values > at->value_end - r->value)
		return dep_fail(-EBADMSG, "values end inside a record");
	dep_take_values(r, 0, 0, h->tail_values);
	/* The buffer has room for one more value. */
	r->columns->value[h->value_raw / 8] = h->tail.extra;
	interrupted = h->tail.has_extra && to.in_string;
	/* The extra value of a string instruction is used by it; a timestamp is an operation. */
	if (to.needs_extra && dep_desc_stores(p->d)[h->tail.nvals].kind == ADEPT_ST_AFTER) {
		err = dep_program_cut(p, h->tail.insn, h->tail.nvals + 1, &to);
		if (err)
			return err;
		at->value_end++;
		r->counts.values++;
	}
	/* The next segment continues there; otherwise the thread has left the fragment. */
	last_insn = interrupted ? to.insn : p->d->ninsns;
	if (head) {
		if (h->tail.frag != h->head.frag)
			return dep_fail(-EBADMSG, "ends in fragment %u, began in %u", h->tail.frag,
					h->head.frag);
		err = run_head(r, at, p, &to, last_insn);
	} else {
		err = dep_check_entry(r, p);
		from.known = p->entry_mask;
		if (!err)
			err = run_piece(r, p, &from, &to, last_insn);
	}
	if (err || !interrupted)
		return err;
	return run_interrupted(r, p, to.insn, h->tail.extra);
}
