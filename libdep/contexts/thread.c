// SPDX-License-Identifier: LGPL-2.1-or-later
/* Where the stacks of threads begin: start, fork, signal handlers, attach, gaps. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/abi/stream.h"
#include "libdep/format/read/store.h"
#include "walk.h"

/* ---- what children go on from ---- */

/* Part of the memory for frames that those of children may take until the children begin. */
#define FORKED_PART	2

/* The queue of children of thread @parent with @pid, or the free place for it. */
static struct dep_forked_queue *queue_of(const struct dep_walk *w, u32 parent, u32 pid)
{
	const size_t mask = 2 * w->forked_room - 1;
	u64 h = ((u64)parent << 32 | pid) * 0x9e3779b97f4a7c15ull;
	const struct dep_forked *f;
	size_t i;

	for (i = (h >> 32) & mask; w->queue[i].last; i = (i + 1) & mask) {
		f = w->forked + w->queue[i].last - 1;
		if (f->parent == parent && f->pid == pid)
			break;
	}
	return w->queue + i;
}

/* Add the row with @index to its queue. */
static void enqueue(struct dep_walk *w, u32 index)
{
	const struct dep_forked *f = w->forked + index;
	struct dep_forked_queue *q = queue_of(w, f->parent, f->pid);

	if (q->first)
		w->forked[q->last - 1].next = index + 1;
	else
		q->first = index + 1;
	q->last = index + 1;
}

/* Make room for more rows: those whose child has begun are not needed any more. */
static int forked_room(struct dep_walk *w)
{
	size_t room = w->forked_room ? 2 * w->forked_room : 64, n = w->nforked, i;
	struct dep_forked_queue *queue;
	struct dep_forked *more;

	queue = calloc(2 * room, sizeof(*queue));
	more = realloc(w->forked, room * sizeof(*more));
	if (more)
		w->forked = more;
	if (!queue || !more) {
		free(queue);
		return -ENOMEM;
	}
	free(w->queue);
	w->queue = queue;
	w->forked_room = room;
	w->nforked = 0;
	for (i = 0; i < n; i++) {
		if (more[i].taken)
			continue;
		more[w->nforked] = more[i];
		more[w->nforked].next = 0;
		enqueue(w, (u32)w->nforked++);
	}
	return 0;
}

static int add_forked(struct dep_walk *w, const struct dep_forked *f)
{
	if (w->nforked == w->forked_room && forked_room(w))
		return -ENOMEM;
	w->forked[w->nforked] = *f;
	enqueue(w, (u32)w->nforked++);
	return 0;
}

static int take_fork(struct dep_walk *w, const struct adept_ev_fork *ev)
{
	struct dep_forked f = {
		.parent = w->thread->serial, .pid = ev->pid, .ctx = w->ctx,
		.rsp = w->state == DEP_KNOWN ? w->rsp : 0,
	};

	/* Beyond this limit, children begin as threads do whose creator is not known. */
	if (!w->begun || w->nforked >= w->max_frames)
		return 0;
	/* A child with its own stack needs no frames.  Others may not be in the recording. */
	f.cut = !(ev->flags & CLONE_THREAD) &&
		(w->nframes_all + w->at->n > w->max_frames ||
		 w->nframes_forked + w->at->n > w->max_frames / FORKED_PART);
	if (!(ev->flags & CLONE_THREAD) && !f.cut) {
		f.frame = malloc(w->at->n * sizeof(*f.frame));
		if (!f.frame)
			return -ENOMEM;
		memcpy(f.frame, w->at->frame, w->at->n * sizeof(*f.frame));
		f.nframes = (u32)w->at->n;
		w->nframes_all += f.nframes;
		w->nframes_forked += f.nframes;
	}
	if (w->hooks)
		f.hooked = w->hooks->forked(w->hooks_arg);
	if (!add_forked(w, &f))
		return 0;
	if (f.hooked)
		w->hooks->unforked(w->hooks_arg, f.hooked);
	free(f.frame);
	return -ENOMEM;
}

