/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Make the frames of processes, threads and windows, for the log of a store (writer.c) and for the
 * log of a window on the disk (libdep/collect/window_log.c).
 */
#ifndef ADEPT_FORMAT_WRITE_FRAMES_H
#define ADEPT_FORMAT_WRITE_FRAMES_H

#include "dep/store.h"
#include "libdep/format/file/log.h"

/** struct dep_frame_to - where a frame goes; @put returns 0 or a negative errno */
struct dep_frame_to {
	int (*put)(void *arg, const struct dep_new_frame *f);
	void *arg;
};

int dep_frame_process(const struct dep_frame_to *to, const struct dep_process *p);
int dep_frame_process_end(const struct dep_frame_to *to, const struct dep_process *p);
int dep_frame_thread(const struct dep_frame_to *to, const struct dep_thread *t);
/** dep_frame_thread_end() - @sums: segments, raw_bytes and chain of the thread; or NULL: none */
int dep_frame_thread_end(const struct dep_frame_to *to, const struct dep_thread *t,
			 const struct dep_wire_thread *sums);
int dep_frame_last(const struct dep_frame_to *to, const struct dep_last *last);

#endif
