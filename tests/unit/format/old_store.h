/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores of format 3, which current code cannot write. */
#ifndef TESTS_UNIT_FORMAT_OLD_STORE_H
#define TESTS_UNIT_FORMAT_OLD_STORE_H

#include <stdbool.h>

/**
 * old_store() - turn the store @dir of format 4 into one of format 3
 * @oldest: with the shorter frames of the first stores of that format
 *
 * The store must be in one file of segments and undamaged.
 *
 * Return: 0, or -1 if it cannot be read or written.
 */
int old_store(const char *dir, bool oldest);

#endif
