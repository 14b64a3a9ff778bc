/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of a store: append-only files, which a failed write leaves unchanged, and small files that
 * are replaced as a whole.
 *
 * A user may put anything under a name that a writer is about to create or open, at any moment,
 * and the writer may be a daemon.  So files are created with O_EXCL, links are not followed,
 * opening a FIFO does not block, and an opened file must be a regular file.
 */
#ifndef ADEPT_FORMAT_FILE_APPEND_FILE_H
#define ADEPT_FORMAT_FILE_APPEND_FILE_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "wire.h"

/* Between the name of a file and the random part of its temporary name. */
#define DEP_TMP_SUFFIX		".tmp-"

struct dep_file {
	int fd;
	u64 size;		/* where the next append goes, a multiple of 8 */
	u64 reserve;		/* bytes to keep allocated after it */
	u64 reserved;		/* end of the allocated space */
	bool no_reserve;	/* its file system cannot allocate in advance */
};

/** struct dep_access - who may read a store: its owner, and a group if @shared */
struct dep_access {
	bool shared;
	gid_t group;
	bool has_owner;		/* @owner is known; else the process that makes the file */
	uid_t owner;
};

/** dep_format_new() - format 4 with a new random id; 0 or a negative errno */
int dep_format_new(struct dep_format *fmt);

/** dep_format_seed() - set @fmt->seed by its version and id */
void dep_format_seed(struct dep_format *fmt);

/**
 * dep_format_read() - check the header of a file
 * @fmt: receives its format
 * @size: number of bytes at @header
 * @magic: the magic that it must have
 *
 * Return: 0; -EBADMSG if it is not such a header, or -EPROTONOSUPPORT for another version.
 */
int dep_format_read(struct dep_format *fmt, const void *header, size_t size, const char *magic);

/** dep_file_header() - make the header of a file of @fmt */
void dep_file_header(struct dep_file_header *h, const struct dep_format *fmt, const char *magic,
		     u32 number);

/**
 * dep_access_dir(), dep_access_file() - set mode, group and owner of a new directory or file
 *
 * Neither the umask nor an ACL that was inherited from the parent directory changes who may read.
 */
int dep_access_dir(int fd, const struct dep_access *access);
int dep_access_file(int fd, const struct dep_access *access);

/** dep_access_read() - get the access of @like, a file of a store */
struct dep_access dep_access_read(int like);

/**
 * dep_file_create() - make @name in @dirfd with its file header
 * @f: on failure f->fd is -1 and there is no such file
 */
int dep_file_create(struct dep_file *f, int dirfd, const char *name, const char *magic,
		    u32 number, const struct dep_format *fmt, const struct dep_access *access);

/**
 * dep_file_open() - open @name in @dirfd for reading and appending
 * @f: f->size is the size of the file, of any alignment; on failure f->fd is -1
 */
int dep_file_open(struct dep_file *f, int dirfd, const char *name);

/** dep_file_end() - truncate the file to @size, a multiple of 8 */
int dep_file_end(struct dep_file *f, u64 size);

/**
 * dep_file_reserve() - from now on, keep @bytes of disk space for the last frames of the file
 *
 * An append that would use it fails as on a full disk.  File systems that cannot allocate in
 * advance reserve nothing.  dep_file_use_reserve() lets the next appends use it.
 */
void dep_file_reserve(struct dep_file *f, u64 bytes);
void dep_file_use_reserve(struct dep_file *f);

/**
 * dep_file_append() - write @n pieces, then zeros up to a multiple of 8
 *
 * Return: 0, or a negative errno; then the file is unchanged.
 */
int dep_file_append(struct dep_file *f, const struct iovec *iov, int n);

/** dep_sync() - wait until the disk has the contents of @fd; @what is for the message */
int dep_sync(int fd, const char *what);

/** dep_sync_dir() - wait until the disk has the names in @dirfd */
int dep_sync_dir(int dirfd);

/* Whole reads: bytes read (fewer only at the file's end), or a negative errno. */
ssize_t dep_read_at(int fd, void *buf, size_t size, u64 off);

/** dep_open_read() - open regular file @name of @dirfd; a descriptor or a negative errno */
int dep_open_read(int dirfd, const char *name);

/** dep_open_failed() - set the message for a failure of dep_open_read(); returns the error */
int dep_open_failed(int err, const char *name);

/** dep_read_fd() - read a file of up to @max bytes into malloc() memory, followed by 16 zeros */
int dep_read_fd(int fd, const char *name, u64 max, void **data, size_t *size);

/** dep_read_all() - the same for file @name of @dirfd */
int dep_read_all(int dirfd, const char *name, u64 max, void **data, size_t *size);

/**
 * dep_write_whole() - replace file @name by @text
 * @durable: also wait until the disk has it
 *
 * Writes a temporary file with a random name and renames it: a process that opens @name finds
 * either the old contents or the new ones.  On failure the old ones stay.
 */
int dep_write_whole(int dirfd, const char *name, const char *text, size_t size,
		    const struct dep_access *access, bool durable);

#endif
