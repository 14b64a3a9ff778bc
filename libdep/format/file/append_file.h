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

/* A temporary file has the name of its final file, this suffix and a random number. */
#define DEP_TMP_SUFFIX		".tmp-"

struct dep_file {
	int fd;
	u64 size;		/* offset of the next append, a multiple of 8 */
	u64 reserve;		/* bytes of disk space to keep allocated beyond @size */
	u64 reserved;		/* offset at which the allocated disk space ends */
	bool no_reserve;	/* the file system cannot allocate disk space in advance */
};

/** struct dep_access - who may read a store: its owner, and a group if @shared */
struct dep_access {
	bool shared;
	gid_t group;
	bool has_owner;		/* new files get @owner as owner, not the user of the process */
	uid_t owner;
};

/** dep_format_new() - set @fmt to format 4 with a new random id; 0 or a negative errno */
int dep_format_new(struct dep_format *fmt);

/** dep_format_seed() - compute @fmt->seed from the version and the id in @fmt */
void dep_format_seed(struct dep_format *fmt);

/**
 * dep_format_read() - check the header of a store's file
 * @fmt: receives the store's format
 * @size: number of bytes at @header
 * @magic: expected magic, 8 bytes
 *
 * Return: 0; -EBADMSG if the header is invalid, or -EPROTONOSUPPORT for an unsupported version.
 */
int dep_format_read(struct dep_format *fmt, const void *header, size_t size, const char *magic);

/** dep_file_header() - fill in the header of a new file in format @fmt */
void dep_file_header(struct dep_file_header *h, const struct dep_format *fmt, const char *magic,
		     u32 number);

/**
 * dep_access_dir(), dep_access_file() - set mode, group and owner of a new directory or file
 *
 * The umask, and an ACL inherited from the parent directory, have no influence on who may read.
 */
int dep_access_dir(int fd, const struct dep_access *access);
int dep_access_file(int fd, const struct dep_access *access);

/** dep_access_read() - get owner, group and sharing from @like, an open file of a store */
struct dep_access dep_access_read(int like);

/**
 * dep_file_create() - create file @name in @dirfd and write its file header
 * @f: on failure f->fd is -1 and no new file is left behind
 */
int dep_file_create(struct dep_file *f, int dirfd, const char *name, const char *magic,
		    u32 number, const struct dep_format *fmt, const struct dep_access *access);

/**
 * dep_file_open() - open @name in @dirfd for reading and appending
 * @f: f->size receives the file's size, which need not be a multiple of 8; on failure f->fd is -1
 */
int dep_file_open(struct dep_file *f, int dirfd, const char *name);

/** dep_file_end() - truncate the file to @size, a multiple of 8 */
int dep_file_end(struct dep_file *f, u64 size);

/**
 * dep_file_reserve() - from now on, keep @bytes of disk space for the last frames of the file
 *
 * An append that would need the reserved space fails as on a full disk.  Nothing is reserved on
 * file systems that cannot allocate in advance.  After dep_file_use_reserve(), appends may use the
 * reserved space.
 */
void dep_file_reserve(struct dep_file *f, u64 bytes);
void dep_file_use_reserve(struct dep_file *f);

/**
 * dep_file_append() - write @n pieces, at most 7, then zeros up to a multiple of 8
 *
 * Return: 0, or a negative errno.  After an error the file gets its previous size, if possible.
 */
int dep_file_append(struct dep_file *f, const struct iovec *iov, int n);

/** dep_sync() - wait until the contents of @fd are on the disk; messages name the file @what */
int dep_sync(int fd, const char *what);

/** dep_sync_dir() - wait until the names of the files in directory @dirfd are on the disk */
int dep_sync_dir(int dirfd);

/* Read @size bytes at @off; fewer only at the end of the file.  Return: bytes read, or -errno. */
ssize_t dep_read_at(int fd, void *buf, size_t size, u64 off);

/** dep_open_read() - open regular file @name of @dirfd; a descriptor or a negative errno */
int dep_open_read(int dirfd, const char *name);

/** dep_open_failed() - set the message for error @err of dep_open_read(); returns @err */
int dep_open_failed(int err, const char *name);

/** dep_read_fd() - read a file of up to @max bytes into malloc() memory, followed by 16 zeros */
int dep_read_fd(int fd, const char *name, u64 max, void **data, size_t *size);

/** dep_read_all() - dep_open_read() and dep_read_fd() for file @name of directory @dirfd */
int dep_read_all(int dirfd, const char *name, u64 max, void **data, size_t *size);

/**
 * dep_write_whole() - replace file @name by @text
 * @durable: also wait until the new file is on the disk
 *
 * Writes a temporary file with a random name and renames it: a process that opens @name finds
 * either the old contents or the new contents.  On failure the old file stays.
 */
int dep_write_whole(int dirfd, const char *name, const char *text, size_t size,
		    const struct dep_access *access, bool durable);

/** dep_write_parts() - the same with the contents in @n parts; @iov is changed */
int dep_write_parts(int dirfd, const char *name, struct iovec *iov, int n,
		    const struct dep_access *access, bool durable);

#endif
