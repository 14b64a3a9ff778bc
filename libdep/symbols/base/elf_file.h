/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ELF files, and separate debug files. */
#ifndef ADEPT_SYMBOLS_BASE_ELF_FILE_H
#define ADEPT_SYMBOLS_BASE_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>

#include "libdep/abi/types.h"

#define DEP_BUILD_ID_HEX 132u	/* buffer size of a hexadecimal build-id; ignore longer ones */

/** struct dep_elf - an open ELF file; zeroed if no file is open */
struct dep_elf {
	Elf *elf;
	int fd;			/* valid if @elf is not NULL */
	u64 size;		/* bytes */
	u64 mtime_ns;		/* time of the last modification, CLOCK_REALTIME */
	char build_id[DEP_BUILD_ID_HEX];	/* hexadecimal; "": the file has none */
};

/**
 * dep_elf_open() - open an x86-64 program or library, a regular file
 *
 * Return: 0, -EINVAL for any other file, or another negative errno.
 */
int dep_elf_open(struct dep_elf *f, const char *path);
void dep_elf_close(struct dep_elf *f);

/** dep_elf_has() - does the file have a non-empty section @name? */
bool dep_elf_has(Elf *elf, const char *name);
/** dep_elf_section() - get the section @name and its header; NULL: there is none, or it is empty */
Elf_Scn *dep_elf_section(Elf *elf, const char *name, GElf_Shdr *sh);

/**
 * dep_elf_open_debug() - open the separate debug file of @of, whose path is @path
 *
 * Searches /usr/lib/debug/.build-id first, then the usual folders for the name in the section
 * .gnu_debuglink. Accepts only a file with the same build-id.
 *
 * Return: 0 or -ENOENT.
 */
int dep_elf_open_debug(struct dep_elf *f, const struct dep_elf *of, const char *path);

#endif
