// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl record --share: find the group that may read the store, and give a race report the same
 * access rights as the store.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/append_file.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/races/races.h"
#include "record.h"

/* (gid_t)-1 is not a group: in system calls it means "do not change the group". */
#define GID_MAX	(UINT32_MAX - 1)

static bool is_member(gid_t group)
{
	int i, n = getgroups(0, NULL);
	bool found = group == getegid();
	gid_t *own = n > 0 ? calloc((size_t)n, sizeof(*own)) : NULL;

	n = own ? getgroups(n, own) : 0;
	for (i = 0; i < n && !found; i++)
		found = own[i] == group;
	free(own);
	return found;
}

/* Find the group with the name or number @arg.  A number need not be in the group database. */
static gid_t find_group(const char *arg, struct argp_state *state)
{
	struct group *g = getgrnam(arg);
	unsigned long long n;
	const char *c;

	if (g)
		return g->gr_gid;
	for (c = arg; isdigit((unsigned char)*c); c++)
		;
	if (*c)
		argp_error(state, "--share: there is no group '%s'", arg);
	errno = 0;
	n = strtoull(arg, NULL, 10);
	if (errno || n > GID_MAX)
		argp_error(state, "--share: a group's number is at most %u, not %s", GID_MAX, arg);
	return (gid_t)n;
}

gid_t share_group(const char *arg, struct argp_state *state)
{
	gid_t group;

	if (!arg)
		return getegid();
	if (!*arg)
		argp_error(state, "--share= needs a group; for your own group use --share");
	group = find_group(arg, state);
	if (geteuid() && !is_member(group))
		argp_error(state, "--share: you are not in the group %s", arg);
	return group;
}

int share_report(int fd, const char *store)
{
	int dir = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int log = dir < 0 ? -errno : dep_open_read(dir, DEP_LOG_NAME);
	struct dep_access access;
	int err = log < 0 ? log : 0;

	if (!err) {
		access = dep_access_read(log);
		err = dep_access_file(fd, &access);
		close(log);
	}
	if (dir >= 0)
		close(dir);
	if (err)
		warn("cannot give the report the access rights of %s: %s", store, strerror(-err));
	return err;
}
