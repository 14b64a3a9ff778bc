// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of named descriptors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "holder.h"

bool fdstore_name_good(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789._-");

	return n && n < FDSTORE_NAME_MAX && !name[n];
}

int fdstore_list_find(const struct fdstore_list *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, name))
			return i;
	return -ENOENT;
}

int fdstore_list_add(struct fdstore_list *l, const char *name, int fd)
{
	struct fdstore_entry *v;
	size_t room;

	if (!fdstore_name_good(name))
		return -EINVAL;
	if (fdstore_list_find(l, name) >= 0)
		return -EEXIST;
	if (l->n >= HOLDER_FDS_MAX)
		return -ENOSPC;
	if (l->n == l->room) {
		room = l->room ? 2 * l->room : 16;
		v = realloc(l->v, room * sizeof(*v));
		if (!v)
			return -ENOMEM;
		l->v = v;
		l->room = room;
	}
	v = &l->v[l->n++];
	snprintf(v->name, sizeof(v->name), "%s", name);
	v->fd = fd;
	return 0;
}

void fdstore_list_remove(struct fdstore_list *l, size_t i)
{
	memmove(l->v + i, l->v + i + 1, (--l->n - i) * sizeof(*l->v));
}

void fdstore_list_free(struct fdstore_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->v[i].fd >= 0)
			close(l->v[i].fd);
	free(l->v);
	memset(l, 0, sizeof(*l));
}
