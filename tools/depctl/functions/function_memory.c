// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of the tables of functions. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "functions_internal.h"

void *functions_grow(void *array, size_t n, size_t *room, size_t size)
{
	size_t more = n ? n * 2 : 64;
	void *p;

	if (n < *room)
		return array;
	p = reallocarray(array, more, size);
	if (p)
		*room = more;
	return p;
}

const char *functions_text(struct functions *f, const char *fmt, ...)
{
	char **more = functions_grow(f->text, f->ntexts, &f->texts_room, sizeof(*more));
	va_list ap;
	int n;

	if (!more)
		return NULL;
	f->text = more;
	va_start(ap, fmt);
	n = vasprintf(&f->text[f->ntexts], fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : f->text[f->ntexts++];
}
