/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A decoded context: functions, innermost first, each with the site that called it.
 *
 * Tail frames.  A function that was tail-called has the stack slot of the one that it replaced: the
 * slot holds the return address.  The functions of a slot, in the order of their tail calls, are
 * its tail chain.  A chain can go on without end at one slot, as in interpreters that jump from one
 * handler to the next, so loops are erased: when a function is tail-called that the chain has
 * already, what came after its first entry is forgotten.  The chain then has each function once.
 *
 *	called f, then tail calls	g  h  f  g  k  g
 *	chain				f  f  f  f  f  f  f
 *					   g  g     g  g  g
 *					      h        k
 *
 * Erasure may come later: to erase loops of a chain in part, to extend it, and to erase again gives
 * the same as to erase at each step.  So neither encoded calls nor records need to look for loops.
 */
#ifndef ADEPT_CONTEXT_CHAIN_H
#define ADEPT_CONTEXT_CHAIN_H

#include "dictionary.h"

/**
 * struct dep_cc_frame - a function, and how it was called
 * @site: in the next frame's function; the interrupted instruction if this is a signal handler; of
 *	a thread's first function, what the start edge has
 * @function: node
 * @encoded, @add: of the edge, in the encoding that the context was decoded with
 */
struct dep_cc_frame {
	u64 site, add;
	u32 function;
	u8 kind;
	bool encoded;
};

/** struct dep_cc_chain - room for a context; begins as all 0 but for @max */
struct dep_cc_chain {
	struct dep_cc_frame *frame;
	size_t n, room;
	size_t max;		/* at most so many frames */
	/* for the erasure of loops */
	struct dep_cc_last { u32 function; u32 at; } *last;
	size_t last_room;
};

/** dep_cc_chain_add() - add a frame further out; 0, -ENOMEM, or -E2BIG */
int dep_cc_chain_add(struct dep_cc_chain *c, const struct dep_cc_frame *f);
/**
 * dep_cc_chain_erase() - erase the loops of the tail chain in the frames from @from on
 *
 * These are a whole tail chain: the last frame is the function that was called.
 *
 * Return: 0 or -ENOMEM.
 */
int dep_cc_chain_erase(struct dep_cc_chain *c, size_t from);
void dep_cc_chain_free(struct dep_cc_chain *c);

#endif
