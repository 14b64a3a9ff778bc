// SPDX-License-Identifier: GPL-2.0-or-later
/* fd store (keeps descriptors for the next depd): code common to systemd and the holder. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static int note_names(struct fdstore *k, const struct fdstore_list *kept)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < kept->n && !ret; i++)
		ret = fdstore_list_add(&k->names, kept->v[i].name, -1);
	return ret;
}

int fdstore_open(struct fdstore **out, const char *rundir, struct fdstore_entry **kept, size_t *n,
		 char *why, size_t why_size)
{
	struct fdstore_list l = { 0 };
	struct fdstore *k;
	int ret;

	k = calloc(1, sizeof(*k));
	if (!k) {
		snprintf(why, why_size, "not enough memory for the fd store");
		return -ENOMEM;
	}
	k->sock = -1;
	snprintf(why, why_size, "cannot use the descriptors that systemd passed");
	ret = fdstore_passed(k, &l);
	if (!ret && !fdstore_systemd(k))
		ret = fdstore_by_holder(k, rundir, &l, why, why_size);
	if (!ret)
		ret = note_names(k, &l);
	if (ret) {
		fdstore_list_free(&l);
		fdstore_close(k);
		return ret;
	}
	why[0] = 0;
	*out = k;
	*kept = l.v;
	*n = l.n;
	return 0;
}

int fdstore_listen_only(struct fdstore **out)
{
	struct fdstore *k = calloc(1, sizeof(*k));
	struct fdstore_list kept = { 0 };
	int ret;

	if (!k)
		return -ENOMEM;
	k->sock = -1;
	ret = fdstore_passed(k, &kept);
	fdstore_list_free(&kept);
	if (ret)
		fdstore_close(k);
	else
		*out = k;
	return ret;
}

int fdstore_put(struct fdstore *k, const char *name, int fd)
{
	int ret = fdstore_list_add(&k->names, name, -1);

	if (ret)
		return ret;
	ret = k->ops->put(k, name, fd);
	if (ret)
		fdstore_list_remove(&k->names, k->names.n - 1);
	return ret;
}

int fdstore_remove(struct fdstore *k, const char *name)
{
	int ret, i = fdstore_list_find(&k->names, name);

	if (i < 0)
		return i;
	ret = k->ops->remove(k, name);
	if (!ret)
		fdstore_list_remove(&k->names, i);
	return ret;
}

bool fdstore_lost(const struct fdstore *k)
{
	struct pollfd p = { .fd = k->sock, .events = POLLIN };

	if (!k->has_holder)
		return false;
	return k->sock < 0 || (poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR));
}

int fdstore_retry(struct fdstore *k, const char *rundir, char *why, size_t why_size)
{
	struct fdstore_list l = { 0 };
	int ret;

	if (k->sock >= 0)
		close(k->sock);
	k->sock = -1;
	fdstore_list_free(&k->names);
	ret = fdstore_by_holder(k, rundir, &l, why, why_size);
	if (!ret)
		ret = note_names(k, &l);
	fdstore_list_free(&l);
	return ret;
}

int fdstore_listen(struct fdstore *k, const char *name)
{
	int fd, i = fdstore_list_find(&k->listen, name);

	if (i < 0)
		return i;
	fd = k->listen.v[i].fd;
	fdstore_list_remove(&k->listen, i);
	return fd;
}

int fdstore_fd(const struct fdstore *k)
{
	return k->sock;
}

void fdstore_close(struct fdstore *k)
{
	if (!k)
		return;
	if (k->sock >= 0)
		close(k->sock);
	fdstore_list_free(&k->listen);
	fdstore_list_free(&k->names);
	free(k);
}
