// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "follow.h"

/** struct place - how far a thread has been folded; a table row, sorted by thread */
struct place {
	u32 thread, pad;
	u64 n;				/* segments folded */
	struct dep_segment last;	/* of these */
};

struct dep_fold_follow {
	struct dep_store *store;
	const struct dep_fragments *code;
	struct dep_fold_options options;
	size_t taken;			/* segments of the growing store that were taken */
	bool complete;
	struct dep_table places;
	struct dep_table pending;	/* struct dep_segment, not yet folded */
	struct dep_fold_loss loss;
};

struct dep_fold_follow *dep_fold_follow_new(struct dep_store *store,
					    const struct dep_fragments *code,
					    const struct dep_fold_options *options)
{
	struct dep_fold_follow *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->store = store;
	f->code = code;
	if (options)
		f->options = *options;
	f->places.may_move = DEP_TABLE_MOVES;
	return f;
}

void dep_fold_follow_free(struct dep_fold_follow *f)
{
	if (!f)
		return;
	free(f->places.row);
	free(f->pending.row);
	free(f);
}

static int stale(const struct dep_segment *seg)
{
	return dep_fail(-ESTALE, "segment %llu of thread %u is not where it was expected",
			(unsigned long long)seg->seq, seg->thread);
}

/* ---- new segments ---- */

static int by_thread_seq(const void *pa, const void *pb)
{
	const struct dep_segment *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int add_pending(struct dep_fold_follow *f, const struct dep_segment *seg)
{
	struct dep_segment *row = dep_table_add(&f->pending, sizeof(*row));

	if (!row)
		return dep_fail(-ENOMEM, "list of segments");
	*row = *seg;
	return 0;
}

static const struct place *place_of(const struct dep_fold_follow *f, u32 thread)
{
	return dep_table_find(&f->places, sizeof(struct place), thread);
}

/* The segments of a growing store are in the order in which they were written. */
static int take_appended(struct dep_fold_follow *f)
{
	const struct dep_segment *seg, *row;
	size_t i, n = dep_store_segments(f->store, &seg);
	const struct place *p;
	int err = 0;

	for (; f->taken < n && !err; f->taken++) {
		p = place_of(f, seg[f->taken].thread);
		err = p && seg[f->taken].seq <= p->last.seq ? stale(&seg[f->taken]) :
							      add_pending(f, &seg[f->taken]);
	}
	row = f->pending.row;
	if (f->pending.n)
		qsort(f->pending.row, f->pending.n, sizeof(*row), by_thread_seq);
	for (i = 1; i < f->pending.n && !err; i++)
		if (!by_thread_seq(&row[i - 1], &row[i]))
			err = stale(&row[i]);
	return err;
}

/* The segments of a complete store are sorted.  Those that were folded must still be there. */
static int take_complete(struct dep_fold_follow *f)
{
	const struct dep_segment *seg;
	size_t i, n = dep_store_segments(f->store, &seg);
	const struct place *p = NULL;
	u64 folded = 0, want = 0;
	int err = 0;

	f->pending.n = 0;
	for (i = 0; i < f->places.n; i++)
		want += ((const struct place *)f->places.row)[i].n;
	for (i = 0; i < n && !err; i++) {
		if (!p || p->thread != seg[i].thread)
			p = place_of(f, seg[i].thread);
		if (p && seg[i].seq <= p->last.seq)
			folded++;
		else
			err = add_pending(f, &seg[i]);
	}
	if (!err && folded != want)
		err = dep_fail(-ESTALE, "segments of the store have changed");
	/* Perhaps what could not be read then can be read now. */
	if (!err && f->loss.segments)
		err = dep_fail(-ESTALE, "segments could not be read");
	return err;
}

/* ---- passes ---- */

struct batch {
	struct dep_segment *seg;
	bool *deliver;
	size_t n, delivered;
};

static void add(struct batch *b, const struct dep_segment *seg, bool deliver)
{
	b->deliver[b->n] = deliver;
	b->delivered += deliver;
	b->seg[b->n++] = *seg;
}

static void free_batch(struct batch *b)
{
	free(b->seg);
	free(b->deliver);
}

/*
 * In front of the segments of each thread stands the last one that was folded.  @ends: deliver also
 * the last segment of each thread, and those whose thread the log does not have.
 */
static int make_batch(const struct dep_fold_follow *f, bool ends, struct batch *b)
{
	const struct dep_segment *seg = f->pending.row;
	size_t i, n = f->pending.n;
	const struct place *p;
	bool known = false, first, last;

	*b = (struct batch){
		.seg = calloc(2 * n + 1, sizeof(*b->seg)), .deliver = calloc(2 * n + 1, 1),
	};
	if (!b->seg || !b->deliver)
		return dep_fail(-ENOMEM, "list of segments");
	for (i = 0; i < n; i++) {
		first = !i || seg[i - 1].thread != seg[i].thread;
		last = i + 1 == n || seg[i + 1].thread != seg[i].thread;
		if (first) {
			known = dep_model_thread(&f->store->model, seg[i].thread) != NULL;
			p = place_of(f, seg[i].thread);
			if (p)
				add(b, &p->last, false);
		}
		add(b, &seg[i], ends || (known && !last));
	}
	return 0;
}

/* Keep of the pending segments those that were not delivered. */
static int move_on(struct dep_fold_follow *f, const struct batch *b)
{
	struct dep_segment *seg = f->pending.row;
	size_t i, kept = 0, at = 0;
	struct place *p;

	for (i = 0; i < f->pending.n; i++, at++) {
		while (by_thread_seq(&b->seg[at], &seg[i]))
			at++;
		if (!b->deliver[at]) {
			seg[kept++] = seg[i];
			continue;
		}
		p = dep_table_of(&f->places, sizeof(*p), seg[i].thread);
		if (!p)
			return dep_fail(-ENOMEM, "threads");
		p->n++;
		p->last = seg[i];
	}
	f->pending.n = kept;
	return 0;
}

static int pass(struct dep_fold_follow *f, const struct dep_fold *fold, void *self,
		const struct batch *b, struct dep_fold_loss *loss)
{
	const struct dep_fold_batch batch = { .seg = b->seg, .n = b->n, .deliver = b->deliver };
	int err = 0;

	*loss = (struct dep_fold_loss){ 0 };
	if (b->delivered)
		err = dep_fold_pass(f->store, f->code, &batch, &fold, &self, 1, &f->options, loss);
	loss->segments += f->loss.segments;
	loss->gaps += f->loss.gaps;
	return err;
}

int dep_fold_follow_more(struct dep_fold_follow *f, const struct dep_fold *fold, void *self,
			 bool complete)
{
	struct dep_fold_loss loss;
	struct batch b;
	int err;

	if (f->complete)
		return 0;
	err = complete ? take_complete(f) : take_appended(f);
	if (err)
		return err;
	f->complete = complete;
	err = make_batch(f, false, &b);
	if (!err)
		err = pass(f, fold, self, &b, &loss);
	if (!err) {
		f->loss = loss;
		err = move_on(f, &b);
	}
	free_batch(&b);
	return err;
}

int dep_fold_follow_rest(struct dep_fold_follow *f, const struct dep_fold *fold, void *self,
			 struct dep_fold_loss *loss)
{
	struct batch b;
	int err = make_batch(f, true, &b);

	if (!err)
		err = pass(f, fold, self, &b, loss);
	free_batch(&b);
	return err;
}
