/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Interface of adept.ko, which keeps the rings of recorded threads in kernel memory.
 *
 * Documentation/abi.rst specifies states, permissions and the outcome of concurrent
 * operations.
 *
 * An ioctl on /dev/adept creates a session and returns a descriptor, the session's
 * consumer; closing the descriptor ends the consumer.  A process becomes a writer by
 * opening the same file again (through /proc/CONSUMER/fd/N, or with a descriptor from
 * ADEPT_IOC_WRITER_FD) and mapping the writer area.  Writers need no other calls.
 *
 * Writer area, at file offset 0, always mapped whole:
 *
 *	|<------------------- slot_stride ------------------->|
 *	|<--- chunk_stride --->|                              |
 *	+---------+------------+---------+------------+- ... -+---------+--
 *	| chunk 0 | 64 KiB gap | chunk 1 | 64 KiB gap |       | chunk 0 |
 *	+---------+------------+---------+------------+- ... -+---------+--
 *	 slot 0                                                slot 1
 *
 * A slot has the ring of one thread.  The gaps are never mapped, so a store that reaches
 * a gap faults.  The module then moves the partial record to the next chunk and sets r15
 * to it.  The consumer maps the same pages read-only at data_off, with the same strides,
 * and the array of struct adept_chunk_info at info_off.
 */
#ifndef _UAPI_LINUX_ADEPT_H
#define _UAPI_LINUX_ADEPT_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * The version changes when an old program would misunderstand a new module; a mere
 * addition gets a feature bit.  Unknown flags and reserved fields that are not zero are
 * refused with EINVAL.
 */
#define ADEPT_ABI_VERSION	2

/* Feature bits of struct adept_version. */
#define ADEPT_FEAT_URING	(1ULL << 0)	/* ADEPT_IOC_EXCHANGE by IORING_OP_URING_CMD */
#define ADEPT_FEAT_ADOPT	(1ULL << 1)	/* ADEPT_IOC_SESSION_LIST and _ADOPT */
#define ADEPT_FEAT_DROP		(1ULL << 2)	/* ADEPT_POLICY_DROP */

#define ADEPT_RING_GAP		65536	/* bytes after each chunk that are never mapped */
#define ADEPT_RING_RECORD_MAX	3840	/* size of the longest record in bytes */
#define ADEPT_CHUNK_SIZE_MIN	65536
#define ADEPT_CHUNK_SIZE_MAX	(64 << 20)
#define ADEPT_CHUNKS_MIN	2
#define ADEPT_CHUNKS_MAX	16
#define ADEPT_SLOTS_MAX		4096
#define ADEPT_LABEL_SIZE	64
#define ADEPT_GIVE_MAX		4096	/* maximum of chunks returned by one exchange */
#define ADEPT_TAKE_MAX		4096	/* maximum of chunks taken by one exchange */
#define ADEPT_LIST_MAX		4096

/**
 * enum adept_policy - what a writer does when none of its chunks is free
 * @ADEPT_POLICY_WAIT: sleep, killably, until a chunk is free
 * @ADEPT_POLICY_DROP: drop the oldest chunk that the consumer has not taken, and count its
 *	contents as lost.  If the consumer has taken all other chunks, drop the contents of
 *	the current chunk and write to it again.
 * @ADEPT_POLICY_DISCARD: at the end of each chunk, drop its contents and write to it again,
 *	even if another chunk is free; nothing is published any more
 */
enum adept_policy {
	ADEPT_POLICY_WAIT,
	ADEPT_POLICY_DROP,
	ADEPT_POLICY_DISCARD,
};

/**
 * enum adept_loss_cause - why a chunk was lost; bits of loss_causes
 * @ADEPT_LOSS_FULL: no chunk was free under ADEPT_POLICY_DROP
 * @ADEPT_LOSS_NO_CONSUMER: no chunk was free and the session had no consumer for too long
 * @ADEPT_LOSS_DISCARD: the policy was ADEPT_POLICY_DISCARD
 * @ADEPT_LOSS_RESET: the chunk was unread when ADEPT_IOC_RESET was forced or when the module
 *	gave up the session; used in statistics only
 */
enum adept_loss_cause {
	ADEPT_LOSS_FULL		= 1,
	ADEPT_LOSS_NO_CONSUMER	= 2,
	ADEPT_LOSS_DISCARD	= 4,
	ADEPT_LOSS_RESET	= 8,
};

