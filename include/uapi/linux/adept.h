/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Rings of recorded threads in kernel memory: the interface of adept.ko.
 *
 * Documentation/abi.rst says what the states are, who may do what, and who wins.
 *
 * /dev/adept makes sessions.  The descriptor that comes back is the session's
 * consumer; closing it is the consumer's end.  A process takes part by opening the
 * same file once more (through /proc/CONSUMER/fd/N, or by a descriptor of
 * ADEPT_IOC_WRITER_FD) and mapping the writer area; it calls nothing else.
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
 * A slot is the ring of one thread.  The gaps are never mapped: the store that
 * meets one is answered by the module, which moves r15 and the record begun to the
 * next chunk.  The consumer maps the same pages read-only at data_off, with the
 * same strides, and what is known of each chunk at info_off.
 */
#ifndef _UAPI_LINUX_ADEPT_H
#define _UAPI_LINUX_ADEPT_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * The version changes when an old program would misunderstand a new module; what is
 * only added has a feature bit.  Unknown flags and reserved fields that are not zero
 * are refused with EINVAL.
 */
#define ADEPT_ABI_VERSION	2

/* Feature bits of struct adept_version. */
#define ADEPT_FEAT_URING	(1ULL << 0)	/* ADEPT_IOC_EXCHANGE by IORING_OP_URING_CMD */
#define ADEPT_FEAT_ADOPT	(1ULL << 1)	/* ADEPT_IOC_SESSION_LIST and _ADOPT */
#define ADEPT_FEAT_DROP		(1ULL << 2)	/* ADEPT_POLICY_DROP */

#define ADEPT_RING_GAP		65536	/* bytes behind each chunk that are never mapped */
#define ADEPT_RING_RECORD_MAX	3840	/* bytes of the longest record */
#define ADEPT_CHUNK_SIZE_MIN	65536
#define ADEPT_CHUNK_SIZE_MAX	(64 << 20)
#define ADEPT_CHUNKS_MIN	2
#define ADEPT_CHUNKS_MAX	16
#define ADEPT_SLOTS_MAX		4096
#define ADEPT_LABEL_SIZE	64
#define ADEPT_GIVE_MAX		4096	/* chunks that one exchange gives back */
#define ADEPT_TAKE_MAX		4096	/* and takes */
#define ADEPT_LIST_MAX		4096

/**
 * enum adept_policy - what a writer does when none of its chunks is free
 * @ADEPT_POLICY_WAIT: sleep, killably, until one is
 * @ADEPT_POLICY_DROP: give up the oldest chunk that has not been taken, and count what was
 *	in it; if all others are taken that is its own, which it begins anew
 * @ADEPT_POLICY_DISCARD: begin its own anew at the end of every chunk, whether another one
 *	is free or not: nothing is published any more
 */
enum adept_policy {
	ADEPT_POLICY_WAIT,
	ADEPT_POLICY_DROP,
	ADEPT_POLICY_DISCARD,
};

/**
 * enum adept_loss_cause - why a chunk was given up; bits of loss_causes
 * @ADEPT_LOSS_FULL: ADEPT_POLICY_DROP, and no chunk was free
 * @ADEPT_LOSS_NO_CONSUMER: nobody adopted the session in time
 * @ADEPT_LOSS_DISCARD: ADEPT_POLICY_DISCARD
 * @ADEPT_LOSS_RESET: unread when ADEPT_IOC_RESET was forced or the session given up; in
 *	statistics only
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
 * @nchunks: of each ring, ADEPT_CHUNKS_MIN to _MAX
 * @nslots: threads at a time, 1 to ADEPT_SLOTS_MAX
 * @policy: enum adept_policy
 * @orphan_wait_ms: how long writers wait for a free chunk when there is no consumer,
 *	counted from its end; then they drop
 * @orphan_keep_ms: how long the session can be adopted, counted likewise; 0: never.
 *	Both are cut to the module's limit
 * @label: for who lists sessions; not looked at
 * @charge_uid: with ADEPT_CREATE_CHARGE_UID: user whose limits the session counts against, as the
 *	caller's user namespace has it; else zero
 * @reserved0: zero
 * @reserved: zero
 *
 * The session belongs to the caller's effective user, who may list and adopt it.  Its memory counts
 * against the limits of another one if that is said: EPERM unless it is the caller's file system
 * user, or the caller has CAP_SETUID in the initial user namespace.  Else it is the caller's file
 * system user.  Documentation/abi.rst says whose limits those are in a user namespace.
 *
 * Return: a descriptor, close-on-exec, of the session's consumer.  EDQUOT: user_sessions,
 * user_mb or total_mb is reached; the slots count as memory.
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
#define ADEPT_CREATE_CHARGE_UID	1u	/* there is a charge_uid */

/* struct adept_session_info.state */
#define ADEPT_SESSION_CONSUMED	1	/* it has a consumer */
#define ADEPT_SESSION_ORPHAN	2	/* it waits for a new one */

