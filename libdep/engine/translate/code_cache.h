/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The code cache: an index of fragments by application pc, the links between them, and the arenas
 * that contain their code.
 *
 * Versions of a fragment differ in their entry mask: the registers whose values recovery must know
 * at the entry.  Any exit can enter the {rsp} version, whose entry mask is rsp alone.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_CODE_CACHE_H
#define ADEPT_ENGINE_TRANSLATE_CODE_CACHE_H

#include "libdep/engine/emit/fragment.h"

struct arena;

/**
 * frag_get() - find or build a version of @pc that needs only @known registers; frag_lock held
 * @call: 1: the version must have a call entry, which drops a native call's return address
 */
struct frag *frag_get(u64 pc, u16 known, int call);
/** frag_exists() - whether there is a version of @pc that needs only @known registers */
int frag_exists(u64 pc, u16 known);
void frag_insert(struct frag *f);
/** frag_kill() - remove @f so that no lookup, link or landing stub leads to it; frag_lock held */
void frag_kill(struct frag *f);
/** frag_kill_at() - kill all translations of @pc, if it is not 0 */
void frag_kill_at(u64 pc);
/**
 * frag_make_return_site() - record that calls of hooked functions return to @pc
 *
 * Kills translations of @pc that do not record the function's result.
 */
void frag_make_return_site(u64 pc);
/** frag_kill_range() - kill all fragments with code in [@start, @end); returns their number */
unsigned int frag_kill_range(u64 start, u64 end);
/** frag_keep() - kill the fragments with a run of code for which @keep returns 0 */
void frag_keep(int (*keep)(u64 start, u64 end));
/** frag_of_cache() - find the fragment that contains cache address @addr, or NULL; lock-free */
struct frag *frag_of_cache(u64 addr);

/* Functions of build.c. */
/**
 * build_fragment() - translate a version of @pc whose entry mask is @mask or a subset of it
 *
 * Never fails: if the code cannot be read, the fragment raises the fault.
 */
struct frag *build_fragment(u64 pc, u16 mask);
/**
 * build_after() - translate the {rsp} version of @pc, directly after the last code in @a
 * @after: kind of the landing stub that this last code is
 *
 * Return: NULL if the code at @pc could change without being noticed.
 */
struct frag *build_after(u64 pc, struct arena *a, enum after after);

/* Functions of link.c. */
void exit_link(struct exit *x, struct frag *to);
void exit_unlink(struct exit *x);

/* Functions of arena.c. */
#define ARENA_SIZE	(64u << 20)
#define MAX_ARENAS	32
#define ARENAS_MAX	((u64)MAX_ARENAS * ARENA_SIZE)

enum gate { GATE_EXIT, GATE_SYSCALL, GATE_TRAP, NGATES };

#define ARENA_ROOM	(128u << 10)	/* bytes; room for several fragments */

void arena_init(void);
/**
 * arena_for() - get an arena within 2 GiB of @pc, or any other if no arena can be mapped there
 *
 * Both parts of the arena have at least ARENA_ROOM bytes left.
 */
struct arena *arena_for(u64 pc);
/** arena_nth() - get the address and size of arena number @i; returns 0 if there are fewer */
int arena_nth(u32 i, u64 *base, u64 *size);
/* Addresses at which the hot and the cold part of the next fragment begin. */
u8 *arena_hot(const struct arena *a);
u8 *arena_cold(const struct arena *a);
/**
 * arena_take_cold() - allocate @n bytes of the cold part outside of fragments
 * @must: 1: also use the last ARENA_ROOM / 2 bytes, which are a reserve
 *
 * Return: NULL if there is no room.
 */
u8 *arena_take_cold(struct arena *a, u32 n, int must);
/** arena_commit() - add the finished fragment @f, whose parts are at the end of both parts of @a */
void arena_commit(struct arena *a, struct frag *f);
/** arena_of() - find the arena that contains cache address @addr, or NULL; lock-free */
struct arena *arena_of(u64 addr);
/** arena_first() - first address of [@start, @end) that belongs to an arena, or @end */
u64 arena_first(u64 start, u64 end);
u8 *arena_gate(const struct arena *a, enum gate g);
/** arena_ret_path() - pointer to the address of @a's shared return path (returns.c) */
u8 **arena_ret_path(struct arena *a);
struct frag *arena_frag(struct arena *a, u64 addr);

#endif
