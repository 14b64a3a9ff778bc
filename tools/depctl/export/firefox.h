/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the format of the Firefox Profiler share. */
#ifndef DEPCTL_EXPORT_FIREFOX_H
#define DEPCTL_EXPORT_FIREFOX_H

#include "tools/depctl/common/numbering.h"
#include "lines.h"
#include "samples.h"

/* Categories of frames, in the order of put_categories(). */
enum { FIREFOX_OTHER, FIREFOX_GUESS };

struct firefox {
	struct export *x;
	struct json j;
	struct lines lines;
	struct samples samples;
	struct numbering strings, libs, sources, frames, stacks;
	uint32_t *stack;	/* by context: its number; UINT32_MAX: without samples */
	/* By function, and at the end for code of no function: numbers; UINT32_MAX: none. */
	uint32_t *name, *source, *lib;
	uint64_t base_ns;	/* time 0 of the file */
	bool failed;		/* no memory */
};

/** firefox_equal() - write a column with @n equal values; @number: the value, or -1 for null */
void firefox_equal(struct json *j, const char *column, size_t n, int number);

/** firefox_number() - number all that samples refer to; false and f->failed: no memory */
bool firefox_number(struct firefox *f);

/** firefox_tables() - write the members "libs" and "shared" */
void firefox_tables(struct firefox *f);

/** firefox_free() - free what firefox_number() made */
void firefox_free(struct firefox *f);

#endif
