/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout and state machine of rings.
 *
 * Uses no kernel functions, so that a unit test in user space can compile it, too.  Takes no locks:
 * the caller holds session.lock.
 */
#ifndef ADEPT_RING_CORE_H
#define ADEPT_RING_CORE_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <linux/types.h>
#endif
#include <linux/adept.h>

#define ADEPT_CORE_PAGE	4096u

/**
 * struct adept_geo - layout of a session's file; sizes in bytes
 * @chunk_size: size of a chunk, a parameter of the session
 * @nchunks: number of chunks of a ring, a parameter of the session
 * @nslots: number of slots, a parameter of the session
 * @chunk_stride: size of a chunk and the gap after it, which is never mapped: stores there fault
 * @slot_stride: size of all chunks of a slot, with gaps
 * @area_size: size of all slots, which is the size of the writer area (that the writers map)
 * @info_stride: size of struct adept_chunk_info of all chunks of a slot, rounded up to pages
 * @info_size: size of struct adept_chunk_info of all slots
 */
struct adept_geo {
	__u32 chunk_size;
	__u32 nchunks;
	__u32 nslots;
	__u64 chunk_stride;
	__u64 slot_stride;
	__u64 area_size;
	__u64 info_stride;
	__u64 info_size;
};

/** adept_geo_init() - check the parameters and compute the layout.  Return: 0 or -EINVAL */
int adept_geo_init(struct adept_geo *g, __u32 chunk_size, __u32 nchunks, __u32 nslots);

/**
 * struct adept_place - position in the writer area
 * @slot: number of the slot
 * @chunk: index of the chunk in the slot's ring
 * @off: byte offset in the chunk; in the gap after the chunk if at least chunk_size
 */
struct adept_place {
	__u32 slot;
	__u32 chunk;
	__u64 off;
};

/** adept_geo_place() - convert an offset in the writer area to a position; false: past its end */
bool adept_geo_place(const struct adept_geo *g, __u64 off, struct adept_place *p);

/** adept_geo_chunk() - get the offset of a chunk in the writer area */
static inline __u64 adept_geo_chunk(const struct adept_geo *g, __u32 slot, __u32 chunk)
{
	return slot * g->slot_stride + chunk * g->chunk_stride;
}

/** adept_geo_ring_bytes() - get the number of bytes for which a user is charged for a ring */
static inline __u64 adept_geo_ring_bytes(const struct adept_geo *g)
{
	return (__u64)g->nchunks * g->chunk_size;
}

/**
 * struct adept_hit - a store into the gap after a chunk, which ends the chunk
 * @record_at: offset in the chunk of the unfinished record, at most chunk_size
 * @fault_at: offset in the chunk of the byte whose store faulted, at least chunk_size
 */
struct adept_hit {
	__u32 record_at;
	__u32 fault_at;
};

/**
 * adept_geo_hit() - check whether a faulting store ends a chunk
 * @g: layout of the session's file
 * @slot: the writer's slot
 * @cur: index of the chunk that the writer is filling
 * @fault: offset of the fault in the writer area
 * @r15: offset in the writer area that register r15 points to, where the record begins; untrusted
 * @h: receives the offsets in the chunk
 *
 * Return: true if the store is part of a record that begins in chunk @cur.
 */
bool adept_geo_hit(const struct adept_geo *g, __u32 slot, __u32 cur, __u64 fault, __u64 r15,
		   struct adept_hit *h);

/**
 * enum adept_chunk_state - state of one chunk
 * @ADEPT_C_FREE: zeroed and unused
 * @ADEPT_C_FILLING: the writer writes to the chunk
 * @ADEPT_C_FILLED: published, and not yet taken by the consumer
 * @ADEPT_C_TAKEN: the consumer reads the chunk
 * @ADEPT_C_CLEANING: given back by the consumer, or dropped; is being zeroed
 */
enum adept_chunk_state {
	ADEPT_C_FREE,
	ADEPT_C_FILLING,
	ADEPT_C_FILLED,
	ADEPT_C_TAKEN,
	ADEPT_C_CLEANING,
};

/**
 * struct adept_core - state of a ring
 * @state: enum adept_ring_state
 * @nchunks: number of chunks
 * @cur: index of the FILLING chunk; if the ring is not LIVE, of the chunk that was filled last
 * @filled: number of FILLED chunks
 * @taken: number of TAKEN or CLEANING chunks
 * @next_seq: sequence number that the next chunk gets when the writer begins it
 * @lost_chunks: number of chunks whose content was dropped so far
 * @lost_bytes: number of bytes of whole records in dropped chunks
 * @seq: sequence number of each chunk
 * @chunk: enum adept_chunk_state of each chunk
 * @flags: ADEPT_CHUNK_* of each chunk
 */
