// SPDX-License-Identifier: LGPL-2.1-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dep/store.h"
#include "remove.h"
#include "tmpdir.h"

#define OPEN_DIR	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define TRIES		10

/* False if dep_tmpdir_sweep() of another process removed the directory before it was locked. */
static bool is_there(int fd, const char *path)
{
	struct stat here, there;

	return !fstat(fd, &here) && !lstat(path, &there) && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

int dep_tmpdir_make(const char *parent, char *path, size_t size)
{
	int i, fd, err;

	for (i = 0; i < TRIES; i++) {
		if ((size_t)snprintf(path, size, "%s/" DEP_TMPDIR_PREFIX "XXXXXX", parent) >= size)
			return -ENAMETOOLONG;
		if (!mkdtemp(path))
			return -errno;
		fd = open(path, OPEN_DIR);
		if (fd < 0 && errno == ENOENT)
			continue;
		err = -errno;
		if (fd < 0) {
			rmdir(path);
			return err;
		}
		/* If flock() does not work here, dep_tmpdir_sweep() removes nothing, either. */
		if ((flock(fd, LOCK_SH) && errno != EINTR) || is_there(fd, path))
			return fd;
		close(fd);
	}
	return -EBUSY;
}

/* True if the directory contains nothing but a store, and no depd writes to that store. */
static bool may_go(int fd, const char *store)
{
	int copy = openat(fd, ".", OPEN_DIR);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	bool may = d;

	if (!d && copy >= 0)
		close(copy);
	while (may && (e = readdir(d)))
		may = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		      !strcmp(e->d_name, DEP_TMPDIR_STORE);
	if (d)
		closedir(d);
	return may && !dep_store_in_use(store);
}

/* Remove directory @name if its recorder has ended.  True if the user owns it and it remains. */
static bool sweep_one(int parent, const char *name)
{
	int fd = openat(parent, name, OPEN_DIR);
	bool left = false;
	char store[64];
	struct stat st;

	if (fd < 0)
		return false;
	/* Use the open directory: another directory may have its name by now. */
	snprintf(store, sizeof(store), "/proc/self/fd/%d/" DEP_TMPDIR_STORE, fd);
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077))
		left = flock(fd, LOCK_EX | LOCK_NB) || !may_go(fd, store) ||
		       (!faccessat(fd, DEP_TMPDIR_STORE, F_OK, AT_SYMLINK_NOFOLLOW) &&
			dep_store_remove(store)) ||
		       unlinkat(parent, name, AT_REMOVEDIR);
	close(fd);
	return left;
}

int dep_tmpdir_sweep(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *e;
	int left = 0;

	if (!d)
		return -errno;
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, DEP_TMPDIR_PREFIX, strlen(DEP_TMPDIR_PREFIX)))
			left += sweep_one(dirfd(d), e->d_name);
	closedir(d);
	return left;
}

bool dep_tmpdir_parent(const char *store, char *parent, size_t size)
{
	const size_t length = strlen("/" DEP_TMPDIR_PREFIX "XXXXXX");
	const char *end = strrchr(store, '/'), *name;
	int n;

	if (*store != '/' || strcmp(end + 1, DEP_TMPDIR_STORE))
		return false;
	name = memrchr(store, '/', end - store);
	if (!name || (size_t)(end - name) != length ||
	    strncmp(name + 1, DEP_TMPDIR_PREFIX, strlen(DEP_TMPDIR_PREFIX)))
		return false;
	n = name > store ? snprintf(parent, size, "%.*s", (int)(name - store), store) :
			   snprintf(parent, size, "/");
	return n > 0 && (size_t)n < size;
}