/**
 * struct adept_version - ADEPT_IOC_VERSION
 * @version: ADEPT_ABI_VERSION
 * @reserved: zero
 * @features: ADEPT_FEAT_*
 */
struct adept_version {
	__u32 version;
	__u32 reserved;
	__u64 features;
};

/**
 * struct adept_session_create - ADEPT_IOC_SESSION_CREATE
 * @version: ADEPT_ABI_VERSION
 * @flags: ADEPT_CREATE_*
 * @chunk_size: bytes, ADEPT_CHUNK_SIZE_MIN to _MAX, a multiple of 4096
 * @nchunks: chunks of each ring, ADEPT_CHUNKS_MIN to _MAX
 * @nslots: maximum number of concurrent threads, 1 to ADEPT_SLOTS_MAX
 * @policy: enum adept_policy
 * @orphan_wait_ms: how long writers wait for a free chunk after the consumer has ended;
 *	after this time they drop chunks
 * @orphan_keep_ms: how long the session can be adopted after the consumer has ended; 0: not
 *	at all.  The module's parameters limit both times
 * @label: text shown in lists of sessions; the module does not interpret it
 * @charge_uid: with ADEPT_CREATE_CHARGE_UID: user whose limits the session counts against, as
 *	a uid of the caller's user namespace; otherwise zero
 * @reserved0: zero
 * @reserved: zero
 *
 * The session belongs to the caller's effective user, who may list and adopt it.  Its memory
 * counts against the limits of the caller's file system user, or of @charge_uid.  EPERM:
 * @charge_uid is another user than the caller's file system user, and the caller does not have
 * CAP_SETUID in the initial user namespace.  Documentation/abi.rst specifies which user is
 * charged in a user namespace.
 *
 * Return: a close-on-exec descriptor, the session's consumer.  EDQUOT: a limit user_sessions,
 * user_mb or total_mb is reached; the memory of slots counts.
 */
struct adept_session_create {
	__u32 version;
	__u32 flags;
	__u32 chunk_size;
	__u32 nchunks;
	__u32 nslots;
	__u32 policy;
	__u32 orphan_wait_ms;
	__u32 orphan_keep_ms;
	__u8 label[ADEPT_LABEL_SIZE];
	__u32 charge_uid;
	__u32 reserved0;
	__u64 reserved[3];
};

/* struct adept_session_create.flags */
#define ADEPT_CREATE_CHARGE_UID	1u	/* charge_uid is valid */

/* struct adept_session_info.state; 0: the session was given up and cannot be adopted */
#define ADEPT_SESSION_CONSUMED	1	/* the session has a consumer */
#define ADEPT_SESSION_ORPHAN	2	/* the session has no consumer and can be adopted */

/**
 * struct adept_session_info - ADEPT_IOC_SESSION_INFO, ADEPT_IOC_SESSION_LIST
 * @id: number of the session, never used again while the module is loaded
 * @version: ADEPT_ABI_VERSION
 * @uid: owner, as a uid of the caller's user namespace
 * @chunk_size: as in struct adept_session_create
 * @nchunks: as in struct adept_session_create
 * @nslots: as in struct adept_session_create
 * @state: ADEPT_SESSION_*
 * @writers: number of mappings of the writer area
 * @rings: number of slots that have a ring
 * @unread: number of chunks that were filled and not returned yet
 * @policy: current enum adept_policy
 * @orphan_wait_ms: as in struct adept_session_create, but within the module's limit
 * @orphan_keep_ms: as in struct adept_session_create, but within the module's limit
 * @chunk_stride: distance in bytes from one chunk of a slot to the next
 * @slot_stride: distance in bytes from one slot to the next
 * @area_size: size in bytes of the writer area; the data area has the same size
 * @data_off: file offset of the consumer's data area
 * @info_off: file offset of the consumer's info area
 * @info_size: size in bytes of the consumer's info area
 * @info_stride: distance in bytes from the struct adept_chunk_info of one slot's first chunk
 *	to that of the next slot
 * @orphan_ns: time since the consumer ended; 0: the session has a consumer
 * @label: as in struct adept_session_create
 * @charge_uid: user whose limits the session counts against, as a uid of the caller's user
 *	namespace
 * @reserved0: zero
 * @reserved: zero
 */
