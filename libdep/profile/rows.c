// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How often each instruction and branch of a fragment was executed follows from the counts of its
 * exits: an exit passes all instructions and branches in front of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/fold/code.h"
#include "libdep/format/file/error.h"
#include "rows.h"
#include "sort.h"

/* Counts of one fragment in one process.  An instruction or step @i has the sum from @i on. */
struct passed {
	u64 *insn;		/* number of times that exactly the first i instructions ran */
	u64 *step;		/* number of times that exactly the first i steps were passed */
};

/* Mapped files that may be compared for each row of an interval, besides those of the pass. */
#define IMAGE_STEPS	8u

/* ---- rows of one fragment ---- */

/* Rows are refused when a store has more of them than its size explains. */
static int check_rows(const struct dep_rows *r)
{
	const size_t n = r->insns.n + r->edges.n;

	return n % 65536 ? 0 : dep_profile_check(r->store,
			r->insns.n * sizeof(struct dep_insn_count) +
			r->edges.n * sizeof(struct dep_edge_count));
}

static int add_edge(struct dep_rows *r, const struct dep_edge_count *e)
{
	struct dep_edge_count *row;

	if (!e->count)
		return 0;
	row = dep_table_add(&r->edges, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = *e;
	r->images.steps += r->whole ? IMAGE_STEPS : 0;
	return check_rows(r);
}

/*
 * The file that @process has mapped where @image is mapped.  A forked process executes fragments of
 * its parent, whose files are those of the parent.
 */
static u32 own_image(struct dep_rows *r, u32 process, u32 image, u64 pc, u64 time_ns)
{
	const struct dep_process *p;
	u32 own;

	if (!image || r->images.module[image - 1].process == process)
		return image;
	p = dep_model_process(&r->store->model, process);
	if (p && p->start_ns > time_ns)
		time_ns = p->start_ns;
	own = dep_images_find(&r->images, process, pc, time_ns);
	return own ? own : image;
}

/* The file with address @pc, which @process executed in fragment @f, or branched to from there. */
static u32 image_near(struct dep_rows *r, u32 process, const struct dep_code_fragment *f, u64 pc)
{
	const struct dep_module *m = f->image ? &r->images.module[f->image - 1] : NULL;
	u32 image = f->image;

	if (!m || pc < m->start || pc >= m->end)
		image = dep_images_find(&r->images, f->process, pc, f->time_ns);
	return own_image(r, process, image, pc, f->time_ns);
}

/* Branches that were passed inside the fragment: conditional ones were not taken, jumps were. */
static int add_passed_steps(struct dep_rows *r, u32 process, const struct dep_code_fragment *f,
			    const u64 *step)
{
	const struct dep_branch_step *s = r->code->step + f->first_step;
	struct dep_edge_count e = { .process = process };
	u32 i;
	int err = 0;

	for (i = 0; i < f->nsteps && !err; i++, s++) {
		if (s->branch != DEP_BRANCH_COND && s->branch != DEP_BRANCH_JUMP)
			continue;
		e.from = s->pc;
		e.to = s->branch == DEP_BRANCH_COND ? s->next : s->target;
		e.count = step[i + 1];
		e.image = image_near(r, e.process, f, e.from);
		e.to_image = image_near(r, e.process, f, e.to);
		e.kind = s->branch;
		e.taken = s->branch == DEP_BRANCH_JUMP;
		err = add_edge(r, &e);
	}
	return err;
}

static int add_exit_edge(struct dep_rows *r, u32 process, const struct dep_code_fragment *f,
			 const struct dep_code_exit *x, u64 count)
{
	const struct dep_branch_step *s = r->code->step + f->first_step;
	struct dep_edge_count e = {
		.to = x->target, .count = count, .process = process, .kind = x->branch,
		.taken = x->branch != DEP_BRANCH_COND || x->taken,
	};

	if (x->branch == DEP_BRANCH_NONE || !x->target)
		return 0;
	e.from = s[x->nsteps - 1].pc;
	e.image = image_near(r, e.process, f, e.from);
	e.to_image = image_near(r, e.process, f, e.to);
	return add_edge(r, &e);
}

static int add_insns(struct dep_rows *r, u32 process, u32 number, const u64 *insn)
{
	const struct dep_code_fragment *f = &r->code->fragment[number];
	const struct adept_desc_frag *d = dep_store_fragment(r->store, number)->d;
	const struct dep_insn_info *info = dep_insns_of(r->code, number);
	const struct adept_run *run = dep_desc_runs(d);
	struct dep_insn_count *row;
	u32 i, left = 0;
	u64 pc = 0;
	int err = 0;

	for (i = 0; i < d->ninsns && insn[i + 1] && !err; i++, info++, left--) {
		if (!left) {
			pc = run->pc;
			left = run++->ninsns;
		}
		row = dep_table_add(&r->insns, sizeof(*row));
		if (!row)
			return -ENOMEM;
		*row = (struct dep_insn_count){
			.pc = pc, .count = insn[i + 1], .process = process,
			.image = image_near(r, process, f, pc), .size = info->size,
			.refs = info->refs, .branch = info->branch, .fragment = number,
		};
		r->refs += row->count * info->refs;
		r->images.steps += r->whole ? IMAGE_STEPS : 0;
		pc += info->size;
		err = check_rows(r);
	}
	return err;
}

/* Turn counts of "exactly @i" into counts of "at least @i". */
static void sum_up(u64 *count, u32 n)
{
	while (n-- > 0)
		count[n] += count[n + 1];
}

/* Counters that remain, sorted by process and fragment. */
struct feed {
	const struct dep_exit_total *exit, *exit_end;
	const struct dep_counter *piece, *piece_end;
};

/* The process and fragment of the next counter; false: there is none. */
static bool next_fragment(const struct dep_rows *r, const struct feed *n, u32 *process, u32 *number)
{
	const struct dep_exit_total *x = n->exit;
	bool have = x < n->exit_end;

	if (have) {
		*process = x->process;
		*number = r->code->exit[x->exit].fragment;
	}
	if (n->piece < n->piece_end &&
	    (!have || n->piece->c < *process ||
	     (n->piece->c == *process && n->piece->a < *number))) {
		*process = n->piece->c;
		*number = (u32)n->piece->a;
		have = true;
	}
	return have;
}

/* Take the counters of one fragment from @n. */
static int take_counters(struct dep_rows *r, u32 process, u32 number, struct feed *n,
			 struct passed *to)
{
	const struct dep_code_fragment *f = &r->code->fragment[number];
	const struct dep_code_exit *x;
	int err = 0;

	for (; n->exit < n->exit_end && n->exit->process == process && !err; n->exit++) {
		x = &r->code->exit[n->exit->exit];
		if (x->fragment != number)
			break;
		to->insn[x->insns] += n->exit->count;
		/* Its last branch has an edge of its own, if it has not just been passed. */
		to->step[x->branch == DEP_BRANCH_NONE || !x->nsteps ? x->nsteps :
			 x->nsteps - 1] += n->exit->count;
		err = add_exit_edge(r, process, f, x, n->exit->count);
	}
	for (; n->piece < n->piece_end && n->piece->c == process && n->piece->a == number;
	     n->piece++) {
		to->insn[n->piece->b] += n->piece->count;
		to->step[dep_code_steps(r->code, f, (u32)n->piece->b)] += n->piece->count;
	}
	return err;
}

static int add_fragment(struct dep_rows *r, u32 process, u32 number, struct feed *feed,
			struct passed *n)
{
	const struct dep_code_fragment *f = &r->code->fragment[number];
	u32 ninsns = dep_store_fragment(r->store, number)->d->ninsns;
	int err;

	memset(n->insn, 0, (ninsns + 2ul) * sizeof(*n->insn));
	memset(n->step, 0, (f->nsteps + 2ul) * sizeof(*n->step));
	err = take_counters(r, process, number, feed, n);
	if (err)
		return err;
	sum_up(n->insn, ninsns);
	sum_up(n->step, f->nsteps);
	err = add_passed_steps(r, process, f, n->step);
	return err ? err : add_insns(r, process, number, n->insn);
}

static int add_all(struct dep_rows *r)
{
	const struct dep_counted *c = r->counts;
	struct feed feed = {
		.exit = c->exit, .exit_end = c->nexits ? c->exit + c->nexits : c->exit,
		.piece = c->piece, .piece_end = c->piece + c->npieces,
	};
	/* Instructions of a fragment and their number have 16 bits. */
	struct passed n = {
		.insn = malloc((UINT16_MAX + 2ul) * sizeof(u64)),
		.step = malloc((UINT16_MAX + 2ul) * sizeof(u64)),
	};
	int err = n.insn && n.step ? 0 : dep_fail(-ENOMEM, "counts of a fragment");
	u32 process, number;

	while (!err && next_fragment(r, &feed, &process, &number))
		err = add_fragment(r, process, number, &feed, &n);
	free(n.insn);
	free(n.step);
	return err;
}

/* ---- sorting ---- */

static int by_insn(const void *pa, const void *pb)
{
	const struct dep_insn_count *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return a->fragment < b->fragment ? -1 : a->fragment > b->fragment;
}

static int merge_insns(struct dep_table *t)
{
	const struct dep_place_fields at = {
		.pc = offsetof(struct dep_insn_count, pc),
		.image = offsetof(struct dep_insn_count, image),
		.process = offsetof(struct dep_insn_count, process),
	};
	struct dep_insn_count *row, *to = NULL;
	size_t i;
	int err = dep_sort_places(t, sizeof(*row), &at, by_insn);

	row = t->row;
	for (i = 0; i < t->n; i++) {
		if (to && to->process == row[i].process && to->image == row[i].image &&
		    to->pc == row[i].pc)
			to->count += row[i].count;
		else
			*(to = to ? to + 1 : row) = row[i];
	}
	t->n = to ? (size_t)(to - row) + 1 : 0;
	return err;
}

static int by_edge(const void *pa, const void *pb)
{
	const struct dep_edge_count *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	if (a->to_image != b->to_image)
		return a->to_image < b->to_image ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (int)a->taken - (int)b->taken;
}

static int merge_edges(struct dep_table *t)
{
	const struct dep_place_fields at = {
		.pc = offsetof(struct dep_edge_count, from),
		.image = offsetof(struct dep_edge_count, image),
		.process = offsetof(struct dep_edge_count, process),
	};
	struct dep_edge_count *row, *to = NULL;
	size_t i;
	int err = dep_sort_places(t, sizeof(*row), &at, by_edge);

	row = t->row;
	for (i = 0; i < t->n; i++) {
		if (to && !by_edge(to, &row[i]))
			to->count += row[i].count;
		else
			*(to = to ? to + 1 : row) = row[i];
	}
	t->n = to ? (size_t)(to - row) + 1 : 0;
	return err;
}

/* ---- indirect branches and interruptions, whose code is known only from the stream ---- */

/*
 * The file with address @pc.  If the code there has not followed, then the file whose code at @pc
 * the process executed at another time, or else the one that it had mapped there at the end.
 */
static u32 image_later(struct dep_rows *r, u32 process, u64 pc)
{
	const struct dep_table *known = r->whole ? r->whole : &r->insns;
	const struct dep_insn_count *row = known->row;
	size_t lo, hi, mid, from = 0, end;
	u32 image;

	while (1) {
		/* Rows are sorted by file in front of the address: try each file's rows. */
		for (lo = from, hi = known->n; lo < hi;) {
			mid = (lo + hi) / 2;
			if (row[mid].process < process)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo == known->n || row[lo].process != process)
			break;
		image = row[lo].image;
		for (from = lo, end = lo, hi = known->n; from < hi;) {
			mid = (from + hi) / 2;
			if (row[mid].process == process && row[mid].image == image)
				from = mid + 1;
			else
				hi = mid;
		}
		for (lo = end, hi = from; lo < hi;) {
			mid = (lo + hi) / 2;
			if (row[mid].pc < pc)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < from && row[lo].pc == pc)
			return image;
	}
	return dep_images_find(&r->images, process, pc, UINT64_MAX);
}

/* The file with address @c->a, where fragment @c->d follows. */
static u32 image_next(struct dep_rows *r, const struct dep_counter *c, u64 time_ns)
{
	if (c->d == DEP_CODE_LATER)
		return image_later(r, c->c, c->a);
	return own_image(r, c->c, r->code->fragment[c->d].image, c->a, time_ns);
}

static int add_pair(struct dep_rows *r, const struct dep_counter *c)
{
	const struct dep_code_exit *x = &r->code->exit[c->b];
	const struct dep_code_fragment *f = &r->code->fragment[x->fragment];
	struct dep_edge_count e = {
		.to = c->a, .count = c->count, .process = c->c, .kind = x->branch, .taken = 1,
	};

	if (!x->nsteps)
		return 0;
	e.from = r->code->step[f->first_step + x->nsteps - 1].pc;
	e.image = image_near(r, e.process, f, e.from);
	e.to_image = image_next(r, c, f->time_ns);
	return add_edge(r, &e);
}

static int add_break(struct dep_rows *r, const struct dep_counter *c)
{
	u32 image = image_next(r, c, 0);
	struct dep_edge_count e = { .count = c->count, .process = c->c, .kind = (u8)c->b };

	if (c->b == DEP_EDGE_LEFT) {
		e.from = c->a;
		e.image = image;
	} else {
		e.to = c->a;
		e.to_image = image;
	}
	return add_edge(r, &e);
}

static int add_rest(struct dep_rows *r)
{
	const struct dep_counted *c = r->counts;
	size_t i;
	int err = 0;

	for (i = 0; i < c->npairs && !err; i++)
		err = add_pair(r, &c->pair[i]);
	for (i = 0; i < c->ninterruptions && !err; i++)
		err = add_break(r, &c->interruption[i]);
	return err;
}

int dep_rows_make(struct dep_rows *r)
{
	int err = add_all(r);

	if (!err)
		err = merge_insns(&r->insns);
	if (!err)
		err = add_rest(r);
	return err ? err : merge_edges(&r->edges);
}
