// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find stores, order them by age, and remove the oldest.
 *
 * Other processes can change the directory at any time.  So each name is looked up once, all
 * operations use descriptors, and no symbolic link is followed.
 */
#include "retention.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libdep/format/file/append_file.h"
#include "libdep/format/file/wire.h"
#include "libdep/format/read/lock.h"
#include "libdep/format/read/manifest.h"
#include "libdep/format/read/segment_index.h"
#include "libdep/format/read/store.h"
#include "daemon/live/live_analysis.h"

#define OLD_TMP		DEP_MANIFEST_NAME ".tmp"	/* temporary manifest of store format 3 */
#define OPEN_DIR	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A store that was found in the directory. */
struct found {
	char name[NAME_MAX + 1];
	struct timespec newest;
	uint64_t bytes;
	dev_t dev;
	ino_t inode;
};

struct retention {
	int fd;
	struct found *store;
	size_t n, room;
	struct retention_result *out;
};

/* Contents of a directory that may be a store. */
struct content {
	bool manifest, log;
	bool other;			/* there is a file that does not belong to a store */
	char name[NAME_MAX + 1];	/* name of such a file, if @other is set */
	struct timespec newest;
	uint64_t bytes;
};

static bool is_segments(const char *name)
{
	size_t n;

	if (strncmp(name, "segments.", 9))
		return false;
	n = strspn(name + 9, "0123456789");
	return n >= 3 && n <= 6 && !name[9 + n];
}

/* True for the files of a window on the disk (last-on-disk), which a killed depd leaves. */
static bool is_window(const char *name)
{
	size_t n;

	if (!strcmp(name, DEP_WINDOW_LOG) || !strcmp(name, DEP_WINDOW_NEW_LOG))
		return true;
	if (strncmp(name, DEP_WINDOW_PREFIX, strlen(DEP_WINDOW_PREFIX)))
		return false;
	name += strlen(DEP_WINDOW_PREFIX);
	n = strspn(name, "0123456789");
	return n >= 3 && n <= 10 && !name[n];
}

/* True for a file that a killed writer left under dep_write_parts()'s temporary name. */
static bool is_temporary(const char *name)
{
	static const char *const prefix[] = {
		DEP_MANIFEST_NAME DEP_TMP_SUFFIX, DEP_INDEX_NAME DEP_TMP_SUFFIX,
		DEP_COUNTS_NAME DEP_TMP_SUFFIX, DEP_CONTEXTS_NAME DEP_TMP_SUFFIX,
	};
	size_t i, n;

	for (i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++) {
		n = strlen(prefix[i]);
		if (!strncmp(name, prefix[i], n) &&
		    strspn(name + n, "0123456789abcdef") == 16 && !name[n + 16])
			return true;
	}
	return false;
}

