/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data of depctl info: cmd_info.c computes it, info_print.c prints it. */
#ifndef DEPCTL_STORE_INFO_H
#define DEPCTL_STORE_INFO_H

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"
#include "formats.h"

/** struct info_row - numbers of one thread, or of all threads (@thread NULL) */
struct info_row {
	const struct dep_thread *thread;
	struct dep_counts counts;
	uint64_t segments, raw, stored, control, value;
	uint64_t flushes, null_bytes;	/* set in the row of all threads only */
	uint64_t gaps;		/* number of missing segments, from gaps in segment numbers */
	uint64_t next_seq;
	uint64_t unreadable;
};

struct info {
	const char *path;
	bool json, csv, formats, quick, attach;
	bool streams;		/* --compress or --output: @paper is set */
	unsigned int jobs;
	struct dep_store *store;
	const struct dep_segment *segs;
	size_t nsegs;
	struct info_row *rows, *last, total;
	size_t nrows;
	uint64_t unreadable;
	char *first_error;
	struct dep_formats sizes;
	struct formats paper;
	bool kept_last;		/* recorded with --last */
	struct dep_last kept;	/* with @kept_last */
	struct out out;
};

int info_print(struct info *f);

#endif
