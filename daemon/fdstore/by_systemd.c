// SPDX-License-Identifier: GPL-2.0-or-later
/* fd store (keeps descriptors for the next depd) in systemd's file descriptor store. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "internal.h"
#include "daemon/base/sd_notify.h"

static int systemd_put(struct fdstore *k, const char *name, int fd)
{
	char text[128];
	int ret;

	(void)k;
	/* FDPOLL=0: systemd would drop a descriptor for which poll() reports POLLHUP or POLLERR. */
	snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
	ret = sd_pid_notify_with_fds(0, 0, text, &fd, 1);
	return ret > 0 ? 0 : ret ? ret : -ENOTCONN;
}

static int systemd_remove(struct fdstore *k, const char *name)
{
	int ret;

	(void)k;
	ret = sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
	return ret > 0 ? 0 : ret ? ret : -ENOTCONN;
}

static const struct fdstore_ops systemd_ops = { systemd_put, systemd_remove };

bool fdstore_systemd(struct fdstore *k)
{
	const char *fds = getenv("FDSTORE");

	/* systemd sets FDSTORE from version 254 on; depd's user unit sets it for older versions. */
	if (!notify_is_service() || !getenv("NOTIFY_SOCKET") || !fds || atol(fds) <= 0)
		return false;
	k->ops = &systemd_ops;
	return true;
}

static int sort_in(struct fdstore *k, struct fdstore_list *kept, const char *name, int fd)
{
	int ret;

	if (sd_is_socket(fd, AF_UNIX, 0, 1) <= 0)
		ret = fdstore_list_add(kept, name, fd);
	else if (fcntl(fd, F_SETFL, O_NONBLOCK))
		ret = -errno;
	else
		ret = fdstore_list_add(&k->listen, name, fd);
	if (ret)
		close(fd);
	/* Ignore a descriptor with a name that depd never gives, or with a duplicate name. */
	return ret == -EINVAL || ret == -EEXIST ? 0 : ret;
}

int fdstore_passed(struct fdstore *k, struct fdstore_list *kept)
{
	char **names = NULL;
	int i, n, ret = 0;

	n = sd_listen_fds_with_names(1, &names);
	for (i = 0; i < n; i++) {
		if (!ret)
			ret = sort_in(k, kept, names[i], SD_LISTEN_FDS_START + i);
		free(names[i]);
	}
	free(names);
	return n < 0 ? n : ret;
}
