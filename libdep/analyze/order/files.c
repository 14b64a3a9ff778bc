// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>
#include <string.h>

#include "files.h"

/* Where it stands what @fd is; NULL: no memory. */
static u32 *place(struct race_files *f, s64 fd)
{
	u32 n = fd < 0 || fd >= RACE_FILES_MAX ? RACE_FILES_MAX - 1 : (u32)fd, room = f->room;
	u32 *more;

	if (n < f->room)
		return &f->file[n];
	while (room <= n)
		room = room ? room * 2 : 64;
	more = realloc(f->file, room * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + f->room, 0, (room - f->room) * sizeof(*more));
	f->file = more;
	f->room = room;
	return &f->file[n];
}

static u32 next_file(struct race_files *f)
{
	if (!f->last)
		f->last = RACE_SOCKETS;
	return ++f->last;
}

void race_file_set(struct race_files *f, s64 fd, u32 file)
{
	u32 *at = place(f, fd);

	if (at)
		*at = file;
}

u32 race_file(struct race_files *f, s64 fd)
{
	u32 *at = place(f, fd);

	if (!at)
		return 0;
	if (!*at)
		*at = next_file(f);
	return *at;
}

void race_file_new(struct race_files *f, s64 fd, s64 other)
{
	u32 file = next_file(f);

	race_file_set(f, fd, file);
	if (other >= 0)
		race_file_set(f, other, file);
}

void race_file_same(struct race_files *f, s64 fd, s64 like)
{
	race_file_set(f, fd, race_file(f, like));
}

void race_file_socket(struct race_files *f, s64 fd)
{
	race_file_set(f, fd, RACE_SOCKETS);
}

void race_files_free(struct race_files *f)
{
	free(f->file);
	memset(f, 0, sizeof(*f));
}
