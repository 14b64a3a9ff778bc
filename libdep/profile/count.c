// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Count exits, the targets of indirect branches, and where control was interrupted.
 *
 * Each exit has counters, which are added to the thread and the process when the next thread or
 * interval begins; what an exit means for instructions and branches is worked out once, in rows.c.
 * A sequence of exits with a number has one counter, which is added to its exits then.  The last
 * targets of indirect branches are counted in a small table that needs no search; a counter moves
 * to the hash table when another one needs its place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/fold/code.h"
#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "count.h"

#define UNKNOWN	0	/* part.pc: not known where the thread goes on */

#define RECORDS_MAX	(1u << 31)	/* counters have 32 bits */
#define EXITS_MIN	(1u << 16)	/* rows of part.all.exits before the first compaction */

/*
 * struct hot - the counters of an exit
 * @count: successive records use them in turn: a counter can be read again only some cycles after
 *	it was written, and many loops repeat one exit
 */
struct hot {
	u32 count[2];
};

/*
 * What is needed of an exit for each record, in a byte, so that this of all exits stays in the
 * cache: the number of instructions, and INDIRECT.
 */
#define INDIRECT	0x80u
#define INSNS		0x7fu	/* this number or more */

/** struct pair - an indirect exit and the fragment that was executed next */
struct pair {
	u32 exit, fragment;
	u64 count;		/* 0: none */
};

/** struct sequence - the counter of a sequence of exits, and their instructions */
struct sequence {
	u32 count;
	u32 insns : 31;
	u32 indirect : 1;	/* the last exit is */
};

#define AHEAD	16u	/* counters of sequences are loaded so early */

struct part {
	struct dep_counts_all all;
	const struct dep_fragments *code;
	struct dep_store *store;
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
	u32 records;		/* counted in @hot */
	struct hot *hot;	/* by the number of the exit */
	u8 *brief;		/* the same: instructions and INDIRECT */
	u32 *touched;		/* exits whose counters are not zero, each at most twice */
	size_t ntouched;
	struct sequence *sequence;	/* by number */
	u32 (*members)[DEP_FOLD_SEQUENCE];	/* by number: the exits */
	u32 nsequences;			/* known numbers are below this */
	u32 *repeated;			/* numbers of sequences whose counters are not zero */
	u32 nrepeated;
	size_t compact_at;	/* number of rows of all.exits */
	struct pair pair[DEP_PAIRS];
	u32 used[DEP_PAIRS];	/* indices in @pair of the counters that are not 0 */
	u32 nused;
};

static void free_part(struct part *p)
{
	dep_counts_all_free(&p->all);
	free(p->hot);
	free(p->brief);
	free(p->touched);
	free(p->sequence);
	free(p->members);
	free(p->repeated);
	free(p);
}

static u8 brief_of(const struct dep_code_exit *x)
{
	return (u8)((x->insns < INSNS ? x->insns : INSNS) | (x->target ? 0 : INDIRECT));
}

static void *make_part(void *self, const struct dep_fragments *code)
{
	const struct dep_counts_all *all = self;
	struct part *p = calloc(1, sizeof(*p));
	u32 i;

	if (!p)
		return NULL;
	p->code = code;
	p->all.start_ns = all->start_ns;
	p->all.per_ns = all->per_ns;
	p->store = dep_code_made(code)->store;
	p->all.threads.may_move = DEP_TABLE_MOVES;
	p->compact_at = EXITS_MIN;
	p->hot = calloc(code->nexits, sizeof(*p->hot));
	p->brief = malloc(code->nexits);
	p->touched = malloc(2ul * code->nexits * sizeof(*p->touched));
	p->sequence = malloc(DEP_FOLD_SEQUENCES * sizeof(*p->sequence));
	p->members = malloc(DEP_FOLD_SEQUENCES * sizeof(*p->members));
	p->repeated = malloc(DEP_FOLD_SEQUENCES * sizeof(*p->repeated));
	p->nsequences = 1;
	if (!p->hot || !p->brief || !p->touched || !p->sequence || !p->members || !p->repeated) {
		free_part(p);
		return NULL;
	}
	for (i = 0; i < code->nexits; i++)
		p->brief[i] = brief_of(&code->exit[i]);
	return p;
}

/* ---- targets of indirect branches ---- */