struct adept_session_info {
	__u64 id;
	__u32 version;
	__u32 uid;
	__u32 chunk_size;
	__u32 nchunks;
	__u32 nslots;
	__u32 policy;
	__u32 state;
	__u32 writers;
	__u32 rings;
	__u32 unread;
	__u32 orphan_wait_ms;
	__u32 orphan_keep_ms;
	__u64 chunk_stride;
	__u64 slot_stride;
	__u64 area_size;
	__u64 data_off;
	__u64 info_off;
	__u64 info_size;
	__u64 info_stride;
	__u64 orphan_ns;
	__u8 label[ADEPT_LABEL_SIZE];
	__u32 charge_uid;
	__u32 reserved0;
	__u64 reserved[3];
};

/**
 * struct adept_session_list - ADEPT_IOC_SESSION_LIST
 * @sessions: address of an array of struct adept_session_info
 * @room: number of elements of the array, at most ADEPT_LIST_MAX
 * @count: out: number of sessions of the caller's user, or of all sessions for CAP_SYS_ADMIN;
 *	at most @room of them were written to the array
 * @reserved: zero
 */
struct adept_session_list {
	__u64 sessions;
	__u32 room;
	__u32 count;
	__u64 reserved[2];
};

/**
 * struct adept_session_adopt - ADEPT_IOC_SESSION_ADOPT
 * @id: number of the session
 * @flags: zero
 * @reserved: zero
 *
 * Return: a descriptor, as ADEPT_IOC_SESSION_CREATE.  EBUSY: the session has a consumer;
 * ENOENT: no such session, or it was given up; EPERM: the session belongs to another user.
 */
