// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths as texts. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile.h"

static void put_block(FILE *f, const struct dep_path_row *r, const struct dep_path_code *block,
		      bool relative)
{
	if (!relative)
		fprintf(f, "%" PRIx64, block->pc);
	else if (block->pc >= r->pc)
		fprintf(f, "+%" PRIx64, block->pc - r->pc);
	else
		fprintf(f, "-%" PRIx64, r->pc - block->pc);
	if (block->version)
		fprintf(f, "#%u", block->version);
}

/* Path @number in front of row @row; NULL: that of the row.  Return: false if out of memory. */
static bool put_path(FILE *f, const struct dep_path_profile *p, size_t row,
		     const uint64_t *number, size_t most, bool relative)
{
	const struct dep_path_row *r = &p->row[row];
	size_t all = number ? dep_path_profile_path(p, r->function, *number, NULL, 0) : r->blocks;
	size_t n = all < most ? all : most, done = 0, k;
	struct dep_path_code *block = calloc(n + 1, sizeof(*block));

	if (block && number)
		done = dep_path_profile_path(p, r->function, *number, block, n);
	else if (block)
		done = dep_path_profile_blocks(p, row, block, n);
	for (k = 0; done && k < n; k++) {
		if (k)
			fputc(' ', f);
		put_block(f, r, block + k, relative);
	}
	if (n < all)
		fputs(" ...", f);
	free(block);
	return done;
}

char *path_text(const struct dep_path_profile *p, size_t row, size_t most, bool relative)
{
	uint64_t before[DEP_PATH_ITERATIONS];
	size_t n = dep_path_profile_before(p, row, before, DEP_PATH_ITERATIONS), size = 0, i;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);
	bool ok = f;

	for (i = 0; i < n && ok; i++) {
		ok = put_path(f, p, row, before + i, most, relative);
		fputs(" > ", f);
	}
	ok = ok && put_path(f, p, row, NULL, most, relative);
	if (f && fclose(f))
		ok = false;
	if (ok)
		return text;
	free(text);
	return NULL;
}

char *path_numbers(const struct dep_path_profile *p, size_t row)
{
	uint64_t before[DEP_PATH_ITERATIONS];
	size_t n = dep_path_profile_before(p, row, before, DEP_PATH_ITERATIONS), size = 0, i;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (i = 0; i < n; i++)
		fprintf(f, "%" PRIu64 ">", before[i]);
	fprintf(f, "%" PRIu64, p->row[row].number);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}
