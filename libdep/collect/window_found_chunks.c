// SPDX-License-Identifier: LGPL-2.1-or-later
/* Find the chunks of a window that is left. Their bodies are not read yet. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/format/file/table.h"
#include "window_found.h"

/* What the chunk before had; NULL: there is none. */
struct before {
	bool any;
	u64 number, bytes;	/* those that the next chunk should have */
};

/* The number of a file of chunks; false: @name is no such file. */
static bool is_chunks(const char *name, u32 *number)
{
	unsigned int n;
	char again[32];

	if (sscanf(name, DEP_WINDOW_PREFIX "%u", &n) != 1)
		return false;
	snprintf(again, sizeof(again), DEP_WINDOW_NAME, n);
	*number = n;
	return !strcmp(again, name);
}

static int by_number(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* The numbers of all files, sorted. */
static int list_files(int dirfd, struct dep_table *files)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	u32 number, *row;
	int err = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return dep_fail(-errno, "cannot read the directory of the store");
	}
	while (!err && (e = readdir(d))) {
		if (!is_chunks(e->d_name, &number))
			continue;
		row = dep_table_add(files, sizeof(*row));
		if (row)
			*row = number;
		else
			err = dep_fail(-ENOMEM, "list of files");
	}
	closedir(d);
	if (files->n)
		qsort(files->row, files->n, sizeof(u32), by_number);
	return err;
}

/* The chunks before were in files that have been removed: all of them were dropped. */
static void first_chunk(struct dep_found *f, const struct dep_kept_chunk *k)
{
	struct dep_last *d = &f->w->dropped;

	if (k->number <= d->chunks)
		return;
	d->chunks = k->number;
	d->bytes = k->bytes;
	d->from_ns = k->added.ns;
	d->from_timestamp = k->added.timestamp;
}

static void first_of_thread(struct entry *t, const struct dep_kept_chunk *k)
{
	if (k->chunk.seq <= t->last.first)
		return;
	t->last.first = k->chunk.seq;
	t->last.chunks = k->thread_chunks;
	t->last.bytes = k->thread_bytes;
}

/* Add a chunk to the window, which owns it then; or free it. */
static void add(struct dep_found *f, struct before *b, struct dep_kept_chunk *k)
{
	struct entry *t = dep_entries_find(&f->w->threads, k->thread);

	if (k->number < f->w->dropped.chunks) {
		dep_kept_put(k);
		return;
	}
	if (!t || (b->any && k->number < b->number)) {
		f->lost_bytes += k->chunk.fill;
		dep_kept_put(k);
		return;
	}
	if (!b->any)
		first_chunk(f, k);
	else if (k->bytes > b->bytes)
		f->lost_bytes += k->bytes - b->bytes;
	*b = (struct before){ true, k->number + 1, k->bytes + k->chunk.fill };
	if (!t->chunks)
		first_of_thread(t, k);
	f->newest = k->added;
	dep_window_append(f->w, k);
}

/* @newest: the collector may have been killed while it appended a chunk */
static int read_file(struct dep_found *f, struct before *b, u32 number, bool newest)
{
	struct dep_window_file *file;
	struct dep_kept_chunk *k;
	u64 at = 0;
	int ret = dep_window_file_open(&file, &f->at, number);

	if (ret)
		return ret;
	while ((ret = dep_window_file_next(file, &at, &k)) == 1)
		add(f, b, k);
	/* Where the next chunk begins is not known. */
	if (ret == -EBADMSG || (ret == -ENODATA && !newest))
		f->lost_bytes += file->file.size - at;
	if (ret == -EBADMSG || ret == -ENODATA)
		ret = 0;
	dep_window_file_put(file);
	return ret == -ENOMEM ? dep_fail(ret, DEP_WINDOW_NAME, number) : ret;
}

int dep_found_chunks(struct dep_found *f)
{
	struct dep_table files = { 0 };
	struct before b = { 0 };
	size_t i;
	int err = list_files(f->at.dirfd, &files);

	for (i = 0; i < files.n && !err; i++) {
		err = read_file(f, &b, ((const u32 *)files.row)[i], i + 1 == files.n);
		/* A file that was just created has no header yet; others show as gaps. */
		if (err == -EBADMSG)
			err = 0;
	}
	free(files.row);
	return err;
}
