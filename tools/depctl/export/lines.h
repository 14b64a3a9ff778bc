/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines of code addresses, for many addresses of few files. */
#ifndef DEPCTL_EXPORT_LINES_H
#define DEPCTL_EXPORT_LINES_H

#include <dep/symbols.h>

/** struct lines_file - the line table of a mapping; @row belongs to struct dep_symbols */
struct lines_file {
	const struct dep_file_line *row;
	size_t n;
	uint64_t bias;		/* address in the process minus address as linked */
	uint64_t text;		/* address as linked of the first page with code */
	const char *path, *build_id;
	bool read;
	bool code;		/* @bias, @text, @path and @build_id are known */
};

struct lines {
	struct dep_symbols *symbols;
	const struct dep_module *module;
	size_t nmodules;
	struct lines_file *file;	/* by image */
};

/** lines_begin() - return 0 or -ENOMEM */
int lines_begin(struct lines *l, struct dep_store *store, struct dep_symbols *symbols);

/** lines_file() - the file of @image; NULL: none.  Each is read when it is first asked for */
const struct lines_file *lines_file(struct lines *l, uint32_t image);

/** lines_at() - the row of the line table for @pc; NULL: not known */
const struct dep_file_line *lines_at(struct lines *l, uint32_t image, uint64_t pc);

void lines_end(struct lines *l);

#endif