static int count_pair(struct part *p, u32 exit, u64 pc, u32 image, u32 interval, u64 count)
{
	struct dep_counter key = { .a = pc, .b = exit, .c = p->of->process, .d = image,
				   .e = interval };

	return dep_count_add(&p->all.pairs, &key, count);
}

static int keep_pair(struct part *p, struct pair *slot)
{
	const struct dep_code_fragment *f = &p->code->fragment[slot->fragment];
	int err = slot->count ? count_pair(p, slot->exit, f->pc, f->image, p->interval,
					   slot->count) : 0;

	slot->count = 0;
	return err;
}

/* Fragment @next was executed @count times after the indirect branch of @exit. */
static inline int add_pair(struct part *p, u32 exit, u32 next, u64 count)
{
	u32 at = (exit * 61u ^ next * 7u) % DEP_PAIRS;
	struct pair *slot = &p->pair[at];
	int err;

	if (slot->exit == exit && slot->fragment == next && slot->count) {
		slot->count += count;
		return 0;
	}
	if (!slot->count)
		p->used[p->nused++] = at;
	err = keep_pair(p, slot);
	*slot = (struct pair){ .exit = exit, .fragment = next, .count = count };
	return err;
}

static int keep_pairs(struct part *p)
{
	int err = 0;
	u32 i;

	for (i = 0; i < p->nused && !err; i++)
		err = keep_pair(p, &p->pair[p->used[i]]);
	p->nused = 0;
	return err;
}

/* The branch that waits went to @p->pc, where the code of @image follows. */
static int end_wait(struct part *p, u32 image)
{
	int err = p->waiting ? count_pair(p, p->waiting, p->pc, image, p->pc_first, 1) : 0;

	p->waiting = 0;
	return err;
}

/* ---- counters of exits ---- */

int dep_profile_check(struct dep_store *store, u64 bytes)
{
	u64 input;

	if (bytes <= dep_budget_profile(0))
		return 0;
	input = dep_store_input(store, bytes);
	if (bytes <= dep_budget_profile(input))
		return 0;
	return dep_fail(-EFBIG, "the profile of a store of %llu KiB would take more than %llu MiB",
			(unsigned long long)input >> 10,
			(unsigned long long)dep_budget_profile(input) >> 20);
}

static int by_exit(const void *pa, const void *pb)
{
	const struct dep_exit_total *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->exit != b->exit)
		return a->exit < b->exit ? -1 : 1;
	return a->interval < b->interval ? -1 : a->interval > b->interval;
}

/* Sort the rows and add up those of one exit. */
static int compact(struct dep_table *t, struct dep_store *store)
{
	struct dep_exit_total *row = t->row, *to = NULL;
	size_t i;

	if (t->n)
		qsort(row, t->n, sizeof(*row), by_exit);
	for (i = 0; i < t->n; i++) {
		if (to && !by_exit(to, &row[i]))
			to->count += row[i].count;
		else
			*(to = to ? to + 1 : row) = row[i];
	}
	t->n = to ? (size_t)(to - row) + 1 : 0;
	return dep_profile_check(store, t->n * sizeof(*row));
}

static void add_to_thread(struct dep_thread_count *t, const struct dep_code_exit *x, u64 count)
{
	t->insns += count * x->insns;
	t->refs += count * x->refs;
	t->records += count;
	if (x->branch == DEP_BRANCH_CALL || x->branch == DEP_BRANCH_CALL_INDIRECT)
		t->calls += count;
	else if (x->branch == DEP_BRANCH_RETURN)
		t->returns += count;
	else if (x->branch == DEP_BRANCH_SYSCALL)
		t->syscalls += count;
}

/* Add @count to the counter of an exit that is in a sequence. */
static void add_to_exit(struct part *p, u32 exit, u32 count)
{
	struct hot *h = &p->hot[exit];

	if (!h->count[0] && !h->count[1])
		p->touched[p->ntouched++] = exit;
	h->count[0] += count;
}

/* Add the counters of sequences to those of their exits, and to the targets of indirect ones. */
static int keep_sequences(struct part *p)
{
	const struct dep_code_exit *all = p->code->exit;
	const u32 *exit;
	int err = 0;
	u32 i, k, count;

	for (i = 0; i < p->nrepeated && !err; i++) {
		exit = p->members[p->repeated[i]];
		count = p->sequence[p->repeated[i]].count;
		p->sequence[p->repeated[i]].count = 0;
		for (k = 0; k < DEP_FOLD_SEQUENCE && !err; k++) {
			add_to_exit(p, exit[k], count);
			if (k + 1 == DEP_FOLD_SEQUENCE || all[exit[k]].target)
				continue;
			err = add_pair(p, exit[k], all[exit[k + 1]].fragment, count);
		}
	}
	p->nrepeated = 0;
	return err;
}

