/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Layout of a store's files, byte for byte, in format 4.  Numbers are little endian.  dep(5)
 * describes the same for programs that do not use libdep.
 *
 *	fragments:	file header, frames
 *	segments.NNN:	file header, segments
 *	window.log:	as fragments; while --last-on-disk records, or when it could not end
 *	window.NNN:	file header, chunks; likewise
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
#define DEP_SEG_ROLL	(1ull << 30)	/* maximum bytes of a segment file; then a new one begins */

#define DEP_FRAME_MAX	(64u << 20)	/* maximum payload of a frame, in bytes */
#define DEP_BODY_MAX	(1u << 30)	/* maximum size of a chunk's body, in bytes */
#define DEP_EXIT_LIMIT	(1u << 28)	/* all exit ids are below this number */

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
	u8 id[DEP_ID_SIZE];	/* random id of the store, the same in all its files */
	u32 epoch;		/* 0; reserved for segment files that are packed again in place */
	u32 pad;
	u64 check;		/* XXH3-64 of the fields above, with seed dep_format.seed */
};

/**
 * struct dep_format - format version and checksum seed of a store's files
 * @version: DEP_FORMAT_OLD to DEP_FORMAT_VERSION
 * @seed: seed of all checksums in the store: XXH3-64 of the store's id; 0 in format 3
 */
struct dep_format {
	u32 version;
	u64 seed;
	u8 id[DEP_ID_SIZE];
};

/* ---- the log ---- */

#define DEP_FRAME_MAGIC	0x46504544u	/* "DEPF" */

enum dep_frame_type {
	DEP_F_DESCRIPTORS = 1,	/* descriptors (abi/stream.h) as the process wrote them */
	DEP_F_PROCESS = 2,	/* struct dep_wire_process, path of executable, arguments */
	DEP_F_PROCESS_END = 3,	/* struct dep_wire_process_end */
	DEP_F_THREAD = 4,	/* struct dep_wire_thread */
	DEP_F_THREAD_END = 5,	/* struct dep_wire_thread with final counts, name of the thread */
	DEP_F_MESSAGE = 6,	/* text for users: a problem or event of the recording */
	DEP_F_BUILD_ID = 7,	/* struct dep_wire_build_id, build-id, path of the mapped file */
	DEP_F_END = 8,		/* struct dep_wire_end and its tables; the last frame */
	DEP_F_MARK = 9,		/* struct dep_wire_mark: which segments are on the disk */
	DEP_F_TRIM = 10,	/* struct dep_wire_trim: the oldest segments were removed */
	DEP_F_REPACK = 11,	/* reserved: a segment file was packed again */
	DEP_F_LAST = 12,	/* struct dep_wire_last: only the newest chunks are stored */
	DEP_F_TID_ADDRESS = 13,	/* struct dep_wire_tid_address; in window.log only */
	DEP_F_LAST_THREAD = 14,	/* struct dep_wire_last_thread; in window.log only */
};

/* Header of a frame, followed by a payload of @size bytes.  Texts in payloads end with NUL. */
struct dep_frame {
	u32 magic;
	u16 type;		/* enum dep_frame_type; readers skip unknown types */
	u16 pad;
	u32 process;		/* serial of the process that the frame is about, or 0 */
	u32 size;
	u64 prev;		/* @check of the previous frame; in the first: of the file header */
	/* XXH3-64 of the payload; its seed is the seeded XXH3-64 of the fields above. */
	u64 check;
};

struct dep_wire_process {
	u32 serial, pid, parent, cause;
	u64 start_ns, end_ns;
};

struct dep_wire_process_end {
	u32 serial, pad;
	u64 end_ns;
	u64 built, translate_ns;	/* as in struct dep_process; absent in older stores */
};

struct dep_wire_thread {
	u32 serial, tid, process, parent;
	u64 start_ns, end_ns, flushes, null_bytes;
	u32 end;		/* enum dep_thread_end; absent in older stores */
	u32 fixed;		/* in THREAD_END: size of this structure; the name follows it */
	/* Set in THREAD_END of format 4, to verify that the thread's segments are complete. */
	u64 segments;		/* number of segments stored for the thread */
	u64 raw_bytes;		/* total size of the thread's segments before packing */
	u64 chain;		/* chain value of the thread's last segment; 0 if it has none */
};

/* Offset of the thread's name if dep_wire_thread.fixed is 0, as in older stores. */
#define DEP_THREAD_FIXED	80u

