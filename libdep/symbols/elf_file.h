/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ELF files on disk, and the separate ones with their debug information. */
#ifndef ADEPT_SYMBOLS_ELF_FILE_H
#define ADEPT_SYMBOLS_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>

#include "libdep/abi/types.h"

#define DEP_BUILD_ID_HEX 132u	/* room for 64 bytes and a NUL, more is no build-id */

/** struct dep_elf - an open file; zeroed: none */
struct dep_elf {
	Elf *elf;
	int fd;			/* valid if elf is */
	u64 mtime_ns;		/* CLOCK_REALTIME */
	char build_id[DEP_BUILD_ID_HEX];	/* hexadecimal, "" if none */
};

/**
 * dep_elf_open() - open a regular file that is a program or library for x86-64
 *
 * Return: 0, -EINVAL if it is anything else, or another negative errno.
 */
int dep_elf_open(struct dep_elf *f, const char *path);
void dep_elf_close(struct dep_elf *f);

/** dep_elf_has() - does it have a section @name with contents? */
bool dep_elf_has(Elf *elf, const char *name);

/**
 * dep_elf_open_debug() - open what was stripped from @of, whose path is @path
 *
 * Looks where distributions put it by build-id, and where .gnu_debuglink says, and takes
 * nothing that has not the same build-id.
 *
 * Return: 0 or -ENOENT.
 */
int dep_elf_open_debug(struct dep_elf *f, const struct dep_elf *of, const char *path);

#endif
