// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Durable points.
 *
 * A MARK frame names, for each thread, how many segments were on the disk before the frame was
 * written.  After a crash of the machine everything that the last MARK names must be there; later
 * data can be missing.  The log with all descriptors is written to the disk first, then the
 * segments that need these descriptors, then the MARK.
 *
 * sync_file_range() starts the writing of segments early, so that the sync before a MARK is short:
 * on ext4, fdatasync() of 16 MiB takes 5 ms, but .4 ms if sync_file_range() was called half a
 * second before.
 *
 * After a failed sync the kernel marks the pages as clean, and the next sync succeeds although the
 * pages are not on the disk.  So no MARK is written after the first failed sync.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/manifest.h"
#include "writer.h"

void dep_writer_flush(struct dep_writer *w)
{
	if (w->meta.temporary || w->seg.size - w->flushed < w->flush)
		return;
	/* Errors are ignored here, because the sync before the next MARK reports them. */
	sync_file_range(w->seg.fd, (off_t)w->flushed, (off_t)(w->seg.size - w->flushed),
			SYNC_FILE_RANGE_WRITE);
	w->flushed = w->seg.size;
}

static int sync_parent(const char *dir)
{
	char *copy = strdup(dir);
	int fd, err;

	if (!copy)
		return dep_fail(-ENOMEM, "cannot sync the directory of the store");
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	/* Without read permission the parent directory cannot be opened: do not sync it. */
	if (fd < 0)
		return 0;
	err = dep_sync_dir(fd);
	close(fd);
	return err;
}

/* Sync the manifest, the names of all files in the store, and the name of the store. */
static int sync_names(struct dep_writer *w)
{
	int fd = dep_open_read(w->dirfd, DEP_MANIFEST_NAME), err;

	if (fd < 0)
		return dep_open_failed(fd, DEP_MANIFEST_NAME);
	err = dep_sync(fd, DEP_MANIFEST_NAME);
	close(fd);
	if (!err)
		err = dep_sync_dir(w->dirfd);
	if (!err)
		err = sync_parent(w->dir);
	if (!err)
		w->unnamed = false;
	return err;
}

int dep_writer_sync(struct dep_writer *w)
{
	int err = dep_sync(w->log.file.fd, DEP_LOG_NAME), e;

	while (w->nrolled) {
		e = dep_sync(w->rolled[w->nrolled - 1], "segments");
		if (e && !err)
			err = e;
		close(w->rolled[--w->nrolled]);
	}
	e = dep_sync(w->seg.fd, "segments");
	if (e && !err)
		err = e;
	/* Sync names after contents: a file whose name is on the disk has a valid header. */
	e = w->unnamed ? sync_names(w) : 0;
	if (e && !err)
		err = e;
	return dep_writer_unsure(w, err);
}

int dep_writer_unsure(struct dep_writer *w, int err)
{
	if (err && !w->unsure)
		w->unsure = -err;
	if (w->unsure && !w->error)
		w->error = w->unsure;
	if (!err && w->unsure)
		err = dep_fail(-w->unsure, "a part of the store was not written to the disk");
	return err;
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

int dep_writer_mark(struct dep_writer *w)
{
	struct dep_wire_mark mark = { .time_ns = now_ns() };
	struct dep_wire_thread_sum *sums;
	struct dep_chain *c = w->chains.row;
	ssize_t n;
	size_t i;
	int err;

	if (w->meta.temporary || !w->unmarked)
		return 0;
	err = dep_writer_sync(w);
	if (err)
		return err;
	n = dep_chain_sums(&w->chains, false, &sums);
	if (n < 0)
		return (int)n;
	mark.rows = (u32)n;
	err = dep_writer_frame(w, &(struct dep_new_frame){
		.type = DEP_F_MARK, .data = &mark, .size = sizeof(mark),
		.more = sums, .more_size = (size_t)n * sizeof(*sums),
	});
	free(sums);
	if (err)
		return err;
	for (i = 0; i < w->chains.n; i++)
		c[i].marked = c[i].segments;
	w->unmarked = 0;
	return 0;
}

uint64_t dep_writer_unmarked(const struct dep_writer *w)
{
	return w->meta.temporary ? 0 : w->unmarked;
}
