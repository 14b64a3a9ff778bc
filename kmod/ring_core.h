/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout and state machine of rings.
 *
 * Uses nothing of the kernel, so that a unit test in user space can compile it as well.  No
 * locking: the caller holds session.lock.
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
 * @chunk_size: as created
 * @nchunks: chunks of a ring, as created
 * @nslots: as created
 * @chunk_stride: chunk and the gap after it
 * @slot_stride: all chunks of a slot
 * @area_size: all slots
 * @info_stride: struct adept_chunk_info of all chunks of a slot, rounded up to pages
 * @info_size: @info_stride of all slots
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
 * @chunk: index in its ring
 * @off: offset in the chunk; from chunk_size on it is in the gap after it
 */
struct adept_place {
	__u32 slot;
	__u32 chunk;
	__u64 off;
};

/** adept_geo_place() - convert an offset to a position; false: past the end of the area */
bool adept_geo_place(const struct adept_geo *g, __u64 off, struct adept_place *p);

/** adept_geo_chunk() - offset of a chunk in the area */
static inline __u64 adept_geo_chunk(const struct adept_geo *g, __u32 slot, __u32 chunk)
{
	return slot * g->slot_stride + chunk * g->chunk_stride;
}

/** adept_geo_ring_bytes() - bytes that a ring is charged with */
static inline __u64 adept_geo_ring_bytes(const struct adept_geo *g)
{
	return (__u64)g->nchunks * g->chunk_size;
}

/**
 * struct adept_hit - a store into the gap after a chunk, which ends the chunk
 * @record_at: offset in the chunk of the record that was begun, at most chunk_size
 * @fault_at: offset of the byte that faulted, at least chunk_size
 */
struct adept_hit {
	__u32 record_at;
	__u32 fault_at;
};

/**
 * adept_geo_hit() - check whether a faulting store ends a chunk
 * @g: layout
 * @slot: the writer's slot
 * @cur: chunk that it is filling
 * @fault: offset of the fault in the area
 * @r15: offset in the area that r15 points to; can be any value
 * @h: receives the offsets in the chunk
 *
 * Return: true if it is a store of a record that begins in that chunk.
 */
bool adept_geo_hit(const struct adept_geo *g, __u32 slot, __u32 cur, __u64 fault, __u64 r15,
		   struct adept_hit *h);

/**
 * enum adept_chunk_state - state of one chunk
 * @ADEPT_C_FREE: zeroed and unused
 * @ADEPT_C_FILLING: the writer writes to it
 * @ADEPT_C_FILLED: published, not taken yet
 * @ADEPT_C_TAKEN: the consumer reads it
 * @ADEPT_C_CLEANING: given back or dropped; it is being zeroed
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
 * @cur: index of the FILLING chunk; in a ring that is not LIVE, of the last one
 * @filled: number of FILLED chunks
 * @taken: number of TAKEN or CLEANING chunks
 * @next_seq: sequence number of the next chunk that is begun
 * @lost_chunks: chunks restarted or dropped so far
 * @lost_bytes: bytes of whole records in them
 * @seq: sequence number of each chunk
 * @chunk: enum adept_chunk_state of each
 * @flags: ADEPT_CHUNK_* of each
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
	ADEPT_CONSUMER_AWAITED,	/* no, but writers still wait for a new one */
	ADEPT_CONSUMER_GONE,
};

/** adept_consumer_state() - get it; times in ns, @since: time when the last consumer ended */
enum adept_consumer adept_consumer_state(bool there, bool given_up, __u64 now, __u64 since,
					 __u32 wait_ms);

/**
 * enum adept_step - action at the end of a chunk
 * @ADEPT_STEP_ADVANCE: publish the chunk and begin a FREE one: adept_core_advance()
 * @ADEPT_STEP_OUST: drop a FILLED chunk, then ask again: adept_core_oust()
 * @ADEPT_STEP_ANEW: drop the chunk's content and start it again: adept_core_anew()
 * @ADEPT_STEP_WAIT: wait, then ask again
 * @ADEPT_STEP_ENDED: nothing, since the ring is not LIVE
 */
enum adept_step {
	ADEPT_STEP_ADVANCE,
	ADEPT_STEP_OUST,
	ADEPT_STEP_ANEW,
	ADEPT_STEP_WAIT,
	ADEPT_STEP_ENDED,
};

/** adept_core_start() - initialise a ring: state LIVE, chunk 0 FILLING */
void adept_core_start(struct adept_core *c, __u32 nchunks);

/** adept_core_free() - find the first FREE chunk after the current one.  Return: or -ENOENT */
int adept_core_free(const struct adept_core *c);

/** adept_core_step() - choose the action; @cause: enum adept_loss_cause for _OUST and _ANEW */
enum adept_step adept_core_step(const struct adept_core *c, __u32 policy,
				enum adept_consumer consumer, __u32 *cause);

/** adept_core_advance() - do ADEPT_STEP_ADVANCE.  Return: the chunk that is FILLED now */
__u32 adept_core_advance(struct adept_core *c);

/** adept_core_oust() - do ADEPT_STEP_OUST; @i: adept_core_oldest(), becomes CLEANING */
void adept_core_oust(struct adept_core *c, __u32 i, __u64 bytes);

/** adept_core_anew() - do ADEPT_STEP_ANEW; @bytes: whole records that are lost */
void adept_core_anew(struct adept_core *c, __u64 bytes);

/**
 * adept_core_end() - end a ring: its writer writes no more
 * @c: the ring
 * @state: its new state, ENDED or DEAD
 *
 * Return: true if the chunk @c->cur has become FILLED.
 */
bool adept_core_end(struct adept_core *c, __u32 state);

/** adept_core_oldest() - index of the FILLED chunk to be taken next, or -ENOENT */
int adept_core_oldest(const struct adept_core *c);

/** adept_core_take() - FILLED -> TAKEN */
void adept_core_take(struct adept_core *c, __u32 i);

/** adept_core_untake() - TAKEN -> FILLED, for a chunk that did not reach the consumer */
void adept_core_untake(struct adept_core *c, __u32 i);

/** adept_core_give() - TAKEN -> CLEANING.  Return: its index; -EINVAL: no such chunk */
int adept_core_give(struct adept_core *c, __u64 seq);

/** adept_core_cleaned() - CLEANING -> FREE */
void adept_core_cleaned(struct adept_core *c, __u32 i);

/** adept_core_redeliver() - all TAKEN -> FILLED, for a new consumer.  Return: their number */
__u32 adept_core_redeliver(struct adept_core *c);

/** adept_core_unread() - number of chunks that are FILLED, TAKEN or CLEANING */
static inline __u32 adept_core_unread(const struct adept_core *c)
{
	return c->filled + c->taken;
}

/** adept_quota_add() - add @n to @used unless the sum exceeds @limit.  Return: true: added */
bool adept_quota_add(__u64 *used, __u64 limit, __u64 n);

#endif
