/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * DEP store: a directory NAME.dep that contains one recorded session.  dep(5) describes its files.
 *
 * Unless noted otherwise, functions return 0 or a negative errno.  After an error dep_error()
 * returns a message, which is valid until the thread's next call into this library.
 */
#ifndef DEP_STORE_H
#define DEP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define DEP_FORMAT_VERSION 4

/** dep_error() - message of the calling thread's last failed libdep call */
const char *dep_error(void);

/* ---- contents of a store ---- */

/** struct dep_process - one process image; an execve begins a new image */
struct dep_process {
	uint32_t serial;	/* unique in the store, from 1 */
	uint32_t pid;
	uint32_t parent;	/* serial of the image that called fork or execve, 0 = none */
	uint32_t cause;		/* enum adept_cause */
	uint64_t start_ns, end_ns;	/* CLOCK_MONOTONIC; end 0 = unknown */
	const char *exe;	/* may be NULL */
	/*
	 * Command line from /proc when the collector first saw the image; the program may have
	 * changed it before.  Each argument ends with a NUL byte; one that was too long ends with
	 * "..." before the NUL.  NULL: not known.
	 */
	const char *cmdline;
	size_t cmdline_size;
	uint64_t built;		/* number of translated fragments; 0 until the process has ended */
	uint64_t translate_ns;	/* translation time; 0 until the process has ended */
};

/* How a thread's stream ended. */
enum dep_thread_end {
	DEP_END_UNKNOWN,	/* the end of the thread was not recorded */
	DEP_END_WHOLE,		/* the thread ended; its stream is complete */
	DEP_END_UNFINISHED,	/* thread was killed while writing a record, which is missing */
	DEP_END_LEFT,		/* thread outlived the recording; stream complete up to its end */
	DEP_END_UNTAKEN,	/* thread outlived the recording; its last chunk is missing */
	DEP_END_STOPPED,	/* storing stopped early: --null, --max-size, a write error */
	DEP_END_CORRUPT,	/* the thread's ring became inconsistent; later data is missing */
	DEP_END_DETACHED,	/* detached from, runs on natively; stream complete up to then */
	DEP_THREAD_ENDS
};

/** struct dep_thread - one thread */
struct dep_thread {
	uint32_t serial;	/* unique in the store, from 1 */
	uint32_t tid;
	uint32_t process;	/* serial of its process */
	uint32_t parent;	/* serial of the creating thread, 0 = first of its process */
	uint64_t start_ns, end_ns;
	uint64_t flushes;	/* number of ring chunks that the thread filled */
	uint64_t null_bytes;	/* bytes counted but not stored (--null, or after --max-size) */
	uint32_t end;		/* enum dep_thread_end */
	const char *name;	/* last known name; may be NULL */
};

/**
 * struct dep_module - a mapping of a file
 *
 * Of an attached process, all mappings that it had then; otherwise those with executed code.
 */
struct dep_module {
	uint32_t process;
	uint32_t prot;		/* PROT_* when it was recorded */
	uint64_t start, end, offset;
	uint64_t from_ns, to_ns;	/* CLOCK_MONOTONIC; to_ns 0 = still mapped at the end */
	const char *path;
	const char *build_id;	/* hexadecimal, "" if none */
};

/** struct dep_attach - a process that ran already when its recording began */
struct dep_attach {
	uint32_t process;	/* its serial */
	uint64_t time_ns;	/* CLOCK_MONOTONIC, when its mappings and descriptors were read */
	uint32_t maps_left_out, files_left_out;	/* number that the store does not have */
};

/** struct dep_open_file - a descriptor that was open when a process was attached to */
struct dep_open_file {
	uint32_t process;	/* serial */
	int32_t fd;
	uint32_t kind;		/* enum dep_file_kind */
	uint32_t flags;		/* O_* */
	uint64_t dev, inode;	/* dev: major << 32 | minor */
	uint64_t position;
	const char *path;	/* as in /proc/PID/fd; "": not known */
	const char *peer;	/* socket: its addresses, "tcp LOCAL -> REMOTE"; "": not known */
};

/** struct dep_log_line - a line of the engine's log (DEP_LOG of depctl record) */
struct dep_log_line {
	uint32_t process;	/* serial of the process that wrote it */
	uint32_t tid;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	const char *area, *text;
};

