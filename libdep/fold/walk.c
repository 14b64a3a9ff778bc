// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Deliver segments to folds.
 *
 * A record belongs to the segment that has its exit, and counts there as a whole, even if it began
 * in an earlier segment.  If no exit ended a record, the part of it that was executed is delivered
 * as a piece: with the event that says where the thread left the fragment, or at the end of the
 * segment if the record does not go on in the next one.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "walk.h"

static struct dep_cursor column(const struct dep_columns *c)
{
	return (struct dep_cursor){ c->control, c->control + c->h.control_raw / 4 };
}

/* Index of the fragment whose first exit is @id; -1: there is none. */
static s64 fragment_of(const struct dep_walk *w, u32 id)
{
	u32 number = dep_number_of(w->numbers, id);
	u32 f;

	if (!number)
		return -1;
	f = w->code->exit[number].fragment;
	return w->code->fragment[f].first_exit == number ? (s64)f : -1;
}

static u64 fragment_pc(const struct dep_walk *w, u32 id)
{
	s64 f = fragment_of(w, id);

	return f < 0 ? 0 : w->code->fragment[f].pc;
}

u32 dep_walk_payload(const struct dep_cursor *c, u32 id)
{
	int size = adept_event_size(id);

	return size <= 0 || size / 4 > c->end - c->at ? 0 : (u32)size / 4;
}

/*
 * The address that the column shows next from @c on.  Return: false if it has ended, and the answer
 * is what follows it.  *@pc is 0 where the column is damaged.
 */
static bool next_address(const struct dep_walk *w, struct dep_cursor c, u64 *pc)
{
	const struct adept_ev_context *ctx;
	const struct adept_ev_partial *part;
	const struct adept_ev_signal *sig;
	u32 id, words, number;

	*pc = 0;
	while (c.at < c.end) {
		id = *c.at++;
		if (id >= ADEPT_FIRST_EXIT) {
			number = dep_number_of(w->numbers, id);
			if (number)
				*pc = w->code->fragment[w->code->exit[number].fragment].pc;
			return true;
		}
		words = dep_walk_payload(&c, id);
		if (!words)
			return true;
		ctx = (const void *)c.at;
		part = (const void *)c.at;
		sig = (const void *)c.at;
		if (id == ADEPT_EV_CONTEXT)
			*pc = ctx->pc;
		else if (id == ADEPT_EV_PARTIAL)
			*pc = fragment_pc(w, part->frag);
		else if (id == ADEPT_EV_SIGNAL)
			*pc = sig->pc;
		if (id == ADEPT_EV_CONTEXT || id == ADEPT_EV_PARTIAL || id == ADEPT_EV_SIGNAL)
			return true;
		c.at += words;
	}
	return false;
}

u64 dep_walk_goes_on(const struct dep_walk *w, u32 number, const struct dep_cursor *c)
{
	const struct dep_code_exit *x = &w->code->exit[number];
	u64 pc;

	if (x->target)
		return x->target;
	if (next_address(w, *c, &pc))
		return pc;
	if (w->now->h.tail.frag)
		return fragment_pc(w, w->now->h.tail.frag);
	if (!w->next)
		return 0;
	if (w->next->h.head.frag)
		return fragment_pc(w, w->next->h.head.frag);
	if (next_address(w, column(w->next), &pc) || !w->next->h.tail.frag)
		return pc;
	return fragment_pc(w, w->next->h.tail.frag);
}

/* Use the numbers of sequences for others. */
static int forget_sequences(struct dep_walk *w)
{
	int err = 0;
	size_t i;

	for (i = 0; i < w->nfolds && !err; i++)
		if (w->folds[i]->sequences)
			err = w->folds[i]->forget(w->part[i]);
	dep_sequences_clear(&w->sequences);
	return err;
}

static int flush(struct dep_walk *w, const struct dep_cursor *c)
{
	const struct dep_fold *f;
	int err = 0;
	size_t i;
	u64 pc;

	if (!w->nexits)
		return 0;
	pc = dep_walk_goes_on(w, w->exit[w->nexits - 1], c);
	for (i = 0; i < w->nfolds && !err; i++) {
		f = w->folds[i];
		err = f->sequences ?
		      f->sequences(w->part[i], w->exit, w->nexits, pc, w->sequence) :
		      f->exits(w->part[i], w->exit, w->nexits, pc);
	}
	w->nexits = 0;
	if (!err && w->sequences.n &&
	    dep_sequences_full(&w->sequences, DEP_FOLD_BATCH / DEP_FOLD_SEQUENCE))
		err = forget_sequences(w);
	return err;
}

static int deliver_piece(struct dep_walk *w, u32 fragment, u32 to)
{
	const struct dep_code_fragment *f = &w->code->fragment[fragment];
	struct dep_fold_piece piece = {
		.fragment = fragment, .to = to, .nsteps = dep_code_steps(w->code, f, to),
		.pc = dep_code_pc(w->store, fragment, to),
	};
	int err = 0;
	size_t i;

	for (i = 0; i < w->nfolds && !err; i++)
		if (w->folds[i]->piece)
			err = w->folds[i]->piece(w->part[i], &piece);
	return err;
}

