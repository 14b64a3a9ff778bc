/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where in the code a writer was when it met the end of a chunk of the kernel module's,
 * and the application's registers there.
 *
 * The module knows registers and how far the record begun was.  The fragment is known
 * by the id of that record, which comes later, at the beginning of the next chunk; which
 * of its stores it was follows from the offset in the record, and what its descriptor
 * says of that store tells what the registers mean.
 */
#ifndef ADEPT_COLLECT_CHUNK_END_H
#define ADEPT_COLLECT_CHUNK_END_H

#include "module_session.h"

/** struct dep_cuts - the stores and exits of all fragments described so far */
struct dep_cuts;

struct dep_cuts *dep_cuts_new(void);
void dep_cuts_free(struct dep_cuts *c);
/** dep_cuts_add() - the descriptors at @data; what is malformed is left out */
int dep_cuts_add(struct dep_cuts *c, const void *data, size_t size);

/**
 * struct dep_begun - what stands first in a chunk
 *
 * The record that was begun at the end of the chunk before, by its id; or, if the thread
 * left that fragment in its middle, ADEPT_EV_PARTIAL with where that was.
 */
struct dep_begun {
	u32 id;
	u32 frag;
	u16 ninsns;
};

/** dep_begun() - @body may be being written */
struct dep_begun dep_begun(const u8 *body);

/** struct dep_chunk_end - what a crossing means */
struct dep_chunk_end {
	struct adept_position tail, head;
	u64 regs[16];		/* of the application at head */
	u64 gs_base;
	u32 have;		/* bytes of the record begun that were there */
};

/**
 * dep_chunk_end() - interpret @x, with @b, which was begun then
 *
 * Return: false if @b is nothing, or does not fit, or is of a fragment that is not known.
 */
bool dep_chunk_end(const struct dep_cuts *c, const struct dep_crossing *x,
		   const struct dep_begun *b, struct dep_chunk_end *out);
/** dep_chunk_end_by_engine() - did the engine itself end the chunk, between records? */
bool dep_chunk_end_by_engine(const struct dep_crossing *x);

#endif
