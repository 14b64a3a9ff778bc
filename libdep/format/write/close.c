// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Closing a store.
 *
 *	sync segments -> END frame -> sync the log -> final manifest -> catalog
 *
 * The END frame names everything that the store must have, so it alone decides whether the store is
 * complete.  Final manifest and catalog are conveniences: a store without them can be read, and
 * dep_store_rebuild() makes them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/manifest.h"
#include "libdep/format/read/store.h"
#include "writer.h"

static u32 nfiles(const struct dep_writer *w)
{
	return w->seg_number + 1 - w->first_file;
}

/* Make the tables that follow struct dep_wire_end: rows of threads, then sizes of files. */
static void *end_tables(const struct dep_writer *w, size_t *size, u32 *threads)
{
	struct dep_wire_thread_sum *sums;
	ssize_t n = dep_chain_sums(&w->chains, true, &sums);
	u64 *file;
	char *p;
	u32 i;

	if (n < 0)
		return NULL;
	*threads = (u32)n;
	*size = (size_t)n * sizeof(*sums) + nfiles(w) * sizeof(*file);
	p = malloc(*size);
	if (p) {
		file = (u64 *)(p + (size_t)n * sizeof(*sums));
		if (n)
			memcpy(p, sums, (size_t)n * sizeof(*sums));
		for (i = w->first_file; i < w->seg_number; i++)
			*file++ = w->file_size[i];
		*file = w->seg.size;
	} else {
		dep_fail(-ENOMEM, "cannot build the last frame of the log");
	}
	free(sums);
	return p;
}

static u64 count_segments(const struct dep_writer *w)
{
	const struct dep_chain *c = w->chains.row;
	u64 sum = 0;
	size_t i;

	for (i = 0; i < w->chains.n; i++)
		sum += c[i].segments;
	return sum;
}

/* Log how the recording ended; @at and @check receive offset and checksum of the END frame. */
static int put_end(struct dep_writer *w, const struct dep_ending *e, u64 *at, u64 *check)
{
	const struct dep_loss *l = &e->loss;
	struct dep_wire_end end = {
		.exit_status = (u32)e->exit_status, .fixed = sizeof(end),
		.dropped_chunks = l->dropped_chunks, .dropped_bytes = l->dropped_bytes,
		.discarded_bytes = l->discarded_bytes, .lost_threads = l->lost_threads,
		.lost_processes = l->lost_processes, .native_images = l->native_images,
		.native_privileged = l->native_privileged < ~0u ? (u32)l->native_privileged : ~0u,
		.unfinished_threads = l->unfinished_threads,
		.absent_chunks = l->absent_chunks, .absent_bytes = l->absent_bytes,
		.untaken_threads = l->untaken_threads, .corrupt = l->corrupt,
		.lost_descriptors = l->lost_descriptors,
		.unwanted_children = l->unwanted_children,
		.cause = e->cause, .error = (u32)e->error, .live = e->live,
		.processes = w->nprocesses, .first_file = w->first_file, .files = nfiles(w),
		.frames = w->log.frames + 1, .segments = count_segments(w),
	};
	size_t size;
	void *tables = end_tables(w, &size, &end.threads);
	int err;

	if (!tables)
		return -ENOMEM;
	dep_file_use_reserve(&w->log.file);
	*at = w->log.file.size;
	err = dep_log_append(&w->log, &(struct dep_new_frame){
		.type = DEP_F_END, .data = &end, .size = sizeof(end),
		.more = tables, .more_size = size,
	});
	*check = w->log.prev;
	free(tables);
	return err;
}

/* Write the final manifest and the catalog, which are not needed to read the store. */
static int put_conveniences(struct dep_writer *w, const struct dep_ending *e, u64 end_at,
			    u64 end_check)
{
	int err;

	dep_manifest_end(w->manifest, e, end_at, end_check);
	err = dep_manifest_write(w->dirfd, &w->access, w->manifest, true);
	return err ? err : dep_store_finish(w->dir, false);
}

int dep_writer_close(struct dep_writer *w, const struct dep_ending *ending)
{
	struct dep_ending e = *ending;
	u64 end_at, end_check;
	int err;

	e.loss.discarded_bytes += w->discarded_bytes;
	/* Sync segments first: if that fails, END must report it. */
	if (!w->meta.temporary)
		dep_writer_sync(w);
	if (w->error) {
		e.cause = DEP_CLOSE_FAILED;
		e.error = w->error;
	}
	err = put_end(w, &e, &end_at, &end_check);
	if (!err && !w->meta.temporary)
		err = dep_sync(w->log.file.fd, DEP_LOG_NAME);
	if (!err && !w->meta.temporary && put_conveniences(w, &e, end_at, end_check))
		err = 1;
	dep_writer_free(w);
	return err;
}

void dep_writer_discard(struct dep_writer *w)
{
	dep_writer_free(w);
}
