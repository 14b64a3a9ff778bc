// SPDX-License-Identifier: LGPL-2.1-or-later
/* Stacks of a thread: push and pop frames, find the stack that an address belongs to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"

/* Stacks that are tried for an address: they can overlap. */
#define TRIES		8
/* Stacks of one thread.  A forged store could begin one with each event. */
#define STRANDS_MAX	65536u

static void set_context(struct dep_walk *w)
{
	w->ctx = dep_top(w)->ctx;
}

/* Number of the first strand with high >= @rsp. */
static size_t first_above(const struct dep_walk *w, u64 rsp)
{
	size_t lo = 0, hi = w->nstrands, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (w->strand[mid]->high >= rsp)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void free_strand(struct dep_walk *w, struct dep_strand *s)
{
	dep_strand_ended(w, s, 0, s->n);
	if (w->hooks)
		w->hooks->gone(w->hooks_arg, s);
	w->nframes_all -= s->n;
	w->nhandlers -= s->handler;
	free(s->frame);
	free(s->progress);
	free(s);
}

static void drop(struct dep_walk *w, size_t n)
{
	struct dep_strand *s = w->strand[n];
	size_t i;

	for (i = 0; i < w->nstrands && w->nhandlers; i++)
		if (w->strand[i]->below == s)
			w->strand[i]->below = NULL;
	memmove(w->strand + n, w->strand + n + 1, (w->nstrands - n - 1) * sizeof(*w->strand));
	w->nstrands--;
	free_strand(w, s);
}

void dep_strands_drop(struct dep_walk *w)
{
	while (w->nstrands)
		free_strand(w, w->strand[--w->nstrands]);
	w->at = NULL;
	w->begun = false;
}

/* True if a handler that interrupted @s, or a handler of that.., runs on @handler. */
static bool interrupts(const struct dep_strand *handler, const struct dep_strand *s)
{
	int depth;

	for (depth = 0; depth < 1000 && handler && handler->handler; depth++) {
		handler = handler->below;
		if (handler == s)
			return true;
	}
	return false;
}

/* longjmp left the handlers that interrupted the stack at work. */
static void drop_handlers(struct dep_walk *w)
{
	size_t i;

	for (i = w->nstrands; i-- > 0 && w->nhandlers;)
		if (w->strand[i] != w->at && interrupts(w->strand[i], w->at))
			drop(w, i);
	w->at->low = 0;
}

u64 dep_strand_slot(struct dep_walk *w, struct dep_activation *f)
{
	u64 slot;

	if (!f->seg)
		return f->slot;
	if (f->seg == DEP_SEG_NONE)
		return 0;
	slot = dep_learn(w, f->seg, f->slot);
	f->slot = slot;
	f->seg = slot ? 0 : DEP_SEG_NONE;
	return slot;
}

/* Index of the deepest frame that is to be popped; n: none. */
static size_t first_below(struct dep_walk *w, u64 rsp)
{
	struct dep_strand *s = w->at;
	size_t i, gone = s->n;
	u64 slot;

	/* frame[0] stays, so i does not become 0 */
	for (i = s->n - 1; i > 0; i--) {
		slot = dep_strand_slot(w, s->frame + i);
		if (slot >= rsp)
			break;
		if (slot)
			gone = i;
	}
	return gone;
}

void dep_strand_pop_below(struct dep_walk *w, u64 rsp)
{
	size_t n = first_below(w, rsp);

	dep_strand_ended(w, w->at, n, w->at->n);
	w->gone = w->at->n - n;
	w->nframes_all -= w->gone;
	w->at->n = n;
	set_context(w);
}

static bool contains(struct dep_walk *w, struct dep_strand *s, u64 rsp)
{
	u64 low = s->low;

	if (rsp > s->high || s->n < 2)
		return false;
	if (!low)
		low = dep_strand_slot(w, s->frame + s->n - 1);
	return low && low <= rsp;
}

bool dep_strand_find(struct dep_walk *w, u64 rsp, u64 near)
{
	size_t i = first_above(w, rsp), tries;
	struct dep_strand *s = NULL;
	u64 top;

	for (tries = 0; i < w->nstrands && tries < TRIES && !s; i++, tries++)
		if (contains(w, w->strand[i], rsp))
			s = w->strand[i];
	/* With many stacks that overlap, the one at work may not be among those tried. */
	if (!s && contains(w, w->at, rsp))
		s = w->at;
	if (!s && near) {
		top = dep_strand_slot(w, dep_top(w));
		if (w->at->n < 2 || !top || (rsp <= top && top - rsp < near))
			return true;
	}
	if (!s)
		return false;
	if (s != w->at) {
		w->at = s;
		drop_handlers(w);
	}
	dep_strand_pop_below(w, rsp);
	return true;
}

void dep_strand_sigreturn(struct dep_walk *w, u64 pc, u64 rsp)
{
	struct dep_strand *s = w->at, *below = s->handler ? s->below : NULL;
	bool unchanged;
	size_t i;

	unchanged = below && below->pc == pc &&
		    (below->low == rsp || below->low == DEP_LOW_UNKNOWN);
	if (!below || (!unchanged && rsp > below->high)) {
		dep_strand_find(w, rsp, DEP_NEAR);
		return;
	}
	if (w->hooks)
		w->hooks->sigreturn(w->hooks_arg);
	w->at = below;
	for (i = 0; i < w->nstrands; i++)
		if (w->strand[i] == s)
			break;
	if (i < w->nstrands)
		drop(w, i);
	w->at->low = 0;
	/*
	 * The innermost function may hold its return address in a register, as code of V8 does; a
	 * handler has popped it when it calls sigreturn.
	 */
	if (unchanged)
		set_context(w);
	else
		dep_strand_pop_below(w, rsp);
}

/* Forget stacks whose memory the new one with @high uses. */
static void drop_overlapping(struct dep_walk *w, u64 high)
{
	size_t i = first_above(w, high), tries;

	for (tries = 0; i < w->nstrands && tries < TRIES; tries++) {
		if (w->strand[i] != w->at && (w->strand[i]->high == high ||
					      (!w->strand[i]->low &&
					       contains(w, w->strand[i], high))))
			drop(w, i);
		else
			i++;
	}
}

/* Forget a stack, but not the one at work: there are too many. */
static void drop_one(struct dep_walk *w)
{
	size_t n = w->strand[0] == w->at;

	w->dropped_frames += w->strand[n]->n - 1;
	drop(w, n);
}

static int add_strand(struct dep_walk *w, struct dep_strand *s)
{
	size_t i, room = w->strands_room ? 2 * w->strands_room : 8;
	struct dep_strand **more;

	if (w->nstrands >= STRANDS_MAX)
		drop_one(w);
	if (w->nstrands == w->strands_room) {
		more = realloc(w->strand, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		w->strand = more;
		w->strands_room = room;
	}
	i = first_above(w, s->high);
	memmove(w->strand + i + 1, w->strand + i, (w->nstrands - i) * sizeof(*w->strand));
	w->strand[i] = s;
	w->nstrands++;
	return 0;
}

int dep_strand_begin(struct dep_walk *w, u64 rsp, u32 ctx)
{
	struct dep_strand *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->room = 16;
	s->high = rsp;
	s->frame = malloc(s->room * sizeof(*s->frame));
	if (w->follower)
		s->progress = calloc(s->room, sizeof(*s->progress));
	if (!s->frame || (w->follower && !s->progress))
		goto fail;
	if (w->at)
		drop_overlapping(w, rsp);
	if (add_strand(w, s))
		goto fail;
	s->frame[0] = (struct dep_activation){ .slot = UINT64_MAX, .ctx = ctx };
	s->frame[1] = (struct dep_activation){ .slot = rsp, .ctx = ctx };
	s->n = 2;
	w->nframes_all += 2;
	w->at = s;
	w->begun = true;
	w->ctx = ctx;
	return 0;
fail:
	free(s->frame);
	free(s->progress);
	free(s);
	return -ENOMEM;
}

/* Forget the older half of the frames: there are more than the memory allows. */
static void drop_half(struct dep_walk *w)
{
	struct dep_strand *s = w->at;
	size_t gone = s->n / 2 - 1;

	if (s->n < 4)
		return;
	dep_strand_ended(w, s, 2, 2 + gone);
	if (w->hooks)
		w->hooks->changed(w->hooks_arg, s);
	memmove(s->frame + 2, s->frame + 2 + gone, (s->n - 2 - gone) * sizeof(*s->frame));
	if (s->progress)
		memmove(s->progress + 2, s->progress + 2 + gone,
			(s->n - 2 - gone) * sizeof(*s->progress));
	s->n -= gone;
	w->nframes_all -= gone;
	w->dropped_frames += gone;
}

int dep_strand_room(struct dep_walk *w)
{
	struct dep_strand *s = w->at;
	struct dep_activation *more;
	struct dep_progress *progress;
	size_t room;

	if (w->nframes_all >= w->max_frames)
		drop_half(w);
	if (s->n == s->room) {
		room = 2 * s->room;
		more = realloc(s->frame, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->frame = more;
		if (s->progress) {
			progress = realloc(s->progress, room * sizeof(*progress));
			if (!progress)
				return -ENOMEM;
			s->progress = progress;
		}
		s->room = room;
	}
	return 0;
}
