/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rings' arithmetic and state machine, without anything of the kernel: the
 * module and a unit test in user space both compile it.  The caller locks.
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
 * struct adept_geo - where things are in the file of a session
 * @chunk_size: as created
 * @nchunks: as created
 * @nslots: as created
 * @chunk_stride: chunk and gap
 * @slot_stride: all chunks of a slot
 * @area_size: all slots
 * @info_stride: what is known of all chunks of a slot, whole pages
 * @info_size: the same of all slots
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

/** adept_geo_init() - check the numbers and work out the rest; 0 or -EINVAL */
int adept_geo_init(struct adept_geo *g, __u32 chunk_size, __u32 nchunks, __u32 nslots);

/**
 * struct adept_place - what an offset in the area is
 * @slot: number of the slot
 * @chunk: index in its ring
 * @off: offset in the chunk; from chunk_size on it is in the gap after it
 */
struct adept_place {
	__u32 slot;
	__u32 chunk;
	__u64 off;
};

/** adept_geo_place() - find out what @off is; false: after the area */
bool adept_geo_place(const struct adept_geo *g, __u64 off, struct adept_place *p);

/** adept_geo_chunk() - offset of a chunk in the area */
static inline __u64 adept_geo_chunk(const struct adept_geo *g, __u32 slot, __u32 chunk)
{
	return slot * g->slot_stride + chunk * g->chunk_stride;
}

/** adept_geo_ring_bytes() - what a ring counts for limits */
static inline __u64 adept_geo_ring_bytes(const struct adept_geo *g)
{
	return (__u64)g->nchunks * g->chunk_size;
}

/**
 * struct adept_hit - a store that met the gap after a chunk
 * @record_at: offset of the record begun, at most chunk_size
 * @fault_at: offset of the byte that faulted, at least chunk_size
 */
struct adept_hit {
	__u32 record_at;
	__u32 fault_at;
};

/**
 * adept_geo_hit() - may a store move on
 * @g: where things are
 * @slot: the writer's
 * @cur: chunk that it is filling
 * @fault: its offset in the area
 * @r15: what r15 points to, as an offset in the area; anything
 * @h: what it is
 *
 * Return: false if this is no store of a record that begins in that chunk.
 */
bool adept_geo_hit(const struct adept_geo *g, __u32 slot, __u32 cur, __u64 fault, __u64 r15,
		   struct adept_hit *h);

/**
 * enum adept_chunk_state - of one chunk
 * @ADEPT_C_FREE: zero; nobody's
 * @ADEPT_C_FILLING: the writer's
 * @ADEPT_C_FILLED: published
 * @ADEPT_C_TAKEN: the consumer's
 * @ADEPT_C_CLEANING: given back or ousted, being zeroed
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
 * @nchunks: of them
 * @cur: index of the chunk FILLING, or of the last one in a ring that is not LIVE
 * @filled: number of chunks FILLED
 * @taken: number of chunks TAKEN or CLEANING
 * @next_seq: of the next chunk begun
 * @lost_chunks: begun anew or ousted so far
 * @lost_bytes: whole records in them
 * @seq: of each chunk
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

/** enum adept_consumer - is anybody there to give chunks back */
enum adept_consumer {
	ADEPT_CONSUMER_THERE,
	ADEPT_CONSUMER_AWAITED,	/* no, but writers wait for one */
	ADEPT_CONSUMER_GONE,
};

/** adept_consumer_state() - which; times are nanoseconds, @since: of its end */
enum adept_consumer adept_consumer_state(bool there, bool given_up, __u64 now, __u64 since,
					 __u32 wait_ms);

/**
 * enum adept_step - what to do at the end of a chunk
 * @ADEPT_STEP_ADVANCE: publish it, begin one that is FREE: adept_core_advance()
 * @ADEPT_STEP_OUST: make room, then ask again: adept_core_oust()
 * @ADEPT_STEP_ANEW: begin it anew: adept_core_anew()
 * @ADEPT_STEP_WAIT: until the answer is another one
 * @ADEPT_STEP_ENDED: nothing, the ring is not LIVE
 */
enum adept_step {
	ADEPT_STEP_ADVANCE,
	ADEPT_STEP_OUST,
	ADEPT_STEP_ANEW,
	ADEPT_STEP_WAIT,
	ADEPT_STEP_ENDED,
};

/** adept_core_start() - a new ring, LIVE, chunk 0 FILLING */
void adept_core_start(struct adept_core *c, __u32 nchunks);

/** adept_core_free() - the first FREE chunk after the one being filled, or -ENOENT */
int adept_core_free(const struct adept_core *c);

/** adept_core_step() - @cause is set for _OUST and _ANEW to an enum adept_loss_cause */
enum adept_step adept_core_step(const struct adept_core *c, __u32 policy,
				enum adept_consumer consumer, __u32 *cause);

/** adept_core_advance() - after ADEPT_STEP_ADVANCE; return the chunk that is FILLED now */
__u32 adept_core_advance(struct adept_core *c);

/** adept_core_oust() - after ADEPT_STEP_OUST: adept_core_oldest(), @i: FILLED -> CLEANING */
void adept_core_oust(struct adept_core *c, __u32 i, __u64 bytes);

/** adept_core_anew() - after ADEPT_STEP_ANEW; @bytes of whole records are lost */
void adept_core_anew(struct adept_core *c, __u64 bytes);

/**
 * adept_core_end() - nothing more is written
 * @c: the ring
 * @state: its new state, ENDED or DEAD
 *
 * Return: whether there is one more chunk FILLED, @c->cur.
 */
bool adept_core_end(struct adept_core *c, __u32 state);

/** adept_core_oldest() - the FILLED chunk to be taken next, or -ENOENT */
int adept_core_oldest(const struct adept_core *c);

/** adept_core_take() - FILLED -> TAKEN */
void adept_core_take(struct adept_core *c, __u32 i);

/** adept_core_untake() - the one taken last, which did not arrive: TAKEN -> FILLED */
void adept_core_untake(struct adept_core *c, __u32 i);

/** adept_core_give() - TAKEN -> CLEANING; its index or -EINVAL if there is no such chunk */
int adept_core_give(struct adept_core *c, __u64 seq);

/** adept_core_cleaned() - CLEANING -> FREE */
void adept_core_cleaned(struct adept_core *c, __u32 i);

/** adept_core_redeliver() - all TAKEN -> FILLED, for a new consumer; how many */
__u32 adept_core_redeliver(struct adept_core *c);

/** adept_core_unread() - chunks that somebody may still want to read */
static inline __u32 adept_core_unread(const struct adept_core *c)
{
	return c->filled + c->taken;
}

/** adept_quota_add() - @used += @n unless that is more than @limit */
bool adept_quota_add(__u64 *used, __u64 limit, __u64 n);

#endif
