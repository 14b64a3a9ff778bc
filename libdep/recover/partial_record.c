// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Incomplete records.
 *
 * A segment can begin or end inside a record (struct adept_position), and an event can end a record
 * before an exit of its fragment (ADEPT_EV_PARTIAL). Recovery then runs only the operations between
 * two positions (struct dep_cut) of the recovery program.
 */
#include <errno.h>

#include "libdep/format/codec/descriptor.h"
#include "segment.h"

/* Run the operations between two positions of a program; their values begin at r->value. */
static int run_piece(struct dep_interp *r, const struct dep_program *p, const struct dep_cut *from,
		     const struct dep_cut *to, u32 last_insn)
{
	const struct dep_details *in;
	struct dep_static n;
	int err;

	if (from->op > to->op || from->word > to->word || from->insn > to->insn)
		return dep_fail(-EBADMSG, "fragment %u: a record ends before its own beginning",
				p->d->first_exit);
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
	r->known = to->known;
	dep_settle_exit(r);
	r->pc = to->insn < p->d->ninsns ? in->insn[to->insn].pc : 0;
	r->last_pc = to->insn ? in->insn[to->insn - 1].pc : 0;
	if (r->tracer)
		return dep_run_traced(r, p, from->op, to->op, last_insn, from->insn, to->insn);
	return dep_interp_ops(r, p, from->op, to->op, last_insn);
}

/* Run the rest, up to @to, of the record that began in the previous segment. */
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
	/*
	 * Run the first instruction's stores from the previous segment again: what they set can be
	 * missing in the segment header, which has no vector registers, for example.
	 */
	while (n && st[n - 1].insn == head->insn)
		n--;
	err = dep_program_cut(p, head->insn, n, &from);
	if (err)
		return err;
	if (from.word > to->word || to->word > at->value_end - r->value)
		return dep_fail(-EBADMSG, "the value column ends inside a record");
	/* This segment repeats all values of the record: skip those that are consumed already. */
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
		return dep_fail(-EBADMSG, "exit %u is not an exit of fragment %u, in which the "
				"record began", id, p->d->first_exit);
	if (x->words > at->value_end - r->value)
		return dep_fail(-EBADMSG, "the value column ends inside a record");
	dep_take_values(r, id, 0, x->words);
	to.op = x->op_end;
	to.word = x->words;
	to.known = x->known;
	to.insn = x->ninsns;
	err = run_head(r, at, p, &to, x->ninsns);
	dep_take_exit(r, x);
	return err;
}

/*
 * Emit the references of string instruction @insn, which was interrupted after some iterations.
 * @post: value of its pointer register at the interruption
 */
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
		return dep_fail(-EBADMSG, "an interrupted instruction is not a string instruction");
	code = r->filter ? dep_filter_code(r->filter, in->pc) : 0;
	if (r->tracer && r->tracer->interrupted)
		r->tracer->interrupted(r->tracer->arg, r, in, post);
	err = dep_interp_string(r, &p->unusual[in->string].string, code, in->pc, post, 1);
	/* The instruction has changed rcx, too.  A context event follows, which has its value. */
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
		return dep_fail(-EBADMSG, "the value column ends inside a record");
	dep_take_values(r, ADEPT_EV_PARTIAL, 0, words);
	/* Find the number of stores that wrote the record's values. */
	for (n = 0; n < p->d->nstores && in->store[n].word < words; n++)
		;
	err = dep_program_cut(p, ev->ninsns, n, &to);
	if (err)
		return err;
	if (to.word != words || to.needs_extra)
		return dep_fail(-EBADMSG, "a fragment cannot be left after %u values", words);
	if (head) {
		if (ev->frag != r->columns->h.head.frag)
			return dep_fail(-EBADMSG, "a record ends in fragment %u but began in "
					"fragment %u", ev->frag, r->columns->h.head.frag);
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
		return dep_fail(-EBADMSG, "the unfinished record has %u values instead of %u",
				h->tail_values, to.word);
	if (to.needs_extra && !h->tail.has_extra)
		return dep_fail(-EBADMSG, "the unfinished record's last value is missing");
	at->value_end += h->tail_values;
	if (h->tail_values > DEP_DELTA_RUN || h->tail_values > at->value_end - r->value)
		return dep_fail(-EBADMSG, "the value column ends inside a record");
	dep_take_values(r, 0, 0, h->tail_values);
	/* Append the tail's extra value to the column, whose buffer has room for one more. */
	r->columns->value[h->value_raw / 8] = h->tail.extra;
	interrupted = h->tail.has_extra && to.in_string;
	/*
	 * A timestamp as extra value (ADEPT_ST_AFTER) is consumed by an operation of its own: run
	 * that operation, too.  The extra value of a string instruction is read by the operation of
	 * the instruction.
	 */
	if (to.needs_extra && dep_desc_stores(p->d)[h->tail.nvals].kind == ADEPT_ST_AFTER) {
		err = dep_program_cut(p, h->tail.insn, h->tail.nvals + 1, &to);
		if (err)
			return err;
		at->value_end++;
		r->counts.values++;
	}
	/*
	 * If a string instruction was interrupted, the thread left the fragment there, and its
	 * block ends there.  Otherwise the next segment continues the fragment and the block.
	 */
	last_insn = interrupted ? to.insn : p->d->ninsns;
	if (head) {
		if (h->tail.frag != h->head.frag)
			return dep_fail(-EBADMSG, "a record continues in fragment %u but began in "
					"fragment %u", h->tail.frag, h->head.frag);
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
