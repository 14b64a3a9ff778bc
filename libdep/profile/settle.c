// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What becomes of the counts of the parts: they are joined, and where a run of segments ends in one
 * part, it is found in which other part the thread goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"

/* ---- joining ---- */

static int by_exit(const void *pa, const void *pb)
{
	const struct dep_exit_total *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->exit != b->exit)
		return a->exit < b->exit ? -1 : 1;
	return a->interval < b->interval ? -1 : a->interval > b->interval;
}

int dep_counts_compact(struct dep_counts_all *a, struct dep_store *store)
{
	struct dep_table *t = &a->exits;
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

int dep_counts_join(struct dep_counts_all *to, const struct dep_counts_all *from)
{
	int err = append(&to->exits, &from->exits, sizeof(struct dep_exit_total));

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
	return err;
}

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
				   .d = DEP_CODE_LATER, .e = s->last };

	return dep_count_add(&a->breaks, &key, 1);
}

static int settle_entered(struct dep_counts_all *a, const struct dep_seam *s)
{
	struct dep_counter key = { .a = s->pc, .b = DEP_EDGE_ENTERED, .c = s->process,
				   .d = s->entered, .e = s->first };

	return dep_count_add(&a->breaks, &key, 1);
}

/* The branch at the end of run @s went on with @fragment. */
static int settle_wait(struct dep_counts_all *a, const struct dep_seam *s, u32 fragment)
{
	struct dep_counter key = { .a = s->pc, .b = s->exit, .c = s->process, .d = fragment,
				   .e = s->first };

	return s->exit ? dep_count_add(&a->pairs, &key, 1) : 0;
}

/* What follows run @open does not go on where it ended. */
static int settle_end(struct dep_counts_all *a, struct dep_seam *open)
{
	int err = 0;

	if (open->pc != DEP_PC_UNKNOWN) {
		err = settle_wait(a, open, DEP_CODE_LATER);
		if (!err)
			err = settle_left(a, open);
	}
	*open = (struct dep_seam){ .pc = DEP_PC_UNKNOWN };
	return err;
}

/* Run @s begins where run @open has ended. */
static int settle_begin(struct dep_counts_all *a, struct dep_seam *open, const struct dep_seam *s)
{
	int err = 0;

	if (s->pc == open->pc || (s->through && s->pc == DEP_PC_UNKNOWN)) {
		if (s->through) {
			open->seq = s->to;
			if (s->pc != DEP_PC_UNKNOWN)
				open->last = s->last;
			return 0;
		}
		err = settle_wait(a, open, s->fragment);
		*open = (struct dep_seam){ .pc = DEP_PC_UNKNOWN };
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

/* The thread may go on in a later pass where its last run, @open, has ended. */
static void keep_end(struct dep_counts_all *a, struct dep_seam *open)
{
	struct dep_seam *s = a->seams.row;

	if (open->pc != DEP_PC_UNKNOWN) {
		open->begins = open->through = false;
		s[a->seams.n++] = *open;
	}
	*open = (struct dep_seam){ .pc = DEP_PC_UNKNOWN };
}

/* @go_on: keep the last end of each thread, each in the place of a row that was there. */
static int settle_seams(struct dep_counts_all *a, bool go_on)
{
	struct dep_seam open = { .pc = DEP_PC_UNKNOWN }, now, *s = a->seams.row;
	size_t i, n = a->seams.n;
	int err = 0;

	if (n)
		qsort(s, n, sizeof(*s), by_seam);
	a->seams.n = 0;
	for (i = 0; i < n && !err; i++) {
		now = s[i];
		if (go_on && open.thread != now.thread)
			keep_end(a, &open);
		else if (open.thread != now.thread || open.seq != now.seq || !now.begins)
			err = settle_end(a, &open);
		if (err)
			break;
		if (now.begins)
			err = settle_begin(a, &open, &now);
		else
			open = now;
	}
	if (go_on && !err)
		keep_end(a, &open);
	return err ? err : settle_end(a, &open);
}

int dep_counts_settle(struct dep_counts_all *a, struct dep_store *store)
{
	int err = dep_counts_compact(a, store);

	return err ? err : settle_seams(a, false);
}

int dep_counts_settle_known(struct dep_counts_all *a)
{
	return settle_seams(a, true);
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
