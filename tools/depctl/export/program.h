/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one program or library whose code a format describes. */
#ifndef DEPCTL_EXPORT_PROGRAM_H
#define DEPCTL_EXPORT_PROGRAM_H

#include "export.h"
#include "lines.h"

struct program {
	const char *path, *build_id;
	struct lines lines;
	bool *mapped;		/* by image: it is a mapping of the file */
};

/**
 * program_find() - choose the only executed file that --module names, or else the program of the
 *	first process
 *
 * Return: 0, or 1 after a message.
 */
int program_find(struct program *p, const struct export *x);

/** program_address() - the address as linked; false: @image is not of the program */
bool program_address(struct program *p, uint32_t image, uint64_t pc, uint64_t *linked);

void program_end(struct program *p);

#endif
