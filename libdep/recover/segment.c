// SPDX-License-Identifier: LGPL-2.1-or-later
/* Recover a segment: run its records by their programs, apply its events, emit items. */
#include <errno.h>
#include <string.h>

#include "libdep/recover/program/syscall_info.h"
#include "libdep/recover/jit/jit.h"
#include "segment.h"

/*
 * While a thread writes nothing, QUIET_READ of every QUIET_ALL records run their whole programs
 * instead of their filtered programs.
 */
#define QUIET_ALL	256
#define QUIET_READ	64

/*
 * True if the record can run by its filtered program.  The analyzer recognises a thread that waits
 * in a loop by its repeated reads, which a filtered program drops.  So in long sequences of records
 * without a write, some records run their whole programs.  Machine code increments dep_filter.quiet
 * in the same way, and returns to the interpreter when dep_filter.quiet becomes 0.
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

static int run_record(struct dep_interp *r, const struct dep_cursor *at,
		      const struct dep_exit_info *x, u32 id)
{
	const struct dep_program *p = x->program;
	int err;

	if (p->entry_mask & ~r->known)
		return dep_check_entry(r, p);
	if (x->words > at->value_end - r->value)
		return dep_fail(-EBADMSG, "the value column ends inside a record");
	dep_take_values(r, id, 0, x->words);
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
		err = dep_run_traced(r, p, 0, x->op_end, x->ninsns, 0, x->ninsns);
	else if (is_filtered(r, x))
		err = run_filtered(r, p, x);
	else
		err = dep_interp_ops(r, p, 0, x->op_end, x->ninsns);
	dep_take_exit(r, x);
	return err;
}

/* Apply the effect of an event to the state in @r.  @pc: receives the pc of the event. */
static int apply_event(struct dep_interp *r, const struct dep_cursor *at, u32 id,
		       const void *payload, int head, u64 *pc)
{
	const struct adept_ev_context *ctx = payload;
	const struct adept_ev_signal *sig = payload;
	const struct adept_ev_partial *part = payload;

	dep_settle_exit(r);
	*pc = r->pc;
	switch (id) {
	case ADEPT_EV_CONTEXT:
		memcpy(r->slot, ctx->regs, sizeof(ctx->regs));
		r->slot[DEP_S_FS] = ctx->fs_base;
		r->known = 0xffff;
		r->pc = ctx->pc;
		*pc = ctx->pc;
		if (r->tracer && r->tracer->moved)
			r->tracer->moved(r->tracer->arg, ctx->pc);
		break;
	case ADEPT_EV_PARTIAL:
		return dep_run_partial(r, at, part, head);
	case ADEPT_EV_SIGNAL:
		*pc = sig->pc;
		if (r->tracer && r->tracer->moved)
			r->tracer->moved(r->tracer->arg, sig->pc);
		/* fall through */
	case ADEPT_EV_SIGRETURN:
		/* No register is known until the next context event, maybe in the next segment. */
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
 * True if the event begins a new interval: it may let another thread continue, or change mappings.
 * An event that only acquires need not: any access that races with a later access of this thread
 * also races with an earlier access of the same kind.
 */
static bool ends_interval(u32 id, const void *payload)
{
	const struct adept_ev_syscall *call = payload;

	/* These events describe a system call and are recorded before its own event. */
	if (id == ADEPT_EV_BUFFER || id == ADEPT_EV_SHARED)
		return false;
	return id != ADEPT_EV_SYSCALL || !dep_call_receives(call->nr);
}

static int run_event(struct dep_interp *r, struct dep_cursor *at, u32 id, int head)
{
	int size = adept_event_size(id), err;
	const void *payload = at->control;
	struct dep_item *it;
	u64 pc;

	if (size < 0 || size > (at->control_end - at->control) * 4)
		return dep_fail(-EBADMSG, "%s", size < 0 ? "the event's type is unknown" :
				"the control column ends inside an event");
	if (head && id != ADEPT_EV_PARTIAL)
		return dep_fail(-EBADMSG, "event %u comes before the rest of fragment %u", id,
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

static int recent_exit(struct dep_interp *r, u32 id, const struct dep_exit_info **out)
{
	struct dep_recent *recent = &r->recent[id % DEP_RECENT];
	int err;

	if (recent->id != id) {
		err = dep_exit_find(r, id, &recent->exit);
		if (err)
			return err;
		recent->id = id;
	}
	*out = recent->exit;
	return 0;
}

/* Run records by machine code; the interpreter finishes the last one if the code left inside it. */
static int run_native(struct dep_interp *r, struct dep_cursor *at)
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
		dep_take_values(r, id, words, x->words - words);
		err = dep_interp_reserve(r, x->program);
		if (!err)
			err = dep_interp_filtered(r, x->program, x, dep_jit_op(left));
	}
	if (!err)
		dep_take_exit(r, x);
	return err;
}

static int run_all(struct dep_interp *r, struct dep_cursor *at)
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
		err = head ? dep_run_head_record(r, at, x, id) :
			     run_record(r, at, x, id);
	}
	if (!err && r->columns->h.tail.frag)
		err = dep_run_tail(r, at, head);
	else if (!err && r->columns->h.tail_values)
		err = dep_fail(-EBADMSG, "values of an unfinished record, but no such record");
	if (!err && r->value != at->value_end)
		err = dep_fail(-EBADMSG, "%zd values remain after the last record",
			       at->value_end - r->value);
	return err;
}

/* Prepend thread, segment and position to the message of error -EBADMSG. */
static int name_place(const struct dep_segment *seg, const struct dep_interp *r,
		      const struct dep_cursor *at, int err)
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

/*
 * True if deferred accesses can stay deferred until the next segment: no data is missing between
 * the segments, and the access set has enough free pages.
 */
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
	struct dep_cursor at;
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
