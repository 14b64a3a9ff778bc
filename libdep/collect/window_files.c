// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "libdep/format/file/error.h"
#include "window_files.h"

static struct dep_window_file *allocate(const struct dep_store_dir *at, u32 number)
{
	struct dep_window_file *f = calloc(1, sizeof(*f));

	if (!f) {
		dep_fail(-ENOMEM, DEP_WINDOW_NAME, number);
		return NULL;
	}
	f->refs = 1;
	f->number = number;
	f->seed = at->fmt.seed;
	f->file.fd = -1;
	return f;
}

int dep_window_file_new(struct dep_window_file **out, const struct dep_store_dir *at, u32 number)
{
	struct dep_window_file *f = allocate(at, number);
	char name[32];
	int err;

	*out = NULL;
	if (!f)
		return -ENOMEM;
	snprintf(name, sizeof(name), DEP_WINDOW_NAME, number);
	err = dep_file_create(&f->file, at->dirfd, name, DEP_WINDOW_MAGIC, number, &at->fmt,
			      &at->access);
	if (err) {
		free(f);
		return err;
	}
	*out = f;
	return 0;
}

static int check_header(const struct dep_window_file *f, const struct dep_store_dir *at)
{
	struct dep_file_header h, expect;
	ssize_t n = dep_read_at(f->file.fd, &h, sizeof(h), 0);

	if (n < 0)
		return dep_fail((int)n, "cannot read " DEP_WINDOW_NAME, f->number);
	dep_file_header(&expect, &at->fmt, DEP_WINDOW_MAGIC, f->number);
	if (n != sizeof(h) || memcmp(&h, &expect, sizeof(h)))
		return dep_fail(-EBADMSG, DEP_WINDOW_NAME " is damaged, or belongs to another "
				"store", f->number);
	return 0;
}

int dep_window_file_open(struct dep_window_file **out, const struct dep_store_dir *at, u32 number)
{
	struct dep_window_file *f = allocate(at, number);
	struct stat st;
	char name[32];
	int err = 0;

	*out = NULL;
	if (!f)
		return -ENOMEM;
	snprintf(name, sizeof(name), DEP_WINDOW_NAME, number);
	f->file.fd = dep_open_read(at->dirfd, name);
	if (f->file.fd < 0)
		err = dep_open_failed(f->file.fd, name);
	else if (fstat(f->file.fd, &st))
		err = dep_fail(-errno, "cannot read %s", name);
	if (!err) {
		f->file.size = (u64)st.st_size;
		err = check_header(f, at);
	}
	if (err)
		dep_window_file_put(f);
	else
		*out = f;
	return err;
}

void dep_window_file_put(struct dep_window_file *f)
{
	if (__atomic_fetch_sub(&f->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	if (f->file.fd >= 0)
		close(f->file.fd);
	free(f);
}

void dep_window_file_remove(const struct dep_window_file *f, const struct dep_store_dir *at)
{
	char name[32];

	snprintf(name, sizeof(name), DEP_WINDOW_NAME, f->number);
	unlinkat(at->dirfd, name, 0);
}

u64 dep_window_file_size(u32 fill)
{
	return dep_align8(sizeof(struct dep_wire_window_chunk) + (u64)fill);
}

static u64 header_check(const struct dep_wire_window_chunk *h, u64 seed)
{
	return XXH3_64bits_withSeed(h, offsetof(struct dep_wire_window_chunk, check), seed);
}

int dep_window_file_append(struct dep_kept_chunk *k, const u8 *body)
{
	struct dep_window_file *f = k->file;
	struct dep_wire_window_chunk h = {
		.magic = DEP_WINDOW_CHUNK, .size = sizeof(h), .thread = k->thread,
		.number = k->number, .bytes = k->bytes, .thread_chunks = k->thread_chunks,
		.thread_bytes = k->thread_bytes, .added_ns = k->added.ns,
		.added_timestamp = k->added.timestamp, .chunk = k->chunk,
	};
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)body, k->chunk.fill } };

	h.body_check = XXH3_64bits_withSeed(body, k->chunk.fill, f->seed);
	h.check = header_check(&h, f->seed);
	k->body_check = h.body_check;
	k->offset = f->file.size + sizeof(h);
	k->size = dep_window_file_size(k->chunk.fill);
	return dep_file_append(&f->file, iov, 2);
}

int dep_window_file_read(const struct dep_kept_chunk *k, u8 *to)
{
	ssize_t n = dep_read_at(k->file->file.fd, to, k->chunk.fill, k->offset);

	if (n < 0)
		return dep_fail((int)n, "cannot read " DEP_WINDOW_NAME, k->file->number);
	if ((size_t)n != k->chunk.fill ||
	    XXH3_64bits_withSeed(to, k->chunk.fill, k->file->seed) != k->body_check)
		return dep_fail(-EBADMSG, DEP_WINDOW_NAME " is damaged at byte %llu",
				k->file->number, (unsigned long long)k->offset);
	return 0;
}

static bool is_header(const struct dep_wire_window_chunk *h, u64 seed)
{
	return h->magic == DEP_WINDOW_CHUNK && h->size == sizeof(*h) &&
	       h->chunk.fill <= DEP_BODY_MAX && h->check == header_check(h, seed);
}

int dep_window_file_next(struct dep_window_file *f, u64 *at, struct dep_kept_chunk **out)
{
	struct dep_wire_window_chunk h;
	struct dep_kept_chunk *k;
	ssize_t n;

	*out = NULL;
	if (!*at)
		*at = sizeof(struct dep_file_header);
	if (*at >= f->file.size)
		return 0;
	if (f->file.size - *at < sizeof(h))
		return -ENODATA;
	n = dep_read_at(f->file.fd, &h, sizeof(h), *at);
	if (n < 0)
		return dep_fail((int)n, "cannot read " DEP_WINDOW_NAME, f->number);
	if (n != sizeof(h) || !is_header(&h, f->seed))
		return -EBADMSG;
	if (h.chunk.fill > f->file.size - *at - sizeof(h))
		return -ENODATA;
	k = dep_kept_in_file(f);
	if (!k)
		return -ENOMEM;
	k->thread = h.thread;
	k->added = (struct dep_moment){ h.added_ns, h.added_timestamp };
	k->chunk = h.chunk;
	k->offset = *at + sizeof(h);
	k->size = dep_window_file_size(h.chunk.fill);
	k->body_check = h.body_check;
	k->number = h.number;
	k->bytes = h.bytes;
	k->thread_chunks = h.thread_chunks;
	k->thread_bytes = h.thread_bytes;
	*at += k->size;
	*out = k;
	return 1;
}
