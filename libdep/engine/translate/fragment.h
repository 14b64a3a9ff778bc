/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fragments: translated code, its exits, and the arenas of the code cache.
 *
 * All threads of a process share them.  They change only under frag_lock; code in the cache runs
 * without it.  Fragment memory is never reused, so a thread can finish running an invalidated
 * fragment.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_FRAGMENT_H
#define ADEPT_ENGINE_TRANSLATE_FRAGMENT_H

#include "libdep/abi/stream.h"
#include "libdep/engine/base/runtime.h"
#include "libdep/x86/decode.h"

struct frag;
struct arena;

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

/* Entry of the state translation table, unpacked: the cache code from off on; see state_table.h. */
struct state_entry {
	u16 off;		/* see frag_code() */
	u8 kind;		/* enum state_kind */
	u8 insn;
	u8 nst;			/* stores of the record done before off */
	u8 arg;			/* exit index, or register in TLS_SPILL0 */
	u8 arg2;		/* register in TLS_SPILL1 */
	u8 arg3;		/* register in TLS_SPILL2 */
};

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

extern struct lock frag_lock;

/**
 * frag_get() - find or build a version of @pc to enter with @known registers; frag_lock held
 * @call: the version must have a call entry
 */
struct frag *frag_get(u64 pc, u16 known, int call);
/** frag_exists() - whether a version of @pc can be entered with @known registers */
int frag_exists(u64 pc, u16 known);
void frag_insert(struct frag *f);
/** frag_kill() - make @f unreachable: no lookup, link or landing leads to it; frag_lock held */
void frag_kill(struct frag *f);
/** frag_kill_at() - kill all versions of @pc that do not record results of hooked functions */
void frag_kill_at(u64 pc);
/** frag_kill_range() - kill all fragments with code in [@start, @end); returns their number */
unsigned int frag_kill_range(u64 start, u64 end);
/** frag_of_cache() - the fragment that contains cache address @addr, or NULL; lock-free */
struct frag *frag_of_cache(u64 addr);

static inline u8 *frag_entry(const struct frag *f)
{
	return f->start + f->entry;
}

/* build.c */
/**
 * build_fragment() - translate one version of @pc with entry mask @mask or less
 *
 * Never fails: if the code cannot be read, the fragment raises the fault.
 */
struct frag *build_fragment(u64 pc, u16 mask);
/**
 * build_after() - translate the {rsp} version of @pc, directly behind the last code in @a
 *
 * Return: NULL if the code at @pc is untracked.
 */
struct frag *build_after(u64 pc, struct arena *a, enum after after);

/* link.c */
void exit_link(struct exit *x, struct frag *to);
void exit_unlink(struct exit *x);

/* arena.c */
#define ARENA_SIZE	(64u << 20)
#define MAX_ARENAS	32
#define ARENAS_MAX	((u64)MAX_ARENAS * ARENA_SIZE)

enum gate { GATE_EXIT, GATE_SYSCALL, GATE_TRAP, NGATES };

#define ARENA_ROOM	(128u << 10)	/* room for several fragments */

void arena_init(void);
/**
 * arena_for() - an arena within 2 GiB of @pc, or any other if none can be made
 *
 * Both parts of it have ARENA_ROOM.
 */
struct arena *arena_for(u64 pc);
/* Addresses at which the parts of the next fragment begin. */
u8 *arena_hot(const struct arena *a);
u8 *arena_cold(const struct arena *a);
/**
 * arena_take_cold() - allocate @n bytes of the cold part outside of fragments
 * @must: also use the reserve
 *
 * Return: NULL if there is no room.
 */
u8 *arena_take_cold(struct arena *a, u32 n, int must);
/** arena_commit() - add the finished fragment @f, which was built at the end of both parts */
void arena_commit(struct arena *a, struct frag *f);
/** arena_of() - the arena that contains cache address @addr, or NULL; lock-free */
struct arena *arena_of(u64 addr);
/** arena_first() - first address of [@start, @end) that belongs to an arena, or @end */
u64 arena_first(u64 start, u64 end);
u8 *arena_gate(const struct arena *a, enum gate g);
/** arena_ret_path() - the variable with the address of @a's shared return path (returns.c) */
u8 **arena_ret_path(struct arena *a);
struct frag *arena_frag(struct arena *a, u64 addr);

#endif
