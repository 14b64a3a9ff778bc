// SPDX-License-Identifier: LGPL-2.1-or-later
/* Recover a segment: run its records by their programs, apply its events, emit items. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "libdep/recover/program/syscall_info.h"
#include "libdep/recover/jit/jit.h"
#include "libdep/recover/interp/run.h"

#define QUIET_ALL	256	/* of so many records without a write, QUIET_READ run whole */
#define QUIET_READ	64

/* Position in the columns. */
struct place {
	const u32 *control, *control_end;
	const u64 *value_end;		/* of whole records; those of the tail follow */
};

static int get_program(struct dep_interp *r, u32 number, const struct dep_program **out)
{
	struct dep_fragment *f = dep_store_fragment(r->store, number);
	struct dep_program *p = f->prog;
	void *none = NULL;
	int err;

	if (!p) {
		err = dep_program_make(f->d, &p);
		if (err)
			return err;
		__atomic_store_n(&r->store->prog_free, dep_program_free, __ATOMIC_RELAXED);
		/* If another thread was faster, its program is kept. */
		if (!atomic_compare_exchange_strong(&f->prog, &none, p)) {
			dep_program_free(p);
			p = none;
		}
	}
	*out = p;
	if (r->filter && !__atomic_load_n(&p->coded, __ATOMIC_ACQUIRE))
		return dep_filter_learn(r->filter, p);
	return 0;
}

/* The program of the fragment whose first exit is @id. */
static int fragment_program(struct dep_interp *r, u32 id, const struct dep_program **out)
{
	const struct dep_exit_entry *e = dep_index_find(&r->store->model.index, id);

	if (!e || !e->first)
		return dep_fail(-EBADMSG, "no fragment %u", id);
	return get_program(r, e->frag, out);
}

/*
 * Decode @words values at r->value in place: words @from and following of a record, an event or
 * the tail.
 */
static void take_values(struct dep_interp *r, u32 id, u32 from, u32 words)
{
	struct dep_columns *c = r->columns;

	if (c->differences)
		dep_delta_sum(r->last, id, from, c->value + (r->value - c->value), words);
}

static int check_entry(struct dep_interp *r, const struct dep_program *p)
{
	u16 missing = p->entry_mask & ~r->known;

	if (!missing)
		return 0;
	return dep_fail(-EBADMSG, "fragment %u entered with registers %#x unknown",
			p->d->first_exit, missing);
}

/* Update pc, last_pc and after_syscall from the last exit. */
static void settle_exit(struct dep_interp *r)
{
	const struct dep_exit_info *x = r->exit;
	const struct dep_program *p;

	if (!x)
		return;
	p = x->program;
	r->exit = NULL;
	r->pc = x->kind == ADEPT_X_INDIRECT ? 0 : dep_desc_exits(p->d)[x - p->exit].target;
	r->after_syscall = x->kind == ADEPT_X_SYSCALL;
	r->last_pc = x->ninsns ? dep_program_base(p, x->op_end) + (u64)(s64)x->last_pc : 0;
}

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
	settle_exit(r);
	r->pc = to->insn < p->d->ninsns ? in->insn[to->insn].pc : 0;
	r->last_pc = to->insn ? in->insn[to->insn - 1].pc : 0;
	return dep_interp_ops(r, p, from->op, to->op, last_insn);
}

static void take_exit(struct dep_interp *r, const struct dep_exit_info *x)
{
	r->known = x->known;
	r->exit = x;
}

/*
 * Can the record run by its filtered program?  In long runs without a write, whole programs run
 * now and then, because every read is needed to recognise a thread that waits.  Machine code counts
 * dep_filter.quiet in the same way, and leaves when it becomes 0.
 */
static bool is_filtered(struct dep_interp *r, const struct dep_exit_info *x)
{
	struct dep_filter *s = r->filter;

	if (!r->filtered)
		return false;
	if (x->count.writes) {
		s->quiet = DEP_FILTER_QUIET;
		s->reads = s->wholly = 0;
		return true;
	}
	if (s->wholly) {
		s->wholly--;
		return false;
	}
	if (++s->quiet < 0)
		return true;
	s->quiet = QUIET_READ - QUIET_ALL;
	if (!dep_filter_watches(s, x->program->d->first_exit))
		return true;
	s->wholly = QUIET_READ - 1;
	return false;
}

static int run_filtered(struct dep_interp *r, const struct dep_program *p,
			const struct dep_exit_info *x)
{
	if (r->jit)
		dep_jit_ran(r->jit, p, x);
	return dep_interp_filtered(r, p, x, 0);
}

