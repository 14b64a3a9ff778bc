/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lets recorded programs notice the death of a process that they depend on.
 *
 * Two words on the session file's first page name the collector's thread and the thread of the
 * process that keeps the file for another collector. They are robust futexes (set_robust_list(2)):
 * when the thread dies, in whatever way, the kernel sets ADEPT_OWNER_DIED. Programs need no system
 * call to see that, and it works across pid namespaces.
 *
 *	private page	| list entry |		followed by the kernel when the thread dies
 *	shared page	| session's first page |	programs can write here
 *
 * The kernel finds the word at a fixed distance from the list entry. So the session's first page is
 * mapped again, directly after a private page with the entry. Programs cannot change the list that
 * the kernel follows.
 */
#ifndef ADEPT_COLLECT_OWNER_H
#define ADEPT_COLLECT_OWNER_H

#include <stddef.h>

struct dep_owner;

/**
 * dep_owner_new() - mark a word as owned by the calling thread
 * @fd: a session file; stays the caller's
 * @word: offset of the word; the same in all calls of a thread
 *
 * From then on the kernel does not mark the thread's own robust mutexes.
 *
 * Return: NULL if @fd is no session file or there is no memory: programs will not notice the death.
 */
struct dep_owner *dep_owner_new(int fd, size_t word);
/** dep_owner_free() - by the same thread; clears the word unless another thread owns it */
void dep_owner_free(struct dep_owner *o);

#endif
