/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sequitur: a grammar of a sequence, built in linear time while the sequence is read (C. G.
 * Nevill-Manning and I. H. Witten, "Identifying hierarchical structure in sequences", JAIR 1997).
 *
 * Two properties hold after each symbol:
 *
 *   digram uniqueness: no two adjacent symbols appear twice in the grammar, unless the two places
 *   overlap (aaa);
 *   rule utility: each rule but the start rule is used at least twice.
 *
 * The memory of a grammar is limited.  When it is used up, sequitur_append() refuses the symbol and
 * the caller begins another grammar.
 *
 * A grammar has two states.  It is open until sequitur_close() numbers its rules; only then can
 * they be walked.  A grammar is used by one thread at a time.
 */
#ifndef ADEPT_STREAMS_SEQUITUR_H
#define ADEPT_STREAMS_SEQUITUR_H

#include <stdbool.h>
#include <stddef.h>

#include "libdep/abi/types.h"

#define SEQUITUR_MEMORY_MIN	(64u << 10)

struct sequitur;

/**
 * struct sequitur_size - size of a grammar
 *
 * Until it is closed, @rules and @body may lack what repeats an earlier part at the sequence's end.
 */
struct sequitur_size {
	u64 symbols;	/* of the sequence */
	u64 rules;	/* the start rule included */
	u64 body;	/* symbols of all rules */
	u64 memory;	/* bytes, at most the limit */
	u64 steps;	/* digrams looked at until now, a measure of time */
};

/**
 * sequitur_new() - begin a grammar
 * @memory: limit of all memory that the grammar uses until it is freed, in bytes; at least
 *	SEQUITUR_MEMORY_MIN.  A grammar uses at most 32 GiB of it.
 *
 * Return: the grammar, to be freed with sequitur_free(); NULL with errno EINVAL or ENOMEM.
 */
struct sequitur *sequitur_new(size_t memory);
void sequitur_free(struct sequitur *g);

/**
 * sequitur_append() - add a symbol to the sequence; any value may be a symbol
 *
 * Return: 0, or -ENOSPC: the memory is used up, the symbol was not added and none will be.
 */
int sequitur_append(struct sequitur *g, u64 symbol);

/**
 * sequitur_append_all() - add symbols, faster than one by one
 *
 * Return: the number of symbols that were added; fewer than @n if the memory is used up.
 */
size_t sequitur_append_all(struct sequitur *g, const u64 *symbol, size_t n);

void sequitur_size(const struct sequitur *g, struct sequitur_size *out);

/* ---- a closed grammar ---- */

/**
 * sequitur_close() - end the sequence and number the rules in reverse postorder
 *
 * A rule has a smaller number than the rules that it uses; the start rule has number 0.
 *
 * Return: 0 or -ENOMEM.
 */
int sequitur_close(struct sequitur *g);

u32 sequitur_rules(const struct sequitur *g);

/** struct sequitur_symbol - a symbol of a rule's body: a value, or the number of a rule */
struct sequitur_symbol {
	u64 value;
	bool is_rule;
};

/* Position in the body of a rule. */
struct sequitur_walk {
	u32 node;
};

/** sequitur_walk() - begin with the first symbol of rule @rule */
struct sequitur_walk sequitur_walk(const struct sequitur *g, u32 rule);
/** sequitur_next() - get the next symbol; false: there is none */
bool sequitur_next(const struct sequitur *g, struct sequitur_walk *w, struct sequitur_symbol *out);

/** sequitur_length() - number of symbols of the sequence that @rule stands for */
u64 sequitur_length(const struct sequitur *g, u32 rule);

/**
 * sequitur_expand() - pass the part of the sequence that @rule stands for to @put
 *
 * Return: 0, -ENOMEM, or what @put returned if that was not 0.
 */
int sequitur_expand(const struct sequitur *g, u32 rule, int (*put)(void *arg, u64 symbol),
		    void *arg);

/**
 * sequitur_write() - serialise a grammar
 * @put: NULL: nothing is written
 * @size: receives the number of bytes
 *
 * Needs memory besides the limit: up to 16 bytes for each symbol of the bodies.
 *
 * All numbers are unsigned LEB128:
 *
 *   number of distinct symbols, and these in ascending order: the first as it is, others as the
 *   difference from the one before;
 *   number of rules, then each rule in the order of numbers: the number of symbols in its body, and
 *   for each of these 2 * i for the i-th distinct symbol, or 2 * (n - rule's own number) + 1 for
 *   rule n, which is larger.
 *
 * Return: 0, -ENOMEM, or what @put returned if that was not 0.
 */
int sequitur_write(const struct sequitur *g, int (*put)(void *arg, const void *data, size_t size),
		   void *arg, u64 *size);

#endif