struct dep_wire_build_id {
	u64 dev, inode;
};

/*
 * Payload of END.  The structure of @fixed bytes is followed by @threads rows of struct
 * dep_wire_thread_sum, sorted by serial, and then by the sizes (u64) of the @files segment files
 * from number @first_file on.
 */
struct dep_wire_end {
	u32 exit_status;
	u32 fixed;		/* size of this structure in the file; 0 in format 3 */
	u64 dropped_chunks, dropped_bytes, discarded_bytes;
	u64 lost_threads, lost_processes, native_images;
	u64 unfinished_threads;	/* absent in older stores */
	u64 absent_chunks, absent_bytes;	/* absent in older stores */
	/* The following fields exist from format 4 on. */
	u64 untaken_threads, corrupt;
	u32 cause;		/* enum dep_close_cause */
	u32 error;		/* errno of the failed write if cause is DEP_CLOSE_FAILED, else 0 */
	u32 live;		/* number of processes that were still running */
	u32 processes, threads;	/* processes in the log; rows of struct dep_wire_thread_sum */
	u32 files, first_file;
	u32 native_privileged;	/* 0 in older stores */
	u64 frames;		/* number of frames in the log, this frame included */
	u64 segments;		/* number of segments ever stored, removed segments included */
	u64 lost_descriptors;	/* absent in older stores */
	u64 unwanted_children;	/* absent in older stores */
};

/* Minimum of dep_wire_end.fixed in format 4; newer fields may follow. */
#define DEP_END_FIXED	offsetof(struct dep_wire_end, lost_descriptors)

/* Row for one thread in MARK, END and TRIM frames: the thread's segments up to some point. */
struct dep_wire_thread_sum {
	u32 serial, pad;
	u64 segments;		/* number of segments stored for the thread so far */
	u64 chain;		/* running checksum (chain.h) up to the last of these segments */
};

/*
 * Payload of MARK.  @rows rows of struct dep_wire_thread_sum follow, one for each thread with new
 * segments since the last MARK.
 */
struct dep_wire_mark {
	u64 time_ns;		/* CLOCK_MONOTONIC; all segments stored before are on the disk */
	u32 rows, pad;
};

/*
 * Payload of TRIM: segment files before @first_file were removed.  @rows rows of struct
 * dep_wire_thread_sum follow: the removed segments of each thread.
 */
struct dep_wire_trim {
	u32 first_file, rows;
};

/*
 * Payload of LAST.  The structure of @fixed bytes is followed by @rows rows of struct
 * dep_wire_last_thread, sorted by serial: all threads of the store.  The first LAST frame of a
 * store has only the bounds; the last one counts, and stands before all segments.
 */
struct dep_wire_last {
	u64 max_bytes, max_ns;	/* bounds; max_ns 0: none */
	/* CLOCK_MONOTONIC and TSC: everything recorded later is stored; 0: nothing was dropped */
	u64 from_ns, from_timestamp;
	u64 chunks, bytes;	/* dropped because of the bounds */
	u32 processes, threads;	/* number that ended and are not in the store */
	u32 fixed, rows;
	/* as in struct dep_kept; absent in older stores */
	u64 kept_ns, kept_realtime_ns, value;
	u32 reason, tid;
	char what[64];		/* DEP_KEEP_TEXT bytes */
};

/* Minimum of dep_wire_last.fixed. */
#define DEP_LAST_FIXED	offsetof(struct dep_wire_last, kept_ns)

struct dep_wire_last_thread {
	u32 serial, pad;
	u64 first;		/* sequence number of the first chunk that was not dropped */
	u64 chunks, bytes;	/* dropped of this thread */
	u64 tid_address;	/* word that the kernel clears at the thread's end; 0: unknown */
};

/* ---- a window on the disk (--last-on-disk) ---- */

#define DEP_WINDOW_LOG		"window.log"
#define DEP_WINDOW_NEW_LOG	"window.log.new"	/* until it replaces window.log */
#define DEP_WINDOW_PREFIX	"window."
#define DEP_WINDOW_NAME		DEP_WINDOW_PREFIX "%03u"
#define DEP_WINDOW_MAGIC	"DEPWIN\r\n"
#define DEP_WINDOW_CHUNK	0x43574544u	/* "DEWC" */

/*
 * Payload of TID_ADDRESS, which stands before the THREAD_END of the same thread in window.log:
 * dep_wire_last_thread.tid_address of a thread that has ended.
 */
struct dep_wire_tid_address {
	u32 serial, pad;
	u64 tid_address;
};

