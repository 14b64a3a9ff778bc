// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The fold of counts: exits, the targets of indirect branches, and where control was interrupted.
 * What an exit means for instructions and branches is worked out once, in rows.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "libdep/fold/code.h"
#include "count.h"
#include "exits.h"

struct part {
	struct dep_counts_all all;
	const struct dep_fragments *code;
	struct dep_exits *exits;
	const struct dep_thread *of;		/* the current thread */
	struct dep_thread_count *thread;	/* row of the current thread */
	struct dep_time_count *time;		/* row of the current segment */
	u64 pc;			/* where the thread goes on */
	u32 interval;		/* of the current segment */
	u32 pc_first, pc_last;	/* of the first and the last segment that showed @pc.  @waiting is
				 * of the first one */
	u64 first_seq, last_seq;	/* of the current run of segments */
	bool at_seam;		/* the unit before this one knows where the thread goes on */
	u32 waiting;		/* an indirect exit whose next code has not been seen yet; or 0 */
};

static void free_part(struct part *p)
{
	dep_counts_all_free(&p->all);
	dep_exits_free(p->exits);
	free(p);
}

static void *make_part(void *self, const struct dep_fragments *code)
{
	const struct dep_counts_all *all = self;
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->code = code;
	p->all.division = all->division;
	p->all.threads.may_move = DEP_TABLE_MOVES;
	p->exits = dep_exits_new(code);
	if (!p->exits) {
		free_part(p);
		return NULL;
	}
	return p;
}

/* ---- where control was interrupted ---- */

/* The branch that waits went to @p->pc, where fragment @fragment follows. */
static int end_wait(struct part *p, u32 fragment)
{
	struct dep_counter key = { .a = p->pc, .b = p->waiting, .c = p->of->process, .d = fragment,
				   .e = p->pc_first };
	int err = p->waiting ? dep_count_add(&p->all.pairs, &key, 1) : 0;

	p->waiting = 0;
	return err;
}

static int add_break(struct part *p, u64 pc, u32 kind, u32 fragment, u32 interval)
{
	struct dep_counter key = { .a = pc, .b = kind, .c = p->of->process, .d = fragment,
				   .e = interval };

	return dep_count_add(&p->all.breaks, &key, 1);
}

/* The thread was not where it was expected to go on. */
static int add_left(struct part *p)
{
	return add_break(p, p->pc, DEP_EDGE_LEFT, DEP_CODE_LATER, p->pc_last);
}

/* The current segment shows that the thread goes on at @pc. */
static void set_pc(struct part *p, u64 pc)
{
	p->pc = pc;
	p->pc_first = p->pc_last = p->interval;
}

