/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of a store consist of, byte for byte.  Little endian; dep(5) is
 * the description for those who do not use libdep.
 *
 *	fragments:	file header, frames
 *	segments.NNN:	file header, segments
 *
 * Frames and segments begin at multiples of 8, the gaps are zero.  A frame or
 * segment counts only if it is all there and its checksums are right.
 */
#ifndef DEP_FORMAT_WIRE_H
#define DEP_FORMAT_WIRE_H

#include "../abi/session.h"

#define DEP_LOG_MAGIC	"DEPLOG\r\n"
#define DEP_SEG_MAGIC	"DEPSEG\r\n"

#define DEP_LOG_NAME	"fragments"
#define DEP_SEG_NAME	"segments.%03u"
#define DEP_SEG_FILES	1000000u
#define DEP_SEG_ROLL	(1ull << 30)	/* begin a new file beyond this size */

#define DEP_FRAME_MAX	(64u << 20)	/* payload bytes */
#define DEP_BODY_MAX	(1u << 30)	/* bytes of a chunk's body */
#define DEP_EXIT_LIMIT	(1u << 28)	/* exit ids are below */

static inline u64 dep_align8(u64 n)
{
	return (n + 7) & ~7ull;
}

struct dep_file_header {
	char magic[8];
	u32 version;		/* DEP_FORMAT_VERSION */
	u32 number;		/* NNN of segments.NNN, 0 for the log */
};

/* ---- the log ---- */

#define DEP_FRAME_MAGIC	0x46504544u	/* "DEPF" */

enum dep_frame_type {
	DEP_F_DESCRIPTORS = 1,	/* abi/descriptor.h, as the process wrote them */
	DEP_F_PROCESS = 2,	/* struct dep_wire_process, exe */
	DEP_F_PROCESS_END = 3,	/* struct dep_wire_process_end */
	DEP_F_THREAD = 4,	/* struct dep_wire_thread */
	DEP_F_THREAD_END = 5,	/* struct dep_wire_thread */
	DEP_F_NOTE = 6,		/* text */
	DEP_F_BUILD_ID = 7,	/* struct dep_wire_build_id, build-id, path */
	DEP_F_END = 8,		/* struct dep_wire_end: closed properly */
};

/* Texts are NUL terminated; a frame's payload is size bytes behind this. */
struct dep_frame {
	u32 magic;
	u16 type;		/* enum dep_frame_type; unknown ones are skipped */
	u16 pad;
	u32 process;		/* serial, where it belongs to one */
	u32 size;
	u64 check;		/* XXH3-64 of the payload, seed: XXH3-64 of the 16 bytes above */
};

struct dep_wire_process {
	u32 serial, pid, parent, cause;
	u64 start_ns, end_ns;
};

struct dep_wire_process_end {
	u32 serial, pad;
	u64 end_ns;
	u64 built, translate_ns;	/* not in older stores */
};

struct dep_wire_thread {
	u32 serial, tid, process, parent;
	u64 start_ns, end_ns, flushes, null_bytes;
	u32 end, pad;		/* enum dep_thread_end; not in older stores */
};

struct dep_wire_build_id {
	u64 dev, inode;
};

struct dep_wire_end {
	u32 exit_status, pad;
	u64 dropped_chunks, dropped_bytes, discarded_bytes;
	u64 lost_threads, lost_processes, native_images;
	u64 unfinished_threads;	/* not in older stores.. */
	u64 absent_chunks, absent_bytes;	/* ..and these neither */
};

/* ---- segments ---- */

#define DEP_SEG_HEAD_MAGIC	0x53504544u	/* "DEPS" */

enum dep_codec {
	DEP_C_RAW = 0,
	DEP_C_ZSTD = 1,
	DEP_C_DELTA = 2,	/* values only: struct dep_delta (delta.h) and two streams */
	DEP_C_LZ4 = 3,		/* one block */
	DEP_C_CODECS
};

#define DEP_SEG_CUT	0x1	/* the body went on with lost_bytes that did not parse */

/**
 * struct dep_seg_header - in front of a segment's two columns
 *
 * The control column (32-bit words) holds exit ids, event ids and payloads in
 * order; the value column (64-bit words) the values of records and EV_PARTIALs.
 * The last tail_values words belong to the unfinished record.
 */
struct dep_seg_header {
	u32 magic;
	u16 version;
	u16 size;		/* of this header */
	u32 thread;		/* serial */
	u32 flags;		/* DEP_SEG_* */
	u64 seq;
	u32 raw_bytes;		/* of the body in the ring */
	u32 lost_bytes;
	u32 control_raw, control_stored;
	u32 value_raw, value_stored;
	u8 control_codec, value_codec;	/* enum dep_codec */
	u16 pad;
	u32 tail_values;	/* 64-bit words */
	u64 control_check, value_check;	/* XXH3-64 of the stored bytes */
	struct adept_position head, tail;
	u64 dropped_chunks, dropped_bytes;
	u64 start_ns, ticket;
	u64 fs_base, gs_base;
	u64 regs[16];
	u64 check;		/* XXH3-64 of the header up to here */
};

static inline u64 dep_seg_bytes(const struct dep_seg_header *h)
{
	return dep_align8(sizeof(*h) + (u64)h->control_stored + h->value_stored);
}

_Static_assert(sizeof(struct dep_file_header) == 16, "wire layout");
_Static_assert(sizeof(struct dep_frame) == 24, "wire layout");
_Static_assert(sizeof(struct adept_position) == 24, "wire layout");
_Static_assert(sizeof(struct dep_seg_header) == 304, "wire layout");

#endif
