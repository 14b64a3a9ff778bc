/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of source files whose names come from debug information. */
#ifndef DEPCTL_COMMON_SOURCE_FILE_H
#define DEPCTL_COMMON_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/** struct source_file - the source file that was read last; all zero: none */
struct source_file {
	char *path;
	char *text;		/* NULL: the file cannot be read, or is too new */
	struct timespec modified;
	size_t *line;		/* offset in @text at which each line begins */
	size_t nlines;
};

/**
 * source_file_line() - a line of a file, which ends with a newline or NUL
 * @path: absolute path; other paths are not read
 * @newest: the file is not used if it was modified later; NULL: it is used whatever its age
 *
 * Return: NULL if there is no such line.  The text is valid until the next call.
 */
const char *source_file_line(struct source_file *s, const char *path, uint32_t line,
			     const struct timespec *newest);

/** source_file_newer() - true if the file that was read last was modified after @than */
bool source_file_newer(const struct source_file *s, const struct timespec *than);

void source_file_free(struct source_file *s);

#endif
