// SPDX-License-Identifier: LGPL-2.1-or-later
/* Descriptors of a process that runs already, one after the other in its ring. */
#include <string.h>

#include "attach_facts.h"

bool dep_facts_put(struct dep_facts *f, u32 type, void *d, size_t size, const char *text,
		   size_t n)
{
	size_t all = (size + n + 7) & ~(size_t)7;
	struct adept_desc *h = d;

	if (all > f->size - f->at)
		return false;
	h->type = type;
	h->size = (u32)all;
	memset(f->ring + f->at, 0, all);
	memcpy(f->ring + f->at, d, size);
	memcpy(f->ring + f->at + size, text, n);
	f->at += (u32)all;
	return true;
}
