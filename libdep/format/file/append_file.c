// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <xxhash.h>

#include "dep/store.h"
#include "budget.h"
#include "error.h"
#include "append_file.h"

/* disk space in bytes allocated beyond the reserve, so that few appends call fallocate() */
#define RESERVE_STEP	(256u << 10)

/* ---- file headers ---- */

void dep_format_seed(struct dep_format *fmt)
{
	fmt->seed = fmt->version == DEP_FORMAT_OLD ? 0 : XXH3_64bits(fmt->id, sizeof(fmt->id));
}

int dep_format_new(struct dep_format *fmt)
{
	*fmt = (struct dep_format){ .version = DEP_FORMAT_VERSION };
	if (getrandom(fmt->id, sizeof(fmt->id), 0) != sizeof(fmt->id))
		return dep_fail(-errno, "cannot get a random number for the store's id");
	dep_format_seed(fmt);
	return 0;
}

void dep_file_header(struct dep_file_header *h, const struct dep_format *fmt, const char *magic,
		     u32 number)
{
	*h = (struct dep_file_header){ .version = fmt->version, .number = number };
	memcpy(h->magic, magic, sizeof(h->magic));
	if (fmt->version == DEP_FORMAT_OLD)
		return;
	memcpy(h->id, fmt->id, sizeof(h->id));
	h->check = XXH3_64bits_withSeed(h, offsetof(struct dep_file_header, check), fmt->seed);
}

int dep_format_read(struct dep_format *fmt, const void *header, size_t size, const char *magic)
{
	struct dep_file_header h = { 0 }, expect;

	*fmt = (struct dep_format){ 0 };
	memcpy(&h, header, size < sizeof(h) ? size : sizeof(h));
	if (size < offsetof(struct dep_file_header, id) || memcmp(h.magic, magic, sizeof(h.magic)))
		return -EBADMSG;
	if (h.version < DEP_FORMAT_OLD || h.version > DEP_FORMAT_VERSION)
		return dep_fail(-EPROTONOSUPPORT,
				"unsupported format version %u; this program reads %u to %u",
				h.version, DEP_FORMAT_OLD, DEP_FORMAT_VERSION);
	fmt->version = h.version;
	if (h.version == DEP_FORMAT_OLD)
		return 0;
	if (size < sizeof(h))
		return -EBADMSG;
	memcpy(fmt->id, h.id, sizeof(fmt->id));
	dep_format_seed(fmt);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return 0;
#endif
	dep_file_header(&expect, fmt, magic, h.number);
	return memcmp(&expect, &h, sizeof(h)) ? -EBADMSG : 0;
}

/* ---- who may read ---- */

/*
 * If a file has an ACL, the group bits of its mode are the mask of all ACL entries.  Setting them
 * would give access to the users named in an ACL that was inherited from the parent directory, but
 * not to the group that the store is shared with.
 */
static int remove_acl(int fd, const char *name)
{
	if (!fremovexattr(fd, name) || errno == ENODATA || errno == EOPNOTSUPP)
		return 0;
	return dep_fail(-errno, "cannot remove the access control list of a new file");
}

static int set_access(int fd, const struct dep_access *access, mode_t own, mode_t shared)
{
	struct stat st;
	int err;

	if (access->shared) {
		err = remove_acl(fd, "system.posix_acl_access");
		if (err)
			return err;
		if (fchown(fd, (uid_t)-1, access->group))
			return dep_fail(-errno, "cannot share the store with group %u",
					access->group);
	}
	if (fchmod(fd, access->shared ? shared : own))
		return dep_fail(-errno, "cannot set the permissions of the store");
	if (!access->has_owner)
		return 0;
	if (fstat(fd, &st) || (st.st_uid != access->owner && fchown(fd, access->owner, -1)))
		return dep_fail(-errno, "cannot give a new file to the store's owner");
	return 0;
}

int dep_access_dir(int fd, const struct dep_access *access)
{
	int err = access->shared ? remove_acl(fd, "system.posix_acl_default") : 0;

	return err ? err : set_access(fd, access, 0700, 0750);
}

int dep_access_file(int fd, const struct dep_access *access)
{
	return set_access(fd, access, 0600, 0640);
}

struct dep_access dep_access_read(int like)
{
	struct dep_access access = { 0 };
	struct stat st;

	if (fstat(like, &st))
		return access;
	access.has_owner = true;
	access.owner = st.st_uid;
	access.shared = st.st_mode & S_IRGRP;
	access.group = access.shared ? st.st_gid : 0;
	return access;
}