/* Add the counters of exits to the current thread and its process. */
static int keep_exits(struct part *p)
{
	struct dep_exit_total *row;
	struct hot *h;
	size_t i;
	u64 count;
	int err = keep_sequences(p);

	if (err)
		return err;
	for (i = 0; i < p->ntouched; i++) {
		h = &p->hot[p->touched[i]];
		count = (u64)h->count[0] + h->count[1];
		if (!count)
			continue;
		h->count[0] = h->count[1] = 0;
		row = dep_table_add(&p->all.exits, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->process = p->of->process;
		row->exit = p->touched[i];
		row->interval = p->interval;
		row->count = count;
		add_to_thread(p->thread, &p->code->exit[row->exit], count);
	}
	p->ntouched = 0;
	p->records = 0;
	if (p->all.exits.n < p->compact_at)
		return 0;
	i = (size_t)compact(&p->all.exits, p->store);
	p->compact_at = 2 * p->all.exits.n > EXITS_MIN ? 2 * p->all.exits.n : EXITS_MIN;
	return (int)i;
}

/* ---- where control was interrupted ---- */

static int add_break(struct part *p, u64 pc, u32 kind, u32 image, u32 interval)
{
	struct dep_counter key = { .a = pc, .b = kind, .c = p->of->process, .d = image,
				   .e = interval };

	return dep_count_add(&p->all.breaks, &key, 1);
}

/* The thread was not where it was expected to go on. */
static int add_left(struct part *p)
{
	return add_break(p, p->pc, DEP_EDGE_LEFT, DEP_IMAGE_LATER, p->pc_last);
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
static int begin_at_seam(struct part *p, u64 pc, u32 image)
{
	struct dep_seam s = {
		.seq = p->first_seq, .pc = pc, .image = image,
		.entered = p->pc != UNKNOWN ? DEP_IMAGE_LATER : image, .begins = true,
		.first = p->pc != UNKNOWN ? p->pc_first : p->interval,
	};

	p->at_seam = false;
	return add_seam(p, &s);
}

/* The thread goes on at @pc.  @image: of the code there, or DEP_IMAGE_LATER. */
static int arrive(struct part *p, u64 pc, u32 image)
{
	int err = 0;

	if (p->at_seam && (p->pc == UNKNOWN || p->pc == pc)) {
		err = begin_at_seam(p, pc, image);
		set_pc(p, pc);
		return err;
	}
	if (p->at_seam)
		err = begin_at_seam(p, p->pc, DEP_IMAGE_LATER);
	if (p->pc != pc) {
		if (!err && p->pc != UNKNOWN)
			err = add_left(p);
		if (!err)
			err = add_break(p, pc, DEP_EDGE_ENTERED, image, p->interval);
	}
	set_pc(p, pc);
	return err;
}

/* The thread does not go on at the address where it was expected to. */
static int leave(struct part *p)
{
	int err = end_wait(p, DEP_IMAGE_LATER);

	if (!err && p->at_seam && p->pc != UNKNOWN)
		err = begin_at_seam(p, p->pc, DEP_IMAGE_LATER);
	p->at_seam = false;
	if (!err && p->pc != UNKNOWN)
		err = add_left(p);
	p->pc = UNKNOWN;
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
		s.image = s.entered = DEP_IMAGE_LATER;
	}
	if (p->at_seam || p->pc != UNKNOWN)
		err = add_seam(p, &s);
	p->waiting = 0;
	p->at_seam = false;
	p->pc = UNKNOWN;
	return err;
}

/* ---- callbacks ---- */

/* Counters of exits belong to the current thread and interval, those of pairs to its process. */
static int set_thread(struct part *p, const struct dep_thread *t, u32 interval)
{
	bool next = p->of && interval != p->interval;
	int err = next || (p->of && p->of != t) ? keep_exits(p) : 0;

	if (!err && p->of && (next || p->of->process != t->process))
		err = keep_pairs(p);
	if (err)
		return err;
	p->interval = interval;
	p->of = t;
	p->thread = dep_table_of(&p->all.threads, sizeof(*p->thread), t->serial);
	return p->thread ? 0 : -ENOMEM;
}

/* A segment ends where the thread's next one begins; the last one, when the thread ended. */
static u64 end_of(const struct part *p, const struct dep_fold_segment *seg)
{
	const struct dep_segment *s, *next = seg->segment + 1;
	size_t n = dep_store_segments(p->store, &s);
	u64 ns = seg->thread->end_ns;

	if (next < s + n && next->thread == seg->segment->thread)
		ns = next->start_ns;
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
				 dep_interval_of(&p->all, seg->segment->start_ns));
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
	p->time->end_ns = end_of(p, seg);
	return 0;
}