static int trace_record(struct dep_interp *r, const struct dep_exit_info *x)
{
	const struct dep_details *in;
	int err = dep_program_details(x->program, &in);

	if (!err)
		r->tracer->piece(r->tracer->arg, x->program, in, 0, x->ninsns);
	return err;
}

static int run_record(struct dep_interp *r, const struct place *at, const struct dep_exit_info *x,
		      u32 id)
{
	const struct dep_program *p = x->program;
	int err;

	if (p->entry_mask & ~r->known)
		return check_entry(r, p);
	if (x->words > at->value_end - r->value)
		return dep_fail(-EBADMSG, "values end inside a record");
	take_values(r, id, 0, x->words);
	err = dep_interp_reserve(r, p);
	if (err)
		return err;
	r->counts.refs += x->count.refs;
	r->counts.reads += x->count.reads;
	r->counts.writes += x->count.writes;
	r->counts.blocks += x->count.blocks;
	r->counts.instructions += x->ninsns;
	r->counts.values_used += x->words;
	if (r->tracer)
		err = trace_record(r, x);
	if (err)
		return err;
	if (is_filtered(r, x))
		err = run_filtered(r, p, x);
	else
		err = dep_interp_ops(r, p, 0, x->op_end, x->ninsns);
	take_exit(r, x);
	return err;
}

/* Find an exit by its id. */
static int get_exit(struct dep_interp *r, u32 id, const struct dep_exit_info **out)
{
	const struct dep_exit_entry *e = dep_index_find(&r->store->model.index, id);
	const struct dep_program *p;
	int err;

	if (!e)
		return dep_fail(-EBADMSG, "unknown exit %u", id);
	err = get_program(r, e->frag, &p);
	if (!err)
		*out = &p->exit[id - p->d->first_exit];
	return err;
}

