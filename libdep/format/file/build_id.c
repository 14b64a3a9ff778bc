// SPDX-License-Identifier: LGPL-2.1-or-later
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "build_id.h"
#include "append_file.h"

static bool is_file(const struct stat *st, u64 dev, u64 inode)
{
	/* Encoded like @dev, from major and minor as in /proc/PID/maps; dev_t has other bits. */
	u64 have = (u64)major(st->st_dev) << 32 | minor(st->st_dev);

	return S_ISREG(st->st_mode) && (!inode || st->st_ino == inode) && (!dev || dev == have);
}

/*
 * Linkers put the build-id into a note near the beginning of the file, mostly within the first
 * page.  So only the beginning is read, and it is not mapped: another process could truncate a
 * mapped file, and the header of a hostile file can claim any number of sections.
 */
#define FIRST_BYTES	(4u << 10)
#define READ_BYTES	(64u << 10)

static void find_id(char *image, size_t size, char *hex, size_t hex_size)
{
	const unsigned char *id;
	const void *bits;
	ssize_t i, n;
	Elf *elf = elf_memory(image, size);

	if (!elf)
		return;
	n = dwelf_elf_gnu_build_id(elf, &bits);
	id = bits;
	for (i = 0; i < n && (size_t)i * 2 + 3 <= hex_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	elf_end(elf);
}

void dep_build_id(const char *path, u64 dev, u64 inode, char *hex, size_t size)
{
	struct stat st;
	char *image;
	ssize_t n;
	int fd;

	hex[0] = 0;
	if (path[0] != '/' || elf_version(EV_CURRENT) == EV_NONE)
		return;
	/* Check the type first: opening a device or a FIFO has side effects. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	image = malloc(READ_BYTES);
	if (image && !fstat(fd, &st) && is_file(&st, dev, inode)) {
		n = dep_read_at(fd, image, FIRST_BYTES, 0);
		if (n > 0)
			find_id(image, (size_t)n, hex, size);
		if (!hex[0] && n == FIRST_BYTES)
			n = dep_read_at(fd, image, READ_BYTES, 0);
		if (!hex[0] && n > FIRST_BYTES)
			find_id(image, (size_t)n, hex, size);
	}
	free(image);
	close(fd);
}
