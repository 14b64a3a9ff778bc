// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/manifest.h"
#include "saved_store.h"
#include "window_found.h"
#include "window_recover.h"

bool dep_window_is_left(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	bool left;

	if (fd < 0)
		return false;
	left = !fstatat(fd, DEP_WINDOW_LOG, &st, AT_SYMLINK_NOFOLLOW);
	close(fd);
	return left && !dep_store_in_use(dir);
}

static int open_store(struct dep_found *f, const char *dir, struct dep_manifest *m)
{
	int err;

	f->at.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->at.dirfd < 0)
		return dep_fail(-errno, "cannot open %s", dir);
	if (dep_store_in_use(dir))
		return dep_fail(-EBUSY, "%s is being recorded", dir);
	err = dep_manifest_read(f->at.dirfd, m);
	if (err)
		return err;
	if (m->fmt.version != DEP_FORMAT_VERSION)
		return dep_fail(-EBADMSG, "%s has format %u: it cannot have a window", dir,
				m->fmt.version);
	f->at.fmt = m->fmt;
	/* Bounds were kept when the chunks were added. */
	f->w = dep_window_new(UINT64_MAX / 2, 0, 4096);
	return f->w ? 0 : dep_fail(-ENOMEM, "window");
}

static int read_files(struct dep_found *f)
{
	size_t size;
	void *log;
	int err = dep_read_all(f->at.dirfd, DEP_WINDOW_LOG, UINT64_MAX, &log, &size);

	if (err)
		return err;
	err = dep_found_log(f, log, size);
	if (!err)
		err = dep_found_chunks(f);
	if (!err)
		err = dep_found_ends(f, log, size);
	free(log);
	return err;
}

/* The threads whose end was not recorded: what they wrote last is lost. */
static int end_threads(struct dep_found *f, struct dep_ending *ending)
{
	struct dep_job job = { .kind = DEP_JOB_SAVE_END };
	const struct entry *t;
	size_t i;
	int err = 0;

	for (i = 0; i < f->w->threads.n && !err; i++) {
		t = &f->w->threads.row[i];
		if (t->end)
			continue;
		job.serial = t->serial;
		job.thread = t->begin->thread;
		job.thread.end = DEP_END_UNTAKEN;
		job.thread.end_ns = f->newest.ns > job.thread.start_ns ? f->newest.ns :
				    job.thread.start_ns;
		ending->loss.untaken_threads++;
		err = dep_window_save_end(f->w, &job);
	}
	for (i = 0; i < f->w->processes.n; i++)
		ending->live += !f->w->processes.row[i].end;
	return err;
}

/* How the new store ends: as the old one, if that was closed. */
static struct dep_ending ending_of(const struct dep_found *f, const struct dep_manifest *m)
{
	struct dep_ending e = m->ending;

	if (!m->closed)
		e = (struct dep_ending){ .cause = DEP_CLOSE_LOST, .exit_status = -1 };
	e.live = 0;
	e.loss.discarded_bytes += f->lost_bytes;
	e.loss.lost_descriptors += f->lost_descriptors;
	return e;
}

/* As a snapshot that was asked for when the last chunk was added. */
static void give_reason(struct dep_found *f, const struct dep_meta *meta)
{
	struct dep_kept kept = { .reason = DEP_KEEP_ASKED, .at_ns = f->newest.ns };

	if (kept.at_ns >= meta->start_ns && meta->start_realtime_ns)
		kept.realtime_ns = meta->start_realtime_ns + (kept.at_ns - meta->start_ns);
	dep_window_reason(f->w, &kept);
}

static int store_found(struct dep_found *f, const struct dep_manifest *m, struct dep_save *save,
		       struct dep_save_result *r)
{
	struct dep_ending ending = ending_of(f, m);
	struct dep_meta meta = m->meta;
	struct dep_saved saved;
	int err = end_threads(f, &ending);

	give_reason(f, &meta);
	if (!err)
		err = dep_window_save(f->w, &saved);
	if (err)
		return dep_fail(err, "window");
	meta.shared = meta.temporary = false;
	save->meta = &meta;
	err = dep_saved_store(&saved, save, &ending, r);
	dep_saved_free(&saved);
	return err;
}

int dep_window_recover(const char *dir, const char *to, int level, struct dep_save_result *r)
{
	struct dep_save save = { .dir = to, .level = level };
	struct dep_found f = { .at.dirfd = -1 };
	struct dep_manifest m = { 0 };
	int err;

	*r = (struct dep_save_result){ 0 };
	err = open_store(&f, dir, &m);
	if (!err)
		err = read_files(&f);
	if (!err)
		err = store_found(&f, &m, &save, r);
	if (err && !*r->error)
		snprintf(r->error, sizeof(r->error), "%s", *dep_error() ? dep_error() :
			 strerror(-err));
	r->err = err;
	dep_window_free(f.w);
	dep_manifest_free(&m);
	if (f.at.dirfd >= 0)
		close(f.at.dirfd);
	return err;
}
