/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fragments: translated code and its exits.
 *
 * All threads of a process share them.  They change only under frag_lock; code in the cache runs
 * without it.  Fragment memory is never reused, so a thread can finish running an invalidated
 * fragment.
 */
#ifndef ADEPT_ENGINE_EMIT_FRAGMENT_H
#define ADEPT_ENGINE_EMIT_FRAGMENT_H

#include "libdep/abi/stream.h"
#include "libdep/engine/base/runtime.h"
#include "libdep/x86/decode.h"

struct frag;

/* Kinds of exits in addition to enum adept_exit_kind: links without a record. */
#define X_LINK		0x80	/* of a call stub or landing: continues at target */
#define X_SITE		0x81	/* entry of a hooked function with an unknown return address */

enum exit_call {
	CALL_NONE,
	CALL_BY_STUB,		/* a direct call: continues in its call stub */
	CALL_NATIVE,		/* the native call in a call stub */
};

/**
 * struct exit - an exit of a fragment
 * @patch: offset of the rel32 field of the exit's jump or call; 0: not linkable
 * @thunk: offset of the exit stub, to which the unlinked exit jumps; 0: none
 */
struct exit {
	u64 target;		/* application address, direct exits only */
	/* 32-bit heap references, 0 for none: a process can have hundreds of thousands of exits */
	u32 frag;
	u32 to;			/* fragment that it is linked to */
	u32 next_in;		/* next exit linked to the same fragment */
	u16 patch, thunk;	/* see frag_code() */
	u16 mask;		/* registers known after the exit */
	u16 reclen;
	u8 ninsns;
	u8 nstores;
	u8 kind;		/* enum adept_exit_kind or X_LINK */
	u8 call;		/* enum exit_call */
};

static inline struct frag *exit_frag(const struct exit *x)
{
	return heap_at(x->frag);
}

/* Kind of the landing that falls through into a fragment. */
enum after { AFTER_NOTHING, AFTER_RETURN, AFTER_JUMP };

#define MAX_INSNS	64
#define MAX_EXITS	10
#define MAX_RUNS	8

struct frag {
	u64 pc;
	u8 *start, *cold;	/* its hot and cold part in the cache */
	u32 first_exit;
	/* heap references, 0 for none */
	u32 in;			/* exits linked here */
	u32 exits;
	u32 store_off;		/* u16[]: offset of each value in the record; 0: 8 bytes each */
	u32 source;		/* copy of untracked code, compared at each entry */
	u16 hot_len, cold_len;
	u16 states_len;		/* bytes */
	u16 entry;		/* offset of the body, after the call entry; 0: no call entry */
	u16 mask;		/* entry mask */
	u16 relevant;		/* registers that save a store if they are known at the entry */
	u8 nexits, ninsns, nruns;
	u8 dead;
	u8 after;		/* enum after: such a fragment has no call entry */
	u8 check;		/* bytes of return_sites_emit_check() at the entry */
	/* nruns of them, then ninsns instruction lengths, then state_entry */
	struct adept_run runs[];
};

static inline struct exit *frag_exits(const struct frag *f)
{
	return heap_at(f->exits);
}

/* Index of @x in its fragment.  Its exit id is the fragment's first_exit plus this. */
static inline u32 exit_index(const struct exit *x)
{
	return (u32)(x - frag_exits(exit_frag(x)));
}

/* Offsets in a fragment below this are in its hot part, others in its cold part. */
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

/* Guards all fragments, and the one under construction. */
extern struct lock frag_lock;

#endif
