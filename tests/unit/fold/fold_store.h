/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores whose segments are written word by word, and their profiles. */
#ifndef TESTS_UNIT_FOLD_FOLD_STORE_H
#define TESTS_UNIT_FOLD_FOLD_STORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dep/profile.h"
#include "libdep/fold/walk.h"
#include "libdep/format/file/wire.h"
#include "libdep/format/read/store.h"
#include "libdep/format/write/store_writer.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/scratch.h"
#include "tests/unit/lib/stream.h"

#define WORDS 512
#define FOLD_CHILD 101		/* pid of the second process, which the first one has forked */

/** FOLD_CODE() - initialiser of a struct stream_code with these bytes at address @at */
#define FOLD_CODE(at, ...) { .pc = at, .bytes = (const u8[]){ __VA_ARGS__ }, \
			     .len = sizeof((const u8[]){ __VA_ARGS__ }), .entry_mask = 0xffff }

/* The fragments of the stores that a test writes. */
extern struct stream fold_stream;

/** fold_set_up() - make fragments of @codes; fold_tear_down() ends the test */
void fold_set_up(const struct stream_code *codes, u32 n);
int fold_tear_down(void **state);

/** struct fold_chunk - a chunk of a thread, with records that have no values */
struct fold_chunk {
	u64 seq;
	u64 start_ns;		/* 0: by @seq */
	u64 rsp, rax;
	u32 head, head_insn, tail, tail_insn;	/* exit id of a fragment, or 0 */
	u32 word[WORDS];
	u32 n;
};

void fold_exit(struct fold_chunk *c, u32 id);
/** fold_run() - the first exit of fragment @frag of fold_stream */
void fold_run(struct fold_chunk *c, u32 frag);
void fold_partial(struct fold_chunk *c, u32 frag, u32 ninsns);
void fold_signal(struct fold_chunk *c, u64 pc);
void fold_sigreturn(struct fold_chunk *c);
void fold_context(struct fold_chunk *c, u64 pc);
/** fold_registers() - a context whose stack pointer is @rsp; the other registers are 0 */
void fold_registers(struct fold_chunk *c, u64 pc, u64 rsp);
/** fold_attach() - an attach, which fold_stack() and fold_registers() follow */
void fold_attach(struct fold_chunk *c);
/** fold_stack() - a piece of the stack at an attach, of zeros */
void fold_stack(struct fold_chunk *c, u64 address, u32 size);
void fold_start(struct fold_chunk *c);
void fold_fork(struct fold_chunk *c, u32 pid);

/** struct fold_store - an open store, what its fragments mean, and the last profile */
struct fold_store {
	char dir[128];
	struct dep_writer *w;
	struct dep_store *s;
	struct dep_fragments *code;
	struct dep_profile *p;
};

/** fold_store_begin() - a store with two processes: threads 1 and 2; thread 3 */
void fold_store_begin(struct fold_store *f, const void *desc, size_t size);
void fold_store_segment(struct fold_store *f, u32 thread, const struct fold_chunk *c);
void fold_store_open(struct fold_store *f);
void fold_store_close(struct fold_store *f);

/** fold_store_write() - an open store with the fragments of fold_stream; thread 1 has @n chunks */
void fold_store_write(struct fold_store *f, const struct fold_chunk *c, size_t n);

/** fold_profile() - make f->p with units of @unit bytes */
void fold_profile(struct fold_store *f, u64 unit, struct dep_fold_options *o);

/* Fails unless both profiles have the same @rows, of which there are @n. */
#define fold_same_rows(a, b, rows, n) \
	do { \
		assert_int_equal((a)->n, (b)->n); \
		if ((a)->n) \
			assert_memory_equal((a)->rows, (b)->rows, (a)->n * sizeof(*(a)->rows)); \
	} while (0)

/** fold_check_same() - both profiles have the same rows but those of threads, and the same sums */
void fold_check_same(const struct dep_profile *a, const struct dep_profile *b);

/**
 * fold_check_division() - any jobs and any division of the segments give the rows of f->p
 *
 * A fold that marks exits also sees what all exits show.
 */
void fold_check_division(struct fold_store *f, const struct dep_fold_options *o);

u64 fold_count(const struct dep_profile *p, u64 pc);
/** fold_edge() - the count of an edge; @taken: -1: any */
u64 fold_edge(const struct dep_profile *p, u64 from, u64 to, u32 kind, int taken);

/** fold_check_flow() - what enters each instruction equals its count, as profile.h says */
void fold_check_flow(const struct dep_profile *p);

#endif