/**
 * struct adept_session_info - ADEPT_IOC_SESSION_INFO, ADEPT_IOC_SESSION_LIST
 * @id: number of the session, never used again while the module is loaded
 * @version: ADEPT_ABI_VERSION
 * @uid: of the owner, as the caller's user namespace has it
 * @chunk_size: as created
 * @nchunks: as created
 * @nslots: as created
 * @state: ADEPT_SESSION_*
 * @writers: mappings of the writer area
 * @rings: slots that have a ring
 * @unread: chunks that were filled and not given back yet
 * @policy: enum adept_policy, now
 * @orphan_wait_ms: as created, but within the module's limit
 * @orphan_keep_ms: as created, but within the module's limit
 * @chunk_stride: from one chunk of a slot to the next
 * @slot_stride: from one slot to the next
 * @area_size: bytes of the writer area, and of the data area
 * @data_off: file offset of the consumer's data area
 * @info_off: file offset of the consumer's info area
 * @info_size: bytes of it
 * @info_stride: from the first struct adept_chunk_info of one slot to that of the next
 * @orphan_ns: how long there is no consumer, 0: there is one
 * @label: as created
 * @charge_uid: user whose limits it counts against, as @uid
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
 * @room: elements of it, at most ADEPT_LIST_MAX
 * @count: out: sessions of the caller's user, or all of them for CAP_SYS_ADMIN; the first
 *	@room of them were written
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
 * @id: of the session
 * @flags: zero
 * @reserved: zero
 *
 * Return: a descriptor as of ADEPT_IOC_SESSION_CREATE.  EBUSY: it has a consumer;
 * ENOENT: there is no such session, or not any more; EPERM: it is another user's.
 */