/* Count an exit in counter @which; return its number of instructions, at most INSNS. */
static inline u32 count_exit(struct part *p, struct hot *h, u8 brief, u32 exit, u32 which)
{
	if (!h->count[which]++)
		p->touched[p->ntouched++] = exit;
	return brief & INSNS;
}

/* Count the targets of the indirect exits, and the instructions of exits with INSNS or more. */
static int count_special(struct part *p, const u32 *exit, const u32 *at, size_t n, u64 *insns)
{
	const struct dep_code_exit *all = p->code->exit, *x;
	int err = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		x = all + exit[at[i]];
		if ((p->brief[exit[at[i]]] & INSNS) == INSNS)
			*insns += x->insns - INSNS;
		if (!x->target)
			err |= add_pair(p, exit[at[i]], all[exit[at[i] + 1]].fragment, 1);
	}
	return err;
}

static int count_exits(struct part *p, const u32 *exit, size_t n)
{
	u32 special[DEP_FOLD_BATCH];	/* indices of exits that need more than this loop */
	struct hot *hot = p->hot;
	const u8 *brief = p->brief;
	size_t i, nspecial = 0;
	u64 insns = 0;
	int err;
	u8 b;

	for (i = 0; i + 1 < n; i++) {
		b = brief[exit[i]];
		insns += count_exit(p, hot + exit[i], b, exit[i], i & 1);
		special[nspecial] = (u32)i;
		nspecial += b >= INSNS;
	}
	b = brief[exit[i]];
	insns += count_exit(p, hot + exit[i], b, exit[i], i & 1);
	if ((b & INSNS) == INSNS)
		insns += p->code->exit[exit[i]].insns - INSNS;
	err = count_special(p, exit, special, nspecial, &insns);
	p->time->insns += insns;
	return err ? -ENOMEM : 0;
}

static void learn_sequence(struct part *p, u32 number, const u32 *exit)
{
	struct sequence *s = &p->sequence[number];
	u32 i, insns = 0;

	for (i = 0; i < DEP_FOLD_SEQUENCE; i++)
		insns += p->code->exit[exit[i]].insns;
	s->count = 0;
	s->insns = insns & INT32_MAX;
	s->indirect = !!(p->brief[exit[i - 1]] & INDIRECT);
	memcpy(p->members[number], exit, sizeof(*p->members));
	p->nsequences++;
}

/* The record in front of @exit, if its branch is indirect, went to that of @exit. */
static int count_between(struct part *p, const u32 *exit)
{
	if (!(p->brief[exit[-1]] & INDIRECT))
		return 0;
	return add_pair(p, exit[-1], p->code->exit[exit[0]].fragment, 1);
}

/* Count sequences up to one without number; *@at is behind them.  The batch has @n exits. */
static int count_numbered(struct part *p, const u32 *exit, size_t n, const u32 *sequence,
			  size_t *at)
{
	const struct dep_code_exit *all = p->code->exit;
	size_t i = *at / DEP_FOLD_SEQUENCE, end = n / DEP_FOLD_SEQUENCE, next;
	u64 insns = 0;
	struct sequence *s;
	int err = 0;

	for (; i < end && sequence[i] && !err; i++) {
		if (i + AHEAD < end)
			__builtin_prefetch(p->sequence + sequence[i + AHEAD]);
		s = &p->sequence[sequence[i]];
		next = (i + 1) * DEP_FOLD_SEQUENCE;
		if (sequence[i] == p->nsequences)
			learn_sequence(p, sequence[i], exit + next - DEP_FOLD_SEQUENCE);
		if (!s->count++)
			p->repeated[p->nrepeated++] = sequence[i];
		insns += s->insns;
		if (s->indirect && next < n)
			err = add_pair(p, exit[next - 1], all[exit[next]].fragment, 1);
	}
	p->time->insns += insns;
	*at = i * DEP_FOLD_SEQUENCE;
	return err;
}

