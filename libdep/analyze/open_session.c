// SPDX-License-Identifier: LGPL-2.1-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dep/analyze.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/manifest.h"

/* name of the memfd made by libdep/collect/session_file.c */
#define SESSION_NAME	"/memfd:adept-session "
#define SESSION_LEN	(sizeof(SESSION_NAME) - 1)

/* Return: the pid of the process that writes the store @dir, or a negative errno. */
static int find_recorder(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	struct dep_manifest m;

	if (fd < 0)
		return dep_fail(-errno, "cannot open %s", dir);
	err = dep_manifest_read(fd, &m);
	close(fd);
	if (err)
		return err;
	err = !m.closed && dep_recorder_lives(&m.recorder) ? m.recorder.pid : -ESRCH;
	dep_manifest_free(&m);
	return err > 0 ? err : dep_fail(-ESRCH, "no process is recording %s", dir);
}

static bool is_session(int fds, const char *name)
{
	char target[SESSION_LEN];

	return readlinkat(fds, name, target, sizeof(target)) == (ssize_t)SESSION_LEN &&
	       !memcmp(target, SESSION_NAME, SESSION_LEN);
}

/*
 * Open @name if it is a regular file. Any file can have a session file's name, and the descriptor
 * can have been replaced since readlinkat(). O_NONBLOCK: opening a FIFO must not block.
 */
static int open_regular(int fds, const char *name, struct stat *st)
{
	int fd = openat(fds, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		err = -errno;
	else if (!S_ISREG(st->st_mode))
		err = -EBADF;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * Open the session file among the descriptors in @d, which is /proc/PID/fd. The process may have
 * several descriptors of it; -EOPNOTSUPP if there are several session files.
 */
static int open_only(DIR *d)
{
	struct stat st, other;
	struct dirent *e;
	int fd = -ENOENT;

	while ((e = readdir(d))) {
		if (!is_session(dirfd(d), e->d_name))
			continue;
		if (fd < 0) {
			fd = open_regular(dirfd(d), e->d_name, &st);
			if (fd < 0)
				return fd;
		} else if (fstatat(dirfd(d), e->d_name, &other, 0) || other.st_ino != st.st_ino) {
			close(fd);
			return -EOPNOTSUPP;
		}
	}
	return fd;
}

int dep_session_open(const char *dir)
{
	int pid = find_recorder(dir), fd, again;
	char path[32];
	DIR *d;

	if (pid < 0)
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	if (!d)
		return dep_fail(-errno, "cannot open %s", path);
	fd = open_only(d);
	closedir(d);
	if (fd == -EOPNOTSUPP)
		return dep_fail(fd, "process %d records several sessions", pid);
	if (fd < 0)
		return dep_fail(fd, "cannot open the session file of process %d", pid);
	/* If the recorder has ended, another process may have got its pid: check again. */
	again = find_recorder(dir);
	if (again == pid)
		return fd;
	close(fd);
	return again < 0 ? again : dep_fail(-ESRCH, "no process is recording %s", dir);
}