struct adept_session_adopt {
	__u64 id;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct adept_context - a writer's registers when it met a gap
 * @clock_ns: CLOCK_MONOTONIC
 * @regs: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15, before r15 was moved
 * @rip: of the store, which was not done
 * @rflags: flags register
 * @fs_base: base of fs
 * @gs_base: base of gs
 * @record_at: offset in its chunk of the record begun (what r15 points to)
 * @fault_at: offset in its chunk of the byte that faulted
 * @flags: ADEPT_CTX_*
 * @reserved: zero
 * @gs_words: 8 words from @gs_base, if ADEPT_CTX_GS_WORDS says so, else zero
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

#define ADEPT_CTX_VALID		1u	/* there is one */
#define ADEPT_CTX_GS_WORDS	2u	/* gs_words could be read */

/**
 * struct adept_chunk_info - what is known of a chunk, in the info area
 * @seq: 0, 1, 2.. in a ring; each chunk given up has had a number, so a gap is a loss
 * @ring: struct adept_desc.ring
 * @flags: ADEPT_CHUNK_*
 * @end: bytes of whole records
 * @carried: bytes at its beginning that came from the end of the chunk before: what
 *	was there of the record begun
 * @loss_causes: enum adept_loss_cause of the chunks lost
 * @reserved: zero
 * @lost_chunks: chunks of this ring lost directly before this one
 * @lost_bytes: whole records in them
 * @head: when it was begun; of the store that met the end of the chunk before it,
 *	or of the ring's first store
 * @tail: of the store that met its end
 * @reserved2: zero
 *
 * It is at info_off + slot * info_stride + chunk * sizeof(struct adept_chunk_info), and
 * stays as it is from when the chunk is taken until it is given back.
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
#define ADEPT_CHUNK_LAST	1u	/* the ring's last one */
#define ADEPT_CHUNK_UNFINISHED	2u	/* not written to its end: up to the first zero id */
#define ADEPT_CHUNK_DEAD	4u	/* the mapping is gone (else: ADEPT_IOC_FLUSH) */
#define ADEPT_CHUNK_AGAIN	8u	/* a consumer before this one had it, too */

/**
 * struct adept_desc - a filled chunk, as ADEPT_IOC_EXCHANGE delivers it
 * @slot: its slot
 * @ring: number of the slot's ring, never used again in the session
 * @seq: see struct adept_chunk_info
 * @chunk: index in the ring
 * @flags: ADEPT_CHUNK_*
 * @end: bytes of whole records; chunk_size with ADEPT_CHUNK_UNFINISHED
 * @loss_causes: see struct adept_chunk_info
 * @lost_bytes: see there
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
 * struct adept_give - a chunk given back
 * @slot: as in its struct adept_desc
 * @ring: as there
 * @seq: as there
 */
struct adept_give {
	__u32 slot;
	__u32 ring;
	__u64 seq;
};

/**
 * struct adept_exchange - chunks given back in, filled ones out
 * @give: address of an array of struct adept_give
 * @take: address of an array of struct adept_desc
 * @ngive: elements of @give, at most ADEPT_GIVE_MAX
 * @ntake: room in @take, at most ADEPT_TAKE_MAX
 * @given: out: how many of @give were accepted, from its beginning
 * @taken: out: how many elements of @take were written
 * @give_error: out: 0, or the error number (positive) of give[given]
 * @flags: zero
 * @reserved: zero
 *
 * Never waits.  Chunks are given back in order up to the first that is refused; then
 * filled ones are taken.  0 is returned even if neither did anything.
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
 * @slot: which
 * @flags: ADEPT_RESET_FORCE for ADEPT_IOC_RESET, or zero
 * @ring: of the ring that is meant
 * @reserved: zero
 */
struct adept_slot_cmd {
	__u32 slot;
	__u32 flags;
	__u32 ring;
	__u32 reserved;
};

#define ADEPT_RESET_FORCE	1u	/* throw away what is unread, and count it */

/* struct adept_ring_info.state */
enum adept_ring_state {
	ADEPT_RING_NONE,	/* no store to this slot yet, or reset */
	ADEPT_RING_LIVE,
	ADEPT_RING_ENDED,	/* flushed: its thread has ended */
	ADEPT_RING_DEAD,	/* the mapping that it was written through is gone */
};

/**
 * struct adept_ring_info - ADEPT_IOC_RING_INFO
 * @slot: in: which
 * @state: enum adept_ring_state; everything below is zero for ADEPT_RING_NONE
 * @ring: see struct adept_desc
 * @pid: process that made the ring, in the caller's pid namespace; 0: not visible there
 * @seq: of the chunk being written, or of the last one
 * @chunk: index of it
 * @filled: chunks that are published and not taken
 * @taken: chunks that are taken and not given back
 * @waiting: its writer waits for a free chunk
 * @lost_chunks: all that this ring has lost
 * @lost_bytes: all that this ring has lost
 * @reserved: zero
 *
 * What it says may be old when it is read.
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
 * @policy: enum adept_policy; writers that wait decide anew
 * @reserved: zero
 */
struct adept_set_policy {
	__u32 policy;
	__u32 reserved;
};

/**
 * struct adept_stats - ADEPT_IOC_STATS: of the session since it was created
 * @rings_made: rings made
 * @rings: rings that exist
 * @pages: pages that they have
 * @published: chunks published, with unfinished ones and those given up later
 * @taken: chunks taken, each delivery counts
 * @given: chunks given back
 * @bytes: whole records in chunks that were published finished and not given up
 * @lost_chunks: chunks lost
 * @lost_bytes: whole records in them; all bytes for ADEPT_LOSS_RESET
 * @lost_full: of @lost_chunks, because of ADEPT_LOSS_FULL, and so on
 * @lost_no_consumer: see @lost_full
 * @lost_discard: see @lost_full
 * @lost_reset: see @lost_full
 * @waits: how often a writer had to wait
 * @wait_ns: how long all of them together
 * @refused: faults answered with SIGSEGV or SIGBUS
 * @after_end: gaps met by writers of rings that had been flushed
 * @lost_published: of @lost_chunks, those that had been published
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

/* of /dev/adept */
#define ADEPT_IOC_VERSION		_IOR(ADEPT_IOC_MAGIC, 0x00, struct adept_version)
#define ADEPT_IOC_SESSION_CREATE	_IOW(ADEPT_IOC_MAGIC, 0x01, struct adept_session_create)
#define ADEPT_IOC_SESSION_LIST		_IOWR(ADEPT_IOC_MAGIC, 0x02, struct adept_session_list)
#define ADEPT_IOC_SESSION_ADOPT		_IOW(ADEPT_IOC_MAGIC, 0x03, struct adept_session_adopt)

/* of a session; _SESSION_INFO for writers, too */
#define ADEPT_IOC_SESSION_INFO		_IOR(ADEPT_IOC_MAGIC, 0x10, struct adept_session_info)
#define ADEPT_IOC_EXCHANGE		_IOWR(ADEPT_IOC_MAGIC, 0x11, struct adept_exchange)
#define ADEPT_IOC_FLUSH			_IOW(ADEPT_IOC_MAGIC, 0x12, struct adept_slot_cmd)
#define ADEPT_IOC_RESET			_IOW(ADEPT_IOC_MAGIC, 0x13, struct adept_slot_cmd)
#define ADEPT_IOC_RING_INFO		_IOWR(ADEPT_IOC_MAGIC, 0x14, struct adept_ring_info)
#define ADEPT_IOC_SET_POLICY		_IOW(ADEPT_IOC_MAGIC, 0x15, struct adept_set_policy)
#define ADEPT_IOC_STATS			_IOR(ADEPT_IOC_MAGIC, 0x16, struct adept_stats)
#define ADEPT_IOC_WRITER_FD		_IO(ADEPT_IOC_MAGIC, 0x17)

#endif /* _UAPI_LINUX_ADEPT_H */
