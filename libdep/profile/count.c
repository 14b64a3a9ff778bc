// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Count exits, the targets of indirect branches, and where control was interrupted.
 *
 * Each exit has a counter per process; what an exit means for instructions and branches is worked
 * out once, in rows.c.  The last targets of indirect branches are counted in a small table that
 * needs no search; a counter moves to the hash table when another one needs its place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "count.h"

#define UNKNOWN	0	/* part.pc: not known where the thread goes on */

/*
 * What an exit adds to the totals of its thread.  Sums of a batch of exits fit in the bits of each
 * field: a record has less than 2^16 instructions and operands, a batch at most 2^13 records.
 */
#define WEIGHT_HIGH	32	/* instructions below, operands from here on */
#define WEIGHT_RETURNS	16	/* calls below, returns from here on, then system calls */
#define WEIGHT_SYSCALLS	32

struct weight {
	u64 work, branches;
};

_Static_assert(DEP_FOLD_BATCH <= 1u << 13, "sums of a batch overflow");

struct part {
	struct dep_counts_all all;
	const struct dep_code *code;
	struct dep_thread_count *thread;	/* row of the current thread */
	struct dep_time_count *time;		/* row of the current segment */
	u32 process;
	u64 **page;		/* of the current process */
	u64 pc;			/* where the thread goes on */
	u64 last_seq;
	bool at_seam;		/* the unit before this one knows where the thread goes on */
	u32 waiting;		/* an indirect exit whose next code has not been seen yet; or 0 */
	struct weight *weight;	/* by the number of the exit */
	struct dep_counter pair[DEP_PAIRS];
};

static struct weight weigh(const struct dep_code_exit *x)
{
	struct weight w = { .work = x->insns | (u64)x->refs << WEIGHT_HIGH };

	if (x->branch == DEP_BRANCH_CALL || x->branch == DEP_BRANCH_CALL_INDIRECT)
		w.branches = 1;
	else if (x->branch == DEP_BRANCH_RETURN)
		w.branches = 1ull << WEIGHT_RETURNS;
	else if (x->branch == DEP_BRANCH_SYSCALL)
		w.branches = 1ull << WEIGHT_SYSCALLS;
	return w;
}

static void free_part(struct part *p)
{
	dep_counts_all_free(&p->all, p->code->nexits);
	free(p->weight);
	free(p);
}

static void *make_part(void *self, const struct dep_code *code)
{
	struct part *p = calloc(1, sizeof(*p));
	u32 i;

	(void)self;
	if (!p)
		return NULL;
	p->code = code;
	p->weight = calloc(code->nexits, sizeof(*p->weight));
	if (!p->weight) {
		free_part(p);
		return NULL;
	}
	for (i = 0; i < code->nexits; i++)
		p->weight[i] = weigh(&code->exit[i]);
	return p;
}

/* ---- targets of indirect branches ---- */

static int keep_pair(struct part *p, struct dep_counter *slot)
{
	int err = slot->count ? dep_count_add(&p->all.pairs, slot, slot->count) : 0;

	slot->count = 0;
	return err;
}

static int add_pair(struct part *p, u32 exit, u64 pc, u32 image)
{
	struct dep_counter *slot = &p->pair[(exit * 61u ^ (u32)pc) % DEP_PAIRS];
	int err;

	if (slot->count && slot->a == pc && slot->b == exit && slot->c == p->process &&
	    slot->d == image) {
		slot->count++;
		return 0;
	}
	err = keep_pair(p, slot);
	*slot = (struct dep_counter){ .a = pc, .b = exit, .c = p->process, .d = image, .count = 1 };
	return err;
}

static int keep_pairs(struct part *p)
{
	int err = 0;
	u32 i;

	for (i = 0; i < DEP_PAIRS && !err; i++)
		err = keep_pair(p, &p->pair[i]);
	return err;
}

/* ---- where control was interrupted ---- */

static int add_break(struct part *p, u64 pc, u32 kind, u32 image)
{
	struct dep_counter key = { .a = pc, .b = kind, .c = p->process, .d = image };

	return dep_count_add(&p->all.breaks, &key, 1);
}

static int add_seam(struct part *p, u64 seq, u64 pc, u32 image, bool begins)
{
	struct dep_seam *s = dep_table_add(&p->all.seams, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct dep_seam){
		.thread = p->thread->thread, .process = p->process, .seq = seq, .pc = pc,
		.image = image, .begins = begins,
	};
	return 0;
}

/* The thread goes on at @pc.  @image: of the code there, or DEP_IMAGE_LATER. */
static int arrive(struct part *p, u64 pc, u32 image)
{
	int err = 0;

	if (p->at_seam) {
		p->at_seam = false;
		err = add_seam(p, p->last_seq, pc, image, true);
	} else if (p->pc != pc) {
		if (p->pc != UNKNOWN)
			err = add_break(p, p->pc, DEP_EDGE_LEFT, DEP_IMAGE_LATER);
		if (!err)
			err = add_break(p, pc, DEP_EDGE_ENTERED, image);
	}
	p->pc = pc;
	return err;
}

