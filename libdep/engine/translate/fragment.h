/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fragments: translated code, its exits, and where it lives.
 *
 * All of this is shared by the threads of a process and changed under frag_lock
 * only; cache code itself runs without it.  Fragment memory is never reused, so a
 * thread that still runs invalidated code does no harm.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_FRAGMENT_H
#define ADEPT_ENGINE_TRANSLATE_FRAGMENT_H

#include "libdep/abi/stream.h"
#include "libdep/engine/base/runtime.h"
#include "libdep/x86/decode.h"

struct frag;
struct arena;

/* Kinds of exits beyond enum adept_exit_kind: links without a record. */
#define X_LINK		0x80	/* call stub, landing: goes on at target */
#define X_SITE		0x81	/* a watched function that does not know where it returns to */

enum exit_call {
	CALL_NONE,
	CALL_BY_STUB,		/* a direct call: goes on in its call stub */
	CALL_NATIVE,		/* in the stub: patch belongs to the native call */
};

/**
 * struct exit - a way out of a fragment
 *
 * patch is the rel32 field that leads to the target (0: not linkable), thunk the
 * code that leads to the dispatcher instead.
 */
struct exit {
	u64 target;		/* application address, direct exits only */
	/* heap references, 0 for none: there are hundreds of thousands of these */
	u32 frag;
	u32 to;			/* fragment that it is linked to */
	u32 next_in;		/* next exit linked to the same fragment */
	u16 patch, thunk;	/* see frag_code() */
	u16 mask;		/* registers known after it */
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

/* Which landing falls into a fragment. */
enum after { AFTER_NOTHING, AFTER_RETURN, AFTER_JUMP };

/* What the cache bytes from some offset on are, while they are built; see state_table.h. */
struct state_entry {
	u16 off;		/* see frag_code() */
	u8 kind;		/* enum state_kind */
	u8 insn;
	u8 nst;			/* stores of the record after this point */
	u8 arg;			/* exit index, or register in TLS_SPILL0 */
	u8 arg2;		/* register in TLS_SPILL1 */
	u8 arg3;		/* register in TLS_SPILL2 */
};

#define MAX_INSNS	64
#define MAX_EXITS	10
#define MAX_RUNS	8

struct frag {
	u64 pc;
	u8 *start, *cold;	/* cache memory: what runs, and what seldom does */
	u32 first_exit;
	/* heap references, 0 for none */
	u32 in;			/* exits linked here */
	u32 exits;
	u32 store_off;		/* u16: of each value in the record; none: 8 bytes each */
	u32 source;		/* copy of the code it came from, compared at each entry */
	u16 hot_len, cold_len;
	u16 states_len;		/* bytes */
	u16 entry;		/* offset of the body; the call entry is before it: none if 0 */
	u16 mask;		/* entry mask */
	u16 relevant;		/* registers whose being known matters here */
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

/* Its exit id is the fragment's first one and this. */
static inline u32 exit_index(const struct exit *x)
{
	return (u32)(x - frag_exits(exit_frag(x)));
}

/* Offsets in a fragment: in its hot part, or from here on in its cold one. */
#define COLD_OFFSET	0x8000u

static inline u8 *frag_code(const struct frag *f, u16 off)
{
	return off < COLD_OFFSET ? f->start + off : f->cold + (off - COLD_OFFSET);
}

static inline u8 *frag_lens(struct frag *f)
{
	return (u8 *)&f->runs[f->nruns];
}

/* What state_pack() made. */
static inline u8 *frag_states(struct frag *f)
{
	return frag_lens(f) + f->ninsns;
}

extern struct lock frag_lock;

/**
 * frag_get() - version of @pc to enter with @known; translates if need be; frag_lock held
 * @call: it must have a call entry
 */
struct frag *frag_get(u64 pc, u16 known, int call);
/** frag_exists() - is there a version that can be entered with @known? */
int frag_exists(u64 pc, u16 known);
void frag_insert(struct frag *f);
/** frag_kill() - make @f unreachable: no lookup, link or landing leads to it; frag_lock held */
void frag_kill(struct frag *f);
/** frag_kill_at() - all versions of @pc that do not tell what calls return there */
void frag_kill_at(u64 pc);
/** frag_kill_range() - all fragments with code in [@start, @end); returns how many */
unsigned int frag_kill_range(u64 start, u64 end);
/** frag_of_cache() - the fragment whose cache memory holds @addr, or NULL; lock-free */
struct frag *frag_of_cache(u64 addr);

static inline u8 *frag_entry(const struct frag *f)
{
	return f->start + f->entry;
}

/* build.c: translate one version; never fails (a pc that cannot be fetched becomes
 * a fragment that faults there).
 */
struct frag *build_fragment(u64 pc, u16 mask);
/**
 * build_after() - the {rsp} version, right after what was built last in @a; NULL if it
 * cannot be
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

#define ARENA_ROOM	(128u << 10)	/* several fragments fit */

void arena_init(void);
/** arena_for() - arena from which rip-relative code of @pc reaches its data, if there is one */
struct arena *arena_for(u64 pc);
/* Where the next fragment's parts begin; each has ARENA_ROOM after arena_for(). */
u8 *arena_hot(const struct arena *a);
u8 *arena_cold(const struct arena *a);
/**
 * arena_take_cold() - @n bytes of the cold part for code of no fragment, or NULL
 * @must: from what is kept for those who cannot do without, too
 */
u8 *arena_take_cold(struct arena *a, u32 n, int must);
/** arena_commit() - the next fragment of @a is complete */
void arena_commit(struct arena *a, struct frag *f);
/** arena_of() - the arena that holds cache address @addr, or NULL */
struct arena *arena_of(u64 addr);
/** arena_first() - first address of [@start, @end) that belongs to an arena, or @end */
u64 arena_first(u64 start, u64 end);
u8 *arena_gate(const struct arena *a, enum gate g);
/** arena_ret_path() - where @a keeps the address of its shared return path */
u8 **arena_ret_path(struct arena *a);
struct frag *arena_frag(struct arena *a, u64 addr);

#endif
