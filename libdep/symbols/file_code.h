/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What dep_image_code() is made of: where a file has code, and how that code is divided. */
#ifndef ADEPT_SYMBOLS_FILE_CODE_H
#define ADEPT_SYMBOLS_FILE_CODE_H

#include "internal.h"

struct dep_extent {
	u64 lo, hi;
};

struct dep_extents {
	struct dep_extent *at;
	size_t n, room;
};

/** dep_extents_add() - add [lo, hi); 0 or -ENOMEM */
int dep_extents_add(struct dep_extents *t, u64 lo, u64 hi);
/** dep_extents_sort() - sort by address, and remove duplicates */
void dep_extents_sort(struct dep_extents *t);
/** dep_extents_upto() - the number of extents of sorted @t that begin at or before @at */
size_t dep_extents_upto(const struct dep_extents *t, u64 at);
/** dep_extents_find() - the last extent of sorted @t that begins at or before @at, if it has @at */
const struct dep_extent *dep_extents_find(const struct dep_extents *t, u64 at);

/**
 * dep_code_areas() - the executable sections; without section headers, the executable segments
 * @out: sorted, without overlap
 *
 * Return: 0 or -ENOMEM.
 */
int dep_code_areas(struct dep_image *im, struct dep_extents *out);

/**
 * dep_eh_frame_ranges() - the code that each entry (FDE) of .eh_frame describes
 * @out: sorted by address; hostile files can have ranges that overlap
 *
 * Return: 0 or -ENOMEM.
 */
int dep_eh_frame_ranges(struct dep_image *im, struct dep_extents *out);

/** struct dep_stub - an entry of a PLT */
struct dep_stub {
	u64 lo, hi;
	const char *name;	/* of the symbol whose address its GOT slot receives, or NULL */
	u64 resolver;		/* of an indirect function, if there is no such symbol; else 0 */
};

struct dep_stubs {
	struct dep_stub *stub;
	size_t n, room;
};

/**
 * dep_plt_stubs() - split PLTs into their entries
 * @fde: the ranges of .eh_frame, by which PLTs are found if the file has no section headers
 *
 * Return: 0 or -ENOMEM.
 */
int dep_plt_stubs(struct dep_image *im, const struct dep_extents *fde, struct dep_stubs *out);

/** struct dep_slot - a relocated word, such as an entry of the GOT */
struct dep_slot {
	u64 at;
	const char *name;	/* unchecked bytes of the file; NULL: see @resolver */
	u64 resolver;
};

struct dep_slots {
	struct dep_slot *slot;	/* sorted by address */
	size_t n, room;
	/* the slots of section .rela.plt, in the order of the file */
	struct dep_slot *plt;
	size_t nplt, plt_room;
};

/** dep_got_slots() - read the relocations of the GOT; 0 or -ENOMEM */
int dep_got_slots(struct dep_image *im, struct dep_slots *out);
/** dep_slot_at() - find the relocation of the word at @at, or NULL */
const struct dep_slot *dep_slot_at(const struct dep_slots *t, u64 at);

/** struct dep_start - an address at which symbols say that a function begins */
struct dep_start {
	u64 lo, hi;
	const char *name;	/* unchecked bytes of the file; the best of several names */
	u32 source;		/* number of the source file in the symbol table */
	bool sized;		/* the symbol has a size; else @hi was inferred */
};

/** struct dep_starts - functions by symbols, sorted by address */
struct dep_starts {
	struct dep_start *start;
	u32 n;
	struct dep_name_key *key;	/* all names of all functions, see dep_starts_named() */
	u32 nkeys;
};

/**
 * dep_function_starts() - find the functions that have symbols
 *
 * Return: 0 or -ENOMEM.
 */
int dep_function_starts(struct dep_image *im, const struct dep_extents *areas,
			const struct dep_extents *fde, struct dep_starts *out);
void dep_starts_free(struct dep_starts *t);
/** dep_starts_at() - index of the function that begins at @at, or DEP_NO_INDEX */
u32 dep_starts_at(const struct dep_starts *t, u64 at);
/**
 * dep_starts_named() - address of the function called by the first @n bytes of @name; 0: none
 * @source: prefer a function of this source file, then a global one
 */
u64 dep_starts_named(const struct dep_starts *t, const char *name, size_t n, u32 source);
/**
 * dep_starts_whole() - index of the function of which function @i is a part, or @i itself
 *
 * Compilers call a part NAME.cold, NAME.cold.N or NAME.part.N.
 */
u32 dep_starts_whole(const struct dep_starts *t, u32 i);

#endif
