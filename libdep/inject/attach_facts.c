// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Describes a process that runs already.
 *
 * The process runs meanwhile, so the facts are those of a moment shortly before the attach.  What
 * they contain is the process's choice; only their sizes are checked.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "attach_facts.h"
#include "internal.h"

#define MAX_MAPS	65536u

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

/* Parse a line of /proc/PID/maps that ends without a newline.  Return: its path; NULL: no file. */
static const char *parse_line(const char *line, struct adept_desc_map *m)
{
	unsigned long long start, end, offset, inode;
	unsigned int major, minor;
	char perms[5];
	int path;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &offset, &major,
		   &minor, &inode, &path) != 7 || !inode || start >= end)
		return NULL;
	*m = (struct adept_desc_map){
		.start = start, .end = end, .offset = offset, .inode = inode,
		.dev = (u64)major << 32 | minor,
		.prot = (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u) |
			(perms[2] == 'x' ? PROT_EXEC : 0u),
	};
	return line + path;
}

/* Append the mappings of files.  Return: how many did not fit. */
static u32 put_maps(struct dep_facts *f, int proc)
{
	FILE *maps = dep_proc_file(proc, "maps");
	u32 n = 0, left_out = 0;
	struct adept_desc_map m;
	u64 now = now_ns();
	char *line = NULL;
	const char *path;
	size_t room = 0;

	while (maps && n < MAX_MAPS && getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = '\0';
		path = parse_line(line, &m);
		if (!path)
			continue;
		n++;
		m.time_ns = now;
		left_out += !dep_facts_put(f, ADEPT_DESC_MAP, &m, sizeof(m), path,
					   strlen(path) + 1);
	}
	free(line);
	if (maps)
		fclose(maps);
	return left_out;
}

u32 dep_facts_write(u8 *ring, u32 size, int proc)
{
	struct adept_desc_attach d = { .time_ns = now_ns() };
	struct dep_facts f = { .ring = ring, .size = size / 2, .at = sizeof(d) };

	d.maps_left_out = put_maps(&f, proc);
	f.size = size / 4 * 3;
	d.files_left_out = dep_facts_files(&f, proc);
	d.h = (struct adept_desc){ sizeof(d), ADEPT_DESC_ATTACH };
	memcpy(ring, &d, sizeof(d));
	return f.at;
}
