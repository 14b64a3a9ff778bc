/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of the recorder: executes fragments with synthetic register values, writes the records
 * that the engine would write, and lists the items that recovery must find.  Addresses are computed
 * from the real values, not from the records.
 */
#ifndef TESTS_UNIT_LIB_STREAM_H
#define TESTS_UNIT_LIB_STREAM_H

#include <stddef.h>

#include "dep/recover.h"
#include "libdep/abi/stream.h"
#include "libdep/abi/session_file.h"
#include "libdep/x86/decode.h"

#define STREAM_INSNS	256
#define STREAM_STORES	128

/* What a fragment is made of. */
struct stream_code {
	u64 pc;
	const u8 *bytes;
	u32 len;
	u16 entry_mask;
	u16 function, returns;
	s64 far;		/* distance by which it continues after its first jump */
};

struct stream_frag {
	u32 id;			/* first exit */
	u16 entry_mask;
	u16 function, returns;
	u32 ninsns, nexits, nstores;
	u32 jump;		/* instructions up to the first jump; all if nothing is far */
	struct x86_insn insn[STREAM_INSNS];
	u64 pc[STREAM_INSNS];
	struct adept_store store[STREAM_STORES];
	struct adept_exit exit[STREAM_INSNS];
};

/* A chunk that was filled. */
struct stream_chunk {
	struct adept_chunk c;
	u8 *body;
};

struct stream {
	u64 seed;
	int self_check;
	int use_ea;
	int no_room;
	struct stream_frag *frag;
	u32 nfrags;
	u32 next_id;
	u8 *desc;
	size_t desc_size;

	/* the machine */
	u64 reg[16], fs, gs;
	u16 known;		/* known registers at the last exit */

	/* the ring */
	long split_at;		/* end the chunk after this many stores; -1: never */
	long stores;
	struct stream_chunk *chunk;
	size_t nchunks;
	struct adept_chunk cur;
	u8 *body;
	u32 fill;		/* whole records */
	u8 pending[ADEPT_MAX_RECORD];	/* values of the current record */
	u32 pending_bytes, pending_n;

	/* expected items */
	struct dep_item *item;
	size_t nitems;
	u64 insns;
};

void stream_init(struct stream *s, u64 seed);
void stream_free(struct stream *s);
u64 stream_random(struct stream *s);

/** stream_fragment() - make a fragment: stores by the recorder's rules, an exit per jcc */
u32 stream_fragment(struct stream *s, const struct stream_code *code);

/** stream_run() - execute fragment @n up to its exit number @x */
void stream_run(struct stream *s, u32 n, u32 x);

/**
 * stream_partial() - execute @ninsns of it; then a signal, and a new context
 *
 * With s->no_room the chunk ends there and its tail says what the event would have.
 */
void stream_partial(struct stream *s, u32 n, u32 ninsns);

void stream_context(struct stream *s, u64 pc);
void stream_event(struct stream *s, u32 id, const void *payload);

/** stream_close() - end the chunk at a record boundary */
void stream_close(struct stream *s);

/** stream_random_run() - @steps random operations with the existing fragments */
void stream_random_run(struct stream *s, u32 steps);

/** stream_standard() - make fragments with every kind of store */
void stream_standard(struct stream *s);

/** stream_far() - only those that have code at two places and do not begin a function */
void stream_far(struct stream *s);

#endif
