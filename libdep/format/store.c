// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Opening a store: everything comes from the log, the manifest and the segments'
 * headers.  The catalog is for others; it is not looked at.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "store.h"

static int by_thread_seq(const void *pa, const void *pb)
{
	const struct dep_segment *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

int dep_store_add_file(struct dep_store *s)
{
	char name[32];
	int *fds, fd;

	if (s->nfds == DEP_SEG_FILES)
		return 0;
	snprintf(name, sizeof(name), DEP_SEG_NAME, s->nfds);
	fd = openat(s->dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : dep_fail(-errno, "cannot open %s", name);
	fds = realloc(s->fds, (s->nfds + 1) * sizeof(*fds));
	if (!fds) {
		close(fd);
		return dep_fail(-ENOMEM, "files of segments");
	}
	s->fds = fds;
	s->fds[s->nfds++] = fd;
	return 1;
}

static int open_segments(struct dep_store *s)
{
	int err;
	u32 n;

	/* All files first: whether one is the last decides what is checked. */
	do {
		err = dep_store_add_file(s);
	} while (err > 0);
	for (n = 0; n < s->nfds && !err; n++)
		err = dep_seg_scan(s->fds[n], n, n + 1 == s->nfds && !s->manifest.closed,
				   &s->segs);
	return err;
}

void dep_loss_add(struct dep_loss *to, const struct dep_loss *from)
{
	to->dropped_chunks += from->dropped_chunks;
	to->dropped_bytes += from->dropped_bytes;
	to->discarded_bytes += from->discarded_bytes;
	to->lost_threads += from->lost_threads;
	to->lost_processes += from->lost_processes;
	to->native_images += from->native_images;
	to->absent_chunks += from->absent_chunks;
	to->absent_bytes += from->absent_bytes;
	to->unfinished_threads += from->unfinished_threads;
	to->torn_segments += from->torn_segments;
	to->unclean += from->unclean;
}

static void sum_loss(struct dep_store *s)
{
	const struct dep_wire_end *end = &s->model.end;

	s->loss = s->manifest.loss;
	if (!s->manifest.closed && s->model.ended) {
		s->loss.dropped_chunks = end->dropped_chunks;
		s->loss.dropped_bytes = end->dropped_bytes;
		s->loss.discarded_bytes = end->discarded_bytes;
		s->loss.lost_threads = end->lost_threads;
		s->loss.lost_processes = end->lost_processes;
		s->loss.native_images = end->native_images;
		s->loss.unfinished_threads = end->unfinished_threads;
		s->loss.absent_chunks = end->absent_chunks;
		s->loss.absent_bytes = end->absent_bytes;
		s->manifest.exit_status = (int)end->exit_status;
	}
	s->loss.torn_segments = s->segs.torn;
	s->loss.unclean = !s->manifest.closed && !s->model.ended;
}

void dep_store_complete(struct dep_store *s)
{
	if (s->segs.n)
		qsort(s->segs.seg, s->segs.n, sizeof(*s->segs.seg), by_thread_seq);
	sum_loss(s);
}

int dep_store_open(struct dep_store **out, const char *dir)
{
	struct dep_store *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return dep_fail(-ENOMEM, "store");
	s->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd < 0) {
		err = dep_fail(-errno, "cannot open %s", dir);
		goto out_free;
	}
	/* A store whose manifest is lost or broken still has all that was recorded. */
	if (dep_manifest_read(s->dirfd, &s->manifest))
		s->manifest.meta.cwd = "";
	err = dep_read_all(s->dirfd, DEP_LOG_NAME, &s->log, &s->log_size);
	if (err)
		goto out_manifest;
	err = dep_model_build(&s->model, s->log, s->log_size);
	if (err)
		goto out_log;
	err = open_segments(s);
	if (err) {
		dep_store_close(s);
		return err;
	}
	dep_store_complete(s);
	*out = s;
	return 0;

out_log:
	free(s->log);
out_manifest:
	dep_manifest_free(&s->manifest);
	close(s->dirfd);
out_free:
	free(s);
	return err;
}

void dep_store_close(struct dep_store *s)
{
	size_t i;
	u32 n;

	if (!s)
		return;
	for (i = 0; i < s->model.fragments.n; i++)
		if (s->prog_free)
			s->prog_free(dep_store_fragment(s, i)->prog);
	if (s->native)
		s->native_free(s->native);
	for (n = 0; n < s->nfds; n++)
		close(s->fds[n]);
	free(s->fds);
	free(s->segs.seg);
	dep_model_free(&s->model);
	dep_manifest_free(&s->manifest);
	dep_growth_free(s);
	free(s->log);
	close(s->dirfd);
	free(s);
}

int dep_store_columns(struct dep_store *s, const struct dep_segment *seg, struct dep_columns *c)
{
	if (seg->file >= s->nfds)
		return dep_fail(-EBADMSG, "there is no file %u of segments", seg->file);
	return dep_seg_read(s->fds[seg->file], seg, true, c);
}

size_t dep_store_processes(struct dep_store *s, const struct dep_process **out)
{
	*out = s->model.processes.row;
	return s->model.processes.n;
}

size_t dep_store_threads(struct dep_store *s, const struct dep_thread **out)
{
	*out = s->model.threads.row;
	return s->model.threads.n;
}

size_t dep_store_modules(struct dep_store *s, const struct dep_module **out)
{
	*out = s->model.modules.row;
	return s->model.modules.n;
}

size_t dep_store_segments(struct dep_store *s, const struct dep_segment **out)
{
	*out = s->segs.seg;
	return s->segs.n;
}

size_t dep_store_notes(struct dep_store *s, const char *const **out)
{
	*out = s->model.notes.row;
	return s->model.notes.n;
}

const struct dep_loss *dep_store_loss(struct dep_store *s)
{
	return &s->loss;
}

const struct dep_meta *dep_store_meta(struct dep_store *s)
{
	return &s->manifest.meta;
}

int dep_store_exit_status(struct dep_store *s)
{
	return s->manifest.exit_status;
}

void dep_store_fragments(struct dep_store *s, uint64_t *count, uint64_t *code_bytes,
			 uint64_t *desc_bytes)
{
	*count = s->model.fragments.n;
	*code_bytes = s->model.code_bytes;
	*desc_bytes = s->model.desc_bytes;
}

int dep_store_rebuild(const char *dir)
{
	struct dep_store *s;
	int err;

	err = dep_store_open(&s, dir);
	if (err)
		return err;
	err = dep_catalog_write(s, dir);
	dep_store_close(s);
	return err;
}
