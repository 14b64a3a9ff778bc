/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The descriptors of a recording with --last, in the order in which they were admitted.
 *
 * They are in batches. A batch only grows while nobody else has a reference to it, so the snapshots
 * that share it read it without a lock. A descriptor is never split.
 */
#ifndef ADEPT_COLLECT_KEPT_DESCRIPTORS_H
#define ADEPT_COLLECT_KEPT_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "libdep/abi/types.h"

/**
 * struct dep_batch - descriptors of one process
 * @room: allocated bytes of @data; more than @size only of the last batch
 */
struct dep_batch {
	u32 refs;
	u32 process;		/* serial */
	size_t size, room;
	u8 data[];
};

/* Memory for a batch besides its descriptors: header, place in the table, overhead of malloc(). */
#define DEP_BATCH_COST	(sizeof(struct dep_batch) + sizeof(struct dep_batch *) + 16)

struct dep_batches {
	struct dep_batch **row;
	size_t n, room;
	u64 bytes;		/* memory of all batches; any thread may read it */
};

/** dep_batches_add() - append a copy of whole descriptors of process @process; 0 or -ENOMEM */
int dep_batches_add(struct dep_batches *b, u32 process, const u8 *data, size_t size);
/** dep_batches_forget() - drop all descriptors of process @process, which nobody needs any more */
void dep_batches_forget(struct dep_batches *b, u32 process);
/**
 * dep_batch_run() - find the next descriptors of a batch that are to be stored together
 * @from: 0 at first; moved to their offset
 *
 * ADEPT_DESC_FORKED is for the window only.  Return: their size; 0: there are no more.
 */
size_t dep_batch_run(const struct dep_batch *b, size_t *from);
/** dep_batches_share() - make @copy, with a reference to each batch; 0 or -ENOMEM */
int dep_batches_share(struct dep_batches *b, struct dep_batches *copy);
/** dep_batches_drop() - drop all references, and free @b's table */
void dep_batches_drop(struct dep_batches *b);
void dep_batch_put(struct dep_batch *batch);

#endif
