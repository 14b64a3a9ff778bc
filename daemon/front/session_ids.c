// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Session ids are unique among all instances, so the front assigns them.  The file RUNDIR/next-id
 * keeps the next id, so that the next front continues with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "front.h"

int ids_open(struct front *f)
{
	char path[PATH_MAX + 16];
	uint32_t next;

	snprintf(path, sizeof(path), "%s/next-id", f->rundir);
	f->ids = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->ids < 0)
		return -errno;
	f->next_id = 1;
	if (pread(f->ids, &next, sizeof(next), 0) == sizeof(next) && next)
		f->next_id = next;
	return 0;
}

/* Write the file before the ids are used: a crash can skip ids but never assigns an id twice. */
struct link_ids ids_lease(struct front *f, uint32_t n)
{
	struct link_ids ids = { .first = f->next_id, .count = n };
	uint32_t next;

	if (n > UINT32_MAX - f->next_id)
		ids.count = 0;
	if (!ids.count)
		return ids;
	next = f->next_id + ids.count;
	if (pwrite(f->ids, &next, sizeof(next), 0) != sizeof(next))
		ids.count = 0;
	else
		f->next_id = next;
	return ids;
}
