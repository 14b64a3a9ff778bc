/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by window_found*.c and window_recover.c: a window that is read from its files. */
#ifndef ADEPT_COLLECT_WINDOW_FOUND_H
#define ADEPT_COLLECT_WINDOW_FOUND_H

#include "window_files.h"
#include "window_parts.h"
#include "libdep/format/file/log.h"

/**
 * struct dep_found - what was found so far
 * @w: a window in memory, whose chunks are in their files
 * @moves: rows of tables that were moved; a forged log can make them many
 */
struct dep_found {
	struct dep_store_dir at;
	struct dep_window *w;
	u64 moves;
	u64 lost_bytes, lost_descriptors;	/* damaged, or of what is not known */
	struct dep_moment newest;
};

/** dep_found_log() - read window.log, but for how processes and threads ended */
int dep_found_log(struct dep_found *f, const void *log, size_t size);
/** dep_found_ends() - read how processes and threads ended, when @f has the chunks */
int dep_found_ends(struct dep_found *f, const void *log, size_t size);
/** dep_found_chunks() - find the chunks in all files window.NNN */
int dep_found_chunks(struct dep_found *f);

#endif
