/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* First part of resuming a store: read what the store contains, and change nothing. */
#ifndef ADEPT_FORMAT_WRITE_RESUME_SCAN_H
#define ADEPT_FORMAT_WRITE_RESUME_SCAN_H

#include "libdep/format/read/model.h"
#include "resume.h"
#include "libdep/format/read/segment_file.h"
#include "writer.h"

struct dep_resume_scan {
	struct dep_writer *w;	/* writer whose index receives all fragments */
	int (*descriptors)(void *arg, const void *data, size_t size);
	void *arg;
	struct dep_resume *r;
	struct dep_table processes, threads;	/* sorted by serial */
	struct dep_seg_list list;		/* segments of the file that is being read */
	void *log;
	u64 log_size;
	u64 log_end;		/* end of the last valid frame */
	u64 seg_end;		/* end of the last valid segment in the last segment file */
	bool make_again;	/* the last segment file has no header: create the file again */
	struct dep_table damaged;		/* struct dep_segment of damaged segments */
	/*
	 * The last DESCRIPTORS frame.  Some of the BUILD_ID frames after it can be missing, unless
	 * a frame of another type follows: then payload is NULL.
	 */
	struct dep_log_entry last;
};

/** dep_resume_log() - read the log of writer @s->w */
int dep_resume_log(struct dep_resume_scan *s);

/**
 * dep_resume_segments() - read segment file number @number
 * @size: size of the file
 * @last: the file has the highest number
 */
int dep_resume_segments(struct dep_resume_scan *s, int fd, u32 number, u64 size, bool last);

/** dep_resume_build_ids() - log missing build-ids of the mappings in s->last */
int dep_resume_build_ids(struct dep_resume_scan *s);

/** dep_resume_scan_free() - free @s; @keep: move processes and threads to s->r, else free them */
void dep_resume_scan_free(struct dep_resume_scan *s, bool keep);

#endif