/* Run the rest of the record that began in the previous segment; it ends at @to. */
static int run_head(struct dep_interp *r, const struct place *at, const struct dep_program *p,
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

static int head_record(struct dep_interp *r, const struct place *at, const struct dep_exit_info *x,
		       u32 id)
{
	const struct dep_program *p;
	struct dep_cut to = { 0 };
	int err;

	err = fragment_program(r, r->columns->h.head.frag, &p);
	if (err)
		return err;
	if (x->program != p)
		return dep_fail(-EBADMSG, "exit %u does not belong to fragment %u", id,
				p->d->first_exit);
	if (x->words > at->value_end - r->value)
		return dep_fail(-EBADMSG, "values end inside a record");
	take_values(r, id, 0, x->words);
	to.op = x->op_end;
	to.word = x->words;
	to.known = x->known;
	to.insn = x->ninsns;
	err = run_head(r, at, p, &to, x->ninsns);
	take_exit(r, x);
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

static int run_partial(struct dep_interp *r, const struct place *at,
		       const struct adept_ev_partial *ev, int head)
{
	struct dep_cut from = { 0 }, to;
	const struct dep_program *p;
	const struct dep_details *in;
	u32 n, words = ev->val_bytes / 8;
	int err;

	err = fragment_program(r, ev->frag, &p);
	if (!err)
		err = dep_program_details(p, &in);
	if (err)
		return err;
	if (words > DEP_DELTA_RUN || words > (size_t)(at->value_end - r->value))
		return dep_fail(-EBADMSG, "values end inside a record");
	take_values(r, ADEPT_EV_PARTIAL, 0, words);
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
		err = check_entry(r, p);
		from.known = p->entry_mask;
		if (!err)
			err = run_piece(r, p, &from, &to, ev->ninsns);
	}
	return err || !ev->has_extra ? err : run_interrupted(r, p, ev->ninsns, ev->extra);
}

/* Apply the effect of an event.  @pc: where it happened. */
static int apply_event(struct dep_interp *r, const struct place *at, u32 id, const void *payload,
		       int head, u64 *pc)
{
	const struct adept_ev_context *ctx = payload;
	const struct adept_ev_signal *sig = payload;
	const struct adept_ev_partial *part = payload;

	settle_exit(r);
	*pc = r->pc;
	switch (id) {
	case ADEPT_EV_CONTEXT:
		memcpy(r->slot, ctx->regs, sizeof(ctx->regs));
		r->slot[DEP_S_FS] = ctx->fs_base;
		r->known = 0xffff;
		r->pc = ctx->pc;
		*pc = ctx->pc;
		break;
	case ADEPT_EV_PARTIAL:
		return run_partial(r, at, part, head);
	case ADEPT_EV_SIGNAL:
		*pc = sig->pc;
		/* fall through */
	case ADEPT_EV_SIGRETURN:
		/* A context event follows, possibly in the next chunk. */
		r->known = 0;
		break;
	case ADEPT_EV_FSBASE:
		memcpy(&r->slot[DEP_S_FS], payload, 8);
		break;
	case ADEPT_EV_GSBASE:
		memcpy(&r->slot[DEP_S_GS], payload, 8);
		break;
	case ADEPT_EV_SYSCALL:
	case ADEPT_EV_FORK:
		if (r->after_syscall)
			*pc = r->last_pc;
		break;
	}
	return 0;
}

/*
 * Can the event let another thread continue, or change mappings?  Acquiring makes no access new:
 * what races with a later access also races with the earlier one.
 */
static bool ends_interval(u32 id, const void *payload)
{
	const struct adept_ev_syscall *call = payload;

	/* These are recorded before the system call that they belong to. */
	if (id == ADEPT_EV_BUFFER || id == ADEPT_EV_SHARED)
		return false;
	return id != ADEPT_EV_SYSCALL || !dep_call_receives(call->nr);
}

static int run_event(struct dep_interp *r, struct place *at, u32 id, int head)
{
	int size = adept_event_size(id), err;
	const void *payload = at->control;
	struct dep_item *it;
	u64 pc;

	if (size < 0 || size > (at->control_end - at->control) * 4)
		return dep_fail(-EBADMSG, "%s", size < 0 ? "unknown event" : "event is cut");
	if (head && id != ADEPT_EV_PARTIAL)
		return dep_fail(-EBADMSG, "event %u where fragment %u goes on", id,
				r->columns->h.head.frag);
	at->control += size / 4;
	err = apply_event(r, at, id, payload, head, &pc);
	if (r->filter) {
		dep_interp_put_off(r);
		if (ends_interval(id, payload))
			dep_filter_new_interval(r->filter);
		if (id == ADEPT_EV_SIGNAL || id == ADEPT_EV_SIGRETURN)
			dep_filter_left(r->filter);
		r->filter->fs = r->slot[DEP_S_FS];
	}
	if (!err)
		err = dep_batch_room(&r->out, 1);
	if (err)
		return err;
	it = &r->out.item[r->out.n];
	it->kind = DEP_ITEM_EVENT;
	it->event.id = id;
	it->event.size = size;
	it->event.payload = payload;
	it->event.pc = pc;
	r->out.n += r->out.want_event;
	r->counts.events++;
	return 0;
}

/* Run the unfinished record at the end; @head: its beginning is in the previous segment. */
static int run_tail(struct dep_interp *r, struct place *at, int head)
{
	const struct dep_seg_header *h = &r->columns->h;
	struct dep_cut from = { 0 }, to;
	const struct dep_program *p;
	bool interrupted;
	u32 last_insn;
	int err;

	err = fragment_program(r, h->tail.frag, &p);
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
	take_values(r, 0, 0, h->tail_values);
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
		err = check_entry(r, p);
		from.known = p->entry_mask;
		if (!err)
			err = run_piece(r, p, &from, &to, last_insn);
	}
	if (err || !interrupted)
		return err;
	return run_interrupted(r, p, to.insn, h->tail.extra);
}

static int recent_exit(struct dep_interp *r, u32 id, const struct dep_exit_info **out)
{
	struct dep_recent *recent = &r->recent[id % DEP_RECENT];
	int err;

	if (recent->id != id) {
		err = get_exit(r, id, &recent->exit);
		if (err)
			return err;
		recent->id = id;
	}
	*out = recent->exit;
	return 0;
}

/* Run machine code, and let the interpreter finish its last record if that is needed. */
static int run_native(struct dep_interp *r, struct place *at)
{
	const struct dep_exit_info *x;
	u32 left, words, id;
	int err;

	left = dep_jit_run(r, &at->control, at->control_end, at->value_end);
	if (!r->state.ran)
		return 0;
	id = at->control[-1];
	err = recent_exit(r, id, &x);
	if (!err && left) {
		words = dep_jit_words(left);
		r->value += words;
		take_values(r, id, words, x->words - words);
		err = dep_interp_reserve(r, x->program);
		if (!err)
			err = dep_interp_filtered(r, x->program, x, dep_jit_op(left));
	}
	if (!err)
		take_exit(r, x);
	return err;
}

