// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tailing: reading a store while it is being written.
 *
 * Only whole frames and segments are read.  The reader stops at an incomplete frame or segment and
 * tries again in the next pass.  It searches for valid data after damage only when the writer has
 * ended.  Each pass reads segments first and the log second, so all descriptors that the segments
 * refer to are known.  A thread's end in the log may be newer than the segments read: the thread's
 * last segments are read in the next pass.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "store.h"

struct block {
	struct block *next;
	u8 data[];
};

struct dep_store_tail {
	u64 log_at, seg_at;	/* offsets up to which log and last segment file have been read */
	u64 prev;		/* checksum of the last frame */
	struct block *blocks;	/* parts of the log; the model points into these blocks */
	size_t maps, build_ids, forks;	/* numbers of rows when the modules were last built */
};

void dep_store_tail_free(struct dep_store *s)
{
	struct dep_store_tail *g = s->growth;
	struct block *b;

	if (!g)
		return;
	while ((b = g->blocks)) {
		g->blocks = b->next;
		free(b);
	}
	free(g);
	s->growth = NULL;
}

static int read_log_header(struct dep_store *s)
{
	struct dep_file_header h;
	struct dep_log_scan scan;
	ssize_t n;
	int err;

	s->log_fd = dep_open_read(s->dirfd, DEP_LOG_NAME);
	if (s->log_fd < 0)
		return dep_open_failed(s->log_fd, DEP_LOG_NAME);
	n = dep_read_at(s->log_fd, &h, sizeof(h), 0);
	if (n < 0)
		return dep_fail((int)n, "cannot read %s", DEP_LOG_NAME);
	err = dep_log_open(&scan, &h, (size_t)n);
	s->fmt = scan.fmt;
	s->growth->log_at = scan.at;
	s->growth->prev = scan.prev;
	s->growth->seg_at = dep_file_header_bytes(&s->fmt);
	return err;
}

int dep_store_open_growing(struct dep_store **out, const char *dir)
{
	struct dep_store *s;
	int err;

	*out = NULL;
	errno = ENOMEM;
	s = dep_store_new(dir);
	if (!s)
		return -errno;
	err = dep_manifest_read(s->dirfd, &s->manifest);
	if (!err) {
		s->growth = calloc(1, sizeof(*s->growth));
		err = s->growth ? dep_model_init(&s->model) : dep_fail(-ENOMEM, "store");
	}
	if (!err)
		err = read_log_header(s);
	if (err)
		dep_store_close(s);
	else
		*out = s;
	return err;
}

/* ---- segments ---- */

static int grow_segments(struct dep_store *s, bool whole)
{
	struct dep_store_tail *g = s->growth;
	int err = 0, more = 1;

	while (!err && more) {
		/* A segment file no longer grows once the next file exists. */
		more = dep_store_add_file(s, false);
		if (more < 0)
			return more;
		if (s->nfds > (u32)more)
			err = dep_seg_scan_from(s->fds[s->nfds - 1 - (u32)more], &s->fmt,
						s->nfds - 1 - (u32)more, whole && !more,
						&g->seg_at, &s->segs);
		if (more)
			g->seg_at = dep_file_header_bytes(&s->fmt);
	}
	return err;
}

/* Check the headers of all segment files, which may have been opened before they had headers. */
static void check_files(struct dep_store *s)
{
	u32 n;

	for (n = 0; n < s->nfds; n++)
		s->segs.torn += dep_seg_file_check(s->fds[n], &s->fmt, n) != 0;
}

/* ---- the log ---- */

static struct block *read_block(struct dep_store *s, size_t *size)
{
	const u64 at = s->growth->log_at;
	struct block *b;
	struct stat st;
	ssize_t n;

	*size = 0;
	if (fstat(s->log_fd, &st)) {
		dep_fail(-errno, "cannot get the size of %s", DEP_LOG_NAME);
		return NULL;
	}
	n = st.st_size > (off_t)at ? st.st_size - (off_t)at : 0;
	b = malloc(sizeof(*b) + (size_t)n + 16);
	if (!b) {
		dep_fail(-ENOMEM, "cannot read %s", DEP_LOG_NAME);
		return NULL;
	}
	n = dep_read_at(s->log_fd, b->data, (size_t)n, at);
	if (n < 0) {
		dep_fail((int)n, "cannot read %s", DEP_LOG_NAME);
		free(b);
		return NULL;
	}
	memset(b->data + n, 0, 16);
	*size = (size_t)n;
	return b;
}

static int grow_log(struct dep_store *s, bool whole)
{
	struct dep_store_tail *g = s->growth;
	const struct dep_log_entry *e;
	struct dep_log_scan scan = { .fmt = s->fmt, .prev = g->prev };
	struct block *b = read_block(s, &scan.size);
	u64 taken = 0;
	int err = 0;

	if (!b)
		return -EIO;
	scan.data = b->data;
	while (!err && (e = whole ? dep_log_whole(&scan) : dep_log_next(&scan))) {
		err = dep_model_add(&s->model, e);
		taken = scan.at;
	}
	/* Offsets in the scan are relative to the block; make the offset of END absolute. */
	s->model.end_at += taken && s->model.ended ? g->log_at : 0;
	s->model.bad_bytes += scan.bad_bytes;
	s->model.breaks += scan.breaks;
	s->model.frames += scan.frames;
	g->prev = scan.prev;
	g->log_at += taken;
	if (!taken) {
		free(b);
		return err;
	}
	b->next = g->blocks;
	g->blocks = b;
	return err;
}

static size_t count_forks(const struct dep_model *m)
{
	const struct dep_process *p = m->processes.row;
	size_t i, n = 0;

	for (i = 0; i < m->processes.n; i++)
		n += p[i].cause == ADEPT_BY_FORK;
	return n;
}

/* Build all modules anew if rows were added: a new row can end a mapping that exists already. */
static int grow_modules(struct dep_store *s)
{
	struct dep_store_tail *g = s->growth;
	struct dep_model *m = &s->model;
	size_t forks = count_forks(m);

	if (g->maps == m->map_events.n && g->build_ids == m->build_ids.n && g->forks == forks)
		return 0;
	g->maps = m->map_events.n;
	g->build_ids = m->build_ids.n;
	g->forks = forks;
	m->modules.n = 0;
	s->modules_version++;
	return dep_modules_build(m, g->log_at);
}

static int grow(struct dep_store *s, bool whole)
{
	int err = grow_segments(s, whole);

	if (!err)
		err = grow_log(s, whole);
	return err ? err : grow_modules(s);
}

int dep_store_grow(struct dep_store *s)
{
	return grow(s, true);
}

int dep_store_finish_tail(struct dep_store *s)
{
	struct dep_manifest now;
	int err;

	err = dep_manifest_read(s->dirfd, &now);
	if (err)
		return err;
	dep_manifest_free(&s->manifest);
	s->manifest = now;
	err = grow(s, false);
	if (err)
		return err;
	check_files(s);
	if (!s->manifest.closed && s->segs.n && s->segs.seg[s->segs.n - 1].file + 1 == s->nfds)
		dep_seg_check_last(s->fds[s->nfds - 1], &s->fmt, &s->segs);
	dep_verdict_free(s);
	dep_store_complete(s);
	return 0;
}
