// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Resuming a store: all of it is read and checked before anything is changed.  A writer appends one
 * frame or segment after the other, so a killed writer leaves at most the last frame and the last
 * segment unfinished.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/lock.h"
#include "libdep/format/read/manifest.h"
#include "resume_scan.h"

/*
 * Check a segment file that may have been interrupted during its creation.  A part of the header,
 * or zeros, is valid, since the name can reach the disk before the contents.
 */
static int check_new_file(const struct dep_format *fmt, const struct dep_file *f, u32 number)
{
	static const struct dep_file_header zero;
	struct dep_file_header h, is;
	ssize_t n = dep_read_at(f->fd, &is, f->size, 0);

	if (n < 0)
		return dep_fail(n, "cannot read " DEP_SEG_NAME, number);
	dep_file_header(&h, fmt, DEP_SEG_MAGIC, number);
	if (memcmp(&h, &is, n) && memcmp(&zero, &is, n))
		return dep_fail(-EBADMSG, DEP_SEG_NAME " is not a segment file", number);
	return 0;
}

/* True if the last file has no header yet. */
static bool is_new(const struct dep_format *fmt, const struct dep_file *f, u32 number)
{
	return f->size < sizeof(struct dep_file_header) ||
	       (f->size == sizeof(struct dep_file_header) &&
		dep_seg_file_check(f->fd, fmt, number) == -EBADMSG);
}

/* Read one segment file; the last file becomes the writer's current file. */
static int read_file(struct dep_resume_scan *s, u32 number, bool last)
{
	struct dep_writer *w = s->w;
	struct dep_file f;
	char name[32];
	int err;

	snprintf(name, sizeof(name), DEP_SEG_NAME, number);
	err = dep_file_open(&f, w->dirfd, name);
	if (err)
		return err;
	s->make_again = last && is_new(&w->fmt, &f, number);
	if (s->make_again)
		err = check_new_file(&w->fmt, &f, number);
	else
		err = dep_resume_segments(s, f.fd, number, f.size, last);
	if (!err && !last) {
		w->seg = f;
		w->seg_number = number;
		err = dep_writer_leave_file(w);
		w->seg.fd = -1;
	}
	if (err)
		close(f.fd);
	if (err || !last)
		return err;
	w->seg = f;
	w->seg_number = number;
	return 0;
}

static int read_files(struct dep_resume_scan *s)
{
	u32 n, first = s->w->first_file, count = 0, end = 0;
	int err;

	err = dep_seg_files(s->w->dirfd, first, &count, &end);
	if (!err && first >= DEP_SEG_FILES)
		err = dep_fail(-EBADMSG, "%s claims that all segment files were removed",
			       DEP_LOG_NAME);
	/* If there is no segment file, the next file gets number @first. */
	s->w->seg_number = first;
	if (!err && count != end - first)
		err = dep_fail(-EBADMSG, "%u of %u segment files are missing",
			       end - first - count, end - first);
	for (n = first; n < end && !err; n++)
		err = read_file(s, n, n + 1 == end);
	return err;
}

/* Make a writer from manifest @m.  The writer takes over m->tree. */
static struct dep_writer *writer_of(struct dep_manifest *m, const char *dir, int level)
{
	struct dep_writer *w = dep_writer_new(dir, &m->meta, level);

	if (!w)
		return NULL;
	w->fmt = m->fmt;
	w->unnamed = !m->meta.temporary;
	w->manifest = m->tree;
	m->tree = NULL;
	return w;
}

/* Open the directory and the log, and lock out other writers. */
static int open_store(struct dep_writer **out, const char *dir, int level)
{
	struct dep_file log = { .fd = -1 };
	struct dep_manifest m = { 0 };
	int dirfd, err;

	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd < 0)
		return dep_fail(-errno, "cannot open %s", dir);
	err = dep_file_open(&log, dirfd, DEP_LOG_NAME);
	if (!err)
		err = dep_lock_writer(log.fd, dir);
	/* Read the manifest after locking: before, another writer could close the store. */
	if (!err)
		err = dep_manifest_read(dirfd, &m);
	if (!err && m.closed)
		err = dep_fail(-EALREADY, "%s was closed, nothing can be added to it", dir);
	if (!err && m.fmt.version != DEP_FORMAT_VERSION)
		err = dep_fail(-EBADMSG, "%s has format %u; only format %u can be resumed",
			       dir, m.fmt.version, DEP_FORMAT_VERSION);
	if (!err) {
		*out = writer_of(&m, dir, level);
		err = *out ? 0 : -ENOMEM;
	}
	dep_manifest_free(&m);
	if (err) {
		if (log.fd >= 0)
			close(log.fd);
		close(dirfd);
		return err;
	}
	(*out)->dirfd = dirfd;
	(*out)->log.file = log;
	(*out)->access = dep_access_read(log.fd);
	return 0;
}

