/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of calling contexts, frame by frame. */
#ifndef DEPCTL_EXPORT_STACKS_H
#define DEPCTL_EXPORT_STACKS_H

#include "export.h"
#include "names.h"

#define STACK_ROOM	(EXPORT_FRAMES + 1u)	/* frames of a stack, at most */

/**
 * struct stack_frame - a frame
 * @pc: the call site; of the innermost frame, the first instruction of its function.  0: the frames
 *	in the middle, which were left out
 * @function: index, or NO_FUNCTION
 * @context: the context of the frame
 */
struct stack_frame {
	uint64_t pc;
	uint32_t image, function, context;
};

/** struct stack_place - frames that are written as one; without padding, to be a key */
struct stack_place {
	uint64_t pc;		/* 0: frames that were left out */
	uint32_t image, function;
};

static inline struct stack_place stacks_place(const struct stack_frame *f)
{
	return (struct stack_place){ f->pc, f->image, f->function };
}

/** struct stacks - by context: its depth, and the context above it at depth EXPORT_FRAMES / 2 */
struct stacks {
	const struct export *x;
	uint32_t *depth, *outer;
};

/** stacks_begin() - return 0 or -ENOMEM */
int stacks_begin(struct stacks *s, const struct export *x);

/**
 * stacks_of() - the frames of @context, the innermost first
 * @frame: receives at most STACK_ROOM frames
 *
 * Return: their number.
 */
size_t stacks_of(const struct stacks *s, uint32_t context, struct stack_frame *frame);

/** stacks_caller() - the frame from which @context was entered; @context is not below the root */
struct stack_frame stacks_caller(const struct export *x, uint32_t context);

/** stacks_inner() - the frame of @context itself */
struct stack_frame stacks_inner(const struct export *x, uint32_t context);

void stacks_end(struct stacks *s);

#endif
