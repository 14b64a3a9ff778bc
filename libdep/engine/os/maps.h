/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process's own mappings, as /proc/self/maps shows them. */
#ifndef ADEPT_ENGINE_OS_MAPS_H
#define ADEPT_ENGINE_OS_MAPS_H

#include "libdep/engine/base/runtime.h"

/** struct maps - /proc/self/maps being read */
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

/** maps_parse() - take a line apart; @l->path points into it */
void maps_parse(const char *line, struct map_line *l);
/** maps_open() - begin; return: 0 or a negative errno */
s64 maps_open(struct maps *m);
/**
 * maps_next() - the next mapping, in ascending order; 0 at the end
 *
 * The mappings may change meanwhile: the kernel goes on after the last address that it showed.
 */
int maps_next(struct maps *m, struct map_line *l);
void maps_close(struct maps *m);

#endif
