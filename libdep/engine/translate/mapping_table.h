/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Table of the process's executable mappings, updated by the system calls that change mappings.
 *
 * The engine cannot rely on /proc/self/maps: there may be no /proc (chroot) or no free descriptor,
 * or a seccomp filter may forbid the calls.  Each system call is entered in the table after it has
 * succeeded.  After an munmap, another thread can map the same addresses again and enter its
 * mapping first.  So changes are numbered, and a caller takes the number before its system call:
 *
 *	stamp = track_begin();
 *	ret = munmap(...);
 *	track_unmapped(stamp, ...);	ignores mappings that are newer than stamp
 */
#ifndef ADEPT_ENGINE_TRANSLATE_MAPPING_TABLE_H
#define ADEPT_ENGINE_TRANSLATE_MAPPING_TABLE_H

#include "libdep/engine/base/maps.h"

/** struct tracked - an entry of the table: a mapping, or a part of one */
struct tracked {
	u64 start, end;
	u64 offset, dev, inode;
	u64 stamp;		/* number of the change that created the mapping */
	u32 path;		/* heap_ref() of the file's path; 0: none */
	u8 prot, shared;
	u8 grows;		/* 1: the mapping grows downwards, as a stack does */
	u8 sysv;
};

/** struct tracked_range - mappings within one range */
struct tracked_range {
	u32 n;
	struct tracked entry[32];
};

/**
 * track_init() - enter the mappings that exist when the engine starts, or starts again
 * @text: from the injector, lines of /proc/PID/maps (struct adept_boot.low); zeroed afterwards
 */
void track_init(char *text);
/* Stamp that is later than the stamps of all mappings. */
#define TRACK_ANY	(~0ull)

/** track_begin() - get the stamp for a system call that will be made */
u64 track_begin(void);
/** track_tick() - get a new stamp, later than the stamps of all system calls begun before */
u64 track_tick(void);
/** track_mapped() - mmap() with arguments @a has returned @start */
void track_mapped(u64 start, const u64 a[6]);
void track_unmapped(u64 stamp, u64 start, u64 end);
/** track_protected() - mprotect() has succeeded; @prot may include PROT_GROWSDOWN */
void track_protected(u64 start, u64 end, u64 prot);
/** track_save() - save the mappings of a range before mremap() moves it */
void track_save(u64 start, u64 len, struct tracked_range *r);
/** track_moved() - mremap() with arguments @a has returned @start; @r: result of track_save() */
void track_moved(u64 stamp, u64 start, const u64 a[6], const struct tracked_range *r);
/** track_attached() - shmat() of @size bytes has returned @start */
void track_attached(u64 start, u64 size, int exec);
void track_detached(u64 stamp, u64 start);
/** track_personality() - the personality changed: readable mappings may be executable */
void track_personality(void);
/** track_has_file() - is a mapping in this range one of a file? frag_lock held */
int track_has_file(u64 start, u64 end);
/**
 * track_find() - find the executable mapping that contains @addr; frag_lock held
 * @l: receives the mapping; its path is valid until the next change of the table
 * @base: receives the address of the file's first byte, or 0
 *
 * Return: 0 if no such mapping is in the table.
 */
int track_find(u64 addr, struct map_line *l, u64 *base);

#endif
