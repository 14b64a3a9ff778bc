// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "dep/store.h"
#include "lock.h"
#include "manifest.h"
#include "store.h"
#include "libdep/format/file/append_file.h"
#include "libdep/format/file/error.h"

int dep_lock_writer(int fd, const char *dir)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	while (fcntl(fd, F_OFD_SETLK, &lock)) {
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN || errno == EACCES)
			return dep_fail(-EBUSY, "%s is in use: another writer has it open", dir);
		/* Record also on a file system where locks do not work. */
		return 0;
	}
	return 0;
}

int dep_lock_held(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_GETLK, &lock))
		return -errno;
	return lock.l_type != F_UNLCK;
}

/* @log_fd: -1 if there is no log */
static bool has_writer(int dirfd, int log_fd)
{
	int held = log_fd < 0 ? 0 : dep_lock_held(log_fd);
	struct dep_manifest m;

	/* If locks do not work, check whether the store's recorder still exists. */
	if (held < 0) {
		held = 0;
		if (!dep_manifest_read(dirfd, &m)) {
			held = !m.closed && dep_recorder_lives(&m.recorder);
			dep_manifest_free(&m);
		}
	}
	return held;
}

bool dep_store_in_use(const char *dir)
{
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	bool in_use;

	if (dirfd < 0)
		return false;
	fd = dep_open_read(dirfd, DEP_LOG_NAME);
	in_use = has_writer(dirfd, fd);
	if (fd >= 0)
		close(fd);
	close(dirfd);
	return in_use;
}

bool dep_store_being_written(const struct dep_store *s)
{
	return has_writer(s->dirfd, s->log_fd);
}
