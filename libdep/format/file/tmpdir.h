/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories for the temporary stores of `depctl record --races`.
 *
 * The recorder holds a lock (flock) on its directory until it ends for any reason.  A directory
 * without a lock was left by a recorder that was killed.  Such a directory is removed when the next
 * temporary store is made, or by depd if depd wrote the store.
 */
#ifndef ADEPT_FORMAT_FILE_TMPDIR_H
#define ADEPT_FORMAT_FILE_TMPDIR_H

#include <stdbool.h>
#include <stddef.h>

#define DEP_TMPDIR_PREFIX	"adept-races-"	/* six random letters follow */
#define DEP_TMPDIR_STORE	"races.dep"	/* name of the store in the directory */

/**
 * dep_tmpdir_make() - make a directory in @parent and lock it
 * @path: receives the directory's path
 *
 * Return: a descriptor that holds the lock, or a negative errno.
 */
int dep_tmpdir_make(const char *parent, char *path, size_t size);
/**
 * dep_tmpdir_sweep() - remove this user's directories in @parent whose recorders have ended
 *
 * Follows no links.  A directory stays if it contains anything but a store, or if the store is
 * being written.  Return: the number of the user's directories that stay, or a negative errno.
 */
int dep_tmpdir_sweep(const char *parent);
/**
 * dep_tmpdir_parent() - true if @store, an absolute path, is the path of a temporary store
 * @parent: receives the directory that contains the store's temporary directory
 */
bool dep_tmpdir_parent(const char *store, char *parent, size_t size);

#endif
