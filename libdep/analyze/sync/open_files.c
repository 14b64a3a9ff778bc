// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "open_files.h"

static u32 number_of(s64 fd)
{
	return fd < 0 || fd >= ORDER_FILES_MAX ? ORDER_FILES_MAX - 1 : (u32)fd;
}

static void put(struct order_file_table *t)
{
	if (t && !--t->refs)
		free(t);
}

/* A table of one's own that has a place for descriptor @n. */
static int own(struct order_files *f, u32 n)
{
	struct order_file_table *old = f->table, *new;
	u32 room = old ? old->room : 64;

	if (old && old->refs == 1 && n < old->room)
		return 0;
	while (room <= n)
		room *= 2;
	new = calloc(1, sizeof(*new) + room * sizeof(new->file[0]));
	if (!new)
		return dep_fail(-ENOMEM, "the race detector");
	new->refs = 1;
	new->room = room;
	if (old)
		memcpy(new->file, old->file, old->room * sizeof(new->file[0]));
	put(old);
	f->table = new;
	return 0;
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

u32 order_file(const struct order_files *f, s64 fd)
{
	u32 n = number_of(fd);

	return f->table && n < f->table->room && f->table->file[n] ? f->table->file[n] :
								      ORDER_UNKNOWN + n;
}

int order_file_set(struct order_files *f, s64 fd, u32 file)
{
	u32 n = number_of(fd);
	int err;

	if (fd < 0 || order_file(f, fd) == file)
		return 0;
	err = own(f, n);
	if (!err)
		f->table->file[n] = file;
	return err;
}

int order_file_new(struct order_files *f, s64 fd, s64 other)
{
	u32 file = next_file(f);
	int err = order_file_set(f, fd, file);

	return err ? err : order_file_set(f, other, file);
}

int order_file_same(struct order_files *f, s64 fd, s64 like)
{
	return order_file_set(f, fd, order_file(f, like));
}

int order_file_socket(struct order_files *f, s64 fd)
{
	return order_file_set(f, fd, ORDER_SOCKETS);
}

void order_files_copy(struct order_files *to, const struct order_files *from)
{
	u32 last = from->last ? *from->last : from->own;

	if (!from->table)
		return;
	from->table->refs++;
	put(to->table);
	to->table = from->table;
	/* What one of them opens from now on is not what the other one does. */
	if (*last_of(to) < last)
		*last_of(to) = last;
}

void order_files_free(struct order_files *f)
{
	put(f->table);
	memset(f, 0, sizeof(*f));
}
