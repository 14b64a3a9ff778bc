/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A store has one writer: the lock on its log. */
#ifndef DEP_FORMAT_LOCK_H
#define DEP_FORMAT_LOCK_H

/**
 * dep_lock_writer() - take the writer's lock; it lasts until @fd is closed
 * @fd: the log
 * @dir: of the store, for the message
 *
 * Return: 0, or -EBUSY if another writer has it.
 */
int dep_lock_writer(int fd, const char *dir);

#endif
