// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Directories of instances.
 *
 * Root owns RUNDIR/user, so only root creates names in it.  For each instance it has NAME, a
 * directory that the user owns and root never reads, and NAME.who, root's record of the
 * credentials.  No other user can enter RUNDIR/user.  The instance starts in its directory; other
 * processes of its user can neither fill the file system there nor damage its files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "daemon/base/log.h"
#include "front.h"

#define RECORD_MAGIC	0x0157454e4f504544ull
#define RECORD_SUFFIX	".who"
#define OPEN_DIR	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* Flags for a directory that a user owns: it is opened without reading it. */
#define NAME_DIR	(O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct record {
	uint64_t magic;
	struct user user;
};

/* Create or open a directory; check that this process's user owns it; set its mode. */
static int open_own(int at, const char *name, mode_t mode)
{
	struct stat st;
	int fd, ret = 0;

	if (mkdirat(at, name, mode) && errno != EEXIST)
		return -errno;
	fd = openat(at, name, OPEN_DIR);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (st.st_uid != geteuid())
		ret = -EPERM;
	else if ((st.st_mode & 07777) != mode && fchmod(fd, mode))
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int dir_open(const char *rundir)
{
	int ret, fd = open(rundir, OPEN_DIR);

	if (fd < 0)
		return -errno;
	ret = open_own(fd, "user", 0700);
	close(fd);
	return ret;
}

void dir_name(const struct user *u, char *name, size_t size)
{
	snprintf(name, size, "%u-%u-%016llx", u->uid, u->gid, (unsigned long long)
		 XXH3_64bits(u->groups, (size_t)u->ngroups * sizeof(u->groups[0])));
}

static void record_name(const char *name, char *out, size_t size)
{
	snprintf(out, size, "%s" RECORD_SUFFIX, name);
}

static bool same_user(const struct user *a, const struct user *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->ngroups == b->ngroups &&
	       !memcmp(a->groups, b->groups, (size_t)a->ngroups * sizeof(a->groups[0]));
}

static int read_record(int users, const char *record, struct user *u)
{
	int fd = openat(users, record, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct record r = { 0 };
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, &r, sizeof(r));
	close(fd);
	if (n != sizeof(r) || r.magic != RECORD_MAGIC || r.user.ngroups < 0 ||
	    r.user.ngroups > USER_GROUPS_MAX)
		return -EBADMSG;
	*u = r.user;
	return 0;
}

static int write_record(int users, const char *name, const struct user *u)
{
	struct record r = { .magic = RECORD_MAGIC, .user = *u };
	char record[96], tmp[100];
	int fd, ret = 0;

	record_name(name, record, sizeof(record));
	snprintf(tmp, sizeof(tmp), "%s~", record);
	unlinkat(users, tmp, 0);
	fd = openat(users, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, &r, sizeof(r)) != sizeof(r))
		ret = -EIO;
	close(fd);
	if (!ret && renameat(users, tmp, users, record))
		ret = -errno;
	if (ret)
		unlinkat(users, tmp, 0);
	return ret;
}

/*
 * Check that an existing record has the credentials @u.  @name contains a hash of the groups, so
 * different credentials can have the same name.
 */
static int check_record(int users, const char *name, const struct user *u)
{
	char record[96];
	struct user had;
	int ret;

	record_name(name, record, sizeof(record));
	ret = read_record(users, record, &had);
	if (ret)
		return 0;
	return same_user(&had, u) ? 0 : -EEXIST;
}

/* Make @u the owner of the directory, unless an earlier front has done so. */
static int give(int dir, const struct user *u)
{
	struct stat st;

	if (fstat(dir, &st))
		return -errno;
	if (st.st_uid != u->uid && st.st_uid != geteuid())
		return -EPERM;
	if (st.st_uid == u->uid && st.st_gid == u->gid)
		return 0;
	return fchownat(dir, "", u->uid, u->gid, AT_EMPTY_PATH) ? -errno : 0;
}

int dir_make(int users, const char *name, const struct user *u)
{
	int dir, ret = check_record(users, name, u);

	if (ret)
		return ret;
	if (mkdirat(users, name, 0700) && errno != EEXIST)
		return -errno;
	dir = openat(users, name, NAME_DIR);
	if (dir < 0)
		return -errno;
	ret = give(dir, u);
	close(dir);
	return ret ? ret : write_record(users, name, u);
}

int dir_drop(int users, const char *name)
{
	char record[96];

	record_name(name, record, sizeof(record));
	unlinkat(users, record, 0);
	if (!unlinkat(users, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	return errno == EEXIST ? -ENOTEMPTY : -errno;
}

bool dir_exists(int users, const char *name)
{
	struct stat st;

	return !fstatat(users, name, &st, AT_SYMLINK_NOFOLLOW);
}

void dir_left(int users, void (*one)(void *arg, uid_t uid), void *arg)
{
	int fd = openat(users, ".", OPEN_DIR);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && !fstatat(users, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(st.st_mode))
			one(arg, st.st_uid);
	if (d)
		closedir(d);
}

void dir_each(int users, void (*one)(void *arg, const struct user *u), void *arg)
{
	size_t n, suffix = strlen(RECORD_SUFFIX);
	int fd = openat(users, ".", OPEN_DIR);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	char name[64];
	struct user u;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		n = strlen(e->d_name);
		if (n <= suffix || strcmp(e->d_name + n - suffix, RECORD_SUFFIX))
			continue;
		if (read_record(users, e->d_name, &u)) {
			log_msg(LOG_WARNING, 0, "removed user/%s of the run directory: it is "
				"damaged or of another version", e->d_name);
			unlinkat(users, e->d_name, 0);
			continue;
		}
		dir_name(&u, name, sizeof(name));
		if (!strncmp(name, e->d_name, n - suffix) && !name[n - suffix])
			one(arg, &u);
	}
	if (d)
		closedir(d);
}

/*
 * Root must own @store, since root creates the users' directories in it; no other user may have
 * write permission there.
 */
int dir_store(const char *store, const struct user *u, char *path, size_t size)
{
	int base, dir, ret;
	struct stat st;
	char name[16];

	if ((size_t)snprintf(path, size, "%s/%u", store, u->uid) >= size)
		return -ENAMETOOLONG;
	if (mkdir(store, 0711) && errno != EEXIST)
		return -errno;
	base = open(store, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	if (base < 0)
		return -errno;
	ret = fstat(base, &st) ? -errno : 0;
	if (!ret && (st.st_uid != geteuid() || st.st_mode & 022))
		ret = -EPERM;
	/* Users need search permission to reach their own directory. */
	if (!ret && !(st.st_mode & 01) && fchmod(base, (st.st_mode & 07777) | 0111))
		ret = -errno;
	snprintf(name, sizeof(name), "%u", u->uid);
	if (!ret && mkdirat(base, name, 0700) && errno != EEXIST)
		ret = -errno;
	dir = ret ? -1 : openat(base, name, NAME_DIR);
	if (!ret)
		ret = dir < 0 ? -errno : give(dir, u);
	if (dir >= 0)
		close(dir);
	close(base);
	return ret;
}
