/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sequences of exits that come again and again.
 *
 * Programs repeat themselves: if records are taken 8 at a time, nearly all of these groups have
 * come before, in a C compiler 17 of 20.  To find such a sequence as a whole costs less than to
 * look at each of its exits.  A sequence gets a number when it comes the second time.
 */
#ifndef ADEPT_FOLD_SEQUENCES_H
#define ADEPT_FOLD_SEQUENCES_H

#include "dep/fold.h"
#include "libdep/abi/types.h"

#define DEP_SEQUENCES_BUCKETS	(4u * DEP_FOLD_SEQUENCES)

/** struct dep_sequence - exits one behind the other */
struct dep_sequence {
	u32 id[DEP_FOLD_SEQUENCE];	/* in the store */
	u32 exit[DEP_FOLD_SEQUENCE];	/* their numbers */
};

/** struct dep_sequences - the sequences that have a number, from 1 to @n - 1 */
struct dep_sequences {
	struct dep_sequence *sequence;	/* by number */
	u32 *bucket;			/* by hash: a number; 0: none */
	u32 *mark;			/* by hash: that of a sequence that has come once */
	u32 n;
};

/* Size of all of it */
#define DEP_SEQUENCES_BYTES	(DEP_FOLD_SEQUENCES * sizeof(struct dep_sequence) + \
				 2 * DEP_SEQUENCES_BUCKETS * sizeof(u32))

#define DEP_SEQUENCES_AT_ONCE	8u

/** struct dep_sequences_found - sequences that were looked up, and their hashes */
struct dep_sequences_found {
	u32 hash[DEP_SEQUENCES_AT_ONCE];
	u32 number[DEP_SEQUENCES_AT_ONCE];	/* 0: it has none */
};

/* Numbers are below this; tests make it small. */
extern u32 dep_fold_sequences;

/** dep_sequences_init() - 0 or -ENOMEM; dep_sequences_free() takes either */
int dep_sequences_init(struct dep_sequences *s);
void dep_sequences_free(struct dep_sequences *s);

/**
 * dep_sequences_find() - look up @n successive sequences
 * @id: ids of exits, or whatever else a control column has
 * @n: at most DEP_SEQUENCES_AT_ONCE
 */
void dep_sequences_find(const struct dep_sequences *s, const u32 *id, size_t n,
			struct dep_sequences_found *out);

/**
 * dep_sequences_add() - a sequence came that had no number when it was looked up
 * @exit: numbers of the exits
 *
 * Return: the number that it has got, the least one that was not in use, or 0.
 */
u32 dep_sequences_add(struct dep_sequences *s, const u32 *id, const u32 *exit, u32 hash);

/** dep_sequences_full() - true if one of the next @more sequences may get no number */
bool dep_sequences_full(const struct dep_sequences *s, u32 more);

/** dep_sequences_clear() - make all numbers free */
void dep_sequences_clear(struct dep_sequences *s);

#endif
