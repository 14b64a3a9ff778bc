/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that are kept in full, next to the encoded state of each.
 *
 * Each function that changes a stack changes the state, too, and compares both: the functions at
 * work, their sites, and how they were called.
 */
#ifndef TESTS_UNIT_CONTEXT_MODEL_H
#define TESTS_UNIT_CONTEXT_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/context/encoder.h"
#include "libdep/context/table.h"
#include "tests/unit/lib/random.h"

#define MODEL_STACKS	8u

/** struct model_frame - a function at work; those of a tail chain have one slot */
struct model_frame {
	u64 site, slot;
	u32 function, edge;
	u8 kind;
};

/**
 * struct model_stack - frames, outermost first
 * @slot_frame, @slot_n: activation whose slot was asked for last
 * @origin: frames of the threads that created this one, innermost first
 */
struct model_stack {
	struct dep_cc_stack own;
	struct model_frame *frame;
	size_t n, room;
	size_t slot_frame, slot_n;
	struct model_frame *origin;
	size_t norigin;
	bool used;
};

/** struct model_record - a record, and the frames that it must decode to */
struct model_record {
	struct dep_cc_record record;
	struct model_frame *frame;
	size_t n;
};

/**
 * struct model - stacks and their encoder
 * @quiet: compare only when asked, since a comparison takes as long as the stack
 * @due: a call said that a new encoding should be made
 */
struct model {
	struct dep_cc_encoder en;
	struct model_stack stack[MODEL_STACKS];
	struct dep_cc_chain chain;
	bool quiet, due;
};

void model_init(struct model *m);
void model_free(struct model *m);

/* A node with the key @f. */
u32 model_function(struct model *m, u64 f);
/* Begin a stack; @creator: number of another one, or -1. */
void model_start(struct model *m, u32 stack, int creator, u32 function);
void model_call(struct model *m, u32 stack, u64 site, u32 callee, enum dep_cc_kind kind);
/* Call without an edge. */
void model_enter(struct model *m, u32 stack, u64 site, u32 callee);
void model_tail(struct model *m, u32 stack, u64 site, u32 callee);
/* A signal; @slot: of the handler, 0: on the same stack. */
void model_handler(struct model *m, u32 stack, u64 pc, u32 handler, u64 slot);
/* Return, or sigreturn, from the activation at work. */
void model_return(struct model *m, u32 stack);
/* Go on in the activation of frame @n, which is the last of its slot. */
void model_unwind(struct model *m, u32 stack, size_t n);
void model_fork(struct model *m, u32 to, u32 from);
void model_end(struct model *m, u32 stack);
/* Encode anew, and translate all states. */
void model_encode(struct model *m);

u32 model_at_work(const struct model *m, u32 stack);
/* Compare the state, and a record of it. */
void model_check(struct model *m, u32 stack);
void model_record(struct model *m, u32 stack, bool compress, struct model_record *r);
void model_check_record(struct model *m, const struct model_record *r);
void model_record_free(struct model_record *r);
/* What must hold for a dictionary. */
void model_check_dictionary(const struct dep_cc_dictionary *d);

#endif
