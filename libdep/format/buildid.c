// SPDX-License-Identifier: LGPL-2.1-or-later
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "buildid.h"

static bool is_file(const struct stat *st, u64 dev, u64 inode)
{
	/* As /proc/PID/maps has it, which is not how dev_t is put together. */
	u64 have = (u64)major(st->st_dev) << 32 | minor(st->st_dev);

	return S_ISREG(st->st_mode) && (!inode || st->st_ino == inode) && (!dev || dev == have);
}

void dep_build_id(const char *path, u64 dev, u64 inode, char *hex, size_t size)
{
	const unsigned char *id;
	const void *bits;
	struct stat st;
	ssize_t i, n;
	Elf *elf;
	int fd;

	hex[0] = 0;
	if (path[0] != '/' || elf_version(EV_CURRENT) == EV_NONE)
		return;
	/* Look before opening: to open a device or a FIFO has effects of its own. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	if (fstat(fd, &st) || !is_file(&st, dev, inode))
		goto out_close;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		goto out_close;
	n = dwelf_elf_gnu_build_id(elf, &bits);
	id = bits;
	for (i = 0; i < n && (size_t)i * 2 + 3 <= size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	elf_end(elf);
out_close:
	close(fd);
}