/** struct dep_segment - one stored chunk of one thread */
struct dep_segment {
	uint32_t thread;	/* serial of the thread */
	uint64_t seq;		/* chunk number in the thread; a missing number is a lost chunk */
	uint32_t raw_bytes;	/* size in the ring, before compression */
	uint32_t stored_bytes;	/* size in the segment file, with header */
	uint32_t control_bytes;	/* size of fragment ids and events, uncompressed */
	uint32_t value_bytes;	/* size of recorded values, uncompressed */
	uint32_t file;		/* number N of the segment file, segments.N */
	uint64_t offset;	/* position of the segment in that file */
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t index;		/* position among the thread's stored segments, from 0; format 4 */
	/*
	 * Chain values of the previous and of this segment, from format 4 on.  A chain value is a
	 * hash of the segment and of the previous chain value; it reveals missing segments.
	 */
	uint64_t prev, chain;
};

/** struct dep_loss - data that is known to be missing from the store */
struct dep_loss {
	uint64_t dropped_chunks, dropped_bytes;	/* dropped because of --on-full=drop */
	uint64_t discarded_bytes;	/* not stored after --max-size or a write error */
	uint64_t lost_threads, lost_processes;	/* number that ran unrecorded */
	uint64_t native_images;	/* executed programs that ran natively by design */
	uint64_t native_privileged;	/* native_images that have set-uid or similar privileges */
	uint64_t absent_chunks, absent_bytes;	/* overwritten while no collector ran */
	uint64_t unfinished_threads;	/* threads killed; each may lack one record */
	uint64_t untaken_threads;	/* threads with DEP_END_UNTAKEN */
	uint64_t lost_descriptors;	/* descriptions of fragments, mappings and log lines */
	uint64_t corrupt;	/* inconsistent rings, slots and descriptors */
	uint64_t torn_segments;	/* incomplete or damaged segments found by the reader */
	uint64_t unclean;	/* 1: the store was not closed */
	uint64_t unwanted_children;	/* children unrecorded because of --children=no: no loss */
};

/** dep_loss_add() - *to += *from */
void dep_loss_add(struct dep_loss *to, const struct dep_loss *from);

/** struct dep_last_thread - what a recording with --last dropped of a thread */
struct dep_last_thread {
	uint32_t thread;	/* serial */
	uint64_t first;		/* dep_segment.seq of the first chunk that was not dropped */
	uint64_t chunks, bytes;	/* dropped before that chunk */
	uint64_t tid_address;	/* word that the kernel clears at the thread's end; 0: not known */
};

/** enum dep_keep - why the newest part of a recording was stored */
enum dep_keep {
	DEP_KEEP_UNKNOWN,	/* not known, or the recording had not ended */
	DEP_KEEP_ENDED,		/* the recording was ended, or how the command ended is not known */
	DEP_KEEP_EXIT,		/* the command exited; value: its status */
	DEP_KEEP_SIGNAL,	/* a signal killed the command; value: its number */
	DEP_KEEP_ASKED,		/* depctl snapshot */
	DEP_KEEP_CALL,		/* --on-call: a function was called */
	DEP_KEEP_SLOW,		/* --on-slow: a call took long; value: nanoseconds */
	DEP_KEEP_LONG,		/* --on-slow: a call had not returned yet; value: as before */
	DEP_KEEP_PERF,		/* --on-perf: events were counted; value: their number */
	DEP_KEEP_REASONS
};

#define DEP_KEEP_TEXT	64u	/* bytes of dep_kept.what */

/** struct dep_kept - when and why the newest part of a recording was stored */
struct dep_kept {
	uint64_t at_ns, realtime_ns;	/* CLOCK_MONOTONIC, CLOCK_REALTIME; 0: not known */
	uint64_t value;
	uint32_t reason;	/* enum dep_keep */
	uint32_t tid;		/* thread that caused it; 0: none */
	char what[DEP_KEEP_TEXT];	/* pattern of the function, or the event; or empty */
};

/** dep_keep_name() - name of @reason in JSON output; "unknown" if it has none */
const char *dep_keep_name(uint32_t reason);

/** struct dep_last - what a recording that keeps only its newest part (--last) has dropped */
struct dep_last {
	uint64_t max_bytes, max_ns;	/* bounds asked for; max_ns 0: none */
	/*
	 * CLOCK_MONOTONIC and TSC: the store has everything that was recorded later, and some of
	 * what was recorded before.  0: nothing was dropped.
	 */
	uint64_t from_ns, from_timestamp;
	uint64_t chunks, bytes;		/* dropped in total */
	/* number that ended, and of which everything was dropped: they are not in the store */
	uint32_t processes, threads;
	const struct dep_last_thread *thread;	/* threads of the store, sorted by serial */
	size_t nthreads;
	struct dep_kept kept;
};