/* ---- append-only files ---- */

int dep_file_create(struct dep_file *f, int dirfd, const char *name, const char *magic,
		    u32 number, const struct dep_format *fmt, const struct dep_access *access)
{
	struct dep_file_header h;
	struct iovec iov = { &h, sizeof(h) };
	int err;

	*f = (struct dep_file){ 0 };
	f->fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK |
		       O_CLOEXEC, 0600);
	if (f->fd < 0)
		return dep_fail(-errno, "cannot create %s", name);
	dep_file_header(&h, fmt, magic, number);
	err = dep_access_file(f->fd, access);
	if (!err)
		err = dep_file_append(f, &iov, 1);
	if (err) {
		close(f->fd);
		f->fd = -1;
		unlinkat(dirfd, name, 0);
	}
	return err;
}

int dep_file_open(struct dep_file *f, int dirfd, const char *name)
{
	struct stat st;

	*f = (struct dep_file){ 0 };
	f->fd = openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0)
		return dep_fail(-errno, "cannot open %s", name);
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink > 1) {
		close(f->fd);
		f->fd = -1;
		return dep_fail(-EBADMSG, "%s is not a regular file, or has several hard links",
				name);
	}
	f->size = st.st_size;
	return 0;
}

int dep_file_end(struct dep_file *f, u64 size)
{
	if (f->size != size && ftruncate(f->fd, size))
		return dep_fail(-errno, "cannot truncate a file of the store");
	f->size = size;
	return 0;
}

static int allocate(struct dep_file *f, u64 upto)
{
	while (fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)f->reserved,
			 (off_t)(upto - f->reserved)))
		if (errno != EINTR)
			return -errno;
	f->reserved = upto;
	return 0;
}

/* Allocate disk space for the reserve after offset @end, if it is not allocated yet. */
static int keep_reserve(struct dep_file *f, u64 end)
{
	u64 upto = end + f->reserve;
	int err;

	if (!f->reserve || f->no_reserve || upto <= f->reserved)
		return 0;
	/* An almost full disk can have space for the reserve, but not for RESERVE_STEP more. */
	err = allocate(f, upto + RESERVE_STEP);
	if (err)
		err = allocate(f, upto);
	if (!err || err == -ENOSPC || err == -EDQUOT || err == -EFBIG)
		return err;
	f->no_reserve = true;
	return 0;
}

void dep_file_reserve(struct dep_file *f, u64 bytes)
{
	if (!f->reserve)
		f->reserved = f->size;
	f->reserve = bytes;
	/* If this fails, the next append reports that there is no space. */
	keep_reserve(f, f->size);
}

void dep_file_use_reserve(struct dep_file *f)
{
	f->reserve = 0;
}

/* @size receives the number of bytes written, also on failure. */
static int write_all(int fd, struct iovec *iov, int n, u64 off, u64 *size)
{
	ssize_t done;

	*size = 0;
	while (n) {
		if (!iov->iov_len) {
			iov++;
			n--;
			continue;
		}
		done = pwritev(fd, iov, n, off);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		off += done;
		*size += (u64)done;
		for (; n && (size_t)done >= iov->iov_len; iov++, n--)
			done -= iov->iov_len;
		if (n) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= done;
		}
	}
	return 0;
}

/*
 * Undo a failed append.  Truncation also frees the disk space allocated after the file's end, so
 * the file is truncated only if something was written, and the reserve is allocated again at once.
 * If the truncation fails, readers skip the partial append by searching for the next magic.
 */
static int take_back(struct dep_file *f, u64 written)
{
	if (!written)
		return 0;
	if (ftruncate(f->fd, (off_t)f->size))
		return -errno;
	f->reserved = f->size;
	keep_reserve(f, f->size);
	return 0;
}

int dep_file_append(struct dep_file *f, const struct iovec *iov, int n)
{
	static const u64 zero;
	struct iovec v[8];
	u64 size = 0, written = 0;
	int i, err;

	if (n > 7)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		v[i] = iov[i];
		size += v[i].iov_len;
	}
	v[n].iov_base = (void *)&zero;
	v[n].iov_len = dep_align8(size) - size;
	err = keep_reserve(f, f->size + dep_align8(size));
	if (!err)
		err = write_all(f->fd, v, n + 1, f->size, &written);
	if (err && take_back(f, written))
		return dep_fail(err, "cannot write to the store, nor remove the partial write");
	if (err)
		return dep_fail(err, "cannot write to the store");
	f->size += dep_align8(size);
	return 0;
}

