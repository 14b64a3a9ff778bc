/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Resuming a store whose writer was killed.
 *
 * struct dep_resume describes what the store has.  The caller passes the following data to the
 * resumed writer: descriptors of each process from byte desc_bytes on, and segments of each thread
 * from chunk next_seq on.
 */
#ifndef ADEPT_FORMAT_WRITE_RESUME_H
#define ADEPT_FORMAT_WRITE_RESUME_H

#include "store_writer.h"
#include "libdep/format/file/wire.h"

/** struct dep_resume_process - a process that is in the store */
struct dep_resume_process {
	u32 serial;
	u32 pid;		/* 0: the process has no PROCESS frame */
	bool ended;		/* the process has a PROCESS_END frame */
	u64 desc_bytes;		/* bytes of the process's descriptors in the store */
};

/** struct dep_resume_thread - a thread that is in the store */
struct dep_resume_thread {
	u32 serial;
	u32 tid;
	u32 process;		/* 0: the thread has no THREAD frame, only segments */
	bool ended;		/* the thread has a THREAD_END frame */
	u64 next_seq;		/* 1 + number of the last stored chunk; 0: no segment */
};

/** struct dep_resume - content of a store that was not closed */
struct dep_resume {
	struct dep_resume_process *process;	/* sorted by serial */
	size_t nprocesses;
	struct dep_resume_thread *thread;	/* sorted by serial */
	size_t nthreads;
	u64 cut_log, cut_segments;	/* bytes of an unfinished frame or segment, cut off */
	u64 bad_bytes;		/* damaged bytes between valid frames of the log, not removed */
	u64 torn;		/* damaged places in the segment files, not removed */
	bool ending;		/* the log has an END frame, but the store was not closed */
};

/**
 * dep_writer_resume() - continue the store @dir, which was not closed
 * @descriptors: called for the valid descriptors of each frame, in order; or NULL.  @data is valid
 *	during the call.  If the result is not 0, dep_writer_resume() returns it
 * @r: receives the content of the store; free with dep_resume_free()
 *
 * An unfinished frame or segment at the end is cut off, and a message in the store says so.  Damage
 * before valid frames or segments stays.  A store that cannot be resumed is not changed.
 *
 * Return: 0; -EALREADY: the store was closed; -EBUSY: another writer has it open; -EBADMSG: it is
 * no store or too damaged; or another negative errno.
 */
int dep_writer_resume(struct dep_writer **w, const char *dir, int compress_level,
		      int (*descriptors)(void *arg, const void *data, size_t size), void *arg,
		      struct dep_resume *r);
/** dep_resume_free() - free the content of @r */
void dep_resume_free(struct dep_resume *r);

#endif
