/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hot data streams: sequences of data that a program refers to again and again in the same order.
 *
 * Each thread's references become a grammar (Sequitur), whose rules are the sequences that occur
 * several times; hot streams are those that stand for a large part of all references (Chilimbi and
 * Hirzel, "Dynamic hot data stream prefetching for general-purpose programs", PLDI 2002).
 */
#ifndef DEP_STREAMS_H
#define DEP_STREAMS_H

#include "fold.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define DEP_STREAM_WORD	8u	/* bytes; aligned; a reference counts for that of its first byte */

/**
 * struct dep_stream_ref - a reference of a stream
 * @address: of the word
 * @pc: instruction that made the reference where the stream occurred first
 */
struct dep_stream_ref {
	uint64_t address, pc;
};

/**
 * struct dep_stream - a hot data stream of one process
 * @process: serial
 * @thread: serial of the first thread that it was found in
 * @length: references
 * @words: distinct words
 * @times: occurrences that no other hot stream contains
 * @time_ns: begin of the segment with the first one, in the first grammar that has the stream
 */
struct dep_stream {
	uint32_t process, thread;
	uint32_t length, words;
	uint64_t times, time_ns;
	const struct dep_stream_ref *ref;
};

/**
 * struct dep_streams - hot streams, sorted by references that they cover, most first
 * @refs: references that were read
 * @covered: sum of length times occurrences of all streams
 * @grammars, @rules, @symbols: number of grammars; rules and symbols on the right of all of them
 */
struct dep_streams {
	const struct dep_stream *stream;
	size_t n;
	uint64_t refs, covered, grammars, rules, symbols;
	struct dep_fold_loss loss;
};

#define DEP_STREAMS_MEMORY	(256ull << 20)	/* default of dep_streams_options.memory */
#define DEP_STREAMS_MEMORY_MIN	(1ull << 20)

/**
 * struct dep_streams_options - owned by the caller; begin with all zero
 * @fold: what to read: jobs, process, thread, from_ns and to_ns; select and progress are not used
 * @memory: bytes for a grammar and the streams found, 0: DEP_STREAMS_MEMORY.  When a grammar has
 *	used up its part another one begins.
 * @threshold: least share of all references that a hot stream covers, from 0 to 1; 0: 0.01
 * @min_length, @max_length: of hot streams, in references; 0: 2 and 100
 * @pc: references are equal if word and instruction are, not the word alone
 */
struct dep_streams_options {
	struct dep_fold_options fold;
	uint64_t memory;
	double threshold;
	uint32_t min_length, max_length;
	bool pc;
};

/**
 * dep_streams_make() - find the hot data streams of @store
 * @options: NULL: the defaults
 *
 * A stream is a rule of a grammar, or several that stand for the same references.  Each rule must
 * reach the threshold for the references of its grammar, and the stream at the end, with all
 * grammars of the process, for all references.  What a rule below the threshold covers does not
 * count.
 *
 * Reads the selected segments, and once more those in which streams occurred first.
 *
 * Return: 0 or a negative errno with dep_error().  -ENOSPC: the streams do not fit in the memory
 * allowed.  -ERANGE: with @pc, more than 2^20 instructions or an address above 2^47.  -ESTALE or
 * -EBADMSG: the store changed while it was read.
 */
int dep_streams_make(struct dep_store *store, const struct dep_streams_options *options,
		     struct dep_streams **out);
void dep_streams_free(struct dep_streams *s);

/**
 * struct dep_addresses - what the references of a store refer to
 * @refs: references
 * @addresses: distinct addresses of their first bytes; those of different processes are different
 * @pages: distinct pages of 4 KiB
 */
struct dep_addresses {
	uint64_t refs, addresses, pages;
	struct dep_fold_loss loss;
};

/**
 * dep_addresses_count() - count the distinct addresses of a store's references
 * @options: fold and memory are used; NULL: the defaults
 *
 * A page takes about 540 bytes of memory.
 *
 * Return: 0 or a negative errno with dep_error().  -ENOSPC: the pages do not fit in the memory
 * allowed.
 */
int dep_addresses_count(struct dep_store *store, const struct dep_streams_options *options,
			struct dep_addresses *out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