/*
 * LAST_THREAD says what was dropped of a thread of which the window had no chunk any more. It does
 * not count if there is a chunk of the thread.
 *
 * Header of a chunk in window.NNN, followed by the chunk's body of chunk.fill bytes as it was in
 * the ring. Numbers and sums count what was added to the window, dropped chunks included.
 */
struct dep_wire_window_chunk {
	u32 magic;
	u32 size;		/* of this header */
	u32 thread;		/* serial */
	u32 pad;
	u64 number;		/* chunks that were added before */
	u64 bytes;		/* of the bodies of these */
	u64 thread_chunks, thread_bytes;	/* as @number and @bytes, of the same thread */
	u64 added_ns, added_timestamp;	/* CLOCK_MONOTONIC and TSC */
	u64 body_check;		/* XXH3-64 of the body, with seed dep_format.seed */
	struct adept_chunk chunk;
	u64 check;		/* XXH3-64 of the fields above, with seed dep_format.seed */
};

/* ---- segments ---- */

#define DEP_SEG_HEAD_MAGIC	0x53504544u	/* "DEPS" */

enum dep_codec {
	DEP_C_RAW = 0,
	DEP_C_ZSTD = 1,
	DEP_C_DELTA = 2,	/* value column only: struct dep_delta (delta.h), two streams */
	DEP_C_LZ4 = 3,		/* one LZ4 block */
	DEP_C_CODECS
};

#define DEP_SEG_CUT	0x1	/* the last lost_bytes of the body did not parse: not stored */

/**
 * struct dep_seg_header - in front of a segment's two columns
 *
 * The control column (32-bit words) has the exit ids, event ids and payloads of events in their
 * order.  The value column (64-bit words) has the values of records and of EV_PARTIAL events; its
 * last @tail_values words belong to the unfinished record at the end of the chunk.
 */
struct dep_seg_header {
	u32 magic;
	u16 version;
	u16 size;		/* size of this header, in bytes */
	u32 thread;		/* serial of the thread */
	u32 flags;		/* DEP_SEG_* */
	u64 seq;
	u32 raw_bytes;		/* size of the chunk's body in the ring */
	u32 lost_bytes;
	u32 control_raw, control_stored;
	u32 value_raw, value_stored;
	u8 control_codec, value_codec;	/* enum dep_codec */
	u16 pad;
	u32 tail_values;	/* number of values of the unfinished record */
	u64 control_check, value_check;	/* seeded XXH3-64 of each column's stored bytes */
	struct adept_position head, tail;
	u64 dropped_chunks, dropped_bytes;
	u64 start_ns, timestamp;
	u64 fs_base, gs_base;
	u64 regs[16];
	u64 index;		/* number among the thread's stored segments: 0, 1, 2..., no gaps */
	u64 content;		/* hash of the columns before compression: dep_seg_content() */
	u64 prev;		/* chain value of the thread's previous segment, 0 if none */
	u64 chain;		/* chain value of this segment: dep_seg_chain() */
	u64 check;		/* XXH3-64 of the fields above, with seed dep_format.seed */
};

/* Headers of format 3 end with regs and check. */
#define DEP_SEG_HEADER_OLD	(offsetof(struct dep_seg_header, index) + sizeof(u64))

static inline u64 dep_seg_bytes(const struct dep_seg_header *h)
{
	return dep_align8((u64)h->size + h->control_stored + h->value_stored);
}

/* Size of the header of a file (below: of a frame, of a segment) in the store's format version. */
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

_Static_assert(sizeof(struct dep_file_header) == 48, "size of a structure on disk changed");
_Static_assert(sizeof(struct dep_frame) == 32, "size of a structure on disk changed");
_Static_assert(sizeof(struct adept_position) == 24, "size of a structure on disk changed");
_Static_assert(sizeof(struct dep_seg_header) == 336 && DEP_SEG_HEADER_OLD == 304,
	       "size of a structure on disk changed");
_Static_assert(sizeof(struct dep_wire_thread) == 80, "size of a structure on disk changed");
_Static_assert(sizeof(struct dep_wire_thread_sum) == 24, "size of a structure on disk changed");
_Static_assert(sizeof(struct dep_wire_end) == 160, "size of a structure on disk changed");
_Static_assert(sizeof(struct dep_wire_window_chunk) == 320, "size of a structure on disk changed");
_Static_assert(DEP_END_FIXED == 144, "size of a structure on disk changed");

#endif
