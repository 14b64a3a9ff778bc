/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Make a store of what a window had at one moment: for snapshots, and after a collector died. */
#ifndef ADEPT_COLLECT_SAVED_STORE_H
#define ADEPT_COLLECT_SAVED_STORE_H

#include "collect.h"
#include "window.h"
#include "libdep/format/file/ending.h"

/**
 * dep_saved_store() - make the store @save->dir
 * @s: each chunk is dropped as soon as it is stored; dep_saved_free() is left to the caller
 * @ending: how the store ends; bytes that cannot be read from a file are added to its losses
 * @result: receives sizes and counts, and the message of an error
 *
 * Return: 0, or a negative errno: then there is no store.
 */
int dep_saved_store(struct dep_saved *s, const struct dep_save *save, struct dep_ending *ending,
		    struct dep_save_result *result);

#endif
