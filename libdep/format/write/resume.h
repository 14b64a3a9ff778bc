/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Going on with a store whose writer was killed.
 *
 * What is in the store decides: who goes on with it gives the writer what is not there
 * yet, beginning with the descriptors after desc_bytes and the segment next_seq.
 */
#ifndef ADEPT_FORMAT_WRITE_RESUME_H
#define ADEPT_FORMAT_WRITE_RESUME_H

#include "dep/store.h"
#include "libdep/format/file/wire.h"

/** struct dep_resume_process - a process that the store knows */
struct dep_resume_process {
	u32 serial;
	u32 pid;		/* 0: its PROCESS frame is not there */
	bool ended;		/* its PROCESS_END is */
	u64 desc_bytes;		/* payload of its DESCRIPTORS frames */
};

/** struct dep_resume_thread - a thread that the store knows */
struct dep_resume_thread {
	u32 serial;
	u32 tid;
	u32 process;		/* 0: its THREAD frame is not there, only segments */
	bool ended;		/* its THREAD_END is */
	u64 next_seq;		/* 0: no segment of it yet */
};

/** struct dep_resume - what a store knows that was not closed */
struct dep_resume {
	struct dep_resume_process *process;	/* by serial */
	size_t nprocesses;
	struct dep_resume_thread *thread;	/* by serial */
	size_t nthreads;
	u64 cut_log, cut_segments;	/* bytes of what was unfinished */
	u64 bad_bytes;		/* of the log, damage in front of good frames: still there */
	u64 torn;		/* places of such damage in the segments */
	bool ending;		/* the writer had logged its end, but not closed the store */
};

/**
 * dep_writer_resume() - go on with the store @dir, which was not closed
 * @descriptors: called for the good descriptors of each frame, in order; they are valid
 *	during the call, and what it returns if not 0 is returned.  May be NULL
 * @r: receives what is there; dep_resume_free()
 *
 * An unfinished frame or segment at the end is cut off, and a note says so.  Damage in
 * front of good ones stays as it is.  A store that is refused is not changed.
 *
 * Return: 0, -EALREADY if the store was closed, -EBUSY if it is in use, -EBADMSG if it is
 * none or too damaged, or another negative errno.
 */
int dep_writer_resume(struct dep_writer **w, const char *dir, int compress_level,
		      int (*descriptors)(void *arg, const void *data, size_t size), void *arg,
		      struct dep_resume *r);
/** dep_resume_free() - of what dep_writer_resume() put there */
void dep_resume_free(struct dep_resume *r);

#endif
