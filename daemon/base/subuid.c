// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find the owner of a subordinate uid.
 *
 * /etc/subuid and /etc/passwd belong to root and are trusted.  User names are looked up in
 * /etc/passwd only: other services of nsswitch.conf(5) could wait for the network and delay the
 * loop.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "account.h"

#define RANGES_MAX	65536u

struct range {
	uid_t owner, first;
	uint32_t count;
};

struct subuids {
	char *path, *passwd;
	struct range *range;
	uint32_t n;
	struct timespec seen;
	off_t size;
};

static bool uid_of(struct subuids *s, const char *name, uid_t *uid)
{
	char *end;
	struct passwd *p;
	bool found = false;
	FILE *f = fopen(s->passwd, "re");

	while (f && !found && (p = fgetpwent(f))) {
		found = !strcmp(p->pw_name, name);
		if (found)
			*uid = p->pw_uid;
	}
	if (f)
		fclose(f);
	if (found)
		return true;
	*uid = (uid_t)strtoul(name, &end, 10);
	return *name >= '0' && *name <= '9' && !*end;
}

static void add(struct subuids *s, const char *line)
{
	unsigned long first, count;
	char name[257];
	struct range *r;
	uid_t owner;

	if (sscanf(line, "%256[^:]:%lu:%lu", name, &first, &count) != 3 || !count ||
	    first > UINT32_MAX || count > UINT32_MAX - first || s->n == RANGES_MAX ||
	    !uid_of(s, name, &owner))
		return;
	r = realloc(s->range, (s->n + 1) * sizeof(*r));
	if (!r)
		return;
	s->range = r;
	r[s->n++] = (struct range){ .owner = owner, .first = first, .count = count };
}

static void refresh(struct subuids *s)
{
	struct stat st = { 0 };
	char *line = NULL;
	size_t room = 0;
	FILE *f;

	if (stat(s->path, &st))
		memset(&st, 0, sizeof(st));
	if (st.st_mtim.tv_sec == s->seen.tv_sec && st.st_mtim.tv_nsec == s->seen.tv_nsec &&
	    st.st_size == s->size)
		return;
	s->seen = st.st_mtim;
	s->size = st.st_size;
	s->n = 0;
	f = fopen(s->path, "re");
	while (f && getline(&line, &room, f) > 0)
		add(s, line);
	free(line);
	if (f)
		fclose(f);
}

int subuid_open(struct subuids **out, const char *path, const char *passwd)
{
	struct subuids *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->path = strdup(path);
	s->passwd = strdup(passwd);
	if (!s->path || !s->passwd) {
		subuid_close(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void subuid_close(struct subuids *s)
{
	if (!s)
		return;
	free(s->path);
	free(s->passwd);
	free(s->range);
	free(s);
}

/* Ranges can overlap: the first range in the file whose owner is not root decides. */
uid_t subuid_owner(struct subuids *s, uid_t uid)
{
	uint32_t i;

	if (!uid)
		return uid;
	refresh(s);
	for (i = 0; i < s->n; i++)
		if (uid - s->range[i].first < s->range[i].count && uid >= s->range[i].first &&
		    s->range[i].owner)
			return s->range[i].owner;
	return uid;
}
