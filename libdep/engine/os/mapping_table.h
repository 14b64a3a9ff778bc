/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process's executable mappings, as its system calls make them.
 *
 * The engine must not need a file for this: there may be no /proc (a chroot), no descriptor left,
 * or a seccomp filter.  Each call is reported after it has succeeded.  What it has mapped is the
 * caller's: nobody else can know of it yet.  What it has unmapped may have been mapped again by
 * another thread, and been reported first.  So the caller takes the time before:
 *
 *	stamp = track_begin();
 *	ret = munmap(...);
 *	track_unmapped(stamp, ...);	leaves alone what was mapped since
 */
#ifndef ADEPT_ENGINE_OS_MAPPING_TABLE_H
#define ADEPT_ENGINE_OS_MAPPING_TABLE_H

#include "maps.h"

/** struct tracked - a mapping, or a part of one */
struct tracked {
	u64 start, end;
	u64 offset, dev, inode;
	u64 stamp;		/* when it was made */
	u32 path;		/* heap_ref(), 0: none */
	u8 prot, shared;
	u8 grows;		/* downwards, as a stack does */
	u8 sysv;
};

/** struct tracked_range - those of one range */
struct tracked_range {
	u32 n;
	struct tracked entry[32];
};

/**
 * track_init() - begin with what the injector has left in the low memory
 *
 * Lines of /proc/PID/maps, of the image as execve made it.  The memory is zero afterwards.
 */
void track_init(void);
/* As a stamp: whatever there is, whenever it was made. */
#define TRACK_ANY	(~0ull)

/** track_begin() - the time before a system call */
u64 track_begin(void);
/** track_tick() - the time of something that a call which began before is not about */
u64 track_tick(void);
/** track_mapped() - mmap() with @a has returned @start */
void track_mapped(u64 start, const u64 a[6]);
void track_unmapped(u64 stamp, u64 start, u64 end);
/** track_protected() - mprotect(), with PROT_GROWSDOWN in @prot if it was given */
void track_protected(u64 start, u64 end, u64 prot);
/** track_save() - what is known of a range that mremap() is about to move, before others get it */
void track_save(u64 start, u64 len, struct tracked_range *r);
/** track_moved() - mremap() with @a has returned @start; @r: of the old range */
void track_moved(u64 stamp, u64 start, const u64 a[6], const struct tracked_range *r);
/** track_attached() - shmat() of @size bytes has returned @start */
void track_attached(u64 start, u64 size, int exec);
void track_detached(u64 stamp, u64 start);
/** track_personality() - it has changed: what can be read may be executable */
void track_personality(void);
/**
 * track_find() - the executable mapping around @addr; frag_lock held
 * @l: its path stays until the next system call of this file
 * @base: receives where the file's first byte is, or 0
 *
 * Return: 0 if none is known.
 */
int track_find(u64 addr, struct map_line *l, u64 *base);

#endif
