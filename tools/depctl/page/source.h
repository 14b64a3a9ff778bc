/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source files of the page, and their lines that it shows. */
#ifndef DEPCTL_PAGE_SOURCE_H
#define DEPCTL_PAGE_SOURCE_H

#include <time.h>

#include "tools/depctl/common/output.h"

/** struct source_range - lines of a file */
struct source_range {
	uint32_t file, first, last;
};

/** struct source_files - paths, numbered from 0, and ranges of their lines */
struct source_files {
	const char **path;
	struct source_range *range;
	size_t npaths, nranges, range_room;
	uint32_t *slot, mask;	/* 1 + number of a path, 0: free */
};

/** source_file() - the number of @path, which must stay valid; UINT32_MAX: no memory */
uint32_t source_file(struct source_files *s, const char *path);
/** source_want() - show lines @first to @last of @file; -ENOMEM */
int source_want(struct source_files *s, uint32_t file, uint32_t first, uint32_t last);
/**
 * source_write() - write member "files" with all paths, and "text" with the lines wanted
 * @read: false: write no text
 * @recorded: when the recording began, of CLOCK_REALTIME; files that were modified later are
 *	marked
 *
 * The content of a file never causes an error.  Return: 0 or -ENOMEM.
 */
int source_write(struct source_files *s, bool read, const struct timespec *recorded,
		 struct json *j);
void source_free(struct source_files *s);

#endif