static int run_all(struct dep_interp *r, struct place *at)
{
	int head = r->columns->h.head.frag != 0, err = 0;
	const struct dep_jit *jit = r->columns->differences ? r->jit : NULL;
	const struct dep_exit_info *x;
	u32 id;

	for (; at->control < at->control_end && !err; head = 0) {
		if (r->failed)
			return r->failed;
		id = *at->control;
		if (jit && !head && dep_jit_has(jit, id) && !r->filter->all &&
		    !r->filter->wholly) {
			err = run_native(r, at);
			if (err || r->state.ran)
				continue;
		}
		at->control++;
		if (id < ADEPT_FIRST_EXIT) {
			err = run_event(r, at, id, head);
			continue;
		}
		err = recent_exit(r, id, &x);
		if (err)
			return err;
		r->counts.records++;
		err = head ? head_record(r, at, x, id) :
			     run_record(r, at, x, id);
	}
	if (!err && r->columns->h.tail.frag)
		err = run_tail(r, at, head);
	else if (!err && r->columns->h.tail_values)
		err = dep_fail(-EBADMSG, "values of no record");
	if (!err && r->value != at->value_end)
		err = dep_fail(-EBADMSG, "%zd values are left over", at->value_end - r->value);
	return err;
}

/* Prepend thread, segment and position to the error message. */
static int name_place(const struct dep_segment *seg, const struct dep_interp *r,
		      const struct place *at, int err)
{
	char why[256];

	if (err != -EBADMSG)
		return err;
	strncpy(why, dep_error(), sizeof(why) - 1);
	why[sizeof(why) - 1] = 0;
	return dep_fail(-EBADMSG, "thread %u, segment %llu, control offset %zu, value %zu: %s",
			seg->thread, (unsigned long long)seg->seq,
			(size_t)(at->control - r->columns->control) * 4,
			(size_t)(r->value - r->columns->value), why);
}

static void begin_out(struct dep_interp *r, const struct dep_segment *seg)
{
	r->out.n = 0;
	r->out.stopped = 0;
	r->out.seg = seg;
	r->reserve = 0;
	r->failed = 0;
}

/* May deferred accesses be left to the next segment?  Not if data is missing in between. */
static bool goes_on(const struct dep_interp *r, int err)
{
	return r->more && !err && !r->columns->h.lost_bytes &&
	       !dep_access_set_is_filling(&r->filter->seen);
}

int dep_recover_traced(struct dep_store *s, const struct dep_segment *seg, struct dep_interp *r,
		       struct dep_counts *counts)
{
	int err = dep_store_columns(s, seg, r->columns);

	if (!err)
		return dep_recover_columns(s, seg, r, counts);
	/* The segment cannot be read, but deferred accesses of the previous one must be emitted. */
	begin_out(r, seg);
	if (r->filter && !dep_interp_put_off(r))
		dep_batch_flush(&r->out);
	return err;
}

int dep_recover_columns(struct dep_store *s, const struct dep_segment *seg, struct dep_interp *r,
			struct dep_counts *counts)
{
	struct dep_columns *c = r->columns;
	struct place at;
	int err;

	at.control = c->control;
	at.control_end = c->control + c->h.control_raw / 4;
	at.value_end = c->value + c->h.value_raw / 8 - c->h.tail_values;
	memset(&r->counts, 0, sizeof(r->counts));
	memset(r->last, 0, sizeof(r->last));
	memset(r->slot, 0, sizeof(r->slot));
	memcpy(r->slot, c->h.regs, sizeof(c->h.regs));
	r->slot[DEP_S_FS] = c->h.fs_base;
	r->slot[DEP_S_GS] = c->h.gs_base;
	r->known = 0xffff;
	r->value = c->value;
	r->exit = NULL;
	r->pc = r->last_pc = 0;
	r->after_syscall = 0;
	r->store = s;
	begin_out(r, seg);
	r->counts.values = c->h.value_raw / 8;
	if (r->filter) {
		r->filter->fs = c->h.fs_base;
		if (r->filter->held.pc && r->filter->timestamps_stay)
			dep_interp_put_stopped(r);
	}
	err = run_all(r, &at);
	if (r->filter && !goes_on(r, err) && dep_interp_put_off(r) && !err)
		err = r->failed;
	/* Items that were recovered before an error are valid. */
	if (!r->out.stopped)
		dep_batch_flush(&r->out);
	if (counts)
		dep_counts_add(counts, &r->counts);
	return r->out.stopped ? r->out.stopped : name_place(seg, r, &at, err);
}

int dep_recover_segment(struct dep_store *s, const struct dep_segment *seg,
			const struct dep_sink *sink, struct dep_counts *counts)
{
	static const struct dep_sink nowhere;
	struct dep_columns c = { 0 };
	struct dep_interp r;
	int err;

	dep_interp_init(&r, &c, sink ? sink : &nowhere, NULL);
	err = dep_recover_traced(s, seg, &r, counts);
	dep_interp_free(&r);
	dep_columns_free(&c);
	return err;
}
