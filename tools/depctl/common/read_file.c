// SPDX-License-Identifier: GPL-2.0-or-later
/* Read files given as options, completely. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"

/*
 * Reads until the end of the file or @max: fstat() reports no size for a pipe, and a device may
 * have no end.
 */
char *read_input(const char *path, size_t max, size_t *size)
{
	size_t room = 64u << 10, n = 0;
	char *text = NULL, *more;
	FILE *f = fopen(path, "re");

	if (!f) {
		warn("%s: %s", path, strerror(errno));
		return NULL;
	}
	do {
		room = n < room ? room : 2 * room;
		more = realloc(text, room + 1);
		if (!more) {
			warn("%s: out of memory", path);
			goto bad;
		}
		text = more;
		n += fread(text + n, 1, room - n, f);
	} while (n == room && n <= max);
	if (ferror(f)) {
		warn("%s: %s", path, strerror(errno));
		goto bad;
	}
	if (n > max) {
		warn("%s: larger than %zu MiB", path, max >> 20);
		goto bad;
	}
	fclose(f);
	text[n] = '\0';
	*size = n;
	return text;

bad:
	fclose(f);
	free(text);
	return NULL;
}