struct adept_core {
	__u32 state;
	__u32 nchunks;
	__u32 cur;
	__u32 filled;
	__u32 taken;
	__u64 next_seq;
	__u64 lost_chunks;
	__u64 lost_bytes;
	__u64 seq[ADEPT_CHUNKS_MAX];
	__u8 chunk[ADEPT_CHUNKS_MAX];
	__u8 flags[ADEPT_CHUNKS_MAX];
};

/** enum adept_consumer - does the session have a consumer, which gives chunks back? */
enum adept_consumer {
	ADEPT_CONSUMER_THERE,
	ADEPT_CONSUMER_AWAITED,	/* no consumer, but writers still wait for a new one */
	ADEPT_CONSUMER_GONE,	/* no consumer, and writers no longer wait */
};

/**
 * adept_consumer_state() - find out whether writers can wait for a consumer
 * @there: the session has a consumer
 * @given_up: the session cannot be adopted any more
 * @now: the time in ns
 * @since: time in ns at which the last consumer closed its file
 * @wait_ms: how long writers wait for a new consumer
 */
enum adept_consumer adept_consumer_state(bool there, bool given_up, __u64 now, __u64 since,
					 __u32 wait_ms);

/**
 * enum adept_step - action at the end of a chunk
 * @ADEPT_STEP_ADVANCE: publish the chunk and begin a FREE one: adept_core_advance()
 * @ADEPT_STEP_OUST: drop the oldest FILLED chunk (adept_core_oust()), then choose again
 * @ADEPT_STEP_ANEW: drop the current chunk's content and fill it again: adept_core_anew()
 * @ADEPT_STEP_WAIT: wait for the consumer, then choose again
 * @ADEPT_STEP_ENDED: do nothing, since the ring is not LIVE
 */
enum adept_step {
	ADEPT_STEP_ADVANCE,
	ADEPT_STEP_OUST,
	ADEPT_STEP_ANEW,
	ADEPT_STEP_WAIT,
	ADEPT_STEP_ENDED,
};

/** adept_core_start() - initialise a ring: state LIVE, chunk 0 is FILLING */
void adept_core_start(struct adept_core *c, __u32 nchunks);

/** adept_core_free() - find the first FREE chunk after the current one, or return -ENOENT */
int adept_core_free(const struct adept_core *c);

/**
 * adept_core_step() - choose the action at the end of a chunk
 * @c: the ring
 * @policy: enum adept_policy
 * @consumer: result of adept_consumer_state()
 * @cause: receives the enum adept_loss_cause of ADEPT_STEP_OUST or ADEPT_STEP_ANEW
 */
enum adept_step adept_core_step(const struct adept_core *c, __u32 policy,
				enum adept_consumer consumer, __u32 *cause);

/** adept_core_advance() - do ADEPT_STEP_ADVANCE.  Return: index of the chunk that became FILLED */
__u32 adept_core_advance(struct adept_core *c);

/** adept_core_oust() - do ADEPT_STEP_OUST: drop FILLED chunk @i with @bytes of whole records */
void adept_core_oust(struct adept_core *c, __u32 i, __u64 bytes);

/** adept_core_anew() - do ADEPT_STEP_ANEW: drop @bytes of whole records in the current chunk */
void adept_core_anew(struct adept_core *c, __u64 bytes);

/**
 * adept_core_end() - end a ring, whose writer then gets no more chunks
 * @c: the ring
 * @state: the ring's new state: ENDED: its thread has ended; DEAD: the writer's mapping is gone
 *
 * Return: true if the chunk @c->cur has become FILLED.
 */
bool adept_core_end(struct adept_core *c, __u32 state);

/** adept_core_oldest() - get the index of the oldest FILLED chunk, or -ENOENT */
int adept_core_oldest(const struct adept_core *c);

/** adept_core_take() - the consumer takes chunk @i: FILLED -> TAKEN */
void adept_core_take(struct adept_core *c, __u32 i);

/** adept_core_untake() - chunk @i did not reach the consumer: TAKEN -> FILLED */
void adept_core_untake(struct adept_core *c, __u32 i);

/** adept_core_give() - take back chunk @seq: TAKEN -> CLEANING.  Return: its index or -EINVAL */
int adept_core_give(struct adept_core *c, __u64 seq);

/** adept_core_cleaned() - chunk @i was zeroed: CLEANING -> FREE */
void adept_core_cleaned(struct adept_core *c, __u32 i);

/** adept_core_redeliver() - for a new consumer: all TAKEN -> FILLED.  Return: number of chunks */
__u32 adept_core_redeliver(struct adept_core *c);

/** adept_core_unread() - get the number of chunks that are FILLED, TAKEN or CLEANING */
static inline __u32 adept_core_unread(const struct adept_core *c)
{
	return c->filled + c->taken;
}

/** adept_quota_add() - add @n to *@used unless the sum would exceed @limit; false: not added */
bool adept_quota_add(__u64 *used, __u64 limit, __u64 n);

#endif
