/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fragments: translated code and its exits.
 *
 * All threads of a process share the fragments.  A fragment changes only under frag_lock; code in
 * the cache runs without the lock.  Fragment memory is never reused, so a thread can finish running
 * an invalidated fragment.
 */
#ifndef ADEPT_ENGINE_EMIT_FRAGMENT_H
#define ADEPT_ENGINE_EMIT_FRAGMENT_H

#include "libdep/abi/stream.h"
#include "libdep/engine/base/runtime.h"
#include "libdep/x86/decode.h"

struct frag;

/* Kinds of exits that store no record, in addition to enum adept_exit_kind. */
#define X_LINK		0x80	/* exit of a call stub or landing stub: continues at target */
/* exit of a hooked function's entry whose return address is unknown */
#define X_SITE		0x81
/* exit at the beginning of a fragment, taken always: a function of a trigger begins or returns */
#define X_WATCH		0x82

enum exit_call {
	CALL_NONE,
	CALL_BY_STUB,		/* a direct call that continues in its call stub (call_stub.c) */
	CALL_NATIVE,		/* the native call in a call stub */
};

/**
 * struct exit - an exit of a fragment
 * @patch: offset of the rel32 field of the exit's jump or call; 0: not linkable
 * @thunk: offset of the exit stub, to which the unlinked exit jumps; 0: none
 */
struct exit {
	u64 target;		/* application address at which a direct exit continues */
	/*
	 * 32-bit heap references, 0 for none; 64-bit pointers would take too much memory, since a
	 * process can have hundreds of thousands of exits.
	 */
	u32 frag;
	u32 to;			/* fragment that the exit is linked to */
	u32 next_in;		/* next exit linked to the same fragment */
	u16 patch, thunk;	/* offsets in the fragment, see frag_code() */
	u16 mask;		/* bit mask of registers that recovery knows after the exit */
	u16 reclen;
	u8 ninsns;
	u8 nstores;
	u8 kind;		/* enum adept_exit_kind, X_LINK, X_SITE or X_WATCH */
	u8 call;		/* enum exit_call */
};

static inline struct frag *exit_frag(const struct exit *x)
{
	return heap_at(x->frag);
}

/* Landing stub that falls through into a fragment: none, of a return, of a jump or call. */
enum after { AFTER_NOTHING, AFTER_RETURN, AFTER_JUMP };

#define MAX_INSNS	64
#define MAX_EXITS	10
#define MAX_RUNS	8

struct frag {
	u64 pc;
	u8 *start, *cold;	/* hot and cold part of the fragment in the code cache */
	u32 first_exit;
	/* The next four fields are 32-bit heap references, 0 for none. */
	u32 in;			/* list of exits that are linked to this fragment */
	u32 exits;
	u32 store_off;		/* u16[]: offset of each value in the record; 0: all have 8 bytes */
	/* copy of application code whose changes cannot be noticed, compared at each entry */
	u32 source;
	u16 hot_len, cold_len;
	u16 states_len;		/* size of the packed state table in bytes */
	/*
	 * offset of the body, after the call entry: code that drops the return address pushed by a
	 * native call; 0: no call entry
	 */
	u16 entry;
	u16 mask;		/* registers that recovery must know at the entry */
	/* registers that can save a store, here or after an exit, if known at the entry */
	u16 relevant;
	u8 nexits, ninsns, nruns;
	u8 dead;
	u8 after;		/* enum after; if not AFTER_NOTHING, there is no call entry */
	u8 check;		/* bytes of the return address check at a hooked function's entry */
	/* nruns runs, then ninsns instruction lengths (u8), then the packed state table */
	struct adept_run runs[];
};

static inline struct exit *frag_exits(const struct frag *f)
{
	return heap_at(f->exits);
}

/* Index of @x in its fragment.  The id of an exit is the fragment's first_exit plus this index. */
static inline u32 exit_index(const struct exit *x)
{
	return (u32)(x - frag_exits(exit_frag(x)));
}

/* Offsets below this are in the fragment's hot part, offsets from this on in its cold part. */
#define COLD_OFFSET	0x8000u

static inline u8 *frag_code(const struct frag *f, u16 off)
{
	return off < COLD_OFFSET ? f->start + off : f->cold + (off - COLD_OFFSET);
}

static inline u8 *frag_lens(struct frag *f)
{
	return (u8 *)&f->runs[f->nruns];
}

/* The packed state translation table, see state_pack(). */
static inline u8 *frag_states(struct frag *f)
{
	return frag_lens(f) + f->ninsns;
}

static inline u8 *frag_entry(const struct frag *f)
{
	return f->start + f->entry;
}

/* Guards all fragments, including the one under construction. */
extern struct lock frag_lock;

#endif
