/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks of descriptors, and access to their parts. */
#ifndef ADEPT_FORMAT_CODEC_DESCRIPTOR_H
#define ADEPT_FORMAT_CODEC_DESCRIPTOR_H

#include "libdep/abi/stream.h"

static inline const struct adept_run *dep_desc_runs(const struct adept_desc_frag *d)
{
	return (const struct adept_run *)(d + 1);
}

static inline const struct adept_exit *dep_desc_exits(const struct adept_desc_frag *d)
{
	return (const struct adept_exit *)(dep_desc_runs(d) + d->nruns);
}

static inline const struct adept_store *dep_desc_stores(const struct adept_desc_frag *d)
{
	return (const struct adept_store *)(dep_desc_exits(d) + d->nexits);
}

static inline const u8 *dep_desc_code(const struct adept_desc_frag *d)
{
	return (const u8 *)(dep_desc_stores(d) + d->nstores);
}

static inline const struct adept_code_place *
dep_desc_places(const struct adept_desc_translation *d)
{
	return (const struct adept_code_place *)(d + 1);
}

/* Whether the value of @st is stored after the instruction, not before. */
static inline int dep_store_is_post(const struct adept_store *st)
{
	return st->kind == ADEPT_ST_POST || st->kind == ADEPT_ST_EXIT_REG ||
	       st->kind == ADEPT_ST_AFTER;
}

/**
 * dep_desc_next() - check the size of the descriptor at @data
 *
 * Return: the size, or 0 if it is invalid or larger than @avail.  dep_desc_check() checks the
 * contents.
 */
size_t dep_desc_next(const void *data, size_t avail);

/**
 * dep_desc_check() - check a descriptor, except the machine code of a fragment
 * @h: the descriptor, with all h->size bytes, aligned to 8
 *
 * Return: 0 or -EBADMSG.
 */
int dep_desc_check(const struct adept_desc *h);

struct x86_insn;

/** struct dep_desc_at - position in a fragment: instructions, bytes of code and stores before it */
struct dep_desc_at {
	u32 insn, code, store;
};

/**
 * dep_desc_insn() - decode the next instruction of a checked fragment, and check its stores
 * @at: position of the instruction, all 0 for the first one; moved to the next instruction
 *
 * It is an error if the last instruction does not end where the code ends.
 *
 * Return: 0 or -EBADMSG.
 */
int dep_desc_insn(const struct adept_desc_frag *d, struct dep_desc_at *at, struct x86_insn *in);
/** dep_desc_check_code() - call dep_desc_insn() for all instructions; 0 or -EBADMSG */
int dep_desc_check_code(const struct adept_desc_frag *d);

#endif
