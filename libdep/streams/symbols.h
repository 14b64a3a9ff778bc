/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands for a reference in a grammar: its word, or its word and its instruction. */
#ifndef ADEPT_STREAMS_SYMBOLS_H
#define ADEPT_STREAMS_SYMBOLS_H

#include "dep/streams.h"
#include "libdep/abi/types.h"

#define STREAM_PC_BITS		20u
#define STREAM_WORD_BITS	44u

/**
 * struct stream_pcs - numbers of instructions; begin with zeros
 * @seed: of the hash, random: a recording is hostile input
 */
struct stream_pcs {
	u64 seed;
	struct stream_pc {
		u64 pc;
		u32 number;	/* 0: the slot is free */
	} *slot;
	u32 n, bits;		/* 1 << bits slots */
};

/**
 * stream_symbol() - the symbol of @ref
 * @pcs: NULL: the word alone
 *
 * Return: 0, -ENOMEM or -ERANGE.
 */
int stream_symbol(struct stream_pcs *pcs, const struct dep_ref *ref, u64 *symbol);
/** stream_word() - the address of the word that @symbol has */
u64 stream_word(const struct stream_pcs *pcs, u64 symbol);
void stream_pcs_free(struct stream_pcs *pcs);

#endif
