// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "libdep/format/file/append_file.h"
#include "libdep/format/file/error.h"
#include "segment_index.h"

#define ROW_BYTES	sizeof(struct dep_segment)
#define WINDOW_ROWS	8192u	/* rows that are checked at once */

_Static_assert(ROW_BYTES == 80, "rows of the index: increase DEP_FORMAT_VERSION");
_Static_assert(sizeof(struct dep_wire_index) == 72, "header of the index");

size_t dep_seg_index_min = 65536;

/* ---- what an index must fit to ---- */

/* True if the recording has ended, so that its END frame has the sizes of all segment files. */
static bool has_ended(const struct dep_store *s)
{
	return s->fmt.version != DEP_FORMAT_OLD && s->model.ended && s->model.file_size;
}

bool dep_seg_files_final(const struct dep_store *s)
{
	const struct dep_wire_end *end = &s->model.end;
	struct stat st;
	u32 i;

	if (!has_ended(s) || (u64)end->first_file + end->files != s->nfds)
		return false;
	for (i = 0; i < end->files; i++)
		if (s->fds[end->first_file + i] < 0 ||
		    fstat(s->fds[end->first_file + i], &st) ||
		    (u64)st.st_size != s->model.file_size[i])
			return false;
	return true;
}

static u64 header_check(const struct dep_store *s, const struct dep_wire_index *h)
{
	return XXH3_64bits_withSeed(h, offsetof(struct dep_wire_index, check), s->fmt.seed);
}

static bool header_matches(const struct dep_store *s, const struct dep_wire_index *h, u64 size)
{
	return !memcmp(h->magic, DEP_INDEX_MAGIC, sizeof(h->magic)) &&
	       h->version == s->fmt.version && h->row_bytes == ROW_BYTES &&
	       !memcmp(h->id, s->fmt.id, sizeof(h->id)) && h->end_check == s->model.end_check &&
	       h->check == header_check(s, h) && h->segments && size > DEP_INDEX_ROWS &&
	       h->segments <= s->model.end.segments &&
	       (size - DEP_INDEX_ROWS) / ROW_BYTES == h->segments &&
	       (size - DEP_INDEX_ROWS) % ROW_BYTES == 0;
}

/* ---- rows ---- */

static bool is_sorted(const struct dep_segment *a, const struct dep_segment *b)
{
	if (a->thread != b->thread)
		return a->thread < b->thread;
	if (a->seq != b->seq)
		return a->seq < b->seq;
	if (a->file != b->file)
		return a->file < b->file;
	return a->offset < b->offset;
}

/* True if a segment can be where the row says. */
static bool row_fits(const struct dep_store *s, const struct dep_segment *row)
{
	u32 first = s->model.end.first_file;

	/* The padding behind the last segment of a file can be missing. */
	return row->file >= first && row->file < s->nfds && row->offset % 8 == 0 &&
	       row->offset < s->model.file_size[row->file - first] &&
	       row->stored_bytes <= s->model.file_size[row->file - first] - row->offset + 7 &&
	       row->control_bytes <= DEP_BODY_MAX && row->value_bytes <= DEP_BODY_MAX;
}

/* Read all rows once, through a buffer: a mapping would stay in memory. */
static int check_rows(const struct dep_store *s, int fd, const struct dep_wire_index *h)
{
	struct dep_segment *row = malloc((WINDOW_ROWS + 1) * ROW_BYTES), *at;
	XXH3_state_t *hash = XXH3_createState();
	u64 done, n, i;
	int ok = row && hash ? 1 : dep_fail(-ENOMEM, "cannot check the index of segments");

	if (ok > 0)
		XXH3_64bits_reset_withSeed(hash, s->fmt.seed);
	/* row[0] is the last row of the window before. */
	for (done = 0; ok > 0 && done < h->segments; done += n) {
		n = h->segments - done < WINDOW_ROWS ? h->segments - done : WINDOW_ROWS;
		ok = dep_read_at(fd, row + 1, n * ROW_BYTES, DEP_INDEX_ROWS + done * ROW_BYTES) ==
		     (ssize_t)(n * ROW_BYTES);
		if (!ok)
			break;
		XXH3_64bits_update(hash, row + 1, n * ROW_BYTES);
		for (i = 0, at = row + 1; i < n && ok; i++, at++)
			ok = row_fits(s, at) && ((!done && !i) || is_sorted(at - 1, at));
		row[0] = row[n];
	}
	if (ok > 0)
		ok = XXH3_64bits_digest(hash) == h->rows_check;
	XXH3_freeState(hash);
	free(row);
	return ok;
}

static int map_rows(struct dep_store *s, int fd, const struct dep_wire_index *h)
{
	void *p = mmap(NULL, h->segments * ROW_BYTES, PROT_READ, MAP_PRIVATE, fd, DEP_INDEX_ROWS);

	if (p == MAP_FAILED)
		return dep_fail(-errno, "cannot map the index of segments");
	s->segs = (struct dep_seg_list){
		.seg = p, .n = h->segments, .lost_bytes = h->lost_bytes, .mapped = true,
	};
	return 1;
}

/*
 * True if nobody but this user and root may change the file.  It is mapped, so one that changes
 * after its check could crash the reader: others' stores are opened by their segments' headers.
 */
static bool is_own(const struct stat *st)
{
	return (!st->st_uid || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int dep_seg_index_read(struct dep_store *s)
{
	struct dep_wire_index h;
	struct stat st;
	int fd, ret = 0;

	if (!dep_seg_files_final(s))
		return 0;
	fd = dep_open_read(s->dirfd, DEP_INDEX_NAME);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && is_own(&st) &&
	    dep_read_at(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
	    header_matches(s, &h, (u64)st.st_size))
		ret = check_rows(s, fd, &h);
	if (ret > 0)
		ret = map_rows(s, fd, &h);
	close(fd);
	return ret;
}

void dep_seg_index_free(struct dep_store *s)
{
	if (s->segs.mapped)
		munmap(s->segs.seg, s->segs.n * ROW_BYTES);
	else
		free(s->segs.seg);
	s->segs = (struct dep_seg_list){ 0 };
}

int dep_seg_index_write(struct dep_store *s)
{
	const struct dep_access access = dep_access_read(s->log_fd);
	struct dep_wire_index h = {
		.version = s->fmt.version, .row_bytes = ROW_BYTES,
		.end_check = s->model.end_check, .segments = s->segs.n,
		.lost_bytes = s->segs.lost_bytes,
	};
	char page[DEP_INDEX_ROWS] = { 0 };
	struct iovec iov[] = {
		{ page, sizeof(page) }, { s->segs.seg, s->segs.n * ROW_BYTES },
	};

	if (s->segs.mapped)
		return 0;
	if (!dep_seg_files_final(s) || s->segs.torn || s->segs.n < dep_seg_index_min ||
	    !s->segs.n) {
		if (unlinkat(s->dirfd, DEP_INDEX_NAME, 0) && errno != ENOENT)
			return dep_fail(-errno, "cannot remove %s", DEP_INDEX_NAME);
		return 0;
	}
	memcpy(h.magic, DEP_INDEX_MAGIC, sizeof(h.magic));
	memcpy(h.id, s->fmt.id, sizeof(h.id));
	h.rows_check = XXH3_64bits_withSeed(s->segs.seg, s->segs.n * ROW_BYTES, s->fmt.seed);
	h.check = header_check(s, &h);
	memcpy(page, &h, sizeof(h));
	return dep_write_parts(s->dirfd, DEP_INDEX_NAME, iov, 2, &access, true);
}