/* The thread does not go on at the address where it was expected to. */
static int leave(struct part *p)
{
	int err = 0;

	if (p->waiting)
		err = add_pair(p, p->waiting, p->pc, DEP_IMAGE_LATER);
	p->waiting = 0;
	p->at_seam = false;
	if (!err && p->pc != UNKNOWN)
		err = add_break(p, p->pc, DEP_EDGE_LEFT, DEP_IMAGE_LATER);
	p->pc = UNKNOWN;
	return err;
}

/* The current run of segments has ended: the next one, in another part, may go on. */
static int end_run(struct part *p)
{
	int err = 0;

	if (!p->thread)
		return 0;
	if (p->waiting)
		err = add_pair(p, p->waiting, p->pc, DEP_IMAGE_LATER);
	p->waiting = 0;
	if (!err && p->pc != UNKNOWN)
		err = add_seam(p, p->last_seq + 1, p->pc, 0, false);
	p->pc = UNKNOWN;
	return err;
}

/* ---- callbacks ---- */

static int set_process(struct part *p, u32 process, u32 nexits)
{
	struct dep_process_counts *row = dep_table_of(&p->all.processes, sizeof(*row), process);

	if (!row)
		return -ENOMEM;
	if (!row->page)
		row->page = calloc(nexits / DEP_EXIT_PAGE + 1, sizeof(*row->page));
	if (!row->page)
		return dep_fail(-ENOMEM, "counters of exits");
	p->process = process;
	p->page = row->page;
	return 0;
}

static int begin_segment(void *part, const struct dep_fold_segment *seg)
{
	struct part *p = part;
	bool goes_on = seg->follows && p->thread && p->thread->thread == seg->thread->serial &&
		       p->last_seq + 1 == seg->segment->seq;
	int err = goes_on ? 0 : end_run(p);

	if (!err)
		err = set_process(p, seg->thread->process, p->code->nexits);
	if (err)
		return err;
	p->thread = dep_table_of(&p->all.threads, sizeof(*p->thread), seg->thread->serial);
	p->time = dep_table_add(&p->all.times, sizeof(*p->time));
	if (!p->thread || !p->time)
		return -ENOMEM;
	p->at_seam |= !goes_on && seg->follows;
	p->last_seq = seg->segment->seq;
	p->time->thread = seg->thread->serial;
	p->time->start_ns = seg->segment->start_ns;
	return 0;
}

static u64 *counter(struct part *p, u32 number)
{
	u64 **page = &p->page[number / DEP_EXIT_PAGE];

	if (!*page)
		*page = calloc(DEP_EXIT_PAGE, sizeof(**page));
	return *page ? &(*page)[number % DEP_EXIT_PAGE] : NULL;
}

/* An indirect branch to the code of exit @next. */
static int add_indirect(struct part *p, u32 exit, u32 next)
{
	const struct dep_code_fragment *f = &p->code->fragment[p->code->exit[next].fragment];

	return add_pair(p, exit, f->pc, f->image);
}

static int count_exits(struct part *p, const u32 *exit, size_t n)
{
	struct weight sum = { 0 };
	u64 *count;
	int err = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		count = counter(p, exit[i]);
		if (!count)
			return dep_fail(-ENOMEM, "counters of exits");
		++*count;
		sum.work += p->weight[exit[i]].work;
		sum.branches += p->weight[exit[i]].branches;
		if (p->code->exit[exit[i]].target || i + 1 == n)
			continue;
		err = add_indirect(p, exit[i], exit[i + 1]);
		if (err)
			return err;
	}
	p->time->insns += (u32)sum.work;
	p->thread->insns += (u32)sum.work;
	p->thread->refs += sum.work >> WEIGHT_HIGH;
	p->thread->records += n;
	p->thread->calls += (u16)sum.branches;
	p->thread->returns += (u16)(sum.branches >> WEIGHT_RETURNS);
	p->thread->syscalls += sum.branches >> WEIGHT_SYSCALLS;
	return 0;
}

static int take_exits(void *part, const uint32_t *exit, size_t n, uint64_t next_pc)
{
	struct part *p = part;
	const struct dep_code_fragment *f = &p->code->fragment[p->code->exit[exit[0]].fragment];
	int err = 0;

	if (p->waiting)
		err = add_pair(p, p->waiting, p->pc, p->pc == f->pc ? f->image : DEP_IMAGE_LATER);
	p->waiting = 0;
	if (!err)
		err = arrive(p, f->pc, f->image);
	if (!err)
		err = count_exits(p, exit, n);
	p->pc = next_pc;
	/* A branch to an unknown place is not counted as a pair. */
	if (!p->code->exit[exit[n - 1]].target && next_pc)
		p->waiting = exit[n - 1];
	return err;
}

