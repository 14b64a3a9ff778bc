/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random calls on the module (fuzz_calls.c), for the fuzzer's processes (t_fuzz.c).
 *
 * A process has its own copy of all of this.  fds[0] is /dev/adept; fds[i] is 0 or a session, a
 * writer's descriptor or another file.
 */
#ifndef TESTS_VM_FUZZ_H
#define TESTS_VM_FUZZ_H

#include "vm.h"

#define FDS	24
#define MAPS	24
#define ARENA	(256 * KIB)

extern unsigned int seed;
extern int fds[FDS];
extern struct fuzz_map { u8 *p; size_t size; } maps[MAPS];
extern u8 *arena;		/* ARENA bytes that arguments point to, then an unmapped page */

/** rnd() - a random number, from @seed on */
u64 rnd(void);
/** number() - a random number, mostly one at a limit of something */
u64 number(void);
/** pointer() - mostly into the arena, or NULL, anywhere, at its end or into a mapping */
void *pointer(void);
/** command() - an ioctl of the module's, or now and then any number */
unsigned long command(void);
/** fill() - an argument for @cmd on @fd: mostly a valid one, some words of which are changed */
void fill(int fd, unsigned long cmd, void *at);
/** keep_fd() - put @fd into @fds, instead of another one, which is closed; negative: nothing */
void keep_fd(int fd);
int some_fd(void);

void do_ioctl(void);
/** do_open() - open a descriptor once more through /proc */
void do_open(void);
void do_mmap(void);
/** do_many_views() - map views until one is refused */
void do_many_views(void);
/** do_file() - calls that any file may get */
void do_file(void);
/** do_memory() - munmap(), mremap(), mprotect(), madvise() and the like of a mapping */
void do_memory(void);

#endif
