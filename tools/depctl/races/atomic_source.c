// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognise atomic operations in the source code.
 *
 * Compilers turn an atomic load or store into a plain move.  The types in the debug information
 * often do not show that a word is atomic, for example if it is accessed through a pointer.  But
 * the debug information has the line and column of each instruction.  An access is atomic if the
 * source has a call of atomic_load(), __atomic_store_n() or a similar function at this line and
 * column.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "races.h"

#define MOST	(16u << 20)	/* maximum size of a source file in bytes */

void race_source_free(struct race_source *s)
{
	free(s->path);
	free(s->text);
	memset(s, 0, sizeof(*s));
}

static bool newer(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec > b->st_mtim.tv_sec ||
	       (a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		a->st_mtim.tv_nsec > b->st_mtim.tv_nsec);
}

static char *read_all(int fd, size_t size)
{
	char *text = malloc(size + 1);
	ssize_t n = text ? pread(fd, text, size, 0) : -1;

	if (n != (ssize_t)size) {
		free(text);
		return NULL;
	}
	text[size] = 0;
	return text;
}

/* Read the source file of @p, unless it changed after the module was built. */
static void take(struct race_source *s, const struct dep_place *p)
{
	/* O_NONBLOCK: open() must not wait if the path is a FIFO by now. */
	int fd = open(p->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat source, module;

	if (fd < 0)
		return;
	if (!fstat(fd, &source) && S_ISREG(source.st_mode) && source.st_size <= MOST &&
	    !stat(p->module, &module) && !newer(&source, &module))
		s->text = read_all(fd, (size_t)source.st_size);
	close(fd);
}

static const char *line_of(const char *text, uint32_t line)
{
	while (text && --line) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text;
}

/* True if a call of a compiler builtin or a stdatomic.h macro, such as atomic_load(, is at @at. */
static bool is_operation(const char *at)
{
	at += strspn(at, "_");
	if (!strncmp(at, "c11_", 4))
		at += 4;
	if (strncasecmp(at, "atomic", 6))
		return false;
	while (isalnum((unsigned char)*at) || *at == '_')
		at++;
	return at[strspn(at, " \t")] == '(';
}

bool race_source_atomic(struct race_source *s, const struct dep_place *p)
{
	const char *at;
	size_t length;

	if (!p->file || *p->file != '/' || !p->line || !p->column)
		return false;
	if (!s->path || strcmp(s->path, p->file)) {
		race_source_free(s);
		s->path = strdup(p->file);
		if (!s->path)
			return false;
		take(s, p);
	}
	at = line_of(s->text, p->line);
	length = at ? strcspn(at, "\n") : 0;
	return p->column <= length && is_operation(at + p->column - 1);
}
