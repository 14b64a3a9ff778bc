/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Letting recorded programs see when a process dies that they depend on.
 *
 * Two words on the first page of a session file name the collector's thread and that of the
 * process which keeps the file for another collector.  They are robust futexes
 * (set_robust_list(2)): when the thread dies, however it does, the kernel sets ADEPT_OWNER_DIED.
 * That needs no system call of the programs, and is seen from any pid namespace.
 *
 *	private page	| list entry |		the kernel follows it when the thread dies;
 *	shared page	| session's first page |	programs can write here
 *
 * The kernel finds the word at a fixed distance from the list entry, so the session's first page
 * is mapped once more, after a private page that has the entry: what programs write leads the
 * kernel nowhere.
 */
#ifndef ADEPT_COLLECT_OWNER_H
#define ADEPT_COLLECT_OWNER_H

#include <stddef.h>

struct dep_owner;

/**
 * dep_owner_new() - mark a word as the calling thread's
 * @fd: a session file; stays the caller's
 * @word: offset of the word; the same in all calls of a thread
 *
 * The thread's own robust mutexes are not marked from then on.
 *
 * Return: NULL if @fd is no session file, or there is no memory: programs do not see the death.
 */
struct dep_owner *dep_owner_new(int fd, size_t word);
/** dep_owner_free() - by the same thread; the word is 0 then, unless it is another one's */
void dep_owner_free(struct dep_owner *o);

#endif