int dep_walk_damaged(struct dep_walk *w, const char *why, u32 id)
{
	w->is_damaged = true;
	return dep_fail(-EBADMSG, "%s %u", why, id);
}

/* The thread left fragment @id after @insns instructions, without an exit. */
static int take_piece(struct dep_walk *w, u32 id, u32 insns)
{
	s64 f = fragment_of(w, id);

	if (f < 0)
		return dep_walk_damaged(w, "no fragment begins with exit", id);
	if (insns > dep_store_fragment(w->store, (u32)f)->d->ninsns)
		return dep_walk_damaged(w, "a record is longer than fragment", id);
	return deliver_piece(w, (u32)f, insns);
}

static int take_event(struct dep_walk *w, struct dep_cursor *c, u32 id)
{
	struct dep_event event = { .id = id, .payload = c->at };
	const struct adept_ev_partial *part = event.payload;
	u32 words = dep_walk_payload(c, id);
	struct dep_cursor before = { c->at - 1, c->end };
	int err;
	size_t i;

	if (!words)
		return dep_walk_damaged(w, "the control column has no complete event", id);
	err = flush(w, &before);
	event.size = words * 4;
	c->at += words;
	if (!err && id == ADEPT_EV_PARTIAL)
		err = take_piece(w, part->frag, part->ninsns);
	for (i = 0; i < w->nfolds && !err; i++)
		if (w->folds[i]->event)
			err = w->folds[i]->event(w->part[i], &event);
	return err;
}

/* Collect @n exits.  Return: how many, up to an event or an exit that the store does not have. */
static size_t collect_each(const struct dep_walk *w, const u32 *at, size_t n, u32 *to)
{
	const struct dep_id_block *block = w->numbers->block, *b;
	u32 nblocks = w->numbers->nlow / DEP_ID_BLOCK + 1, number;
	size_t i;

	for (i = 0; i < n; i++) {
		/* No block has ids of events. */
		b = block + at[i] / DEP_ID_BLOCK;
		number = at[i];
		if (number / DEP_ID_BLOCK < nblocks && number - b->first < b->n) {
			to[i] = number - b->less;
		} else {
			if (number >= ADEPT_FIRST_EXIT)
				to[i] = dep_number_of(w->numbers, number);
			if (number < ADEPT_FIRST_EXIT || !to[i])
				break;
		}
	}
	return i;
}

/*
 * Collect @n sequences.  Return: how many exits; fewer than they have if there is an event, or an
 * exit that the store does not have.
 */
static size_t collect_sequences(struct dep_walk *w, const u32 *at, size_t n, u32 *to, u32 *number)
{
	struct dep_sequences_found found;
	size_t i, got, all = 0;

	dep_sequences_find(&w->sequences, at, n, &found);
	for (i = 0; i < n; i++, at += got, to += got) {
		got = DEP_FOLD_SEQUENCE;
		number[i] = found.number[i];
		if (number[i])
			memcpy(to, w->sequences.sequence[number[i]].exit, got * sizeof(*to));
		else
			got = collect_each(w, at, DEP_FOLD_SEQUENCE, to);
		all += got;
		if (got < DEP_FOLD_SEQUENCE)
			break;
		if (!number[i])
			number[i] = dep_sequences_add(&w->sequences, at, to, found.hash[i]);
	}
	return all;
}

/*
 * Collect exits up to the next event, or as many as a fold receives at once.  Stops in front of an
 * exit that the store does not have.
 */
static void collect(struct dep_walk *w, struct dep_cursor *c)
{
	size_t got, want, left, room;
	u32 *to;

	do {
		left = (size_t)(c->end - c->at);
		room = DEP_FOLD_BATCH - w->nexits;
		want = left < room ? left : room;
		to = w->exit + w->nexits;
		if (want < DEP_FOLD_SEQUENCE || !w->sequences.n) {
			got = collect_each(w, c->at, want, to);
			want = 0;
		} else {
			want /= DEP_FOLD_SEQUENCE;
			if (want > DEP_SEQUENCES_AT_ONCE)
				want = DEP_SEQUENCES_AT_ONCE;
			got = collect_sequences(w, c->at, want, to,
						w->sequence + w->nexits / DEP_FOLD_SEQUENCE);
		}
		w->nexits += (u32)got;
		c->at += got;
	} while (want && got == want * DEP_FOLD_SEQUENCE);
}

/* Deliver all of the current control column; -EBADMSG: the rest of it is damaged. */
static int take_column(struct dep_walk *w, struct dep_cursor *c)
{
	int err;

	while (c->at < c->end) {
		collect(w, c);
		if (w->nexits == DEP_FOLD_BATCH) {
			err = flush(w, c);
		} else if (c->at == c->end) {
			break;
		} else if (*c->at >= ADEPT_FIRST_EXIT) {
			return dep_walk_damaged(w, "the store has no exit", *c->at);
		} else {
			c->at++;
			err = take_event(w, c, c->at[-1]);
		}
		if (err)
			return err;
	}
	err = flush(w, c);
	if (err || !w->now->h.tail.frag ||
	    (w->next && w->next->h.head.frag == w->now->h.tail.frag))
		return err;
	return take_piece(w, w->now->h.tail.frag, w->now->h.tail.insn);
}

