/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Layout of a store's files, byte for byte, in format 4.  Numbers are little endian.  dep(5)
 * describes the same for programs that do not use libdep.
 *
 *	fragments:	file header, frames
 *	segments.NNN:	file header, segments
 *
 * Frames and segments begin at multiples of 8; the gaps are zero.  A frame or segment is valid
 * only if it is whole and its checksums match.
 *
 * Two chains make a missing, doubled or exchanged part visible: each frame holds the checksum of
 * the frame before it, and each segment the chain value of its thread's segment before it.  The
 * END frame holds the last value of every chain.  All checksums are seeded with the store's id,
 * so that parts of another store never fit.
 *
 * Format 3 had no id and no chains.  Its structures are prefixes of those of format 4; it is
 * read, but never written (struct dep_format).
 */
#ifndef ADEPT_FORMAT_FILE_WIRE_H
#define ADEPT_FORMAT_FILE_WIRE_H

#include "libdep/abi/session_file.h"

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

#define DEP_FORMAT_OLD	3u	/* the oldest version that is read */
#define DEP_ID_SIZE	16u

struct dep_file_header {
	char magic[8];
	u32 version;		/* DEP_FORMAT_VERSION */
	u32 number;		/* NNN of segments.NNN, 0 for the log */
	u8 id[DEP_ID_SIZE];	/* of the store */
	u32 epoch;		/* 0; reserved for files that are packed again in place */
	u32 pad;
	u64 check;		/* XXH3-64 of the header up to here, seeded */
};

/**
 * struct dep_format - how the files of one store are read
 * @version: DEP_FORMAT_OLD to DEP_FORMAT_VERSION
 * @seed: of all its checksums: XXH3-64 of the store's id; 0 in format 3
 */
struct dep_format {
	u32 version;
	u64 seed;
	u8 id[DEP_ID_SIZE];
};

/* ---- the log ---- */

#define DEP_FRAME_MAGIC	0x46504544u	/* "DEPF" */

enum dep_frame_type {
	DEP_F_DESCRIPTORS = 1,	/* abi/stream.h, as the process wrote them */
	DEP_F_PROCESS = 2,	/* struct dep_wire_process, exe, arguments */
	DEP_F_PROCESS_END = 3,	/* struct dep_wire_process_end */
	DEP_F_THREAD = 4,	/* struct dep_wire_thread */
	DEP_F_THREAD_END = 5,	/* struct dep_wire_thread with its final counts, name */
	DEP_F_MESSAGE = 6,	/* text */
	DEP_F_BUILD_ID = 7,	/* struct dep_wire_build_id, build-id, path */
	DEP_F_END = 8,		/* struct dep_wire_end and its tables; the last frame */
	DEP_F_MARK = 9,		/* struct dep_wire_mark: what is durable */
	DEP_F_TRIM = 10,	/* struct dep_wire_trim: the oldest segments were removed */
	DEP_F_REPACK = 11,	/* reserved: a file of segments was packed again */
};

/* Texts are NUL terminated; a frame's payload is size bytes after this. */
struct dep_frame {
	u32 magic;
	u16 type;		/* enum dep_frame_type; unknown ones are skipped */
	u16 pad;
	u32 process;		/* serial, where it belongs to one */
	u32 size;
	u64 prev;		/* check of the frame before; of the first: of the file header */
	u64 check;		/* XXH3-64 of the payload, seed: XXH3-64 of what is above, seeded */
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
	u32 end;		/* enum dep_thread_end; not in older stores */
	u32 fixed;		/* of THREAD_END: bytes of this structure, the name follows */
	/* Of THREAD_END, from format 4 on: what the store must have of the thread. */
	u64 segments;		/* stored since the beginning */
	u64 raw_bytes;		/* size of them before packing */
	u64 chain;		/* of the last one; 0 if there is none */
};

/* Where the name follows if dep_wire_thread.fixed is 0, as in older stores. */
#define DEP_THREAD_FIXED	80u

struct dep_wire_build_id {
	u64 dev, inode;
};

