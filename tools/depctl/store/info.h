/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl info: what it computes (cmd_info.c) and prints (info_print.c). */
#ifndef DEPCTL_STORE_INFO_H
#define DEPCTL_STORE_INFO_H

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"

/** struct info_row - one thread, or the total (thread NULL) */
struct info_row {
	const struct dep_thread *thread;
	struct dep_counts counts;
	uint64_t segments, raw, stored, control, value;
	uint64_t flushes, null_bytes;	/* only in the total */
	uint64_t gaps;		/* segments that are missing between others */
	uint64_t next_seq;
	uint64_t unreadable;
};

struct info {
	const char *path;
	bool json, formats, quick;
	unsigned int jobs;
	struct dep_store *store;
	const struct dep_segment *segs;
	size_t nsegs;
	struct info_row *rows, *last, total;
	size_t nrows;
	uint64_t unreadable;
	char *first_error;
	struct dep_formats sizes;
	struct out out;
};

int info_print(struct info *f);

#endif
