/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of contexts, and their decoding.
 *
 * A record is what a thread's state was at some time, and decodes by the dictionary of its time
 * stamp, however often the graph is encoded anew.  Records may be forged, and dictionaries as far
 * as dictionary.h says: the decoder takes at most @max frames, and reports what does not fit.
 */
#ifndef ADEPT_CONTEXT_DECODE_H
#define ADEPT_CONTEXT_DECODE_H

#include "cursor.h"

/**
 * struct dep_cc_record - a context
 * @function: node at work
 * @entry: the ccStack, outermost first; owned by the record
 * @origin: context of the call that created the thread; NULL: not known
 */
struct dep_cc_record {
	u32 stamp, function;
	u64 id;
	struct dep_cc_entry *entry;
	size_t n;
	struct dep_cc_origin *origin;
};

/** struct dep_cc_origin - a record that the threads created by it share */
struct dep_cc_origin {
	u32 refs;
	struct dep_cc_record record;
};

struct dep_cc_origin *dep_cc_origin_get(struct dep_cc_origin *o);
void dep_cc_origin_put(struct dep_cc_origin *o);

/**
 * dep_cc_decode() - functions and sites of a context, up to the thread's first function
 * @d: the dictionary of @r->stamp
 * @to: emptied, then set; also after an error, up to there
 *
 * Return: 0; -EBADMSG if @r does not fit @d; -E2BIG for more than @to->max frames; -ENOMEM.
 */
int dep_cc_decode(const struct dep_cc_dictionary *d, const struct dep_cc_record *r,
		  struct dep_cc_chain *to);

/**
 * dep_cc_decode_origins() - the same, and on in the thread that created this one, and so on
 *
 * Return: as dep_cc_decode(); -ENOENT if a dictionary was dropped.
 */
int dep_cc_decode_origins(const struct dep_cc_history *h, const struct dep_cc_record *r,
			  struct dep_cc_chain *to);

/** dep_cc_record_free() - free what @r owns */
void dep_cc_record_free(struct dep_cc_record *r);

#endif
