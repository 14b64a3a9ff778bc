// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "window_disk.h"

#define PARTS	16u	/* files of a full window */

int dep_window_to_disk(struct dep_window *w, const struct dep_store_dir *at)
{
	struct dep_disk *d = calloc(1, sizeof(*d));
	int err;

	if (!d) {
		close(at->dirfd);
		return dep_fail(-ENOMEM, "window");
	}
	d->at = *at;
	d->limit = w->max_bytes;
	d->part = w->max_bytes / PARTS;
	d->log.file.fd = -1;
	w->disk = d;
	err = dep_disk_log_begin(w);
	if (err) {
		w->disk = NULL;
		dep_disk_free(d);
	}
	return err;
}

u64 dep_disk_room(const struct dep_window *w)
{
	const struct dep_disk *d = w->disk;
	/* While the log is written anew, there are two. */
	u64 log = d->log.file.size + dep_disk_log_live(w), least = dep_window_least(w, d->limit);

	return log > d->limit - least ? least : d->limit - log;
}

bool dep_disk_is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

int dep_disk_error(int err)
{
	return err == -EEXIST || err == -ENOENT || err == -EINVAL ? -EIO : err;
}

/* Remove file @f, of which the window needs nothing. */
static void remove_file(struct dep_disk *d, struct dep_window_file *f)
{
	struct dep_window_file **at = &d->oldest, *before = NULL;

	for (; *at != f; at = &before->next)
		before = *at;
	*at = f->next;
	if (d->newest == f)
		d->newest = before;
	d->file_bytes -= f->file.size;
	if (!d->keep)
		dep_window_file_remove(f, &d->at);
	dep_window_file_put(f);
}

void dep_disk_dropped(struct dep_window *w, const struct dep_kept_chunk *k)
{
	struct dep_disk *d = w->disk;

	k->file->held--;
	while (d->oldest && !d->oldest->held)
		remove_file(d, d->oldest);
}

/* Drop chunks until a file is removed; false: there is none. */
static bool drop_file(struct dep_window *w)
{
	const struct dep_window_file *f = w->disk->oldest;

	while (f && w->disk->oldest == f && w->oldest)
		dep_window_drop_oldest(w);
	return f && w->disk->oldest != f;
}

bool dep_disk_shrink(struct dep_window *w)
{
	struct dep_disk *d = w->disk;
	bool removed = drop_file(w);
	u64 limit = d->file_bytes + d->log.file.size + dep_disk_log_live(w);

	/* Others can need room, too: leave them as much as a file has. */
	limit -= limit > 2 * d->part ? d->part : 0;
	if (removed && limit < d->limit)
		__atomic_store_n(&d->limit, limit, __ATOMIC_RELAXED);
	return removed;
}

/* Let the newest file be one that has room for a chunk. */
static int begin_file(struct dep_disk *d)
{
	struct dep_window_file *f;
	int err;

	if (d->newest && d->newest->file.size < d->part)
		return 0;
	if (d->next == UINT32_MAX)
		return dep_fail(-EOVERFLOW, "--last-on-disk has no more names for files");
	err = dep_window_file_new(&f, &d->at, d->next);
	if (err)
		return err;
	d->next++;
	f->disk = d;
	if (d->newest)
		d->newest->next = f;
	else
		d->oldest = f;
	d->newest = f;
	d->file_bytes += f->file.size;
	return 0;
}

static int append(struct dep_disk *d, struct dep_kept_chunk *k, const u8 *body)
{
	int err = begin_file(d);

	if (err)
		return dep_disk_error(err);
	k->file = d->newest;
	err = dep_window_file_append(k, body);
	/* A file without chunks is not in the way of the next try. */
	k->file = NULL;
	if (err)
		return dep_disk_error(err);
	k->file = d->newest;
	dep_window_file_get(k->file);
	k->file->held++;
	d->file_bytes += k->size;
	d->chunks++;
	d->bytes += k->chunk.fill;
	return 0;
}

/* A program can still write to the chunk's memory in the ring, so copy it first. */
static int copy_body(struct dep_disk *d, const struct dep_job *job, const u8 **body)
{
	u32 fill = job->chunk.fill;
	int err;

	*body = job->data;
	if (!job->body)
		return 0;
	err = dep_kept_enlarge(&d->copy, fill ? fill : 1);
	if (err)
		return dep_fail(err, "chunk");
	memcpy(d->copy.data, job->body, fill);
	*body = d->copy.data;
	return 0;
}

int dep_disk_add(struct dep_window *w, const struct dep_job *job, struct dep_moment now,
		 struct dep_kept_chunk **out)
{
	const struct entry *t = dep_entries_find(&w->threads, job->serial);
	struct dep_disk *d = w->disk;
	struct dep_kept_chunk *k = calloc(1, sizeof(*k));
	const u8 *body;
	int err;

	if (!k)
		return dep_fail(-ENOMEM, "chunk");
	k->refs = 1;
	k->thread = job->serial;
	k->added = now;
	k->chunk = job->chunk;
	k->number = d->chunks;
	k->bytes = d->bytes;
	k->thread_chunks = t ? t->chunks : 0;
	k->thread_bytes = t ? t->bytes : 0;
	err = copy_body(d, job, &body);
	if (!err)
		err = append(d, k, body);
	while (dep_disk_is_full(err) && dep_disk_shrink(w))
		err = append(d, k, body);
	if (err)
		free(k);
	*out = err ? NULL : k;
	return err;
}

/* True if the disk may have too little room for the store and the files of the window. */
static bool is_short(const struct dep_window *w)
{
	u64 need = w->bytes + w->disk->log.file.size;
	struct statvfs st;

	return !fstatvfs(w->disk->at.dirfd, &st) && (u64)st.f_bavail * st.f_frsize < need;
}

void dep_disk_storing(struct dep_window *w)
{
	w->disk->early = is_short(w);
}

void dep_disk_stored(const struct dep_kept_chunk *k, int err)
{
	struct dep_window_file *f = k->file;

	f->held--;
	f->failed |= !!err;
	if (f->disk->early && !f->held && !f->failed)
		remove_file(f->disk, f);
}

void dep_window_max_memory(struct dep_window *w, u64 bytes)
{
	if (w->disk)
		w->disk->max_memory = bytes;
}

void dep_window_keep_files(struct dep_window *w)
{
	if (w->disk)
		w->disk->keep = true;
}

u64 dep_window_limit(const struct dep_window *w)
{
	return w->disk ? __atomic_load_n(&w->disk->limit, __ATOMIC_RELAXED) : w->max_bytes;
}

void dep_disk_free(struct dep_disk *d)
{
	if (!d)
		return;
	while (d->oldest)
		remove_file(d, d->oldest);
	if (d->log.file.fd >= 0) {
		if (!d->keep)
			unlinkat(d->at.dirfd, DEP_WINDOW_LOG, 0);
		close(d->log.file.fd);
	}
	close(d->at.dirfd);
	free(d->copy.data);
	free(d);
}
