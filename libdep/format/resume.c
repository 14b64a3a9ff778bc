// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Going on with a store: all of it is read and checked before anything is changed.
 * Writes were made in the order of the store, so all that a killed writer can have left
 * unfinished is the last frame and the last segment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "lock.h"
#include "manifest.h"
#include "resume_scan.h"

/* The number of segments.NNN, or -1 if @name is none. */
static int number_of(const char *name)
{
	const char *digits = strchr(name, '.');
	char same[32];
	u32 number;

	if (!digits)
		return -1;
	number = strtoul(digits + 1, NULL, 10) % DEP_SEG_FILES;
	snprintf(same, sizeof(same), DEP_SEG_NAME, number);
	return strcmp(name, same) ? -1 : (int)number;
}

/* How many segments.NNN there are; -EBADMSG if one is missing. */
static int count_files(int dirfd, u32 *count)
{
	u32 end = 0, n = 0;
	struct dirent *e;
	int fd, number;
	DIR *d;

	/* A description of its own: the place in a directory is part of it. */
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return dep_fail(-errno, "cannot list the store");
	}
	while ((e = readdir(d))) {
		number = number_of(e->d_name);
		if (number < 0)
			continue;
		n++;
		if ((u32)number >= end)
			end = number + 1;
	}
	closedir(d);
	*count = n;
	if (n != end)
		return dep_fail(-EBADMSG, "%u of %u files of segments are missing", end - n, end);
	return 0;
}

/* A file that was being made: is what there is of its header right? */
static int check_new_file(const struct dep_file *f, u32 number)
{
	struct dep_file_header h = { .version = DEP_FORMAT_VERSION, .number = number }, is;
	ssize_t n = dep_read_at(f->fd, &is, f->size, 0);

	if (n < 0)
		return dep_fail(n, "cannot read " DEP_SEG_NAME, number);
	memcpy(h.magic, DEP_SEG_MAGIC, sizeof(h.magic));
	if (memcmp(&h, &is, n))
		return dep_fail(-EBADMSG, DEP_SEG_NAME " is no file of segments", number);
	return 0;
}

/* Look at one file; the last becomes the writer's. */
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
	if (last && f.size < sizeof(struct dep_file_header))
		err = check_new_file(&f, number);
	else
		err = dep_resume_segments(s, f.fd, number, f.size, last);
	if (err || !last) {
		w->closed_bytes += f.size;
		close(f.fd);
		return err;
	}
	w->seg = f;
	w->seg_number = number;
	return 0;
}

static int read_files(struct dep_resume_scan *s)
{
	u32 n, count = 0;
	int err;

	err = count_files(s->w->dirfd, &count);
	for (n = 0; n < count && !err; n++)
		err = read_file(s, n, n + 1 == count);
	return err;
}

/* Open what a writer has open but the segments, and see that nobody else writes it. */
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
	/* Behind the lock: until then another writer may close it. */
	if (!err)
		err = dep_manifest_read(dirfd, &m);
	if (!err && m.closed)
		err = dep_fail(-EALREADY, "%s was closed, nothing can be added to it", dir);
	if (!err) {
		*out = dep_writer_new(dir, &m.meta, level);
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
	(*out)->log = log;
	return 0;
}

static int note_cut(struct dep_writer *w, u64 bytes, const char *what)
{
	char text[128];

	if (!bytes)
		return 0;
	snprintf(text, sizeof(text),
		 "%llu bytes of an unfinished %s were cut off when recording went on",
		 (unsigned long long)bytes, what);
	return dep_writer_note(w, text);
}

/* Where segments go from now on. */
static int end_segments(struct dep_resume_scan *s)
{
	struct dep_writer *w = s->w;
	char name[32];

	if (w->seg.fd >= 0 && w->seg.size >= sizeof(struct dep_file_header))
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

/* From here on the store is changed. */
static int go_on(struct dep_resume_scan *s)
{
	struct dep_writer *w = s->w;
	int err;

	err = dep_file_end(&w->log, s->log_end);
	if (!err)
		err = end_segments(s);
	if (!err)
		err = dep_resume_build_ids(s);
	if (!err)
		err = note_cut(w, s->r->cut_log, "frame");
	if (!err)
		err = note_cut(w, s->r->cut_segments, "segment");
	/* An END is one only if it is the last frame. */
	if (!err && s->r->ending)
		err = dep_writer_note(w, "recording went on behind its end");
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
