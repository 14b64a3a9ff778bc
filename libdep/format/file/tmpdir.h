/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Folders for the temporary stores of `depctl record --races`.
 *
 * Each is locked (flock) by its recorder until that ends, however it does.  One that is not
 * locked was left by a recorder that was killed.  It goes when the next one is made, or when depd,
 * if that wrote its store, looks for it.
 */
#ifndef ADEPT_FORMAT_FILE_TMPDIR_H
#define ADEPT_FORMAT_FILE_TMPDIR_H

#include <stdbool.h>
#include <stddef.h>

#define DEP_TMPDIR_PREFIX	"adept-races-"	/* of its name; six random letters follow */
#define DEP_TMPDIR_STORE	"races.dep"	/* the store in it */

/**
 * dep_tmpdir_make() - make one in @parent, and lock it
 * @path: receives its name
 *
 * Return: a descriptor that holds the lock, or a negative errno.
 */
int dep_tmpdir_make(const char *parent, char *path, size_t size);
/**
 * dep_tmpdir_sweep() - remove this user's own in @parent whose recorders are gone
 *
 * No link is followed, and a folder with anything but a store, or with one that is being written,
 * stays.  Return: how many of the user's own are left, or a negative errno.
 */
int dep_tmpdir_sweep(const char *parent);
/**
 * dep_tmpdir_parent() - is the absolute name @store that of a temporary store?
 * @parent: receives the folder that its folder is in
 */
bool dep_tmpdir_parent(const char *store, char *parent, size_t size);

#endif
