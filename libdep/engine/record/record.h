/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recording: which values are stored (placement.c), the code that stores them
 * (value_stores.c), the ring that they go to (ring.c), descriptors (descriptors.c), events.
 * The translator calls the record_* hooks and does not know what they emit.
 */
#ifndef ADEPT_ENGINE_RECORD_RECORD_H
#define ADEPT_ENGINE_RECORD_RECORD_H

#include "libdep/engine/translate/build.h"

static inline int recording(void)
{
	return !(layout()->flags & ADEPT_S_NO_RECORD);
}

/* placement.c: choose the stores and each exit's mask; may shorten the fragment. */
void record_plan(struct build *b);
/** record_length() - bytes of a record with the first @nst stores, its id included */
u16 record_length(const struct build *b, unsigned int nst);
/** record_useful_regs() - registers whose being known on entry could save a store */
u16 record_useful_regs(const struct build *b);

/* value_stores.c */
void record_emit_before(struct build *b, unsigned int n);	/* stores before instruction n */
void record_emit_after(struct build *b, unsigned int n);
/** record_emit_tag() - exit @x's id and the step to the next record */
void record_emit_tag(struct build *b, unsigned int x, enum state_kind before);

/* descriptors.c */
u32 record_alloc_exit_ids(unsigned int n);
/** record_forget_exits() - after fork: do not go on with the parent's ids */
void record_forget_exits(void);
/** record_forget_descriptors() - after fork: begin a ring of our own */
void record_forget_descriptors(void);
void record_describe(const struct build *b);
void record_message(const char *text);
void record_map(u64 start, u64 end, u64 offset, u64 dev, u64 inode, u32 prot, const char *path);
void record_unmap(u64 start, u64 end);

/** ring_init() - what threads need that are not recorded; 0: there is no memory */
int ring_init(void);
/* ring.c: everything below runs in the engine image, with t->pp as the profile pointer. */
void ring_thread_start(struct tls *t, u32 tid, u32 parent_serial, u64 created_at);
void ring_thread_end(struct tls *t, u32 status);
/**
 * ring_next_chunk() - publish the current chunk and begin the next one
 * @tail: where the current one ends; frag 0 at a record boundary
 * @head: where the next one begins
 * @have: bytes of the unfinished record at t->pp stored so far
 *
 * t->regs holds the application's registers there.  Sets t->pp; the unfinished
 * record goes along.
 */
void ring_next_chunk(struct tls *t, const struct adept_position *tail,
		     const struct adept_position *head, u32 have);
/** ring_event() - append an event at a record boundary */
void ring_event(struct tls *t, u32 id, const void *payload, u32 size);
/** ring_record_context() - ADEPT_EV_CONTEXT: go on at @pc with t->regs */
void ring_record_context(struct tls *t, u64 pc);
/**
 * ring_end_partial_record() - leave fragment @f before instruction @n, @nst stores done at t->pp
 * @post: value of one more store after instruction @n - 1, or NULL
 * @extra: pointer register of the string instruction @n after some iterations, or NULL
 */
void ring_end_partial_record(struct tls *t, struct frag *f, unsigned int n, unsigned int nst,
			     const u64 *post, const u64 *extra);
/** ring_end_record() - finish the record at t->pp with exit @x (stores done already) */
void ring_end_record(struct tls *t, const struct exit *x);
int ring_guard_hit(const struct tls *t, u64 addr);
/** record_value_bytes() - bytes of a record's first @nst values */
u32 record_value_bytes(const struct frag *f, unsigned int nst);
/**
 * ring_call_begin() - tell which system call the thread makes now, and that nothing more
 * is written to its ring before ring_call_end()
 */
void ring_call_begin(struct tls *t, u64 nr);
void ring_call_end(struct tls *t);
/** ring_reserve_end() - so that a context and the thread's end can be told without a new chunk */
void ring_reserve_end(struct tls *t);
/**
 * ring_put_thread_end() - put the end of @t's stream at its profile pointer, which stays
 *
 * @t is at rest and may be another thread.  It stays so if nothing follows.
 */
void ring_put_thread_end(struct tls *t, u32 status);
/** ring_remove_thread_end() - take it away again */
void ring_remove_thread_end(struct tls *t);
int collector_gone(void);
/* module_ring.c: with ADEPT_S_MODULE.  module_ring() - is @t's ring the module's? */
int module_ring(const struct tls *t);
/** module_find() - t->chunk_base and chunk_end for where t->pp is now */
void module_find(struct tls *t);
/** module_next_chunk() - as ring_next_chunk(); the next chunk begins at a record boundary */
void module_next_chunk(struct tls *t, const struct adept_position *tail, u32 have);
/** module_begin() - make the ring of t->slot; 0 if that is refused */
int module_begin(struct tls *t);
/** ring_thread_vanished() - the thread of @t, another one, is gone without having said so */
void ring_thread_vanished(struct tls *t);

#endif
