// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>
#include <string.h>

#include "files.h"

/* Where it stands what @fd is; NULL: no memory. */
static u32 *place(struct order_files *f, s64 fd)
{
	u32 n = fd < 0 || fd >= ORDER_FILES_MAX ? ORDER_FILES_MAX - 1 : (u32)fd, room = f->room;
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

static u32 *last_of(struct order_files *f)
{
	return f->last ? f->last : &f->own;
}

static u32 next_file(struct order_files *f)
{
	u32 *last = last_of(f);

	if (!*last)
		*last = ORDER_UNKNOWN + ORDER_FILES_MAX;
	return ++*last;
}

void order_file_set(struct order_files *f, s64 fd, u32 file)
{
	u32 *at = place(f, fd);

	if (at)
		*at = file;
}

u32 order_file(struct order_files *f, s64 fd)
{
	u32 *at = place(f, fd);

	if (!at)
		return 0;
	return *at ? *at : ORDER_UNKNOWN + (u32)(at - f->file);
}

void order_file_new(struct order_files *f, s64 fd, s64 other)
{
	u32 file = next_file(f);

	order_file_set(f, fd, file);
	if (other >= 0)
		order_file_set(f, other, file);
}

void order_file_same(struct order_files *f, s64 fd, s64 like)
{
	order_file_set(f, fd, order_file(f, like));
}

void order_file_socket(struct order_files *f, s64 fd)
{
	order_file_set(f, fd, ORDER_SOCKETS);
}

void order_files_copy(struct order_files *to, const struct order_files *from)
{
	u32 *file = from->room ? malloc(from->room * sizeof(*file)) : NULL;
	u32 last = from->last ? *from->last : from->own;

	/* Without memory each is a file of its own, as those are that nobody knows of. */
	if (!file)
		return;
	memcpy(file, from->file, from->room * sizeof(*file));
	free(to->file);
	to->file = file;
	to->room = from->room;
	/* What one of them opens from now on is not what the other one does. */
	if (*last_of(to) < last)
		*last_of(to) = last;
}

void order_files_free(struct order_files *f)
{
	free(f->file);
	memset(f, 0, sizeof(*f));
}
