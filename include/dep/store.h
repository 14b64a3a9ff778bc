/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The DEP store: a directory NAME.dep that holds one recorded session.  dep(5)
 * describes the files.
 *
 * Functions return 0 or a negative errno; dep_error() then gives a sentence for
 * people (thread-local, valid until the next call in that thread).
 */
#ifndef DEP_STORE_H
#define DEP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct adept_chunk;

#define DEP_FORMAT_VERSION 4

/** dep_error() - what went wrong in the last failing call of this thread */
const char *dep_error(void);

/* ---- what a store knows ---- */

/** struct dep_process - one process image; an execve begins a new one */
struct dep_process {
	uint32_t serial;	/* unique in the store, from 1 */
	uint32_t pid;
	uint32_t parent;	/* serial of the image that forked or exec'd it, 0 = none */
	uint32_t cause;		/* enum adept_cause */
	uint64_t start_ns, end_ns;	/* CLOCK_MONOTONIC; end 0 = unknown */
	const char *exe;	/* may be NULL */
	uint64_t built;		/* fragments translated, and the time.. */
	uint64_t translate_ns;	/* ..in the dispatcher; known at its end */
};

/* How a thread's stream ended. */
enum dep_thread_end {
	DEP_END_UNKNOWN,	/* its end was not seen */
	DEP_END_WHOLE,
	DEP_END_UNFINISHED,	/* killed in the middle of a record, which is missing */
	DEP_END_LEFT,		/* the recording ended first; whole up to then */
	DEP_END_UNTAKEN,	/* the same, but what it had written last could not be read */
	DEP_END_STOPPED,	/* nothing was kept from some moment on: --max-size, an error.. */
	DEP_END_CORRUPT,	/* its ring made no sense from some moment on */
	DEP_THREAD_ENDS
};

/** struct dep_thread - one thread */
struct dep_thread {
	uint32_t serial;	/* unique in the store, from 1 */
	uint32_t tid;
	uint32_t process;	/* serial */
	uint32_t parent;	/* serial of the creating thread, 0 = first of its process */
	uint64_t start_ns, end_ns;
	uint64_t flushes;
	uint64_t null_bytes;	/* counted and not kept (--null, or after --max-size) */
	uint32_t end;		/* enum dep_thread_end */
};

/** struct dep_module - an executable mapping */
struct dep_module {
	uint32_t process;
	uint64_t start, end, offset;
	uint64_t from_ns, to_ns;	/* to 0 = still mapped at the end */
	const char *path;
	const char *build_id;	/* hexadecimal, "" if none */
};

/** struct dep_segment - one stored chunk of one thread */
struct dep_segment {
	uint32_t thread;	/* serial */
	uint64_t seq;		/* per thread; a gap is a loss */
	uint32_t raw_bytes;	/* as it stood in the ring */
	uint32_t stored_bytes;	/* header included */
	uint32_t control_bytes;	/* ids and events, uncompressed */
	uint32_t value_bytes;	/* values, uncompressed */
	uint32_t file;		/* segments.NNN */
	uint64_t offset;	/* in that file */
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t index;		/* 0, 1, 2... of the thread's stored segments; format 4 */
	uint64_t prev, chain;	/* chain values of the segment before and of this one; format 4 */
};

/** struct dep_loss - everything that is known not to be in the store */
struct dep_loss {
	uint64_t dropped_chunks, dropped_bytes;	/* --on-full=drop */
	uint64_t discarded_bytes;	/* after --max-size or an error of the store */
	uint64_t lost_threads, lost_processes;	/* ran unrecorded */
	uint64_t native_images;	/* programs that were executed and ran natively.. */
	uint64_t native_privileged;	/* ..of them: for privileges (set-uid and the like) */
	uint64_t absent_chunks, absent_bytes;	/* while nobody collected; see give-up */
	uint64_t unfinished_threads;	/* killed: up to one unfinished record of each */
	uint64_t untaken_threads;	/* went on, and their last chunk could not be read */
	uint64_t corrupt;	/* rings, slots and descriptors that made no sense */
	uint64_t torn_segments;	/* found when reading */
	uint64_t unclean;	/* 1: the store was not closed in order */
};

