// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdep/format/file/remove.h"
#include "libdep/format/write/store_writer.h"
#include "store_dir.h"
#include "daemon/base/log.h"

/* All files of an empty store are smaller (bytes); a store with recorded data has a larger file. */
#define EMPTY_MAX	65536

static bool is_younger(int fd, const struct session *s)
{
	struct statx st;
	uint64_t ns;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_CTIME, &st))
		return false;
	/* Without a birth time use the change time, which is never earlier. */
	if (!(st.stx_mask & STATX_BTIME))
		st.stx_btime = st.stx_ctime;
	ns = (uint64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
	/* File systems round times down to the last tick or to whole seconds: add a second. */
	return ns + 1000000000 > s->start_realtime_ns;
}

/* True if the directory has only files that dep_writer_create() makes, without recorded data. */
static bool is_empty(int fd)
{
	static const char *const names[] = { "fragments", "segments.000", "manifest.json" };
	bool empty = true;
	struct dirent *e;
	struct stat st;
	DIR *d;
	size_t i;

	fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (empty && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		for (i = 0; i < 3; i++)
			if (!strncmp(e->d_name, names[i], strlen(names[i])))
				break;
		empty = i < 3 && !fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			S_ISREG(st.st_mode) && st.st_size < EMPTY_MAX;
	}
	closedir(d);
	return empty;
}

static bool looks_like_it(int fd, const struct stat *st, const struct session *s)
{
	return st->st_uid == s->owner.uid && is_younger(fd, s) && is_empty(fd) &&
	       !dep_store_in_use(s->store);
}

/* Open s->store.  Return: -1 if it is not the directory that session_begin() created. */
static int open_made(const struct session *s)
{
	struct stat st;
	bool is;
	int fd;

	if (!*s->store)
		return -1;
	fd = open(s->store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	is = !fstat(fd, &st) &&
	     (s->store_ino ? st.st_ino == s->store_ino && st.st_dev == s->store_dev :
	      looks_like_it(fd, &st, s));
	if (is)
		return fd;
	close(fd);
	return -1;
}

bool made_is_store(const struct session *s)
{
	int fd = open_made(s);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool made_in_use(const struct session *s)
{
	bool in_use;

	in_use = *s->store && dep_store_in_use(s->store);
	return in_use;
}

void made_remove(struct session *s)
{
	int fd = open_made(s);

	/* By its descriptor: another directory may get its name at any time. */
	if (fd >= 0 && dep_store_remove_open(fd, s->store))
		log_msg(LOG_WARNING, s->id, "%s", dep_error());
}
