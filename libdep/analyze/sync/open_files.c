// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "open_files.h"

static u32 number_of(s64 fd)
{
	return fd < 0 || fd >= SYNC_FILES_MAX ? SYNC_FILES_MAX - 1 : (u32)fd;
}

static void put(struct sync_file_table *t)
{
	if (t && !--t->refs)
		free(t);
}

/* Make the table unshared, by a copy if necessary, with room for descriptor @n. */
static int own(struct sync_files *f, u32 n)
{
	struct sync_file_table *old = f->table, *new;
	u32 room = old ? old->room : 64;

	if (old && old->refs == 1 && n < old->room)
		return 0;
	while (room <= n)
		room *= 2;
	new = calloc(1, sizeof(*new) + room * sizeof(new->file[0]));
	if (!new)
		return dep_fail(-ENOMEM, "cannot run the race detector");
	new->refs = 1;
	new->room = room;
	if (old)
		memcpy(new->file, old->file, old->room * sizeof(new->file[0]));
	put(old);
	f->table = new;
	return 0;
}

static u32 *last_of(struct sync_files *f)
{
	return f->last ? f->last : &f->own;
}

static u32 next_file(struct sync_files *f)
{
	u32 *last = last_of(f);

	if (!*last)
		*last = SYNC_UNKNOWN + SYNC_FILES_MAX;
	return ++*last;
}

u32 sync_file(const struct sync_files *f, s64 fd)
{
	u32 n = number_of(fd);

	if (f->table && n < f->table->room && f->table->file[n])
		return f->table->file[n];
	return f->attached ? SYNC_SOCKETS : SYNC_UNKNOWN + n;
}

int sync_file_set(struct sync_files *f, s64 fd, u32 file)
{
	u32 n = number_of(fd);
	int err;

	if (fd < 0 || sync_file(f, fd) == file)
		return 0;
	err = own(f, n);
	if (!err)
		f->table->file[n] = file;
	return err;
}

int sync_file_new(struct sync_files *f, s64 fd, s64 other)
{
	u32 file = next_file(f);
	int err = sync_file_set(f, fd, file);

	return err ? err : sync_file_set(f, other, file);
}

int sync_file_same(struct sync_files *f, s64 fd, s64 like)
{
	return sync_file_set(f, fd, sync_file(f, like));
}

int sync_file_socket(struct sync_files *f, s64 fd)
{
	return sync_file_set(f, fd, SYNC_SOCKETS);
}

void sync_files_copy(struct sync_files *to, const struct sync_files *from)
{
	u32 last = from->last ? *from->last : from->own;

	to->attached |= from->attached;
	if (!from->table)
		return;
	from->table->refs++;
	put(to->table);
	to->table = from->table;
	/* Files opened from here on must get different numbers in parent and child. */
	if (*last_of(to) < last)
		*last_of(to) = last;
}

void sync_files_forget(struct sync_files *f)
{
	put(f->table);
	f->table = NULL;
	f->attached = true;
}

void sync_files_free(struct sync_files *f)
{
	put(f->table);
	memset(f, 0, sizeof(*f));
}