/*
 * END.  After the structure of @fixed bytes come @threads rows of struct dep_wire_thread_sum,
 * sorted by serial, then @files sizes (u64) of segments.NNN, beginning with @first_file.
 */
struct dep_wire_end {
	u32 exit_status;
	u32 fixed;		/* bytes of this structure; 0 in format 3 */
	u64 dropped_chunks, dropped_bytes, discarded_bytes;
	u64 lost_threads, lost_processes, native_images;
	u64 unfinished_threads;	/* not in older stores.. */
	u64 absent_chunks, absent_bytes;	/* ..and these neither */
	/* from format 4 on */
	u64 untaken_threads, corrupt;
	u32 cause;		/* enum dep_close_cause */
	u32 error;		/* errno of a store that failed, else 0 */
	u32 live;		/* processes that were still running */
	u32 processes, threads;	/* number of logged ones */
	u32 files, first_file;
	u32 native_privileged;	/* 0 in older stores */
	u64 frames;		/* of the log, this one included */
	u64 segments;		/* stored, removed ones included */
	u64 lost_descriptors;	/* not in older stores */
};

/* The least of dep_wire_end.fixed, from format 4 on. */
#define DEP_END_FIXED	offsetof(struct dep_wire_end, lost_descriptors)

/* The segments of one thread, up to some moment. */
struct dep_wire_thread_sum {
	u32 serial, pad;
	u64 segments;		/* stored since the beginning */
	u64 chain;		/* of the last one */
};

/* MARK: a struct dep_wire_thread_sum for each thread with new segments since the last MARK. */
struct dep_wire_mark {
	u64 time_ns;		/* CLOCK_MONOTONIC, when these segments had been stored */
	u32 rows, pad;
};

/* TRIM: files before @first_file were removed; a row for each thread: its removed segments. */
struct dep_wire_trim {
	u32 first_file, rows;
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

#define DEP_SEG_CUT	0x1	/* lost_bytes at the end of the body did not parse */

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
	u64 start_ns, timestamp;
	u64 fs_base, gs_base;
	u64 regs[16];
	u64 index;		/* 0, 1, 2... of the thread's stored segments; no gaps */
	u64 content;		/* of the columns before compression: dep_seg_content() */
	u64 prev;		/* chain of the thread's segment before, 0 for the first */
	u64 chain;		/* dep_seg_chain() */
	u64 check;		/* XXH3-64 of the header up to here, seeded */
};

/* Headers of format 3 end with regs and check. */
#define DEP_SEG_HEADER_OLD	(offsetof(struct dep_seg_header, index) + sizeof(u64))

static inline u64 dep_seg_bytes(const struct dep_seg_header *h)
{
	return dep_align8((u64)h->size + h->control_stored + h->value_stored);
}

/* Bytes of the structures in front of contents, by version. */
static inline u32 dep_file_header_bytes(const struct dep_format *fmt)
{
	return fmt->version == DEP_FORMAT_OLD ? offsetof(struct dep_file_header, id) :
						sizeof(struct dep_file_header);
}

static inline u32 dep_frame_bytes(const struct dep_format *fmt)
{
	return fmt->version == DEP_FORMAT_OLD ? offsetof(struct dep_frame, prev) + sizeof(u64) :
						sizeof(struct dep_frame);
}

static inline u32 dep_seg_header_bytes(const struct dep_format *fmt)
{
	return fmt->version == DEP_FORMAT_OLD ? DEP_SEG_HEADER_OLD : sizeof(struct dep_seg_header);
}

_Static_assert(sizeof(struct dep_file_header) == 48, "wire layout");
_Static_assert(sizeof(struct dep_frame) == 32, "wire layout");
_Static_assert(sizeof(struct adept_position) == 24, "wire layout");
_Static_assert(sizeof(struct dep_seg_header) == 336 && DEP_SEG_HEADER_OLD == 304, "wire layout");
_Static_assert(sizeof(struct dep_wire_thread) == 80, "wire layout");
_Static_assert(sizeof(struct dep_wire_thread_sum) == 24, "wire layout");
_Static_assert(sizeof(struct dep_wire_end) == 152, "wire layout");
_Static_assert(DEP_END_FIXED == 144, "wire layout");

#endif
