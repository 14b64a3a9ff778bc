/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_SYMBOLS_BASE_GROW_H
#define ADEPT_SYMBOLS_BASE_GROW_H

#include <stddef.h>

/**
 * dep_grow() - make room for one more element in an array from malloc()
 * @p: the array, or NULL; has @n elements of @size bytes, and room for @room
 *
 * Return: the array, which may have moved; NULL: no memory, @p is unchanged.
 */
void *dep_grow(void *p, size_t n, size_t *room, size_t size);

#endif
