// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "grow.h"

void *dep_grow(void *p, size_t n, size_t *room, size_t size)
{
	size_t want = *room ? 2 * *room : 16;

	if (n < *room)
		return p;
	p = reallocarray(p, want, size);
	if (p)
		*room = want;
	return p;
}
