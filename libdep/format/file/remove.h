/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_FORMAT_FILE_REMOVE_H
#define ADEPT_FORMAT_FILE_REMOVE_H

/** dep_store_remove() - delete store @dir with all its files; the caller checks it is not in use */
int dep_store_remove(const char *dir);
/**
 * dep_store_remove_open() - the same for a directory that the caller has opened and checked
 * @fd: closed by this function
 *
 * If another directory has the name @dir meanwhile, the files of that one stay.
 */
int dep_store_remove_open(int fd, const char *dir);

#endif