/** struct dep_meta - command and settings of a recording, from manifest.json */
struct dep_meta {
	int argc;
	char *const *argv;	/* the recorded command */
	const char *cwd;
	uint32_t session_flags;	/* ADEPT_S_* */
	uint32_t chunk_size, nchunks;
	uint64_t max_size;	/* limit of the store's size in bytes, 0 = none */
	int aslr;		/* 0: address space randomisation was disabled (--no-aslr) */
	uint64_t start_ns, start_realtime_ns;
	/* Set by the reader: the recording kernel treated the processors' TSCs as synchronised. */
	int tsc_trusted;
	/* The following are for libdep's own writer; the reader does not set them. */
	bool shared;		/* @group gets permission to read the store */
	uint32_t group;
	bool temporary;		/* deleted after use: no waiting for the disk, no catalog */
};

/* Why a recording ended. */
enum dep_close_cause {
	DEP_CLOSE_UNKNOWN,	/* the recording has not ended, or the store has no cause */
	DEP_CLOSE_ENDED,	/* all programs ended */
	DEP_CLOSE_STOPPED,	/* a user stopped the recording */
	DEP_CLOSE_SHUTDOWN,	/* the collector was asked to exit */
	DEP_CLOSE_MAX_SIZE,	/* the store reached its maximum size */
	DEP_CLOSE_FAILED,	/* writing the store failed: dep_verdict.error */
	DEP_CLOSE_CORRUPT,	/* the programs wrote inconsistent data to the session file */
	DEP_CLOSE_LOST,		/* the collector was killed and no successor could continue */
	DEP_CLOSE_ABANDONED,	/* nothing was recorded */
	DEP_CLOSE_CAUSES
};

/** dep_close_cause_name() - name of @cause in manifest.json; "unknown" if it has none */
const char *dep_close_cause_name(enum dep_close_cause cause);

/* ---- reading; a store may be opened while it is being written ---- */

struct dep_store;

/**
 * dep_store_open() - open a store to read it
 *
 * A store with missing parts can be opened; dep_store_verdict() lists them.
 *
 * Return: 0 or a negative errno; -EBADMSG if @dir is not a store or its manifest does not match its
 * log, -EPROTONOSUPPORT for an unsupported format.
 */
int dep_store_open(struct dep_store **s, const char *dir);
void dep_store_close(struct dep_store *s);
/**
 * dep_store_open_growing() - open a store that is being written, for dep_analyze_live()
 *
 * The store appears empty until dep_analyze_live() has read it.
 */
int dep_store_open_growing(struct dep_store **s, const char *dir);
/* The store owns all memory that the following functions return. */
size_t dep_store_processes(struct dep_store *s, const struct dep_process **out);
size_t dep_store_threads(struct dep_store *s, const struct dep_thread **out);
size_t dep_store_modules(struct dep_store *s, const struct dep_module **out);
size_t dep_store_attaches(struct dep_store *s, const struct dep_attach **out);
/** dep_store_open_files() - those of one process are sorted by fd, unless a store is forged */
size_t dep_store_open_files(struct dep_store *s, const struct dep_open_file **out);
/*
 * Sorted by (thread, seq).  Those of a store with many segments are in a file that is mapped: rows
 * take memory only while they are used.
 */
size_t dep_store_segments(struct dep_store *s, const struct dep_segment **out);
size_t dep_store_messages(struct dep_store *s, const char *const **out);
/** dep_store_log() - the engine's log; lines of one process are in the order of writing */
size_t dep_store_log(struct dep_store *s, const struct dep_log_line **out);
const struct dep_loss *dep_store_loss(struct dep_store *s);
const struct dep_meta *dep_store_meta(struct dep_store *s);
/** dep_store_last() - what --last dropped; false: the store was recorded without --last */
bool dep_store_last(struct dep_store *s, struct dep_last *out);
/** dep_store_exit_status() - wait() status of the recorded command, -1 if unknown */
int dep_store_exit_status(struct dep_store *s);
/** dep_store_fragments() - number of fragments, and the bytes of their code and descriptors */
void dep_store_fragments(struct dep_store *s, uint64_t *count, uint64_t *code_bytes,
			 uint64_t *desc_bytes);
/** dep_store_rebuild() - write catalog.db and index again, and the final manifest if missing */
int dep_store_rebuild(const char *dir);
/** dep_store_in_use() - true if a writer has @dir open: it holds the lock, or its pid exists */
bool dep_store_in_use(const char *dir);
/**
 * dep_store_being_written() - dep_store_in_use() of the store @s, whatever has become of its path
 *
 * The directory may have been renamed meanwhile, or removed, and another store made in its place.
 */
bool dep_store_being_written(const struct dep_store *s);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
