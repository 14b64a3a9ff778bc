/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows on the disk, as tests of them make them. */
#ifndef ADEPT_TESTS_WINDOW_FIXTURE_H
#define ADEPT_TESTS_WINDOW_FIXTURE_H

#include "libdep/collect/window.h"
#include "libdep/collect/window_files.h"
#include "libdep/collect/window_recover.h"
#include "tests/unit/lib/stream.h"

/* Of window_kill(): its chunks are WINDOW_ROUNDS, in turn of so many threads */
#define WINDOW_BOUND (512u << 10)
#define WINDOW_THREADS 3u
#define WINDOW_ROUNDS 2000u

extern struct stream window_stream; /* where chunks and descriptors come from */
extern char window_dir[128], window_to[128]; /* names of stores */
extern struct dep_last *window_dropped; /* by the window that was killed */

/* For the group of tests. */
int window_fixture_make(void **state);
int window_fixture_free(void **state);

/** window_new() - a window in a new store window_dir, with process 1000 and @threads threads */
struct dep_window *window_new(struct dep_writer **writer, struct dep_store_dir *at, u32 threads);
/** window_kill() - leave the window of a collector that was killed in window_dir */
void window_kill(void);
void window_entry(struct dep_window *w, enum dep_job_kind kind, u32 serial);
/** window_try_chunk() - add a chunk of up to @most bytes; as dep_window_chunk() */
int window_try_chunk(struct dep_window *w, u32 thread, u64 seq, u32 most);
/* The same; it must succeed. */
void window_chunk(struct dep_window *w, u32 thread, u64 seq);
void window_small_chunk(struct dep_window *w, u32 thread, u64 seq);

#endif