/** dep_loss_add() - *to += *from */
void dep_loss_add(struct dep_loss *to, const struct dep_loss *from);

/** struct dep_meta - manifest.json */
struct dep_meta {
	int argc;
	char *const *argv;	/* the recorded command */
	const char *cwd;
	uint32_t session_flags;	/* ADEPT_S_* */
	uint32_t chunk_size, nchunks;
	uint64_t max_size;	/* 0 = none */
	int aslr;		/* address randomisation of the recorded program */
	uint64_t start_ns, start_realtime_ns;
	/* Reading only: there the kernel took the processors' time stamp counters for one clock. */
	int tsc_trusted;
	/* Writing only */
	bool shared;		/* @group may read the store, too */
	uint32_t group;
	bool temporary;		/* for a reader of this moment only: wait for no disk, no catalog */
};

/* Why a recording ended. */
enum dep_close_cause {
	DEP_CLOSE_UNKNOWN,	/* it has not, or its store does not say */
	DEP_CLOSE_ENDED,	/* all programs ended */
	DEP_CLOSE_STOPPED,	/* by request */
	DEP_CLOSE_SHUTDOWN,	/* the collector was asked to end */
	DEP_CLOSE_MAX_SIZE,	/* the store had reached its size */
	DEP_CLOSE_FAILED,	/* the store could not be written to: dep_ending.error */
	DEP_CLOSE_CORRUPT,	/* what the programs wrote made no sense */
	DEP_CLOSE_LOST,		/* the collector was killed, and none could go on with it */
	DEP_CLOSE_ABANDONED,	/* nothing was recorded */
	DEP_CLOSE_CAUSES
};

/** dep_close_cause_name() - a word for it, as in manifest.json; "unknown" for none */
const char *dep_close_cause_name(enum dep_close_cause cause);

/** struct dep_ending - how a recording ended, for the last frame of its store */
struct dep_ending {
	enum dep_close_cause cause;
	int exit_status;	/* wait status of the command, -1 if unknown */
	int error;		/* errno of DEP_CLOSE_FAILED, else 0 */
	uint32_t live;		/* processes that went on */
	struct dep_loss loss;
};

#define DEP_LEVEL_QUICK	(-1)	/* a store that is not there for long */

/* ---- writing; one writer per store, calls from one thread ---- */

struct dep_writer;

/**
 * dep_writer_create() - make the directory @dir and begin a store in it
 *
 * Fails with -EEXIST if @dir exists.  With @compress_level 0 the default is used;
 * the number is zstd's.  With DEP_LEVEL_QUICK only what was executed is compressed, by LZ4,
 * and most values are not.  Until it is closed the store is in use: no other writer can go on
 * with it.
 */
int dep_writer_create(struct dep_writer **w, const char *dir, const struct dep_meta *meta,
		      int compress_level);
int dep_writer_process(struct dep_writer *w, const struct dep_process *p);
/** dep_writer_process_end() - of @p: serial, end_ns, built, translate_ns */
int dep_writer_process_end(struct dep_writer *w, const struct dep_process *p);
int dep_writer_thread(struct dep_writer *w, const struct dep_thread *t);
int dep_writer_thread_end(struct dep_writer *w, const struct dep_thread *t);

/**
 * dep_writer_descriptors() - append whole descriptors of process @process
 *
 * Checks each (abi/stream.h); a bad one is -EBADMSG and nothing of @data from
 * there on is kept.  Must be called before the segments whose ids they describe.
 */
int dep_writer_descriptors(struct dep_writer *w, uint32_t process, const void *data, size_t size);

