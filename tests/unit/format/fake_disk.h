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

/** struct disk_fault - a fault; all zero: none */
struct disk_fault {
	enum disk_call call;
	unsigned int n;		/* the n-th call of this kind fails, from 1 */
	int error;		/* errno; 0: only a short write */
	size_t part;		/* for DISK_WRITE: bytes that are written before.. */
	bool full;		/* afterwards no call gets disk space that is not allocated */
};

/** disk_begin() - from now on count and log operations in @dir, and inject @fault */
void disk_begin(const char *dir, const struct disk_fault *fault);

/** disk_also() - another fault, independent of the first */
void disk_also(const struct disk_fault *fault);

/** disk_end() - from now on all calls succeed and are not logged; the log stays */
void disk_end(void);

/** disk_free() - free the log */
void disk_free(void);

/** disk_calls() - number of calls of a kind */
unsigned int disk_calls(enum disk_call call);

/** disk_name() - name of a kind of call */
const char *disk_name(enum disk_call call);

/** disk_ops() - number of steps in the log */
size_t disk_ops(void);

/** disk_names() - number of names created, and one of them by its number */
u32 disk_names(void);
const char *disk_name_at(u32 number);

/** disk_after_mkdir() - call @fn when the directory of the next disk_begin() was created */
void disk_after_mkdir(void (*fn)(const char *dir));

/** disk_parent_synced() - was the directory that holds the store synced after the store's mkdir? */
bool disk_parent_synced(void);

/** enum disk_lost - what happens to unsynced data */
enum disk_lost {
	DISK_LOSES_ALL,
	DISK_LOSES_NOTHING,
	DISK_KEEPS_LOG,		/* and nothing else */
	DISK_KEEPS_SEGMENTS,
	DISK_LOSES_SOME,	/* random: writes are absent, complete, torn, or zeros */
	DISK_LOSTS
};

/** disk_cut() - fill directory @dir with the files that a power failure after @upto steps leaves */
void disk_cut(const char *dir, size_t upto, enum disk_lost lost, u64 seed);

#endif
