// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of source files; see source_file.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source_file.h"

#define MOST	(16u << 20)	/* maximum size of a source file in bytes */

void source_file_free(struct source_file *s)
{
	free(s->path);
	free(s->text);
	free(s->line);
	memset(s, 0, sizeof(*s));
}

static bool newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static char *read_all(int fd, size_t size)
{
	char *text = malloc(size + 1);
	ssize_t n = text ? pread(fd, text, size, 0) : -1;
	char *nul;

	if (n != (ssize_t)size) {
		free(text);
		return NULL;
	}
	text[size] = 0;
	/* A NUL in the file would hide the lines behind it. */
	for (nul = text; (nul = memchr(nul, 0, (size_t)(text + size - nul)));)
		*nul = '?';
	return text;
}

static void find_lines(struct source_file *s)
{
	const char *at;
	size_t n = 1;

	for (at = s->text; (at = strchr(at, '\n')); at++)
		n++;
	s->line = calloc(n, sizeof(*s->line));
	if (!s->line)
		return;
	for (at = s->text; s->nlines < n; at++) {
		s->line[s->nlines++] = (size_t)(at - s->text);
		at = strchr(at, '\n');
		if (!at)
			break;
	}
}

static void take(struct source_file *s, const struct timespec *newest)
{
	/* O_NONBLOCK: open() must not wait if the path is a FIFO by now. */
	int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= MOST &&
	    (!newest || !newer(&st.st_mtim, newest))) {
		s->text = read_all(fd, (size_t)st.st_size);
		s->modified = st.st_mtim;
	}
	close(fd);
	if (s->text)
		find_lines(s);
}

bool source_file_newer(const struct source_file *s, const struct timespec *than)
{
	return s->text && newer(&s->modified, than);
}

const char *source_file_line(struct source_file *s, const char *path, uint32_t line,
			     const struct timespec *newest)
{
	if (!path || *path != '/' || !line)
		return NULL;
	if (!s->path || strcmp(s->path, path)) {
		source_file_free(s);
		s->path = strdup(path);
		if (!s->path)
			return NULL;
		take(s, newest);
	}
	return line <= s->nlines ? s->text + s->line[line - 1] : NULL;
}