/* Count exits up to a sequence with a number, or all; *@at is behind them. */
static int count_others(struct part *p, const u32 *exit, size_t n, const u32 *sequence,
			size_t *at)
{
	size_t i = *at / DEP_FOLD_SEQUENCE, end = n / DEP_FOLD_SEQUENCE, next;
	int err;

	while (i < end && !sequence[i])
		i++;
	next = i < end ? i * DEP_FOLD_SEQUENCE : n;
	err = count_exits(p, exit + *at, next - *at);
	if (!err && next < n)
		err = count_between(p, exit + next);
	*at = next;
	return err;
}

static int count_all(struct part *p, const u32 *exit, size_t n, const u32 *sequence)
{
	size_t at = 0;
	int err = 0;

	while (at < n && !err) {
		err = count_numbered(p, exit, n, sequence, &at);
		if (at < n && !err)
			err = count_others(p, exit, n, sequence, &at);
	}
	p->records += n;
	if (err)
		return -ENOMEM;
	return p->records >= RECORDS_MAX - DEP_FOLD_BATCH ? keep_exits(p) : 0;
}

/* The thread goes on with fragment @f. */
static int arrive_in(struct part *p, const struct dep_code_fragment *f)
{
	int err = end_wait(p, p->pc == f->pc ? f->image : DEP_IMAGE_LATER);

	return err ? err : arrive(p, f->pc, f->image);
}

static int take_sequences(void *part, const uint32_t *exit, size_t n, uint64_t next_pc,
			  const uint32_t *sequence)
{
	struct part *p = part;
	u32 last = exit[n - 1];
	int err = arrive_in(p, &p->code->fragment[p->code->exit[exit[0]].fragment]);

	if (!err)
		err = count_all(p, exit, n, sequence);
	set_pc(p, next_pc);
	/* A branch to an unknown place is not counted as a pair. */
	if (p->brief[last] & INDIRECT && next_pc)
		p->waiting = last;
	return err;
}

static int forget_sequences(void *part)
{
	struct part *p = part;
	int err = keep_sequences(p);

	p->nsequences = 1;
	return err;
}

static int take_piece(void *part, const struct dep_fold_piece *piece)
{
	struct part *p = part;
	struct dep_counter key = { .a = piece->fragment, .b = piece->to, .c = p->of->process,
				   .e = p->interval };
	int err = arrive_in(p, &p->code->fragment[piece->fragment]);

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
	if (p->at_seam && p->pc == UNKNOWN) {
		set_pc(p, ctx->pc);
		return 0;
	}
	/* Where the branch went is known, but other code ran first. */
	err = end_wait(p, DEP_IMAGE_LATER);
	return err ? err : arrive(p, ctx->pc, DEP_IMAGE_LATER);
}

static int take_gap(void *part, const struct dep_thread *thread)
{
	struct part *p = part;

	/* In front of a thread's first segment the part may still be at another thread. */
	return p->of == thread ? leave(p) : 0;
}

/* ---- joining ---- */

static int join_threads(struct dep_counts_all *to, const struct dep_counts_all *from)
{
	const struct dep_thread_count *b = from->threads.row;
	struct dep_thread_count *a;
	size_t i;

	for (i = 0; i < from->threads.n; i++) {
		a = dep_table_of(&to->threads, sizeof(*a), b[i].thread);
		if (!a)
			return -ENOMEM;
		a->insns += b[i].insns;
		a->refs += b[i].refs;
		a->records += b[i].records;
		a->calls += b[i].calls;
		a->returns += b[i].returns;
		a->syscalls += b[i].syscalls;
		a->signals += b[i].signals;
	}
	return 0;
}

static int append(struct dep_table *to, const struct dep_table *from, size_t size)
{
	void *row;
	size_t i;

	for (i = 0; i < from->n; i++) {
		row = dep_table_add(to, size);
		if (!row)
			return -ENOMEM;
		memcpy(row, (const char *)from->row + i * size, size);
	}
	return 0;
}

