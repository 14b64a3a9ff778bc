// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "dep/store.h"
#include "lock.h"
#include "manifest.h"
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

bool dep_store_in_use(const char *dir)
{
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, held;
	struct dep_manifest m;

	if (dirfd < 0)
		return false;
	fd = dep_open_read(dirfd, DEP_LOG_NAME);
	held = fd < 0 ? 0 : dep_lock_held(fd);
	if (fd >= 0)
		close(fd);
	/* If locks do not work, check whether the store's recorder still exists. */
	if (held < 0) {
		held = 0;
		if (!dep_manifest_read(dirfd, &m)) {
			held = !m.closed && dep_recorder_lives(&m.recorder);
			dep_manifest_free(&m);
		}
	}
	close(dirfd);
	return held;
}
