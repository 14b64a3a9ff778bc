// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source text.  Names of files come from debug information, which anybody can forge: only regular
 * files are read, without waiting, and only up to a size.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model.h"
#include "source.h"

#define FILE_BYTES	(16u << 20)
#define LINE_BYTES	500u	/* longer lines are cut */
#define AROUND		4u	/* lines shown above and below those with counts */

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static int grow(struct source_files *s)
{
	size_t slots = s->mask ? 2 * ((size_t)s->mask + 1) : 64, i;
	const char **path = realloc(s->path, slots / 2 * sizeof(*path));
	uint32_t *slot = calloc(slots, sizeof(*slot)), k;

	if (path)
		s->path = path;
	if (!path || !slot) {
		free(slot);
		return -ENOMEM;
	}
	free(s->slot);
	s->slot = slot;
	s->mask = slots - 1;
	for (i = 0; i < s->npaths; i++) {
		for (k = hash_of(s->path[i]) & s->mask; slot[k]; k = (k + 1) & s->mask)
			;
		slot[k] = i + 1;
	}
	return 0;
}

uint32_t source_file(struct source_files *s, const char *path)
{
	uint32_t k;

	if ((!s->slot || 2 * (s->npaths + 1) > s->mask) && grow(s))
		return UINT32_MAX;
	for (k = hash_of(path) & s->mask; s->slot[k]; k = (k + 1) & s->mask)
		if (!strcmp(s->path[s->slot[k] - 1], path))
			return s->slot[k] - 1;
	s->path[s->npaths] = path;
	s->slot[k] = ++s->npaths;
	return s->npaths - 1;
}

int source_want(struct source_files *s, uint32_t file, uint32_t first, uint32_t last)
{
	struct source_range *more;

	if (s->nranges == s->range_room) {
		s->range_room = s->range_room ? 2 * s->range_room : 64;
		more = realloc(s->range, s->range_room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->range = more;
	}
	s->range[s->nranges++] = (struct source_range){
		.file = file, .first = first > AROUND ? first - AROUND : 1,
		.last = last < UINT32_MAX - AROUND ? last + AROUND : last };
	return 0;
}

static int by_line(const void *a, const void *b)
{
	const struct source_range *x = a, *y = b;

	if (x->file != y->file)
		return x->file > y->file ? 1 : -1;
	if (x->first != y->first)
		return x->first > y->first ? 1 : -1;
	return (x->last > y->last) - (x->last < y->last);
}

static void merge_ranges(struct source_files *s)
{
	struct source_range *r = s->range;
	size_t i, n = 0;

	if (r)
		qsort(r, s->nranges, sizeof(*r), by_line);
	for (i = 0; i < s->nranges; i++) {
		if (n && r[n - 1].file == r[i].file && r[i].first <= r[n - 1].last + 1ull)
			r[n - 1].last = r[i].last > r[n - 1].last ? r[i].last : r[n - 1].last;
		else
			r[n++] = r[i];
	}
	s->nranges = n;
}

/* Read a regular file; the caller frees the text, which has no NUL bytes but the last one. */
static char *read_source(const char *path, int64_t *modified)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char *text = NULL;
	ssize_t n = 0, i;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES)
		goto out;
	text = malloc(st.st_size + 1);
	if (!text)
		goto out;
	n = read(fd, text, st.st_size);
	for (i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : '?';
	text[n > 0 ? n : 0] = '\0';
	*modified = st.st_mtime;
out:
	close(fd);
	return text;
}

/* Write one line, with tabs as spaces. */
static void write_line(struct json *j, const char *line, size_t size)
{
	char text[LINE_BYTES + 16];
	size_t n = 0, i;

	for (i = 0; i < size && n < LINE_BYTES; i++) {
		if (line[i] != '\t') {
			text[n++] = line[i];
			continue;
		}
		do
			text[n++] = ' ';
		while (n % 8);
	}
	if (n && text[n - 1] == '\r')
		n--;
	text[n] = '\0';
	json_str(j, NULL, text);
}

/* Write the lines of a range, from the line @number on at @at. */
static const char *write_range(struct json *j, const struct source_range *r, const char *at,
			       uint32_t *number, size_t *left)
{
	size_t size;

	json_object(j, NULL);
	json_u64(j, "file", r->file);
	json_u64(j, "first", r->first);
	json_array(j, "lines");
	while (*at && *number <= r->last) {
		size = strcspn(at, "\n");
		if (*number >= r->first) {
			/* After the first line that does not fit there is no other. */
			*left = *left > size ? *left - size : 0;
			if (*left)
				write_line(j, at, size);
		}
		at += size + (at[size] == '\n');
		++*number;
	}
	json_close(j, ']');
	json_close(j, '}');
	return at;
}

void source_write(struct source_files *s, bool read, int64_t recorded, struct json *j)
{
	size_t i, left = PAGE_SOURCE, k = 0;
	bool *newer = calloc(s->npaths + 1, sizeof(*newer));
	int64_t modified;
	uint32_t number;
	const char *at;
	char *text;

	merge_ranges(s);
	json_array(j, "text");
	for (i = 0; read && newer && i < s->nranges; i = k) {
		for (k = i; k < s->nranges && s->range[k].file == s->range[i].file; k++)
			;
		text = read_source(s->path[s->range[i].file], &modified);
		if (!text)
			continue;
		newer[s->range[i].file] = modified > recorded;
		for (at = text, number = 1; i < k; i++)
			at = write_range(j, &s->range[i], at, &number, &left);
		free(text);
	}
	json_close(j, ']');
	json_array(j, "files");
	for (i = 0; i < s->npaths; i++)
		json_str(j, NULL, s->path[i]);
	json_close(j, ']');
	json_array(j, "newer");
	for (i = 0; newer && i < s->npaths; i++)
		if (newer[i])
			json_u64(j, NULL, i);
	json_close(j, ']');
	free(newer);
}

void source_free(struct source_files *s)
{
	free(s->path);
	free(s->range);
	free(s->slot);
	*s = (struct source_files){ };
}
