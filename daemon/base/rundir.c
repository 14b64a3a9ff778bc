// SPDX-License-Identifier: GPL-2.0-or-later
/* Choose, create and lock the run directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rundir.h"

#define TRY_MS		10u	/* from one attempt to take the lock to the next */
#define DEAD_MS		5000u	/* wait for the lock of a dead depd */
#define PATIENCE_MS	2000u	/* wait for that of another depd, which may be ending */

static const char *hidden, *shown;

void rundir_show(const char *path, const char *as)
{
	hidden = path;
	shown = as;
}

const char *rundir_shown(const char *path)
{
	return hidden && !strcmp(path, hidden) ? shown : path;
}

static int choose(char *path, size_t size, const char *wish, char *why, size_t why_size)
{
	const char *base = "/run";
	int n;

	if (!wish)
		wish = getenv("ADEPT_RUNDIR");
	if (wish && !*wish)
		wish = NULL;
	if (!wish && geteuid()) {
		base = getenv("XDG_RUNTIME_DIR");
		if (!base || base[0] != '/') {
			snprintf(why, why_size, "no run directory: set XDG_RUNTIME_DIR to an "
				 "absolute path, or use --rundir");
			return -ENOENT;
		}
	}
	n = wish ? snprintf(path, size, "%s", wish) : snprintf(path, size, "%s/adept", base);
	if (n > 0 && (size_t)n < size)
		return 0;
	snprintf(why, why_size, "the path of the run directory is too long");
	return -ENAMETOOLONG;
}

/* Check the owner and set the mode, so that no other user can create sockets there. */
static int check(int dir, const char *path, mode_t mode, char *why, size_t why_size)
{
	struct stat st;

	if (fstat(dir, &st)) {
		snprintf(why, why_size, "cannot use run directory %s: %s", path, strerror(errno));
		return -errno;
	}
	if (st.st_uid != geteuid()) {
		snprintf(why, why_size, "run directory %s belongs to another user, %u", path,
			 st.st_uid);
		return -EPERM;
	}
	if ((st.st_mode & 07777) != mode && fchmod(dir, mode)) {
		snprintf(why, why_size, "cannot set the mode of run directory %s: %s", path,
			 strerror(errno));
		return -errno;
	}
	return 0;
}

static int open_dir(const char *path, mode_t mode, char *why, size_t why_size)
{
	int dir, ret;

	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0) {
		ret = -errno;
		snprintf(why, why_size, "cannot open run directory %s: %s", path, strerror(errno));
		return ret;
	}
	ret = check(dir, path, mode, why, why_size);
	if (!ret)
		return dir;
	close(dir);
	return ret;
}

/* Read the pid of the lock's owner from the lock file; 0: not written yet. */
static pid_t holder(int fd)
{
	char pid[24] = "";

	return pread(fd, pid, sizeof(pid) - 1, 0) > 0 ? (pid_t)atol(pid) : 0;
}

/*
 * Take the lock; if its owner is dead, retry for up to 5 seconds.  A forked child shares the lock
 * until it executes a helper process (fd store's holder, tracer), so the lock can outlive a killed
 * depd for a moment.  If the owner lives, retry for @patience_ms.
 */
static int wait_for_lock(int fd, unsigned int patience_ms)
{
	const struct timespec pause = { .tv_nsec = TRY_MS * 1000000 };
	unsigned int ms = 0;
	int ret;
	pid_t pid;

	while (1) {
		ret = flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
		if (ret != -EWOULDBLOCK)
			return ret;
		pid = holder(fd);
		if (ms >= (pid > 0 && kill(pid, 0) && errno == ESRCH ? DEAD_MS : patience_ms))
			return ret;
		nanosleep(&pause, NULL);
		ms += TRY_MS;
	}
}

static int lock(int dir, const char *path, unsigned int patience_ms, char *why, size_t why_size)
{
	int fd, ret;

	fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		ret = -errno;
		snprintf(why, why_size, "cannot open %s/lock: %s", path, strerror(errno));
		return ret;
	}
	ret = wait_for_lock(fd, patience_ms);
	if (ret) {
		snprintf(why, why_size, "another depd runs in %s, process %d", path, holder(fd));
		close(fd);
		return ret == -EWOULDBLOCK ? -EBUSY : ret;
	}
	/* Write our pid for the error message of another depd. */
	if (!ftruncate(fd, 0))
		dprintf(fd, "%d\n", getpid());
	return fd;
}

int rundir_open(char *path, size_t size, const char *wish, char *why, size_t why_size)
{
	mode_t mode = geteuid() ? 0700 : 0755;
	int dir, ret;

	ret = choose(path, size, wish, why, why_size);
	if (ret)
		return ret;
	if (mkdir(path, mode) && errno != EEXIST) {
		ret = -errno;
		snprintf(why, why_size, "cannot create run directory %s: %s", path,
			 strerror(errno));
		return ret;
	}
	dir = open_dir(path, mode, why, why_size);
	if (dir < 0)
		return dir;
	ret = lock(dir, path, PATIENCE_MS, why, why_size);
	close(dir);
	return ret;
}

int rundir_own(const char *path, unsigned int patience_ms, char *why, size_t why_size)
{
	int ret, dir = open_dir(path, 0700, why, why_size);

	if (dir < 0)
		return dir;
	ret = lock(dir, path, patience_ms, why, why_size);
	close(dir);
	return ret;
}