static int note_cut(struct dep_writer *w, u64 bytes, const char *what)
{
	char text[128];

	if (!bytes)
		return 0;
	snprintf(text, sizeof(text),
		 "%llu bytes of an unfinished %s were cut off when the recording was resumed",
		 (unsigned long long)bytes, what);
	return dep_writer_message(w, text);
}

/* Overwrite the headers of segments with damaged columns, so that readers ignore them. */
static int take_headers_away(struct dep_resume_scan *s)
{
	static const u64 zero;
	const struct iovec iov = { (void *)&zero, sizeof(zero) };
	const struct dep_segment *g = s->damaged.row;
	struct dep_writer *w = s->w;
	size_t i;
	int fd;

	for (i = 0; i < s->damaged.n; i++, g++) {
		fd = g->file == w->seg_number ? w->seg.fd : w->rolled[g->file - w->first_file];
		if (pwritev(fd, &iov, 1, (off_t)g->offset) != sizeof(zero))
			return dep_fail(-errno, "cannot invalidate segment %llu of thread %u",
					(unsigned long long)g->seq, g->thread);
		w->discarded_bytes += g->raw_bytes;
		s->r->torn++;
	}
	return 0;
}

static int note_damage(struct dep_writer *w, size_t segments)
{
	char text[128];

	if (!segments)
		return 0;
	snprintf(text, sizeof(text),
		 "%zu damaged segments were invalidated when the recording was resumed", segments);
	return dep_writer_message(w, text);
}

/* Prepare the segment file for appending: cut off an unfinished segment, or create the file. */
static int end_segments(struct dep_resume_scan *s)
{
	struct dep_writer *w = s->w;
	char name[32];

	if (w->seg.fd >= 0 && !s->make_again)
		return dep_file_end(&w->seg, s->seg_end);
	if (w->seg.fd >= 0) {
		close(w->seg.fd);
		w->seg.fd = -1;
		snprintf(name, sizeof(name), DEP_SEG_NAME, w->seg_number);
		if (unlinkat(w->dirfd, name, 0))
			return dep_fail(-errno, "cannot remove %s", name);
	}
	return dep_writer_segment_file(w, w->seg_number);
}

/* Change the store, which has been checked: cut off unfinished data and log what was done. */
static int go_on(struct dep_resume_scan *s)
{
	struct dep_writer *w = s->w;
	int err;

	err = dep_file_end(&w->log.file, s->log_end);
	if (!err)
		err = end_segments(s);
	if (!err)
		err = take_headers_away(s);
	if (err)
		return err;
	dep_writer_reserve(w);
	dep_manifest_recorder(w->manifest);
	err = dep_manifest_write(w->dirfd, &w->access, w->manifest, true);
	if (!err)
		err = dep_resume_build_ids(s);
	if (!err)
		err = note_cut(w, s->r->cut_log, "frame");
	if (!err)
		err = note_cut(w, s->r->cut_segments, "segment");
	if (!err)
		err = note_damage(w, s->damaged.n);
	/* END counts only as the last frame, so a frame after it makes the store unclosed again. */
	if (!err && s->r->ending)
		err = dep_writer_message(w, "the recording was resumed after its end");
	return err;
}

int dep_writer_resume(struct dep_writer **out, const char *dir, int compress_level,
		      int (*descriptors)(void *arg, const void *data, size_t size), void *arg,
		      struct dep_resume *r)
{
	struct dep_resume_scan s = { .descriptors = descriptors, .arg = arg, .r = r };
	int err;

	*out = NULL;
	memset(r, 0, sizeof(*r));
	err = open_store(&s.w, dir, compress_level);
	if (err)
		return err;
	err = dep_resume_log(&s);
	if (!err)
		err = read_files(&s);
	if (!err)
		err = go_on(&s);
	dep_resume_scan_free(&s, !err);
	/* Lift the limit against forged files: further rows come from this recording. */
	s.w->chains.may_move = 0;
	if (err)
		dep_writer_free(s.w);
	else
		*out = s.w;
	return err;
}

void dep_resume_free(struct dep_resume *r)
{
	free(r->process);
	free(r->thread);
	memset(r, 0, sizeof(*r));
}
