// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The callers of a thread that was attached to, from the copy of its stack that the store has.
 *
 * ADEPT_EV_ATTACH is followed by the stack in pieces, and by the registers.  The functions that had
 * not returned become contexts that nothing has entered, with frames at the addresses of their
 * return addresses: so returns to them match.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dep/symbols.h"
#include "libdep/fold/images.h"
#include "walk.h"

#define STACK_BYTES	16384u	/* most that the engine records */
/* A return address for each 8 bytes. */
#define FRAMES		(STACK_BYTES / 8 + 1)
/* Stacks that are unwound.  A forged store could have one with each event. */
#define UNWIND_MAX	10000u

/** struct dep_callers - the stack of the thread at hand at the attach */
struct dep_callers {
	u64 pc, regs[16], sp;
	size_t size;
	bool complete;		/* @pc and @regs are valid */
	u8 bytes[STACK_BYTES];
	struct dep_stack_frame frame[FRAMES];
	size_t nframes;
	u32 unwound;		/* number of stacks so far, of all threads */
	struct dep_images images;
};

static int make(struct dep_walk *w)
{
	w->callers = calloc(1, sizeof(*w->callers));
	return w->callers ? dep_images_make(&w->callers->images, w->store) : -ENOMEM;
}

int dep_callers_attach(struct dep_walk *w)
{
	if (!w->symbols)
		return 0;
	if (!w->callers && make(w))
		return -ENOMEM;
	w->callers->size = 0;
	w->callers->sp = 0;
	w->callers->complete = false;
	w->attached = w->callers->unwound < UNWIND_MAX;
	return 0;
}

void dep_callers_free(struct dep_walk *w)
{
	if (!w->callers)
		return;
	dep_images_free(&w->callers->images);
	free(w->callers);
}

void dep_callers_piece(struct dep_walk *w, const struct adept_ev_stack *piece)
{
	struct dep_callers *c = w->callers;

	if (!w->attached || c->complete)
		return;
	if (!c->size)
		c->sp = piece->address;
	if (piece->size > ADEPT_STACK_BYTES || piece->size > sizeof(c->bytes) - c->size ||
	    piece->address != c->sp + c->size)
		return;
	memcpy(c->bytes + c->size, piece->bytes, piece->size);
	c->size += piece->size;
}

bool dep_callers_context(struct dep_walk *w, const struct adept_ev_context *context)
{
	struct dep_callers *c = w->callers;

	if (!w->attached || c->complete)
		return false;
	c->complete = true;
	c->pc = context->pc;
	memcpy(c->regs, context->regs, sizeof(c->regs));
	if (c->sp != c->regs[4])
		c->size = 0;
	return true;
}

/*
 * Number of frames whose places on the stack are known.  Frames behind one that a signal
 * interrupted are left out: which code will return to it is not known.
 */
static size_t usable(const struct dep_callers *c)
{
	const struct dep_stack_frame *f = c->frame;
	u64 end = c->regs[4] + c->size;
	size_t n = 1;

	while (n < c->nframes && f[n].sp > c->regs[4] && f[n].sp <= end &&
	       (n == 1 || f[n].sp > f[n - 1].sp) && !f[n].interrupted)
		n++;
	return n;
}

static u32 image_at(struct dep_walk *w, u64 pc)
{
	return dep_images_find(&w->callers->images, w->thread->process, pc,
			       w->segment->start_ns);
}

/* An address in the function of frame @k. */
static u64 function_of(const struct dep_callers *c, size_t k)
{
	const struct dep_stack_frame *f = c->frame + k;

	return f->function ? f->function : k ? f->pc - 1 : f->pc;
}

/* The context of frame @k, called by the context at work; the first one has no caller. */
static u32 context_of(struct dep_walk *w, size_t k, bool first)
{
	const struct dep_callers *c = w->callers;
	const struct dep_stack_frame *caller = c->frame + k + 1;
	struct dep_node key = {
		.process = w->thread->process, .pc = function_of(c, k), .guess = !c->frame[k].exact,
		.kind = DEP_CONTEXT_START, .incomplete = first,
	};

	key.image = image_at(w, key.pc);
	if (!first) {
		key.kind = DEP_CONTEXT_CALL;
		key.parent = w->ctx;
		key.site = caller->call ? caller->call : caller->pc - 1;
		key.site_image = image_at(w, key.site);
	}
	return dep_tree_child(&w->tree, &key);
}

int dep_callers_begin(struct dep_walk *w)
{
	struct dep_callers *c = w->callers;
	const struct dep_stack stack = {
		.pc = c->pc, .regs = c->regs, .bytes = c->bytes, .size = c->size,
	};
	struct dep_activation frame = { 0 };
	size_t k;
	u32 ctx;

	w->attached = false;
	if (!c->complete || !c->size || w->rsp != c->regs[4] || !w->segment)
		return 0;
	c->unwound++;
	c->nframes = dep_symbols_unwind(w->symbols, w->thread->process,
					w->segment->start_ns, &stack, c->frame, FRAMES);
	k = usable(c) - 1;
	if (!k)
		return 0;
	ctx = context_of(w, k, true);
	if (ctx == DEP_NO_NODE || dep_strand_begin(w, c->frame[k].sp, ctx))
		return -ENOMEM;
	while (k--) {
		frame.ret = c->frame[k + 1].pc;
		frame.slot = c->frame[k + 1].sp - 8;
		frame.ctx = context_of(w, k, false);
		if (frame.ctx == DEP_NO_NODE || dep_strand_push(w, &frame))
			return -ENOMEM;
	}
	return 0;
}
