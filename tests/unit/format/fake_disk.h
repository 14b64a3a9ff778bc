/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk under the store's writer that fails and loses power.
 *
 * fake_disk.c defines the system calls that libdep/format writes with, which take precedence over
 * libc's.  Each is counted, may be made to fail, is carried out for real, and is recorded with its
 * data.  From the record disk_cut() makes the files that a machine could have after it lost its
 * power at any point:
 *
 *	contents of a file	what was written before its last fdatasync() that succeeded; of what
 *				was written later anything, in any order
 *	name in a directory	as it was at the directory's last fsync(), or any later state
 *
 * What was written before an fdatasync() that failed is lost: the kernel takes the pages for clean.
 */
#ifndef TESTS_UNIT_FORMAT_FAKE_DISK_H
#define TESTS_UNIT_FORMAT_FAKE_DISK_H

#include <stdbool.h>
#include <stddef.h>

#include "libdep/abi/session_file.h"

enum disk_call {
	DISK_WRITE, DISK_SYNC, DISK_SYNC_DIR, DISK_RANGE, DISK_ALLOC, DISK_CREATE, DISK_OPEN,
	DISK_MKDIR, DISK_RENAME, DISK_TRUNCATE, DISK_UNLINK, DISK_MODE, DISK_CALLS
};

/** struct disk_fault - what goes wrong; all zero: nothing */
struct disk_fault {
	enum disk_call call;
	unsigned int n;		/* the n-th call of it, from 1 */
	int error;		/* errno; 0: only a short write */
	size_t part;		/* of DISK_WRITE: so many bytes are written before.. */
	bool full;		/* from then on no call gets disk space that is not allocated */
};

/** disk_begin() - count and record from here on what is done in @dir, and fail as @fault says */
void disk_begin(const char *dir, const struct disk_fault *fault);

/** disk_also() - another fault, independent of the first */
void disk_also(const struct disk_fault *fault);

/** disk_end() - from here on everything is done and nothing recorded; the record stays */
void disk_end(void);

/** disk_free() - forget the record */
void disk_free(void);

/** disk_calls() - how many calls of a kind there were */
unsigned int disk_calls(enum disk_call call);

/** disk_name() - a word for it */
const char *disk_name(enum disk_call call);

/** disk_ops() - how many steps the record has */
size_t disk_ops(void);

/** disk_names() - how many names were made, and one of them by its number */
u32 disk_names(void);
const char *disk_name_at(u32 number);

/** disk_after_mkdir() - from the next disk_begin() on call @fn when its directory was made */
void disk_after_mkdir(void (*fn)(const char *dir));

/** disk_parent_synced() - was the directory that holds the store synced after the store's mkdir? */
bool disk_parent_synced(void);

/** enum disk_lost - what becomes of that which was not synced */
enum disk_lost {
	DISK_LOSES_ALL,
	DISK_LOSES_NOTHING,
	DISK_KEEPS_LOG,		/* and nothing else */
	DISK_KEEPS_SEGMENTS,
	DISK_LOSES_SOME,	/* by chance: writes are absent, whole, torn, or zeros */
	DISK_LOSTS
};

/** disk_cut() - make directory @dir with the files of a power cut after @upto steps */
void disk_cut(const char *dir, size_t upto, enum disk_lost lost, u64 seed);

#endif
