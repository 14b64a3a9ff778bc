// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The open descriptors of a process, from /proc/PID/fd and fdinfo.
 *
 * Nothing is opened that the process has open, and no file system is asked for more than it has in
 * its cache: a FUSE server that does not answer must not stop the tracer.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach_facts.h"
#include "internal.h"

#define MAX_FILES	65536u
#define INFO_BYTES	256u	/* of a file in fdinfo: position and flags come first */

/** struct found - the descriptors of a process */
struct found {
	struct adept_desc_file *file;
	size_t n;
	u32 left_out;
};

static u32 kind_of(u32 mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return DEP_FILE_REGULAR;
	case S_IFDIR:
		return DEP_FILE_DIRECTORY;
	case S_IFCHR:
	case S_IFBLK:
		return DEP_FILE_DEVICE;
	case S_IFIFO:
		return DEP_FILE_PIPE;
	case S_IFSOCK:
		return DEP_FILE_SOCKET;
	}
	return DEP_FILE_OTHER;
}

static void read_info(int infos, const char *name, struct adept_desc_file *d)
{
	int fd = openat(infos, name, O_RDONLY | O_CLOEXEC);
	char text[INFO_BYTES];
	unsigned long long position;
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "pos: %llu flags: %o", &position, &d->flags) == 2)
		d->position = position;
}

static void look_at(int dir, int infos, const char *name, struct adept_desc_file *d)
{
	struct statx st;

	*d = (struct adept_desc_file){ .fd = (s32)strtoul(name, NULL, 10) };
	if (!statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO, &st)) {
		d->kind = kind_of(st.stx_mode);
		d->dev = (u64)st.stx_dev_major << 32 | st.stx_dev_minor;
		d->inode = st.stx_ino;
	}
	read_info(infos, name, d);
}

static bool add(struct found *f, size_t *room, int dir, int infos, const char *name)
{
	size_t more = *room ? 2 * *room : 64;
	struct adept_desc_file *file;

	if (f->n == *room) {
		file = realloc(f->file, more * sizeof(*file));
		if (!file)
			return false;
		f->file = file;
		*room = more;
	}
	look_at(dir, infos, name, &f->file[f->n++]);
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct adept_desc_file *x = a, *y = b;

	return x->fd < y->fd ? -1 : x->fd > y->fd;
}

static void find_all(struct found *f, DIR *dir, int infos)
{
	struct dirent *e;
	size_t room = 0;

	while ((e = readdir(dir))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		if (f->n == MAX_FILES || !add(f, &room, dirfd(dir), infos, e->d_name))
			f->left_out++;
	}
	if (f->n)
		qsort(f->file, f->n, sizeof(*f->file), by_number);
}

/* The addresses of all sockets, sorted by inode; NULL: none, or no memory. */
static struct dep_socket *find_sockets(const struct found *f, int proc, size_t *n)
{
	struct dep_socket *s;
	size_t i;

	*n = 0;
	for (i = 0; i < f->n; i++)
		*n += f->file[i].kind == DEP_FILE_SOCKET;
	s = *n ? calloc(*n, sizeof(*s)) : NULL;
	if (!s) {
		*n = 0;
		return NULL;
	}
	*n = 0;
	for (i = 0; i < f->n; i++)
		if (f->file[i].kind == DEP_FILE_SOCKET)
			s[(*n)++].inode = f->file[i].inode;
	dep_sockets_find(s, *n, proc);
	return s;
}

static void put_all(struct dep_facts *facts, struct found *f, int dir,
		    const struct dep_socket *sockets, size_t nsockets)
{
	char name[16], text[PATH_MAX + sizeof(sockets->text) + 2];
	const struct dep_socket *s;
	ssize_t n;
	size_t i;

	for (i = 0; i < f->n; i++) {
		snprintf(name, sizeof(name), "%d", f->file[i].fd);
		n = readlinkat(dir, name, text, PATH_MAX - 1);
		n = n > 0 ? n : 0;
		text[n++] = '\0';
		s = f->file[i].kind == DEP_FILE_SOCKET ?
			    dep_socket_find(sockets, nsockets, f->file[i].inode) : NULL;
		strcpy(text + n, s ? s->text : "");
		n += (ssize_t)strlen(text + n) + 1;
		f->left_out += !dep_facts_put(facts, ADEPT_DESC_FILE, &f->file[i],
					      sizeof(f->file[i]), text, (size_t)n);
	}
}

u32 dep_facts_files(struct dep_facts *facts, int proc)
{
	int fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), infos;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dep_socket *sockets;
	struct found f = { 0 };
	size_t n;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	infos = openat(proc, "fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	find_all(&f, dir, infos);
	sockets = find_sockets(&f, proc, &n);
	put_all(facts, &f, dirfd(dir), sockets, n);
	free(sockets);
	free(f.file);
	if (infos >= 0)
		close(infos);
	closedir(dir);
	return f.left_out;
}
