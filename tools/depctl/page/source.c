// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source text.  Names of files come from debug information, which anybody can forge: see
 * common/source_file.c for what is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/common/source_file.h"
#include "model.h"
#include "source.h"

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

/* Write the lines of a range, as many as the text of the page still has room for. */
static void write_range(struct json *j, const struct source_range *r, const char *path,
			struct source_file *file, size_t *left)
{
	const char *line;
	uint32_t i;
	size_t size;

	json_object(j, NULL);
	json_u64(j, "file", r->file);
	json_u64(j, "first", r->first);
	json_array(j, "lines");
	for (i = r->first; i <= r->last && *left; i++) {
		line = source_file_line(file, path, i, NULL);
		if (!line)
			break;
		/* After the first line that does not fit there is no other. */
		size = strcspn(line, "\n");
		*left = *left > size ? *left - size : 0;
		if (*left)
			write_line(j, line, size);
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void write_text(struct source_files *s, bool *newer, const struct timespec *recorded,
		       struct json *j)
{
	struct source_file file = { 0 };
	size_t i, left = PAGE_SOURCE;
	const struct source_range *r;

	for (i = 0; i < s->nranges && left; i++) {
		r = &s->range[i];
		if (!source_file_line(&file, s->path[r->file], 1, NULL))
			continue;
		newer[r->file] = source_file_newer(&file, recorded);
		write_range(j, r, s->path[r->file], &file, &left);
	}
	source_file_free(&file);
}

int source_write(struct source_files *s, bool read, const struct timespec *recorded,
		 struct json *j)
{
	bool *newer = calloc(s->npaths + 1, sizeof(*newer));
	size_t i;

	if (!newer)
		return -ENOMEM;
	merge_ranges(s);
	json_array(j, "text");
	if (read)
		write_text(s, newer, recorded, j);
	json_close(j, ']');
	json_array(j, "files");
	for (i = 0; i < s->npaths; i++)
		json_str(j, NULL, s->path[i]);
	json_close(j, ']');
	json_array(j, "newer");
	for (i = 0; i < s->npaths; i++)
		if (newer[i])
			json_u64(j, NULL, i);
	json_close(j, ']');
	free(newer);
	return 0;
}

void source_free(struct source_files *s)
{
	free(s->path);
	free(s->range);
	free(s->slot);
	*s = (struct source_files){ };
}
