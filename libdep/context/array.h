/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arrays that grow. */
#ifndef ADEPT_CONTEXT_ARRAY_H
#define ADEPT_CONTEXT_ARRAY_H

#include <errno.h>
#include <stdlib.h>

/**
 * dep_cc_room_for() - make room for one element more
 * @array: address of the pointer to the array
 * @n: elements in use; @room: elements that there is memory for
 * @size: bytes of an element
 *
 * Return: 0, or -ENOMEM, and nothing is changed.
 */
static inline int dep_cc_room_for(void *array, size_t n, size_t *room, size_t size)
{
	typedef void *any_pointer __attribute__((may_alias));
	size_t more = *room ? 2 * *room : 16;
	any_pointer *at = array;
	void *bigger;

	if (n < *room)
		return 0;
	bigger = reallocarray(*at, more, size);
	if (!bigger)
		return -ENOMEM;
	*at = bigger;
	*room = more;
	return 0;
}

#endif
