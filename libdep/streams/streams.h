/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files that find the streams of a store share. */
#ifndef ADEPT_STREAMS_STREAMS_H
#define ADEPT_STREAMS_STREAMS_H

#include "hot.h"
#include "symbols.h"

/**
 * struct streams_made - what dep_streams_make() returns; users see the first member only
 * @ref: of all streams
 */
struct streams_made {
	struct dep_streams s;
	struct dep_stream *stream;
	struct dep_stream_ref *ref;
};

/**
 * struct streams_input - the segments to be read
 * @cut: the segment does not follow the one before
 * @first: number of references before each segment, of all that were read
 */
struct streams_input {
	struct dep_segment *seg;
	bool *cut;
	u64 *first;
	size_t n;
};

/**
 * struct streams_search - the first pass
 * @broken: the segment read last was not read to its end
 */
struct streams_search {
	struct dep_store *store;
	const struct dep_streams_options *options;
	struct streams_input in;
	struct stream_pcs pcs, *use_pcs;
	struct sequitur *grammar;
	struct hot_streams *found;
	size_t grammar_memory;
	u64 grammar_first;	/* number of references before those of @grammar */
	u32 thread, process;	/* serials, of @grammar */
	size_t last;		/* index of the segment read last */
	bool broken;
	int err;
	struct dep_streams s;
};

/* ---- streams_input.c ---- */

/** streams_select() - the segments that @options select; 0 or -ENOMEM */
int streams_select(struct streams_input *in, struct dep_store *store,
		   const struct dep_fold_options *options, struct dep_fold_loss *loss);
void streams_input_free(struct streams_input *in);

/* ---- streams_result.c ---- */

/** streams_result() - sort what was found, and read the instructions that made the references */
int streams_result(struct streams_search *s, struct dep_streams **out);

#endif