static bool is_ours(const char *name)
{
	static const char *const names[] = {
		DEP_MANIFEST_NAME, OLD_TMP, DEP_LOG_NAME, "catalog.db", "catalog.db-journal",
		"catalog.db-wal", "catalog.db-shm", DEP_INDEX_NAME, DEP_COUNTS_NAME,
		DEP_CONTEXTS_NAME, LIVE_REPORT,
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return is_segments(name) || is_temporary(name) || is_window(name);
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* True for files that determine a store's age: not for catalogs (an index), which readers write. */
static bool is_written(const char *name)
{
	return !strcmp(name, DEP_MANIFEST_NAME) || !strcmp(name, DEP_LOG_NAME) ||
	       is_segments(name) || is_window(name);
}

/* Open the directory @fd for readdir(); closing the result leaves @fd open. */
static DIR *list(int fd)
{
	int copy = openat(fd, ".", OPEN_DIR);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);

	if (!d && copy >= 0)
		close(copy);
	return d;
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static void add_entry(struct content *c, int fd, const char *name)
{
	struct stat st;

	/* The file may have been removed meanwhile. */
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (!S_ISREG(st.st_mode) || !is_ours(name)) {
		c->other = true;
		snprintf(c->name, sizeof(c->name), "%s", name);
		return;
	}
	c->manifest |= !strcmp(name, DEP_MANIFEST_NAME);
	c->log |= !strcmp(name, DEP_LOG_NAME);
	c->bytes += (uint64_t)st.st_blocks * 512;
	if (is_written(name) && is_newer(&st.st_mtim, &c->newest))
		c->newest = st.st_mtim;
}

static int look_into(int fd, struct content *c)
{
	struct dirent *e;
	DIR *d = list(fd);

	memset(c, 0, sizeof(*c));
	if (!d)
		return -errno;
	while ((e = readdir(d)))
		if (!is_dot(e->d_name))
			add_entry(c, fd, e->d_name);
	closedir(d);
	return 0;
}

/*
 * Open the log and take the writer's lock, so that no writer can open the store meanwhile.
 * Return: descriptor of the log; -EBUSY: the store is in use; or another negative errno.
 */
static int lock_store(int fd, const char *name)
{
	int log = openat(fd, DEP_LOG_NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err;

	if (log < 0)
		return -errno;
	err = dep_lock_writer(log, name);
	if (!err)
		return log;
	close(log);
	return err;
}

static void failed(struct retention *u, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void failed(struct retention *u, const char *name, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (u->out->failed++)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(u->out->why, sizeof(u->out->why), "%.200s cannot be removed: %s", name, text);
}

/* ---- finding stores ---- */

static int add_store(struct retention *u, const char *name, int fd, const struct content *c)
{
	size_t room = u->room ? 2 * u->room : 64;
	struct found *f;
	struct stat st;

	if (fstat(fd, &st))
		return 0;
	if (u->n == u->room) {
		f = realloc(u->store, room * sizeof(*f));
		if (!f)
			return -ENOMEM;
		u->store = f;
		u->room = room;
	}
	f = &u->store[u->n++];
	*f = (struct found){ .newest = c->newest, .bytes = c->bytes, .dev = st.st_dev,
			     .inode = st.st_ino };
	snprintf(f->name, sizeof(f->name), "%s", name);
	u->out->kept++;
	u->out->kept_bytes += f->bytes;
	return 0;
}

static int consider(struct retention *u, const char *name)
{
	size_t n = strlen(name);
	struct content c;
	int fd, log, err = 0;

	if (n <= 4 || strcmp(name + n - 4, ".dep"))
		return 0;
	fd = openat(u->fd, name, OPEN_DIR);
	if (fd < 0)
		return 0;
	if (!look_into(fd, &c) && c.manifest && c.log) {
		err = add_store(u, name, fd, &c);
		log = lock_store(fd, name);
		u->out->in_use += !err && log == -EBUSY;
		if (log >= 0)
			close(log);
	}
	close(fd);
	return err;
}

static int find_stores(struct retention *u)
{
	struct dirent *e;
	DIR *d = list(u->fd);
	int err = 0;

	if (!d)
		return -errno;
	while (!err && (e = readdir(d)))
		err = consider(u, e->d_name);
	closedir(d);
	return err;
}

static int oldest_first(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;

	if (is_newer(&a->newest, &b->newest))
		return 1;
	return is_newer(&b->newest, &a->newest) ? -1 : strcmp(a->name, b->name);
}

/* ---- removing stores ---- */

static int remove_file(int fd, const char *name)
{
	return unlinkat(fd, name, 0) && errno != ENOENT ? -errno : 0;
}

/*
 * Remove manifest and log last: until then the directory is still a store, and the next run can
 * finish an interrupted removal.
 */
static int remove_files(int fd)
{
	struct dirent *e;
	DIR *d = list(fd);
	int err = 0;

	if (!d)
		return -errno;
	while (!err && (e = readdir(d)))
		if (is_ours(e->d_name) && strcmp(e->d_name, DEP_MANIFEST_NAME) &&
		    strcmp(e->d_name, DEP_LOG_NAME))
			err = remove_file(fd, e->d_name);
	closedir(d);
	if (!err)
		err = remove_file(fd, DEP_LOG_NAME);
	return err ? err : remove_file(fd, DEP_MANIFEST_NAME);
}

/* Remove a store whose log the caller has locked; @fd is its directory. */
static void remove_locked(struct retention *u, const struct found *f, int fd)
{
	struct content c;
	int err = look_into(fd, &c);

	if (!err && c.other) {
		failed(u, f->name, "%.200s is not a file of a store", c.name);
		return;
	}
	if (!err)
		err = remove_files(fd);
	if (!err && unlinkat(u->fd, f->name, AT_REMOVEDIR) && errno != ENOENT)
		err = -errno;
	if (err) {
		failed(u, f->name, "%s", strerror(-err));
		return;
	}
	u->out->removed++;
	u->out->removed_bytes += f->bytes;
	u->out->kept--;
	u->out->kept_bytes -= f->bytes;
}

static void gone(struct retention *u, const struct found *f)
{
	u->out->kept--;
	u->out->kept_bytes -= f->bytes;
}

/* Open a store's directory again.  Return: -ENOENT: it was removed or replaced meanwhile. */
static int open_again(const struct retention *u, const struct found *f)
{
	int fd = openat(u->fd, f->name, OPEN_DIR);
	struct stat st;

	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -ENOENT : -errno;
	if (!fstat(fd, &st) && st.st_dev == f->dev && st.st_ino == f->inode)
		return fd;
	close(fd);
	return -ENOENT;
}

static void remove_store(struct retention *u, const struct found *f)
{
	int fd = open_again(u, f), log = fd < 0 ? fd : lock_store(fd, f->name);

	if (log >= 0)
		remove_locked(u, f, fd);
	else if (log == -ENOENT)
		gone(u, f);
	else if (log != -EBUSY)
		failed(u, f->name, "%s", strerror(-log));
	if (log >= 0)
		close(log);
	if (fd >= 0)
		close(fd);
}

static bool is_too_old(const struct found *f, const struct timespec *now, uint64_t max_age_s)
{
	return max_age_s && now->tv_sec > f->newest.tv_sec &&
	       (uint64_t)(now->tv_sec - f->newest.tv_sec) > max_age_s;
}

int retention_run(const char *dir, uint64_t max_bytes, uint64_t max_age_s,
		  struct retention_result *out)
{
	struct retention u = { .out = out };
	struct timespec now;
	size_t i;
	int err;

	memset(out, 0, sizeof(*out));
	u.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (u.fd < 0)
		return -errno;
	err = find_stores(&u);
	clock_gettime(CLOCK_REALTIME, &now);
	if (!err && u.n)
		qsort(u.store, u.n, sizeof(*u.store), oldest_first);
	for (i = 0; !err && i < u.n; i++)
		if (is_too_old(&u.store[i], &now, max_age_s) ||
		    (max_bytes && out->kept_bytes > max_bytes))
			remove_store(&u, &u.store[i]);
	free(u.store);
	close(u.fd);
	return err;
}
