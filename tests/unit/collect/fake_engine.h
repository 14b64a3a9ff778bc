/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A minimal recorded side of the session file, which replaces the engine in tests of the collector.
 * The records of thread n have 12 bytes: an exit id that was described before, and a value that
 * counts 0, 1, 2.., so that lost, duplicated and reordered records are detected.
 */
#ifndef TESTS_UNIT_COLLECT_FAKE_ENGINE_H
#define TESTS_UNIT_COLLECT_FAKE_ENGINE_H

#include "libdep/abi/stream.h"
#include "libdep/collect/collect.h"

#define FAKE_RECORD 12u

struct fake_process {
	struct dep_session *s;
	u32 slot;
	u32 id;			/* newest described exit id */
	int lock;		/* protects the descriptor ring and id */
};

struct fake_thread {
	struct fake_process *p;
	u32 slot;
	u8 *base, *at, *end;	/* of the chunk, or of private memory when there is no collector */
	u64 seq, count;
	u64 dropped_chunks, dropped_bytes;
	u64 *progress;		/* shared with the test: number of complete records */
};

int fake_process_begin(struct fake_process *p, struct dep_session *s, u32 parent);
/** fake_describe() - put a descriptor of @size bytes for a new exit id */
void fake_describe(struct fake_process *p, u32 size);
int fake_thread_begin(struct fake_thread *t, struct fake_process *p);
void fake_record(struct fake_thread *t);
void fake_publish(struct fake_thread *t);
void fake_thread_end(struct fake_thread *t);
/** fake_scribble() - write garbage into the tables, with the random state @r */
void fake_scribble(struct dep_session *s, unsigned int *r);
void fake_ring_doorbell(struct dep_session *s);

#endif
