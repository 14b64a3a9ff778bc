/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lets recorded programs notice the death of the collector, of the fd store holder, or of a tracer
 * that detaches.
 *
 * Two words on the session file's first page have the tids of the collector's thread and of the
 * thread of the fd store holder, which keeps the file for the next collector. A word in a process
 * slot has the tid of a tracer that detaches from the process. They are robust futexes
 * (set_robust_list(2)): when the thread dies, in whatever way, the kernel sets ADEPT_OWNER_DIED in
 * its word. Programs read this bit without a system call, also in other pid namespaces.
 *
 *	private page	| list entry |		followed by the kernel when the thread dies
 *	shared page	| page with the word |		programs can write here
 *
 * The kernel finds the word at a fixed distance from the list entry. So the page with the word is
 * mapped again, directly after a private page with the entry. Programs cannot change the list that
 * the kernel follows.
 */
#ifndef ADEPT_INJECT_OWNER_H
#define ADEPT_INJECT_OWNER_H

#include <stddef.h>

struct dep_owner;

/**
 * dep_owner_new() - mark a word as owned by the calling thread
 * @fd: a session file, which the caller still owns
 * @word: offset of the word in the file; all words of a thread have the same offset in their pages
 *
 * This replaces the thread's robust list, so the thread must not use robust mutexes.
 *
 * Return: NULL if @fd is no session file or there is no memory: programs will not notice the death.
 */
struct dep_owner *dep_owner_new(int fd, size_t word);
/** dep_owner_free() - clear the word if the calling thread owns it; call it in the same thread */
void dep_owner_free(struct dep_owner *o);

#endif
