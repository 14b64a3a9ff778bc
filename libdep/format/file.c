// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../include/dep/store.h"
#include "error.h"
#include "file.h"

int dep_file_create(struct dep_file *f, int dirfd, const char *name, const char *magic,
		    u32 number)
{
	struct dep_file_header h = { .version = DEP_FORMAT_VERSION, .number = number };
	struct iovec iov = { &h, sizeof(h) };
	int err;

	memcpy(h.magic, magic, sizeof(h.magic));
	f->size = 0;
	f->fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (f->fd < 0)
		return dep_fail(-errno, "cannot create %s", name);
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

	f->fd = openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0)
		return dep_fail(-errno, "cannot open %s", name);
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode)) {
		close(f->fd);
		f->fd = -1;
		return dep_fail(-EBADMSG, "%s is no file", name);
	}
	f->size = st.st_size;
	return 0;
}

int dep_file_end(struct dep_file *f, u64 size)
{
	if (f->size != size && ftruncate(f->fd, size))
		return dep_fail(-errno, "cannot cut off what is unfinished");
	f->size = size;
	return 0;
}

static int write_all(int fd, struct iovec *iov, int n, u64 off)
{
	ssize_t done;

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
		for (; n && (size_t)done >= iov->iov_len; iov++, n--)
			done -= iov->iov_len;
		if (n) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= done;
		}
	}
	return 0;
}

int dep_file_append(struct dep_file *f, const struct iovec *iov, int n)
{
	static const u64 zero;
	struct iovec v[8];
	u64 size = 0;
	int i, err;

	if (n > 7)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		v[i] = iov[i];
		size += v[i].iov_len;
	}
	v[n].iov_base = (void *)&zero;
	v[n].iov_len = dep_align8(size) - size;
	err = write_all(f->fd, v, n + 1, f->size);
	if (err) {
		/* If even this fails a reader finds what follows by its magic. */
		if (ftruncate(f->fd, f->size))
			return dep_fail(err, "cannot write nor take back what was written");
		return dep_fail(err, "cannot write to the store");
	}
	f->size += dep_align8(size);
	return 0;
}

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

int dep_read_fd(int fd, const char *name, void **data, size_t *size)
{
	struct stat st;
	ssize_t n;
	char *buf;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return dep_fail(-EBADMSG, "%s is no file", name);
	buf = malloc(st.st_size + 16);
	if (!buf)
		return dep_fail(-ENOMEM, "%s", name);
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

int dep_read_all(int dirfd, const char *name, void **data, size_t *size)
{
	int fd, err;

	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return dep_fail(-errno, "cannot open %s", name);
	err = dep_read_fd(fd, name, data, size);
	close(fd);
	return err;
}

int dep_write_whole(int dirfd, const char *name, const char *text, size_t size)
{
	struct iovec iov = { (void *)text, size };
	char tmp[64];
	int fd, err;

	snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return dep_fail(-errno, "cannot create %s", tmp);
	err = write_all(fd, &iov, 1, 0);
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	if (!err && renameat(dirfd, tmp, dirfd, name))
		err = -errno;
	if (err) {
		unlinkat(dirfd, tmp, 0);
		dep_fail(err, "cannot write %s", name);
	}
	return err;
}
