/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hostile stores with correct checksums, and a child process that reads one with limited memory and
 * time.
 */
#ifndef TESTS_UNIT_FORMAT_FORGE_H
#define TESTS_UNIT_FORMAT_FORGE_H

#include "libdep/format/file/log.h"
#include "libdep/format/read/model.h"
#include "libdep/format/read/store.h"

/** struct forge - an unclosed store, whose log and first file of segments are open */
struct forge {
	char dir[128];
	struct dep_format fmt;
	struct dep_log log;
	struct dep_file seg;
};

void forge_begin(struct forge *f);
/** forge_end() - close the files; the store stays */
void forge_end(struct forge *f);
void forge_remove(struct forge *f);

void forge_frame(struct forge *f, u32 type, u32 process, const void *payload, size_t size);
/** forge_map() - write a descriptor for a mapping of one page to @to; returns its size */
size_t forge_map(void *to, u64 page, u64 inode, u64 time_ns, const char *path);
/** forge_process() - a PROCESS frame without a name */
void forge_process(struct forge *f, u32 serial, u32 parent, u32 cause, u64 start_ns);
/** forge_bomb() - a segment of @thread whose control column is @size zeros, compressed */
void forge_bomb(struct forge *f, u32 thread, u64 index, u32 size);

/** forge_input() - bytes of the store's files that are not in holes */
u64 forge_input(const struct forge *f);

#define FORGE_SECONDS	30	/* limit of processor time, sufficient on a loaded machine */

/** struct forge_ran - result of a child, and the message of its error */
struct forge_ran {
	int ret;
	char why[512];
	u64 memory;	/* peak of resident memory, minus that at the start */
};

/**
 * forge_run() - read the store in a child that has FORGE_SECONDS, and the reader's budget of memory
 * @threads: it makes some, whose stacks and arenas are address space that is not used
 *
 * Fails the test if the child needs more, or crashes.
 */
struct forge_ran forge_run(const struct forge *f, int (*read)(const char *dir), bool threads);

#endif
