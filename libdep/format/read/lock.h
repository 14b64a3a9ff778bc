/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The writer's lock: an open-file-description write lock on the log.  Only who may write the log
 * can take it; readers ask whether it is held, and never hold one themselves, so that nobody who
 * may only read a store can keep its writer out.
 */
#ifndef ADEPT_FORMAT_READ_LOCK_H
#define ADEPT_FORMAT_READ_LOCK_H

/** dep_lock_writer() - take it for as long as @fd, the log of @dir, is open; 0 or -EBUSY */
int dep_lock_writer(int fd, const char *dir);

/** dep_lock_held() - 1 if a writer holds it, 0 if none does, -errno if @fd has no such locks */
int dep_lock_held(int fd);

#endif