/* True if another segment of the thread stands behind @seg in the store. */
static bool has_next(const struct dep_walk *w, const struct dep_segment *seg)
{
	return seg + 1 < w->segments_end && seg[1].thread == seg->thread;
}

static int begin(struct dep_walk *w, const struct dep_segment *seg, bool follows)
{
	struct dep_fold_segment s = {
		.thread = w->thread, .segment = seg, .regs = w->now->h.regs, .follows = follows,
	};
	s64 f = w->now->h.head.frag ? fragment_of(w, w->now->h.head.frag) : -1;
	int err = 0;
	size_t i;

	if (has_next(w, seg))
		s.next = seg + 1;
	if (f >= 0) {
		s.fragment = (u32)f + 1;
		s.insn = w->now->h.head.insn;
	}
	for (i = 0; i < w->nfolds && !err; i++)
		err = w->folds[i]->segment(w->part[i], &s);
	return err;
}

static int gap(struct dep_walk *w)
{
	int err = 0;
	size_t i;

	w->loss.gaps++;
	for (i = 0; i < w->nfolds && !err; i++)
		if (w->folds[i]->gap && !w->scan)
			err = w->folds[i]->gap(w->part[i], w->thread);
	return err;
}

static void report(struct dep_walk *w, const struct dep_segment *seg)
{
	w->loss.segments++;
	if (!w->options->failed)
		return;
	pthread_mutex_lock(w->lock);
	w->options->failed(w->options->arg, seg, dep_error());
	pthread_mutex_unlock(w->lock);
}

/* True if the store's next segment continues @seg, and both are whole. */
static bool continues(const struct dep_walk *w, const struct dep_segment *seg,
		      const struct dep_columns *c)
{
	return has_next(w, seg) && seg[1].seq == seg->seq + 1 && !c->h.lost_bytes;
}

/*
 * Deliver one segment, which is in @w->now.  @more: another one of the thread follows in the store.
 * Sets @w->follows if the next segment follows without a gap.
 */
static int deliver(struct dep_walk *w, const struct dep_segment *seg, bool more)
{
	struct dep_cursor c = column(w->now);
	int err = w->scan ? 0 : begin(w, seg, w->follows);

	w->is_damaged = false;
	w->follows = w->next != NULL;
	if (!err)
		err = w->scan ? dep_scan_column(w, &c) : take_column(w, &c);
	if (w->is_damaged) {
		report(w, seg);
		w->follows = false;
		err = flush(w, &c);
		return err ? err : gap(w);
	}
	return err || w->follows || !more ? err : gap(w);
}

/* Return: 1; 0: the segment is damaged; or -ENOMEM. */
static int load(struct dep_walk *w, const struct dep_segment *seg, struct dep_columns *c)
{
	int err = dep_store_control(w->store, seg, c);

	return err == -ENOMEM ? err : !err;
}

/* Load the segment behind @seg if it continues it.  Return: the same; 0 also if it does not. */
static int load_next(struct dep_walk *w, const struct dep_segment *seg, struct dep_columns *next)
{
	int have = continues(w, seg, w->now) ? load(w, seg + 1, next) : 0;

	w->next = have > 0 ? next : NULL;
	return have;
}

int dep_walk_run(struct dep_walk *w, const struct dep_thread *thread,
		 const struct dep_segment *seg, size_t n, enum dep_walk_from from)
{
	struct dep_columns *now = &w->columns[0], *next = &w->columns[1], *other;
	int have = load(w, seg, now), err;
	size_t i;
	bool more;

	w->thread = thread;
	w->nexits = 0;
	w->follows = from == DEP_WALK_FOLLOWS;
	for (i = 0; i < n && have >= 0; i++, seg++) {
		more = has_next(w, seg);
		if (!have) {
			report(w, seg);
			/* Else the segment in front of it has ended with a gap. */
			err = i || from != DEP_WALK_FIRST ? 0 : gap(w);
			if (err)
				return err;
			w->follows = false;
			have = i + 1 < n ? load(w, seg + 1, now) : 0;
			continue;
		}
		w->now = now;
		have = load_next(w, seg, next);
		err = have < 0 ? have : deliver(w, seg, more);
		if (err)
			return err;
		if (!have && i + 1 < n)
			have = load(w, seg + 1, next);
		other = now;
		now = next;
		next = other;
	}
	return have < 0 ? have : 0;
}

void dep_walk_free(struct dep_walk *w)
{
	dep_columns_free(&w->columns[0]);
	dep_columns_free(&w->columns[1]);
	dep_sequences_free(&w->sequences);
	free(w->scan);
}
