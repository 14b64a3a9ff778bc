// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeping descriptors: what does not depend on who does it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static int note_names(struct keep *k, const struct keep_list *kept)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < kept->n && !ret; i++)
		ret = keep_list_add(&k->names, kept->v[i].name, -1);
	return ret;
}

int keep_open(struct keep **out, const char *rundir, struct kept **kept, size_t *n, char *why,
	      size_t why_size)
{
	struct keep_list l = { 0 };
	struct keep *k;
	int ret;

	k = calloc(1, sizeof(*k));
	if (!k) {
		snprintf(why, why_size, "There is not enough memory.");
		return -ENOMEM;
	}
	k->sock = -1;
	snprintf(why, why_size, "What systemd passes cannot be taken.");
	ret = keep_passed(k, &l);
	if (!ret && !keep_systemd(k))
		ret = keep_keeper(k, rundir, &l, why, why_size);
	if (!ret)
		ret = note_names(k, &l);
	if (ret) {
		keep_list_free(&l);
		keep_close(k);
		return ret;
	}
	why[0] = 0;
	*out = k;
	*kept = l.v;
	*n = l.n;
	return 0;
}

int keep_listen_only(struct keep **out)
{
	struct keep *k = calloc(1, sizeof(*k));
	struct keep_list kept = { 0 };
	int ret;

	if (!k)
		return -ENOMEM;
	k->sock = -1;
	ret = keep_passed(k, &kept);
	keep_list_free(&kept);
	if (ret)
		keep_close(k);
	else
		*out = k;
	return ret;
}

int keep_put(struct keep *k, const char *name, int fd)
{
	int ret = keep_list_add(&k->names, name, -1);

	if (ret)
		return ret;
	ret = k->way->put(k, name, fd);
	if (ret)
		keep_list_remove(&k->names, k->names.n - 1);
	return ret;
}

int keep_remove(struct keep *k, const char *name)
{
	int ret, i = keep_list_find(&k->names, name);

	if (i < 0)
		return i;
	ret = k->way->remove(k, name);
	if (!ret)
		keep_list_remove(&k->names, i);
	return ret;
}

bool keep_lost(const struct keep *k)
{
	struct pollfd p = { .fd = k->sock, .events = POLLIN };

	if (!k->has_keeper)
		return false;
	return k->sock < 0 || (poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR));
}

int keep_again(struct keep *k, const char *rundir, char *why, size_t why_size)
{
	struct keep_list l = { 0 };
	int ret;

	if (k->sock >= 0)
		close(k->sock);
	k->sock = -1;
	keep_list_free(&k->names);
	ret = keep_keeper(k, rundir, &l, why, why_size);
	if (!ret)
		ret = note_names(k, &l);
	keep_list_free(&l);
	return ret;
}

int keep_listen(struct keep *k, const char *name)
{
	int fd, i = keep_list_find(&k->listen, name);

	if (i < 0)
		return i;
	fd = k->listen.v[i].fd;
	keep_list_remove(&k->listen, i);
	return fd;
}

int keep_fd(const struct keep *k)
{
	return k->sock;
}

void keep_close(struct keep *k)
{
	if (!k)
		return;
	if (k->sock >= 0)
		close(k->sock);
	keep_list_free(&k->listen);
	keep_list_free(&k->names);
	free(k);
}