static u32 refs_before(const struct part *p, const struct dep_fold_piece *piece)
{
	const struct dep_code_fragment *f = &p->code->fragment[piece->fragment];
	const struct dep_step *s = p->code->step + f->first_step;

	/* Up to the last branch; rows.c counts the references of each instruction exactly. */
	return piece->nsteps ? s[piece->nsteps - 1].refs : 0;
}

static int take_piece(void *part, const struct dep_fold_piece *piece)
{
	struct part *p = part;
	const struct dep_code_fragment *f = &p->code->fragment[piece->fragment];
	struct dep_counter key = { .a = piece->fragment, .b = piece->to, .c = p->process };
	int err = 0;

	if (p->waiting)
		err = add_pair(p, p->waiting, p->pc, p->pc == f->pc ? f->image : DEP_IMAGE_LATER);
	p->waiting = 0;
	if (!err)
		err = arrive(p, f->pc, f->image);
	if (!err)
		err = dep_count_add(&p->all.pieces, &key, 1);
	p->time->insns += piece->to - piece->from;
	p->thread->insns += piece->to - piece->from;
	p->thread->refs += refs_before(p, piece);
	p->pc = piece->pc;
	return err;
}

static int take_event(void *part, const struct dep_event *event)
{
	const struct adept_ev_context *ctx = event->payload;
	struct part *p = part;

	if (event->id == ADEPT_EV_SIGNAL)
		p->thread->signals++;
	if (event->id != ADEPT_EV_CONTEXT || p->pc == ctx->pc)
		return 0;
	/* Where the branch went is known, but other code ran first. */
	if (p->waiting) {
		int err = add_pair(p, p->waiting, p->pc, DEP_IMAGE_LATER);

		p->waiting = 0;
		if (err)
			return err;
	}
	return arrive(p, ctx->pc, DEP_IMAGE_LATER);
}

static int take_gap(void *part, const struct dep_thread *thread)
{
	(void)thread;
	return leave(part);
}

/* ---- joining ---- */

static int join_processes(struct dep_counts_all *to, struct dep_counts_all *from, u32 nexits)
{
	struct dep_process_counts *a, *b = from->processes.row;
	size_t i, k, n, npages = nexits / DEP_EXIT_PAGE + 1;

	for (i = 0; i < from->processes.n; i++) {
		a = dep_table_of(&to->processes, sizeof(*a), b[i].process);
		if (!a)
			return -ENOMEM;
		if (!a->page) {
			a->page = b[i].page;
			b[i].page = NULL;
			continue;
		}
		for (k = 0; k < npages; k++) {
			if (!a->page[k]) {
				a->page[k] = b[i].page[k];
				b[i].page[k] = NULL;
			} else if (b[i].page[k]) {
				for (n = 0; n < DEP_EXIT_PAGE; n++)
					a->page[k][n] += b[i].page[k][n];
			}
		}
	}
	return 0;
}

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
	int err = end_run(p);

	if (!err)
		err = keep_pairs(p);
	if (!err)
		err = join_processes(to, from, p->code->nexits);
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
	.name = "counts", .part = make_part, .segment = begin_segment, .exits = take_exits,
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

static int add_end(struct dep_counts_all *a, const struct dep_seam *s)
{
	struct dep_counter key = {
		.a = s->pc, .b = s->begins ? DEP_EDGE_ENTERED : DEP_EDGE_LEFT, .c = s->process,
		.d = s->begins ? s->image : DEP_IMAGE_LATER,
	};

	return dep_count_add(&a->breaks, &key, 1);
}

int dep_counts_settle(struct dep_counts_all *a)
{
	struct dep_seam *s = a->seams.row;
	size_t i, n = a->seams.n;
	int err = 0;

	if (n)
		qsort(s, n, sizeof(*s), by_seam);
	for (i = 0; i < n && !err; i++) {
		if (i + 1 < n && !s[i].begins && s[i + 1].begins &&
		    s[i].thread == s[i + 1].thread && s[i].seq == s[i + 1].seq &&
		    s[i].pc == s[i + 1].pc)
			i++;
		else
			err = add_end(a, &s[i]);
	}
	return err;
}

void dep_counts_all_free(struct dep_counts_all *a, u32 nexits)
{
	struct dep_process_counts *p = a->processes.row;
	size_t i, k;

	for (i = 0; i < a->processes.n; i++) {
		for (k = 0; p[i].page && k < nexits / DEP_EXIT_PAGE + 1; k++)
			free(p[i].page[k]);
		free(p[i].page);
	}
	free(a->processes.row);
	free(a->threads.row);
	free(a->times.row);
	free(a->seams.row);
	dep_count_free(&a->pairs);
	dep_count_free(&a->pieces);
	dep_count_free(&a->breaks);
	memset(a, 0, sizeof(*a));
}
