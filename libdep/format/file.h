/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Append-only files that a failed write leaves as they were. */
#ifndef DEP_FORMAT_FILE_H
#define DEP_FORMAT_FILE_H

#include <sys/types.h>
#include <sys/uio.h>

#include "wire.h"

struct dep_file {
	int fd;
	u64 size;		/* where the next append goes, a multiple of 8 */
};

/**
 * dep_file_create() - make @name in @dirfd with its file header
 * @f: on failure f->fd is -1
 */
int dep_file_create(struct dep_file *f, int dirfd, const char *name, const char *magic,
		    u32 number);

/**
 * dep_file_open() - open @name in @dirfd to read it and to go on with it
 * @f: size is the file's, whatever that is; on failure f->fd is -1
 */
int dep_file_open(struct dep_file *f, int dirfd, const char *name);

/** dep_file_end() - let the file end at @size, a multiple of 8 */
int dep_file_end(struct dep_file *f, u64 size);

/**
 * dep_file_append() - write @n pieces, the last followed by zeros up to a multiple of 8
 * @iov: is changed
 *
 * Return: 0, or a negative errno and the file ends where it ended.
 */
int dep_file_append(struct dep_file *f, const struct iovec *iov, int n);

/* Whole reads: bytes read (fewer only at the file's end), or a negative errno. */
ssize_t dep_read_at(int fd, void *buf, size_t size, u64 off);

/** dep_read_fd() - read a file into memory from malloc(), 16 zero bytes behind */
int dep_read_fd(int fd, const char *name, void **data, size_t *size);

/** dep_read_all() - the same of file @name of @dirfd */
int dep_read_all(int dirfd, const char *name, void **data, size_t *size);

/** dep_write_whole() - put @text into @name by way of a temporary file and rename */
int dep_write_whole(int dirfd, const char *name, const char *text, size_t size);

#endif
