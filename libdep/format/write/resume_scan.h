/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a store has: the part of resume.c that only reads. */
#ifndef ADEPT_FORMAT_WRITE_RESUME_SCAN_H
#define ADEPT_FORMAT_WRITE_RESUME_SCAN_H

#include "libdep/format/read/model.h"
#include "resume.h"
#include "libdep/format/read/segment_file.h"
#include "writer.h"

struct dep_resume_scan {
	struct dep_writer *w;	/* its index learns what fragments there are */
	int (*descriptors)(void *arg, const void *data, size_t size);
	void *arg;
	struct dep_resume *r;
	struct dep_table processes, threads;	/* by serial */
	struct dep_seg_list list;		/* of one file */
	void *log;
	u64 log_size;
	u64 log_end;		/* after the last good frame */
	u64 seg_end;		/* after the last good segment of the last file */
	bool make_again;	/* the last file, which has no header yet */
	struct dep_table damaged;		/* struct dep_segment: good header, bad columns */
	/* DESCRIPTORS that nothing but BUILD_ID frames follow: some of them may be missing. */
	struct dep_log_entry last;		/* payload NULL: the last frame is another one */
};

/** dep_resume_log() - read the log, which is @w's */
int dep_resume_log(struct dep_resume_scan *s);

/**
 * dep_resume_segments() - read segments.NNN number @number
 * @size: of the file
 * @last: there is no further file
 */
int dep_resume_segments(struct dep_resume_scan *s, int fd, u32 number, u64 size, bool last);

/** dep_resume_build_ids() - log those that are missing of s->last's mappings */
int dep_resume_build_ids(struct dep_resume_scan *s);

/** dep_resume_scan_free() - @keep: s->r receives the tables */
void dep_resume_scan_free(struct dep_resume_scan *s, bool keep);

#endif
