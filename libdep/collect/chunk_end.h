/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Position in the code at which a chunk of the kernel module ended, and the application's registers
 * there.
 *
 * The module reports the processor's registers and the length of the unfinished record. The
 * record's id, which is stored later at the beginning of the next chunk, identifies the fragment.
 * The offset in the record determines the store that did not fit, and the fragment's descriptor
 * says in which registers and memory the application's registers are at this store.
 */
#ifndef ADEPT_COLLECT_CHUNK_END_H
#define ADEPT_COLLECT_CHUNK_END_H

#include "module_session.h"

/** struct dep_cuts - stores and exits of all fragments described so far, by exit id */
struct dep_cuts;

struct dep_cuts *dep_cuts_new(void);
void dep_cuts_free(struct dep_cuts *c);
/** dep_cuts_add() - add the descriptors at @data; malformed ones are ignored */
int dep_cuts_add(struct dep_cuts *c, const void *data, size_t size);

/**
 * struct dep_begun - first record or event of a chunk, which began in the previous chunk
 *
 * @id is the exit id of the record. If the thread left the fragment in the middle, @id is
 * ADEPT_EV_PARTIAL, and @frag and @ninsns are the position.
 */
struct dep_begun {
	u32 id;
	u32 frag;
	u16 ninsns;
};

/** dep_begun() - read struct dep_begun from chunk @body, which a thread may be writing */
struct dep_begun dep_begun(const u8 *body);

/** struct dep_chunk_end - position in the code and registers at the end of a chunk */
struct dep_chunk_end {
	struct adept_position tail, head;
	u64 regs[16];		/* the application's registers where the next chunk begins */
	u64 gs_base;
	u32 have;		/* bytes of the unfinished record in the chunk */
};

/**
 * dep_chunk_end() - find position and registers at chunk end @x
 * @b: the record that was begun at the end of the chunk
 *
 * Return: false if @b is empty, does not match @x, or its fragment is not known.
 */
bool dep_chunk_end(const struct dep_cuts *c, const struct dep_crossing *x,
		   const struct dep_begun *b, struct dep_chunk_end *out);
/** dep_chunk_end_by_engine() - true if the engine ended the chunk, not a store that did not fit */
bool dep_chunk_end_by_engine(const struct dep_crossing *x);

#endif
