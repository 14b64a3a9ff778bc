// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write a page: its head, the data, its tail.  Head and tail are made when depctl is built, see
 * build.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "model.h"

extern const char page_head[], page_head_end[], page_tail[], page_tail_end[];

/* Create a file next to @path that nobody else has, without following a link. */
static int create(const char *path, char **name)
{
	unsigned int i;
	int fd = -1;

	for (i = 0; i < 100 && fd < 0; i++) {
		if (asprintf(name, "%s.%d-%u.tmp", path, (int)getpid(), i) < 0)
			return -ENOMEM;
		fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			break;
		fd = -errno;
		free(*name);
		*name = NULL;
		if (fd != -EEXIST)
			break;
	}
	return fd;
}

static int write_page(const struct page_input *in, int fd)
{
	struct out o;
	int ret;

	out_begin(&o);
	o.fd = fd;
	out_block(&o, page_head, page_head_end - page_head);
	ret = page_data_write(in, &o);
	out_block(&o, page_tail, page_tail_end - page_tail);
	out_flush(&o);
	return ret ? ret : -o.error;
}

int page_write(const struct page_input *in, const char *path)
{
	char *name = NULL;
	struct stat st;
	int fd, ret;

	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		warn("cannot write the page to %s: not a regular file", path);
		return -EINVAL;
	}
	fd = create(path, &name);
	ret = fd < 0 ? fd : write_page(in, fd);
	if (fd >= 0 && close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(name, path))
		ret = -errno;
	if (ret) {
		warn("cannot write the page to %s: %s", path, strerror(-ret));
		if (name)
			unlink(name);
	}
	free(name);
	return ret;
}
