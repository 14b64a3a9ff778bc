/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorded side of the session file, as simple as can be: what the collector's
 * tests run instead of the engine.
 *
 * Thread n's records are 12 bytes: an exit id that was described before, and a value
 * that counts 0, 1, 2.. so that a lost, doubled or displaced record shows.
 */
#ifndef TESTS_UNIT_COLLECT_FAKE_ENGINE_H
#define TESTS_UNIT_COLLECT_FAKE_ENGINE_H

#include "libdep/abi/stream.h"
#include "libdep/collect/collect.h"

#define FAKE_RECORD 12u

struct fake_process {
	struct dep_session *s;
	u32 slot;
	u32 id;			/* newest exit id that is described */
	int lock;		/* around the descriptor ring and id */
};

struct fake_thread {
	struct fake_process *p;
	u32 slot;
	u8 *base, *at, *end;	/* of the chunk, or of memory of its own when nobody takes more */
	u64 seq, count;
	u64 dropped_chunks, dropped_bytes;
	u64 *progress;		/* shared with the test: records surely written */
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