static int join(void *self, void *part)
{
	struct dep_counts_all *to = self;
	struct part *p = part;
	struct dep_counts_all *from = &p->all;
	int err = p->of ? end_run(p) : 0;

	if (!err && p->of)
		err = keep_exits(p);
	if (!err && p->of)
		err = keep_pairs(p);
	if (!err)
		err = append(&to->exits, &from->exits, sizeof(struct dep_exit_total));
	if (!err)
		err = join_threads(to, from);
	if (!err)
		err = append(&to->times, &from->times, sizeof(struct dep_time_count));
	if (!err)
		err = append(&to->seams, &from->seams, sizeof(struct dep_seam));
	if (!err)
		err = dep_count_join(&to->pairs, &from->pairs);
	if (!err)
		err = dep_count_join(&to->pieces, &from->pieces);
	if (!err)
		err = dep_count_join(&to->breaks, &from->breaks);
	free_part(p);
	return err;
}

const struct dep_fold dep_count_fold = {
	.name = "counts", .part = make_part, .segment = begin_segment,
	.sequences = take_sequences, .forget = forget_sequences,
	.piece = take_piece, .event = take_event, .gap = take_gap, .join = join,
};

/* ---- seams ---- */

static int by_seam(const void *pa, const void *pb)
{
	const struct dep_seam *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->begins - b->begins;
}

static int settle_left(struct dep_counts_all *a, const struct dep_seam *s)
{
	struct dep_counter key = { .a = s->pc, .b = DEP_EDGE_LEFT, .c = s->process,
				   .d = DEP_IMAGE_LATER, .e = s->last };

	return dep_count_add(&a->breaks, &key, 1);
}

static int settle_entered(struct dep_counts_all *a, const struct dep_seam *s)
{
	struct dep_counter key = { .a = s->pc, .b = DEP_EDGE_ENTERED, .c = s->process,
				   .d = s->entered, .e = s->first };

	return dep_count_add(&a->breaks, &key, 1);
}

/* The branch at the end of run @s went on with the code of @image. */
static int settle_wait(struct dep_counts_all *a, const struct dep_seam *s, u32 image)
{
	struct dep_counter key = { .a = s->pc, .b = s->exit, .c = s->process, .d = image,
				   .e = s->first };

	return s->exit ? dep_count_add(&a->pairs, &key, 1) : 0;
}

/* What follows run @open does not go on where it ended. */
static int settle_end(struct dep_counts_all *a, struct dep_seam *open)
{
	int err = 0;

	if (open->pc != UNKNOWN) {
		err = settle_wait(a, open, DEP_IMAGE_LATER);
		if (!err)
			err = settle_left(a, open);
	}
	*open = (struct dep_seam){ .pc = UNKNOWN };
	return err;
}

/* Run @s begins where run @open has ended. */
static int settle_begin(struct dep_counts_all *a, struct dep_seam *open, const struct dep_seam *s)
{
	int err = 0;

	if (s->pc == open->pc || (s->through && s->pc == UNKNOWN)) {
		if (s->through) {
			open->seq = s->to;
			if (s->pc != UNKNOWN)
				open->last = s->last;
			return 0;
		}
		err = settle_wait(a, open, s->image);
		*open = (struct dep_seam){ .pc = UNKNOWN };
		return err;
	}
	err = settle_end(a, open);
	if (!err)
		err = settle_entered(a, s);
	if (s->through) {
		*open = *s;
		open->seq = s->to;
	}
	return err;
}

static int settle_seams(struct dep_counts_all *a)
{
	struct dep_seam open = { .pc = UNKNOWN }, *s = a->seams.row;
	size_t i, n = a->seams.n;
	int err = 0;

	if (n)
		qsort(s, n, sizeof(*s), by_seam);
	for (i = 0; i < n && !err; i++) {
		if (open.thread != s[i].thread || open.seq != s[i].seq || !s[i].begins)
			err = settle_end(a, &open);
		if (err)
			break;
		if (s[i].begins)
			err = settle_begin(a, &open, &s[i]);
		else
			open = s[i];
	}
	return err ? err : settle_end(a, &open);
}

int dep_counts_settle(struct dep_counts_all *a, struct dep_store *store)
{
	int err = compact(&a->exits, store);

	return err ? err : settle_seams(a);
}

void dep_counts_all_free(struct dep_counts_all *a)
{
	free(a->exits.row);
	free(a->threads.row);
	free(a->times.row);
	free(a->seams.row);
	dep_count_free(&a->pairs);
	dep_count_free(&a->pieces);
	dep_count_free(&a->breaks);
	memset(a, 0, sizeof(*a));
}
