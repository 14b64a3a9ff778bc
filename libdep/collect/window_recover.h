/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Store a window on the disk (window_disk.h) that its collector has left: the collector was killed,
 * or it could not store the window. The files of the window stay as they are.
 */
#ifndef ADEPT_COLLECT_WINDOW_RECOVER_H
#define ADEPT_COLLECT_WINDOW_RECOVER_H

#include "collect.h"

/** dep_window_is_left() - true if the store @dir has files of a window, and no writer */
bool dep_window_is_left(const char *dir);

/**
 * dep_window_recover() - make a store of the window that is left in the store @dir
 * @to: directory of the new store, which must not exist
 * @level: as of dep_writer_create()
 * @result: receives what was stored, and the message of an error
 *
 * Threads whose end is not in the files get the end DEP_END_UNTAKEN. What is damaged is counted as
 * lost.
 *
 * Return: 0; -EBUSY: @dir is being recorded; -EBADMSG: the files are damaged too much; or another
 * negative errno. Then there is no new store.
 */
int dep_window_recover(const char *dir, const char *to, int level, struct dep_save_result *result);

#endif
