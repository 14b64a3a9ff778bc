/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hot streams: which rules of a grammar stand for much of the sequence (T. M. Chilimbi and
 * M. Hirzel, "Dynamic hot data stream prefetching for general-purpose programs", PLDI 2002,
 * figure 5).
 *
 * A rule is used as often as its part of the sequence is derived from the start rule.  A use is
 * cold if no hot rule contains it.  Rules are looked at from the start rule downwards:
 *
 *	heat = length * cold uses
 *	hot if heat is at least the threshold and length is within the limits
 *
 * So the parts that hot rules stand for do not overlap, and the sum of their heats is the number of
 * symbols that they cover.  The start rule itself is never hot.
 */
#ifndef ADEPT_STREAMS_HOT_H
#define ADEPT_STREAMS_HOT_H

#include "sequitur.h"

/** struct hot_limits - least heat, least and greatest length of a hot stream */
struct hot_limits {
	u64 heat, min_length, max_length;
};

/** struct hot_use - how often a rule is used */
struct hot_use {
	u64 uses, cold_uses;
	bool hot;
};

/**
 * hot_find() - find the hot rules of a closed grammar
 * @use: receives an element for each rule, by its number
 */
void hot_find(const struct sequitur *g, const struct hot_limits *limits, struct hot_use *use);

/**
 * hot_positions() - find a place of each hot rule in the sequence
 * @use: from hot_find()
 * @position: receives for each hot rule the number of symbols before its first cold use; others
 *	have UINT64_MAX
 */
void hot_positions(const struct sequitur *g, const struct hot_use *use, u64 *position);

/* ---- streams of several grammars, by their symbols ---- */

/**
 * struct hot_stream - a hot stream
 * @times: cold uses, of all grammars
 * @owner: streams with the same symbols and different owners are different
 * @where: least of the numbers that were given, for the caller
 */
struct hot_stream {
	u64 times, where;
	u64 first;		/* index of the first symbol; hot_symbols() */
	u32 length, owner;
};

struct hot_streams;

/**
 * hot_streams_new() - begin an empty set of streams
 * @memory: limit of all memory that it uses
 *
 * Return: the set, to be freed with hot_streams_free(), or NULL.
 */
struct hot_streams *hot_streams_new(size_t memory);
void hot_streams_free(struct hot_streams *s);

/**
 * hot_streams_add() - add @times uses of the stream that @rule of the closed grammar @g is
 * @where: place in the sequence; several rules of a grammar can be the same stream
 *
 * Return: 0, -ENOMEM, -ENOSPC if the limit is reached, -E2BIG if the stream has 2^32 symbols.
 */
int hot_streams_add(struct hot_streams *s, const struct sequitur *g, u32 rule, u32 owner,
		    u64 times, u64 where);

/** hot_streams_all() - all streams, in the order in which they were added first */
size_t hot_streams_all(const struct hot_streams *s, const struct hot_stream **out);
const u64 *hot_symbols(const struct hot_streams *s, const struct hot_stream *stream);

#endif