int dep_sync(int fd, const char *what)
{
	while (fdatasync(fd)) {
		if (errno == EINTR)
			continue;
		/* Some file systems do not support fdatasync(). */
		if (errno == EINVAL)
			return 0;
		return dep_fail(-errno, "cannot write %s to the disk", what);
	}
	return 0;
}

int dep_sync_dir(int dirfd)
{
	while (fsync(dirfd)) {
		if (errno == EINTR)
			continue;
		if (errno == EINVAL)
			return 0;
		return dep_fail(-errno, "cannot write the store's directory to the disk");
	}
	return 0;
}

/* ---- whole files ---- */

ssize_t dep_read_at(int fd, void *buf, size_t size, u64 off)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = pread(fd, (char *)buf + done, size - done, off + done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += n;
	}
	return done;
}

u64 dep_file_data(int fd, u64 most)
{
	off_t from = 0, upto;
	u64 sum = 0;

	while (sum < most) {
		from = lseek(fd, from, SEEK_DATA);
		upto = from < 0 ? -1 : lseek(fd, from, SEEK_HOLE);
		if (upto <= from)
			break;
		sum += (u64)(upto - from);
		from = upto;
	}
	return sum;
}

/* Reject a sparse file that is mostly holes: read as a whole, it would fill memory with zeros. */
static int check_sparse(int fd, const char *name, u64 size)
{
	u64 data;

	if (size <= dep_budget_file(0))
		return 0;
	data = dep_file_data(fd, size);
	if (size <= dep_budget_file(data))
		return 0;
	return dep_fail(-EFBIG, "%s is a sparse file of %llu bytes with only %llu bytes of data",
			name, (unsigned long long)size, (unsigned long long)data);
}

int dep_read_fd(int fd, const char *name, u64 max, void **data, size_t *size)
{
	struct stat st;
	ssize_t n;
	char *buf;
	int err;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return dep_fail(-EBADMSG, "%s is not a regular file", name);
	if ((u64)st.st_size > max)
		return dep_fail(-EBADMSG, "%s is too large", name);
	err = check_sparse(fd, name, (u64)st.st_size);
	if (err)
		return err;
	buf = malloc(st.st_size + 16);
	if (!buf)
		return dep_fail(-ENOMEM, "cannot read %s", name);
	n = dep_read_at(fd, buf, st.st_size, 0);
	if (n < 0) {
		free(buf);
		return dep_fail(n, "cannot read %s", name);
	}
	memset(buf + n, 0, 16);
	*data = buf;
	*size = n;
	return 0;
}

int dep_open_read(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EBADMSG;
}

int dep_open_failed(int err, const char *name)
{
	if (err == -EBADMSG || err == -ELOOP || err == -ENXIO)
		return dep_fail(err, "%s is not a regular file", name);
	return dep_fail(err, "cannot open %s", name);
}

int dep_read_all(int dirfd, const char *name, u64 max, void **data, size_t *size)
{
	int fd = dep_open_read(dirfd, name), err;

	if (fd < 0)
		return dep_open_failed(fd, name);
	err = dep_read_fd(fd, name, max, data, size);
	close(fd);
	return err;
}

int dep_write_whole(int dirfd, const char *name, const char *text, size_t size,
		    const struct dep_access *access, bool durable)
{
	struct iovec iov = { (void *)text, size };

	return dep_write_parts(dirfd, name, &iov, 1, access, durable);
}

int dep_write_parts(int dirfd, const char *name, struct iovec *iov, int n,
		    const struct dep_access *access, bool durable)
{
	u64 random, written;
	char tmp[64];
	int fd, err;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return dep_fail(-errno, "cannot get a random number for a temporary name");
	snprintf(tmp, sizeof(tmp), "%s" DEP_TMP_SUFFIX "%016llx", name,
		 (unsigned long long)random);
	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return dep_fail(-errno, "cannot create %s", tmp);
	err = dep_access_file(fd, access);
	if (!err) {
		err = write_all(fd, iov, n, 0, &written);
		if (!err && durable)
			err = dep_sync(fd, name);
	}
	close(fd);
	if (!err && renameat(dirfd, tmp, dirfd, name))
		err = -errno;
	if (err) {
		unlinkat(dirfd, tmp, 0);
		return dep_fail(err, "cannot write %s", name);
	}
	return durable ? dep_sync_dir(dirfd) : 0;
}