static int add_seam(struct part *p, const struct dep_seam *seam)
{
	struct dep_seam *s = dep_table_add(&p->all.seams, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = *seam;
	s->thread = p->of->serial;
	s->process = p->of->process;
	return 0;
}

/*
 * The first code of the run is at @pc.  An event can have shown it before: it is in @p->pc then,
 * and the row of an entry is that of the event.
 */
static int begin_at_seam(struct part *p, u64 pc, u32 fragment)
{
	struct dep_seam s = {
		.seq = p->first_seq, .pc = pc, .fragment = fragment,
		.entered = p->pc != DEP_PC_UNKNOWN ? DEP_CODE_LATER : fragment, .begins = true,
		.first = p->pc != DEP_PC_UNKNOWN ? p->pc_first : p->interval,
	};

	p->at_seam = false;
	return add_seam(p, &s);
}

/* The thread goes on at @pc.  @fragment: the code there, or DEP_CODE_LATER. */
static int arrive(struct part *p, u64 pc, u32 fragment)
{
	int err = 0;

	if (p->at_seam && (p->pc == DEP_PC_UNKNOWN || p->pc == pc)) {
		err = begin_at_seam(p, pc, fragment);
		set_pc(p, pc);
		return err;
	}
	if (p->at_seam)
		err = begin_at_seam(p, p->pc, DEP_CODE_LATER);
	if (p->pc != pc) {
		if (!err && p->pc != DEP_PC_UNKNOWN)
			err = add_left(p);
		if (!err)
			err = add_break(p, pc, DEP_EDGE_ENTERED, fragment, p->interval);
	}
	set_pc(p, pc);
	return err;
}

/* The thread does not go on at the address where it was expected to. */
static int leave(struct part *p)
{
	int err = end_wait(p, DEP_CODE_LATER);

	if (!err && p->at_seam && p->pc != DEP_PC_UNKNOWN)
		err = begin_at_seam(p, p->pc, DEP_CODE_LATER);
	p->at_seam = false;
	if (!err && p->pc != DEP_PC_UNKNOWN)
		err = add_left(p);
	p->pc = DEP_PC_UNKNOWN;
	return err;
}

/* The current run of segments has ended: the next one, in another part, may go on. */
static int end_run(struct part *p)
{
	struct dep_seam s = { .seq = p->last_seq + 1, .pc = p->pc, .exit = p->waiting,
			      .first = p->pc_first, .last = p->pc_last };
	int err = 0;

	if (p->at_seam) {
		s.begins = s.through = true;
		s.seq = p->first_seq;
		s.to = p->last_seq + 1;
		s.fragment = s.entered = DEP_CODE_LATER;
	}
	if (p->at_seam || p->pc != DEP_PC_UNKNOWN)
		err = add_seam(p, &s);
	p->waiting = 0;
	p->at_seam = false;
	p->pc = DEP_PC_UNKNOWN;
	return err;
}

/* ---- callbacks ---- */

/* Counters of exits belong to the current thread and interval, those of pairs to its process. */
static int set_thread(struct part *p, const struct dep_thread *t, u32 interval)
{
	bool pairs = p->of && (interval != p->interval || t->process != p->of->process);
	int err = pairs || p->of != t ? dep_exits_keep(p->exits, pairs) : 0;

	if (err)
		return err;
	p->interval = interval;
	p->of = t;
	p->thread = dep_table_of(&p->all.threads, sizeof(*p->thread), t->serial);
	if (!p->thread)
		return -ENOMEM;
	dep_exits_begin(p->exits, &(struct dep_exits_owner){
		.all = &p->all, .thread = p->thread, .process = t->process, .interval = interval,
	});
	return 0;
}

/* A segment ends where the thread's next one begins; the last one, when the thread ended. */
static u64 end_of(const struct dep_fold_segment *seg)
{
	u64 ns = seg->next ? seg->next->start_ns : seg->thread->end_ns;

	return ns > seg->segment->start_ns ? ns : seg->segment->start_ns;
}

static int begin_segment(void *part, const struct dep_fold_segment *seg)
{
	struct part *p = part;
	bool goes_on = seg->follows && p->of == seg->thread &&
		       p->last_seq + 1 == seg->segment->seq;
	int err = goes_on || !p->of ? 0 : end_run(p);

	if (!err)
		err = set_thread(p, seg->thread,
				 dep_division_of(&p->all.division, seg->segment->start_ns));
	if (err)
		return err;
	p->time = dep_table_add(&p->all.times, sizeof(*p->time));
	if (!p->time)
		return -ENOMEM;
	p->last_seq = seg->segment->seq;
	if (!goes_on) {
		p->at_seam = seg->follows;
		p->first_seq = p->last_seq;
	}
	p->time->thread = seg->thread->serial;
	p->time->start_ns = seg->segment->start_ns;
	p->time->end_ns = end_of(seg);
	return 0;
}

/* The thread goes on with fragment @fragment. */
static int arrive_in(struct part *p, u32 fragment)
{
	u64 pc = p->code->fragment[fragment].pc;
	int err = end_wait(p, p->pc == pc ? fragment : DEP_CODE_LATER);

	return err ? err : arrive(p, pc, fragment);
}

static int take_sequences(void *part, const uint32_t *exit, size_t n, uint64_t next_pc,
			  const uint32_t *sequence)
{
	struct part *p = part;
	u32 last = exit[n - 1];
	int err = arrive_in(p, p->code->exit[exit[0]].fragment);

	if (!err)
		err = dep_exits_count(p->exits, exit, n, sequence, &p->time->insns);
	set_pc(p, next_pc);
	/* A branch to an unknown place is not counted as a pair. */
	if (!p->code->exit[last].target && next_pc)
		p->waiting = last;
	return err;
}

static int forget_sequences(void *part)
{
	struct part *p = part;

	return dep_exits_forget(p->exits);
}

static int take_piece(void *part, const struct dep_fold_piece *piece)
{
	struct part *p = part;
	struct dep_counter key = { .a = piece->fragment, .b = piece->to, .c = p->of->process,
				   .e = p->interval };
	int err = arrive_in(p, piece->fragment);

	if (!err)
		err = dep_count_add(&p->all.pieces, &key, 1);
	p->time->insns += piece->to;
	p->thread->insns += piece->to;
	p->thread->refs += dep_code_refs(p->code, piece->fragment, piece->to);
	set_pc(p, piece->pc);
	return err;
}

static int take_event(void *part, const struct dep_event *event)
{
	const struct adept_ev_context *ctx = event->payload;
	struct part *p = part;
	int err;

	if (event->id == ADEPT_EV_SIGNAL)
		p->thread->signals++;
	if (event->id != ADEPT_EV_CONTEXT)
		return 0;
	if (p->pc == ctx->pc) {
		p->pc_last = p->interval;
		return 0;
	}
	if (p->at_seam && p->pc == DEP_PC_UNKNOWN) {
		set_pc(p, ctx->pc);
		return 0;
	}
	/* Where the branch went is known, but other code ran first. */
	err = end_wait(p, DEP_CODE_LATER);
	return err ? err : arrive(p, ctx->pc, DEP_CODE_LATER);
}

static int take_gap(void *part, const struct dep_thread *thread)
{
	struct part *p = part;

	/* In front of a thread's first segment the part may still be at another thread. */
	return p->of == thread ? leave(p) : 0;
}

static int join(void *self, void *part)
{
	struct part *p = part;
	int err = p->of ? end_run(p) : 0;

	if (!err)
		err = dep_exits_keep(p->exits, true);
	if (!err)
		err = dep_counts_join(self, &p->all);
	free_part(p);
	return err;
}

const struct dep_fold dep_count_fold = {
	.name = "counts", .part = make_part, .segment = begin_segment,
	.sequences = take_sequences, .forget = forget_sequences,
	.piece = take_piece, .event = take_event, .gap = take_gap, .join = join,
};