/**
 * dep_writer_segment() - store one chunk of thread @thread
 * @chunk: its published state (or, for a killed thread, one made up with fill set
 *	to where the zeros begin)
 * @body: chunk->fill bytes
 *
 * A body that does not parse is stored up to the first bad record and counted.
 */
int dep_writer_segment(struct dep_writer *w, uint32_t thread, const struct adept_chunk *chunk,
		       const void *body);

/**
 * dep_writer_scan() - how far a body that was never published holds whole records
 *
 * Return: the offset of the first zero id, unknown id, or cut record; @size at most.
 */
uint32_t dep_writer_scan(struct dep_writer *w, const void *body, uint32_t size);
uint64_t dep_writer_bytes(const struct dep_writer *w);	/* on disk so far */
int dep_writer_message(struct dep_writer *w, const char *text);
/** dep_store_remove() - a store that nobody uses, and what else is in its directory */
int dep_store_remove(const char *dir);
/**
 * dep_writer_mark() - wait until everything stored so far is on the disk, and log that it is
 *
 * After an error nothing more can be promised: the store should be closed.  Does nothing for a
 * temporary store, or if there is nothing new.
 */
int dep_writer_mark(struct dep_writer *w);
/** dep_writer_unmarked() - bytes of segments that the last dep_writer_mark() did not cover */
uint64_t dep_writer_unmarked(const struct dep_writer *w);
/**
 * dep_writer_close() - write the last frame, the final manifest and the catalog
 *
 * Frees @w in any case.  On a full disk the last frame goes into space that was reserved for it.
 * If something could not be stored before, the cause is DEP_CLOSE_FAILED, whatever @ending says.
 *
 * Return: 0; 1 if the store is closed but has no final manifest or no catalog, which
 * dep_store_rebuild() can make later; or a negative errno: its last frame is not there.
 */
int dep_writer_close(struct dep_writer *w, const struct dep_ending *ending);
/** dep_writer_discard() - free @w and leave the files as they are */
void dep_writer_discard(struct dep_writer *w);

/* ---- reading; a store may be opened while it is being written ---- */

struct dep_store;

/**
 * dep_store_open() - open a store to read it
 *
 * Return: 0; -EBADMSG if it is none or its manifest does not match, -EPROTONOSUPPORT for a format
 * that this version does not read, or another negative errno.  A store of which parts are missing
 * can be opened: dep_store_verdict() says what is absent.
 */
int dep_store_open(struct dep_store **s, const char *dir);
void dep_store_close(struct dep_store *s);
/**
 * dep_store_open_growing() - open a store that is being written, for dep_analyze_live()
 *
 * Nothing is in it until that has read it.
 */
int dep_store_open_growing(struct dep_store **s, const char *dir);
/* All pointers below are owned by the store. */
size_t dep_store_processes(struct dep_store *s, const struct dep_process **out);
size_t dep_store_threads(struct dep_store *s, const struct dep_thread **out);
size_t dep_store_modules(struct dep_store *s, const struct dep_module **out);
/* Sorted by (thread, seq). */
size_t dep_store_segments(struct dep_store *s, const struct dep_segment **out);
size_t dep_store_messages(struct dep_store *s, const char *const **out);
const struct dep_loss *dep_store_loss(struct dep_store *s);
const struct dep_meta *dep_store_meta(struct dep_store *s);
/** dep_store_exit_status() - wait status of the command, -1 if unknown */
int dep_store_exit_status(struct dep_store *s);
/** dep_store_fragments() - how many fragment versions, their code and descriptor bytes */
void dep_store_fragments(struct dep_store *s, uint64_t *count, uint64_t *code_bytes,
			 uint64_t *desc_bytes);
/** dep_store_rebuild() - make catalog.db, and a final manifest that is missing, anew */
int dep_store_rebuild(const char *dir);
/** dep_store_in_use() - whether a writer has it open, as far as its file system has locks */
bool dep_store_in_use(const char *dir);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
