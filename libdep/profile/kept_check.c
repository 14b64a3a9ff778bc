// SPDX-License-Identifier: LGPL-2.1-or-later
/* Check counters that come from a file, which anyone can have written. */
#include "kept_check.h"

struct check {
	struct dep_store *store;
	const struct dep_fragments *code;
	u32 process;		/* exists; 0: none yet */
	u64 insns;		/* of the exits and pieces so far */
};

static bool has_process(struct check *c, u32 serial)
{
	if (!serial || (c->process != serial && !dep_model_process(&c->store->model, serial)))
		return false;
	c->process = serial;
	return true;
}

/* Add the instructions of @count records of @each; false: nobody has executed that many. */
static bool add(u64 *sum, u64 count, u64 each)
{
	u64 more;

	return !__builtin_mul_overflow(count, each, &more) &&
	       !__builtin_add_overflow(*sum, more, sum);
}

static bool exits_fit(struct check *c, const struct dep_exit_total *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++, x++) {
		if (!x->exit || x->exit >= c->code->nexits || x->interval || !x->count ||
		    !has_process(c, x->process) ||
		    !add(&c->insns, x->count, c->code->exit[x->exit].insns))
			return false;
		if (i && (x[-1].process != x->process ? x[-1].process > x->process :
							x[-1].exit >= x->exit))
			return false;
	}
	return true;
}

static bool piece_follows(const struct dep_counter *a, const struct dep_counter *b)
{
	if (a->c != b->c)
		return a->c < b->c;
	return a->a != b->a ? a->a < b->a : a->b < b->b;
}

static bool pieces_fit(struct check *c, const struct dep_counter *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++, p++)
		if (p->a >= c->code->nfragments || !c->code->fragment[p->a].nexits ||
		    p->b > dep_store_fragment(c->store, (u32)p->a)->d->ninsns || p->e ||
		    !p->count || !has_process(c, p->c) || !add(&c->insns, p->count, p->b) ||
		    (i && !piece_follows(p - 1, p)))
			return false;
	return true;
}

/* The parts that pairs and interruptions have in common. */
static bool place_fits(struct check *c, const struct dep_counter *p, u64 *sum)
{
	return (p->d < c->code->nfragments || p->d == DEP_CODE_LATER) && !p->e &&
	       p->count && has_process(c, p->c) && add(sum, p->count, 1);
}

static bool pairs_fit(struct check *c, const struct dep_counter *p, size_t n)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < n; i++, p++)
		if (!p->b || p->b >= c->code->nexits || !place_fits(c, p, &sum))
			return false;
	return true;
}

static bool interruptions_fit(struct check *c, const struct dep_counter *p, size_t n)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < n; i++, p++)
		if ((p->b != DEP_EDGE_ENTERED && p->b != DEP_EDGE_LEFT) ||
		    !place_fits(c, p, &sum))
			return false;
	return true;
}

static bool threads_fit(struct check *c, const struct dep_thread_count *t, size_t n)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (!dep_model_thread(&c->store->model, t[i].thread) ||
		    (i && t[i - 1].thread >= t[i].thread) || !add(&sum, t[i].insns, 1))
			return false;
	return sum == c->insns;
}

static bool times_fit(struct check *c, const struct dep_time_count *t, size_t n)
{
	u64 sum = 0;
	u32 known = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!t[i].thread ||
		    (t[i].thread != known && !dep_model_thread(&c->store->model, t[i].thread)) ||
		    t[i].end_ns < t[i].start_ns || !add(&sum, t[i].insns, 1))
			return false;
		known = t[i].thread;
	}
	return n <= c->store->segs.n && sum == c->insns;
}

bool dep_kept_counts_fit(const struct dep_kept_counts *k, struct dep_store *store,
			 const struct dep_fragments *code)
{
	struct check c = { .store = store, .code = code };

	return exits_fit(&c, k->counted.exit, k->counted.nexits) &&
	       pieces_fit(&c, k->counted.piece, k->counted.npieces) &&
	       pairs_fit(&c, k->counted.pair, k->counted.npairs) &&
	       interruptions_fit(&c, k->counted.interruption, k->counted.ninterruptions) &&
	       threads_fit(&c, k->threads.row, k->threads.n) &&
	       times_fit(&c, k->times.row, k->times.n);
}
