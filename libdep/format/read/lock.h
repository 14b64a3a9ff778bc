/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The writer's lock: an open-file-description write lock on the log.  Only a process that may write
 * the log can take it.  Readers test the lock and never hold one themselves, so a process that may
 * only read a store cannot keep its writer out.
 */
#ifndef ADEPT_FORMAT_READ_LOCK_H
#define ADEPT_FORMAT_READ_LOCK_H

/** dep_lock_writer() - lock @fd, the log of @dir, until it is closed; 0 or -EBUSY */
int dep_lock_writer(int fd, const char *dir);

/** dep_lock_held() - 1 if a writer has the lock, 0 if not, -errno if locks do not work on @fd */
int dep_lock_held(int fd);

#endif