static void forget_frames(struct dep_walk *w, struct dep_forked *f)
{
	w->nframes_all -= f->nframes;
	w->nframes_forked -= f->nframes;
	free(f->frame);
	f->frame = NULL;
	f->nframes = 0;
}

void dep_forked_free(struct dep_walk *w)
{
	size_t i;

	for (i = 0; i < w->nforked; i++) {
		free(w->forked[i].frame);
		if (w->forked[i].hooked)
			w->hooks->unforked(w->hooks_arg, w->forked[i].hooked);
	}
	free(w->forked);
	free(w->queue);
}

/* Take what the thread goes on from: of several children with its tid, the first one. */
static struct dep_forked *take_forked(struct dep_walk *w)
{
	struct dep_forked_queue *q;
	struct dep_forked *f;

	if (!w->nforked)
		return NULL;
	q = queue_of(w, w->thread->parent, w->thread->tid);
	if (!q->first)
		return NULL;
	f = w->forked + q->first - 1;
	f->taken = true;
	q->first = f->next;
	return f;
}

/* Begin with the frames that the parent had at the fork. */
static int begin_forked(struct dep_walk *w, const struct dep_forked *f)
{
	const struct dep_activation *from = f->frame;
	struct dep_activation frame;
	u32 i, ctx;

	for (i = 1; i < f->nframes; i++) {
		frame = from[i];
		ctx = dep_tree_copy(&w->tree, frame.ctx, w->thread->process);
		if (ctx == DEP_NO_NODE)
			return -ENOMEM;
		frame.ctx = ctx;
		if (i == 1 ? dep_strand_begin(w, frame.slot, ctx) : dep_strand_push(w, &frame))
			return -ENOMEM;
	}
	if (!w->begun) {
		ctx = dep_tree_copy(&w->tree, f->ctx, w->thread->process);
		if (ctx == DEP_NO_NODE || dep_strand_begin(w, w->rsp, ctx))
			return -ENOMEM;
	}
	return 0;
}

/* True if frames of the thread that created the one at hand are missing. */
static bool lacks_creator(const struct dep_walk *w, const struct dep_forked *f)
{
	const struct dep_thread *parent;

	if (f)
		return f->cut && (!f->rsp || f->rsp == w->rsp);
	if (!w->thread->parent)
		return false;
	parent = dep_model_thread(&w->store->model, w->thread->parent);
	/* Stacks at positions end with the thread, and its creator was not looked at. */
	return !w->wanted || !parent || parent->process != w->thread->process;
}

int dep_thread_begin(struct dep_walk *w, u64 pc, s64 fragment)
{
	struct dep_forked *f = w->known_start ? take_forked(w) : NULL;
	/* A child on the same stack: of fork, or of vfork. */
	bool copied = f && f->nframes && (!f->rsp || f->rsp == w->rsp);
	bool incomplete = !w->known_start || lacks_creator(w, f);
	u8 kind = f ? DEP_CONTEXT_THREAD : DEP_CONTEXT_START;
	int err = 0;
	u32 ctx;

	if (w->hooks) {
		w->hooks->begins(w->hooks_arg, f ? f->hooked : NULL, copied);
		if (f)
			f->hooked = NULL;
	}
	if (w->attached) {
		err = dep_callers_begin(w);
		if (err || w->begun)
			return err;
	}
	if (f) {
		if (copied)
			err = begin_forked(w, f);
		forget_frames(w, f);
		if (err || w->begun)
			return err;
	}
	ctx = dep_context_new(w, f ? f->ctx : 0, kind, f ? w->created_at : 0, -1, pc, fragment,
			      incomplete);
	if (ctx == DEP_NO_NODE || dep_strand_begin(w, w->rsp, ctx))
		return -ENOMEM;
	return dep_count_enter(w, ctx);
}