struct adept_session_adopt {
	__u64 id;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct adept_context - a writer's registers when its store faulted in a gap
 * @clock_ns: CLOCK_MONOTONIC
 * @regs: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15, before the module changed r15
 * @rip: address of the store instruction, which had not been executed
 * @rflags: flags register
 * @fs_base: base address of segment fs
 * @gs_base: base address of segment gs
 * @record_at: offset of the partial record (to which r15 points) in its chunk
 * @fault_at: offset of the faulting address from the beginning of the same chunk
 * @flags: ADEPT_CTX_*
 * @reserved: zero
 * @gs_words: with ADEPT_CTX_GS_WORDS: the 8 words at @gs_base; otherwise zero
 * @reserved2: zero
 */
struct adept_context {
	__u64 clock_ns;
	__u64 regs[16];
	__u64 rip;
	__u64 rflags;
	__u64 fs_base;
	__u64 gs_base;
	__u32 record_at;
	__u32 fault_at;
	__u32 flags;
	__u32 reserved;
	__u64 gs_words[8];
	__u64 reserved2;
};

#define ADEPT_CTX_VALID		1u	/* the struct adept_context was filled */
#define ADEPT_CTX_GS_WORDS	2u	/* gs_words could be read */

/**
 * struct adept_chunk_info - state of a chunk, in the info area
 * @seq: number of the chunk in its ring, from 0.  Lost chunks are numbered, too, so a missing
 *	number is a loss
 * @ring: as in struct adept_desc
 * @flags: ADEPT_CHUNK_*
 * @end: size in bytes of the whole records in the chunk
 * @carried: size in bytes of the partial record that was moved from the end of the previous
 *	chunk to the beginning of this chunk
 * @loss_causes: enum adept_loss_cause of the @lost_chunks
 * @reserved: zero
 * @lost_chunks: number of chunks of this ring lost directly before this chunk
 * @lost_bytes: size in bytes of the whole records in the lost chunks
 * @head: context at the beginning of the chunk: of the store that reached the end of the
 *	previous chunk, or of the ring's first store
 * @tail: context at the end of the chunk: of the store that reached its end
 * @reserved2: zero
 *
 * The structure is at info_off + slot * info_stride + chunk * sizeof(struct adept_chunk_info).
 * It does not change from when the chunk is taken until it is returned.
 */
struct adept_chunk_info {
	__u64 seq;
	__u32 ring;
	__u32 flags;
	__u32 end;
	__u32 carried;
	__u32 loss_causes;
	__u32 reserved;
	__u64 lost_chunks;
	__u64 lost_bytes;
	struct adept_context head;
	struct adept_context tail;
	__u64 reserved2[10];
};

/* struct adept_chunk_info.flags, struct adept_desc.flags */
#define ADEPT_CHUNK_LAST	1u	/* last chunk of the ring */
#define ADEPT_CHUNK_UNFINISHED	2u	/* not full: the data ends at the first zero id */
#define ADEPT_CHUNK_DEAD	4u	/* last chunk because the writer's mapping is gone */
#define ADEPT_CHUNK_AGAIN	8u	/* delivered before, to an earlier consumer */

/**
 * struct adept_desc - a filled chunk, as ADEPT_IOC_EXCHANGE delivers it
 * @slot: slot of the ring
 * @ring: number of the ring, never used again in the session
 * @seq: as in struct adept_chunk_info
 * @chunk: index of the chunk in the ring
 * @flags: ADEPT_CHUNK_*
 * @end: size in bytes of the whole records; chunk_size with ADEPT_CHUNK_UNFINISHED
 * @loss_causes: as in struct adept_chunk_info
 * @lost_bytes: as in struct adept_chunk_info
 */
struct adept_desc {
	__u32 slot;
	__u32 ring;
	__u64 seq;
	__u32 chunk;
	__u32 flags;
	__u32 end;
	__u32 loss_causes;
	__u64 lost_bytes;
};

/**
 * struct adept_give - a chunk that the consumer returns
 * @slot: as in the struct adept_desc of the chunk
 * @ring: as in the struct adept_desc of the chunk
 * @seq: as in the struct adept_desc of the chunk
 */
struct adept_give {
	__u32 slot;
	__u32 ring;
	__u64 seq;
};

/**
 * struct adept_exchange - ADEPT_IOC_EXCHANGE: return chunks, then take filled chunks
 * @give: address of an array of struct adept_give
 * @take: address of an array of struct adept_desc
 * @ngive: number of elements of @give, at most ADEPT_GIVE_MAX
 * @ntake: number of elements for which @take has room, at most ADEPT_TAKE_MAX
 * @given: out: number of elements of @give that were accepted, from the first on
 * @taken: out: number of elements of @take that were written
 * @give_error: out: 0, or the positive error number for which give[given] was refused
 * @flags: zero
 * @reserved: zero
 *
 * Never waits for a chunk.  Chunks are returned in order, up to the first refused one; then
 * filled chunks are taken.  The result is 0 even if no chunk was returned or taken.
 */
struct adept_exchange {
	__u64 give;
	__u64 take;
	__u32 ngive;
	__u32 ntake;
	__u32 given;
	__u32 taken;
	__u32 give_error;
	__u32 flags;
	__u64 reserved[2];
};

/**
 * struct adept_uring_cmd - the 16 bytes of an IORING_OP_URING_CMD on a session
 * @arg: address of a struct adept_exchange; cmd_op is ADEPT_IOC_EXCHANGE
 * @reserved: zero
 *
 * The completion's res is 0 or a negative error number.
 */
struct adept_uring_cmd {
	__u64 arg;
	__u64 reserved;
};

/**
 * struct adept_slot_cmd - ADEPT_IOC_FLUSH, ADEPT_IOC_RESET
 * @slot: index of the slot
 * @flags: ADEPT_RESET_FORCE for ADEPT_IOC_RESET, or zero
 * @ring: number of the ring; ENOENT if the slot has another ring by now
 * @reserved: zero
 */
struct adept_slot_cmd {
	__u32 slot;
	__u32 flags;
	__u32 ring;
	__u32 reserved;
};

#define ADEPT_RESET_FORCE	1u	/* discard unread chunks and count them as lost */

/* struct adept_ring_info.state */
enum adept_ring_state {
	ADEPT_RING_NONE,	/* no thread has stored to this slot since its last reset */
	ADEPT_RING_LIVE,
	ADEPT_RING_ENDED,	/* ADEPT_IOC_FLUSH was called: the ring's thread has ended */
	ADEPT_RING_DEAD,	/* the writer's mapping is gone */
};

/**
 * struct adept_ring_info - ADEPT_IOC_RING_INFO
 * @slot: in: index of the slot
 * @state: enum adept_ring_state; for ADEPT_RING_NONE all following fields are zero
 * @ring: as in struct adept_desc
 * @pid: process that created the ring, in the caller's pid namespace; 0: not visible there
 * @seq: number of the chunk that is being written, or of the ring's last chunk
 * @chunk: index of the same chunk in the ring
 * @filled: number of chunks that are published and not taken
 * @taken: number of chunks that are taken and not returned
 * @waiting: 1 if the ring's writer waits for a free chunk
 * @lost_chunks: number of chunks that this ring has lost
 * @lost_bytes: size in bytes of the whole records in the lost chunks
 * @reserved: zero
 *
 * The state may have changed by the time the caller reads it.
 */
struct adept_ring_info {
	__u32 slot;
	__u32 state;
	__u32 ring;
	__s32 pid;
	__u64 seq;
	__u32 chunk;
	__u32 filled;
	__u32 taken;
	__u32 waiting;
	__u64 lost_chunks;
	__u64 lost_bytes;
	__u64 reserved[2];
};

/**
 * struct adept_set_policy - ADEPT_IOC_SET_POLICY
 * @policy: enum adept_policy; waiting writers follow the new policy at once
 * @reserved: zero
 */
struct adept_set_policy {
	__u32 policy;
	__u32 reserved;
};

/**
 * struct adept_stats - ADEPT_IOC_STATS: counters of a session since it was created
 * @rings_made: rings created
 * @rings: rings that exist now
 * @pages: pages of these rings
 * @published: chunks published, including unfinished chunks and chunks lost later
 * @taken: chunks taken; a chunk that is delivered again counts again
 * @given: chunks returned
 * @bytes: size of the whole records in full chunks that were published and not lost
 * @lost_chunks: chunks lost
 * @lost_bytes: size of the whole records in lost chunks; a lost ADEPT_CHUNK_UNFINISHED chunk
 *	counts as chunk_size
 * @lost_full: chunks lost because of ADEPT_LOSS_FULL
 * @lost_no_consumer: chunks lost because of ADEPT_LOSS_NO_CONSUMER
 * @lost_discard: chunks lost because of ADEPT_LOSS_DISCARD
 * @lost_reset: chunks lost because of ADEPT_LOSS_RESET
 * @waits: number of times that a writer waited for a free chunk
 * @wait_ns: total time of these waits
 * @refused: faults that ended with SIGSEGV or SIGBUS
 * @after_end: number of times that a writer reached a chunk's end although its ring had been
 *	ended by ADEPT_IOC_FLUSH
 * @lost_published: number of @lost_chunks that had been published before
 * @reserved: zero
 */
struct adept_stats {
	__u64 rings_made;
	__u64 rings;
	__u64 pages;
	__u64 published;
	__u64 taken;
	__u64 given;
	__u64 bytes;
	__u64 lost_chunks;
	__u64 lost_bytes;
	__u64 lost_full;
	__u64 lost_no_consumer;
	__u64 lost_discard;
	__u64 lost_reset;
	__u64 waits;
	__u64 wait_ns;
	__u64 refused;
	__u64 after_end;
	__u64 lost_published;
	__u64 reserved[6];
};

#define ADEPT_IOC_MAGIC			0xde

/* ioctls on /dev/adept */
#define ADEPT_IOC_VERSION		_IOR(ADEPT_IOC_MAGIC, 0x00, struct adept_version)
#define ADEPT_IOC_SESSION_CREATE	_IOW(ADEPT_IOC_MAGIC, 0x01, struct adept_session_create)
#define ADEPT_IOC_SESSION_LIST		_IOWR(ADEPT_IOC_MAGIC, 0x02, struct adept_session_list)
#define ADEPT_IOC_SESSION_ADOPT		_IOW(ADEPT_IOC_MAGIC, 0x03, struct adept_session_adopt)

/* ioctls on a session's consumer; writers may use ADEPT_IOC_SESSION_INFO, too */
#define ADEPT_IOC_SESSION_INFO		_IOR(ADEPT_IOC_MAGIC, 0x10, struct adept_session_info)
#define ADEPT_IOC_EXCHANGE		_IOWR(ADEPT_IOC_MAGIC, 0x11, struct adept_exchange)
#define ADEPT_IOC_FLUSH			_IOW(ADEPT_IOC_MAGIC, 0x12, struct adept_slot_cmd)
#define ADEPT_IOC_RESET			_IOW(ADEPT_IOC_MAGIC, 0x13, struct adept_slot_cmd)
#define ADEPT_IOC_RING_INFO		_IOWR(ADEPT_IOC_MAGIC, 0x14, struct adept_ring_info)
#define ADEPT_IOC_SET_POLICY		_IOW(ADEPT_IOC_MAGIC, 0x15, struct adept_set_policy)
#define ADEPT_IOC_STATS			_IOR(ADEPT_IOC_MAGIC, 0x16, struct adept_stats)
#define ADEPT_IOC_WRITER_FD		_IO(ADEPT_IOC_MAGIC, 0x17)

#endif /* _UAPI_LINUX_ADEPT_H */
