/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reader of /proc/self/maps. */
#ifndef ADEPT_ENGINE_BASE_MAPS_H
#define ADEPT_ENGINE_BASE_MAPS_H

#include "runtime.h"

/** struct maps - state of a reader of /proc/self/maps */
struct maps {
	int fd;
	u32 at, len;
	char buf[4096], line[4200];
};

/** struct map_line - one mapping; @path is valid until the next maps_next() */
struct map_line {
	u64 start, end, offset, dev, inode;
	u32 prot, shared;
	const char *path;
};

/** maps_parse() - parse @line; @l->path points into it */
void maps_parse(const char *line, struct map_line *l);
/** maps_open() - open /proc/self/maps.  Return: 0 or a negative errno */
s64 maps_open(struct maps *m);
/**
 * maps_next() - read the next mapping; mappings are in ascending order of addresses
 *
 * Mappings can change between calls; the kernel continues after the last address it returned.
 *
 * Return: 0 after the last mapping.
 */
int maps_next(struct maps *m, struct map_line *l);
void maps_close(struct maps *m);

#endif