void dep_thread_lost(struct dep_walk *w)
{
	dep_strands_drop(w);
	w->known_start = false;
	w->signal = w->sigreturn = false;
	w->attached = false;
}

/* ---- events ---- */

static int take_context(struct dep_walk *w, const struct adept_ev_context *c)
{
	struct dep_strand *interrupted;
	u64 rsp = c->regs[4], low;
	u32 ctx;
	int err;

	if (!w->begun && w->attached && !dep_callers_context(w, c)) {
		/* A signal came before the first instruction. */
		err = dep_callers_begin(w);
		if (err)
			return err;
	}
	if (!w->begun) {
		w->rsp = rsp;
		w->state = DEP_KNOWN;
		w->signal = w->sigreturn = false;
		return 0;
	}
	if (dep_count_flush(w))
		return -ENOMEM;
	if (w->signal) {
		interrupted = w->at;
		low = w->state == DEP_KNOWN ? w->rsp : 0;
		ctx = dep_context_new(w, w->ctx, DEP_CONTEXT_SIGNAL, w->signal_pc,
				      dep_moves_at(w->moves, w->thread->process, w->signal_pc),
				      c->pc, dep_moves_at(w->moves, w->thread->process, c->pc),
				      false);
		interrupted->low = low ? low : DEP_LOW_UNKNOWN;
		/* Where longjmp has set rsp, the registers behind the handler say where that is. */
		interrupted->pc = w->state == DEP_ANEW || w->anew ? 0 : w->signal_pc;
		if (ctx == DEP_NO_NODE || dep_strand_begin(w, rsp, ctx))
			return -ENOMEM;
		w->at->handler = true;
		w->nhandlers++;
		w->at->below = interrupted;
		err = w->hooks ? w->hooks->handler(w->hooks_arg, interrupted) : 0;
		if (err)
			return err;
		if (dep_count_enter(w, ctx))
			return -ENOMEM;
	} else if (w->sigreturn) {
		dep_strand_sigreturn(w, c->pc, rsp);
	} else if (w->state != DEP_KNOWN || w->anew || w->rsp != rsp) {
		/* Otherwise the thread goes on with the stack that it had. */
		dep_strand_find(w, rsp, DEP_NEAR);
	}
	w->signal = w->sigreturn = false;
	w->rsp = rsp;
	w->state = DEP_KNOWN;
	w->anew = false;
	return 0;
}

int dep_thread_event(struct dep_walk *w, const struct dep_event *ev)
{
	struct adept_ev_context context;
	struct adept_ev_signal signal;
	struct adept_ev_start start;
	struct adept_ev_fork fork;

	switch (ev->id) {
	case ADEPT_EV_THREAD_START:
		memcpy(&start, ev->payload, sizeof(start));
		w->known_start = true;
		w->created_at = start.created_at;
		return 0;
	case ADEPT_EV_ATTACH:
		w->has_attach = true;
		/* fall through */
	case ADEPT_EV_GAP:
		if (dep_count_flush(w))
			return -ENOMEM;
		dep_thread_lost(w);
		return ev->id == ADEPT_EV_ATTACH ? dep_callers_attach(w) : 0;
	case ADEPT_EV_STACK:
		dep_callers_piece(w, ev->payload);
		return 0;
	case ADEPT_EV_SIGNAL:
		memcpy(&signal, ev->payload, sizeof(signal));
		w->signal = true;
		w->signals++;
		w->signal_pc = signal.pc;
		return 0;
	case ADEPT_EV_SIGRETURN:
		w->sigreturn = true;
		w->signals++;
		return 0;
	case ADEPT_EV_CONTEXT:
		memcpy(&context, ev->payload, sizeof(context));
		return take_context(w, &context);
	case ADEPT_EV_FORK:
		memcpy(&fork, ev->payload, sizeof(fork));
		return take_fork(w, &fork);
	default:
		return 0;
	}
}
