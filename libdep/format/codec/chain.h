/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The chain of a thread's segments.
 *
 * A segment's content value is over its columns before compression, so that packing them again
 * does not change it.  Its chain value is over the content, the segment's place in its thread, and
 * the chain value of the thread's segment before it.  Who knows the last value can prove that all
 * segments are there, each once and in its place.  Source: the hash chains of Lamport, "Password
 * authentication with insecure communication" (CACM 1981), here against accidents and not against
 * forgery, since XXH3 is no cryptographic hash.
 *
 * Measured: 1.7 % of the collector's time (python3), nearly all of it for the contents.
 */
#ifndef ADEPT_FORMAT_CODEC_CHAIN_H
#define ADEPT_FORMAT_CODEC_CHAIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "libdep/format/file/table.h"
#include "libdep/format/file/wire.h"

/** struct dep_contents - the columns of a segment before compression */
struct dep_contents {
	const void *control;
	u32 control_size;
	const void *lens, *bytes;	/* streams of the value column (delta.h) */
	u32 lens_size, bytes_size;
};

u64 dep_seg_content(const struct dep_format *fmt, const struct dep_contents *c);

/** dep_seg_chain() - the chain value of a segment, of all that its header says in front of it */
u64 dep_seg_chain(const struct dep_format *fmt, const struct dep_seg_header *h);

/** struct dep_chain - how far the chain of one thread is; rows of a table sorted by serial */
struct dep_chain {
	u32 serial;
	u64 segments;		/* stored so far */
	u64 raw_bytes;		/* of them, in memory */
	u64 chain;		/* of the last one, 0 if there is none */
	u64 marked;		/* segments that the last MARK knew */
};

static inline struct dep_chain *dep_chain_of(struct dep_table *chains, u32 serial)
{
	return dep_table_of(chains, sizeof(struct dep_chain), serial);
}

/**
 * dep_chain_sums() - rows for the log
 * @all: of all threads, else of those that have more segments than at the last MARK
 * @out: receives memory from malloc(), NULL if there are no rows
 *
 * Return: how many rows, or -ENOMEM.
 */
ssize_t dep_chain_sums(const struct dep_table *chains, bool all, struct dep_wire_thread_sum **out);

#endif
