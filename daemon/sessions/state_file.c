// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "state_file.h"

#define FILE_MAGIC	0x1e55105450454401ull
#define FILE_VERSION	7u
#define TEXT_MAX	4096

/* Content of the state file, which is mapped. */
struct session_file {
	uint64_t magic;
	uint32_t version, size;	/* FILE_VERSION; size of this structure in bytes */
	uint64_t check;		/* XXH3-64 of the constant fields: id up to rule */
	uint32_t id;
	uint32_t flags;
	uint64_t max_size, last_bytes, last_ns;
	int32_t level;
	uint32_t has_client, attached, keep_if, last_on_disk;
	uint64_t start_ns, start_realtime_ns;
	struct user owner;
	struct dep_session_saved saved;
	char store[TEXT_MAX], command[TEXT_MAX], rule[TEXT_MAX];
	/* Variable fields.  They can contradict each other if depd was killed during a write. */
	int32_t pid;
	uint32_t launched, exit_reported;
	int32_t status;
	uint32_t state, cause;
	uint32_t begun, stop_threads;
	uint32_t native, removed;
	uint64_t stop_ns;
	uint64_t store_dev, store_ino;
	struct dep_base base;
	struct session_totals totals;
};

static uint64_t check(const struct session_file *f)
{
	size_t from = offsetof(struct session_file, id);

	return XXH3_64bits((const char *)f + from, offsetof(struct session_file, pid) - from);
}

static void name_of(const struct session *s, char *name, size_t size)
{
	snprintf(name, size, "%s/session-%u", s->d->rundir, s->id);
}

static struct session_file *map(int fd)
{
	void *p = mmap(NULL, sizeof(struct session_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       0);

	return p == MAP_FAILED ? NULL : p;
}

int file_create(struct session_file **out, const struct session *s)
{
	char name[PATH_MAX + 32];
	struct session_file *f;
	int fd, err = 0;

	name_of(s, name, sizeof(name));
	unlink(name);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* Allocate the space now: a later write to the mapping must not fail. */
	err = -posix_fallocate(fd, 0, sizeof(*f));
	f = err ? NULL : map(fd);
	if (!f) {
		err = err ? err : -errno;
		unlink(name);
		close(fd);
		return err;
	}
	close(fd);
	f->version = FILE_VERSION;
	f->size = sizeof(*f);
	f->id = s->id;
	f->flags = s->flags;
	f->max_size = s->max_size;
	f->last_bytes = s->last_bytes;
	f->last_ns = s->last_ns;
	f->last_on_disk = s->last_on_disk;
	f->level = s->level;
	f->has_client = s->has_client;
	f->attached = s->attached;
	f->keep_if = s->keep_if;
	f->start_ns = s->start_ns;
	f->start_realtime_ns = s->start_realtime_ns;
	f->owner = s->owner;
	dep_session_save(&s->ring, &f->saved);
	snprintf(f->store, TEXT_MAX, "%s", s->store);
	snprintf(f->command, TEXT_MAX, "%s", s->command);
	snprintf(f->rule, TEXT_MAX, "%s", s->rule);
	f->status = -1;
	f->check = check(f);
	__atomic_store_n(&f->magic, FILE_MAGIC, __ATOMIC_RELEASE);
	*out = f;
	return 0;
}

static int is_good(const struct session_file *f, const struct session *s)
{
	return f->magic == FILE_MAGIC && f->version == FILE_VERSION && f->size == sizeof(*f) &&
	       f->check == check(f) && f->saved.layout.version == ADEPT_SESSION_VERSION &&
	       f->id == s->id && !f->store[TEXT_MAX - 1] && !f->command[TEXT_MAX - 1] &&
	       !f->rule[TEXT_MAX - 1] && f->state < SESSION_STATES && f->cause < DEP_CLOSE_CAUSES &&
	       f->keep_if < DEP_KEEP_IFS;
}

int file_open(struct session_file **out, struct session *s, struct dep_session_saved *saved)
{
	char name[PATH_MAX + 32];
	struct session_file *f = NULL;
	struct stat st;
	int fd, err = -EBADMSG;

	name_of(s, name, sizeof(name));
	fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_size >= (off_t)sizeof(*f))
		f = map(fd);
	close(fd);
	if (!f)
		return err;
	if (!is_good(f, s))
		goto fail;
	s->store = strdup(f->store);
	s->command = strdup(f->command);
	s->rule = strdup(f->rule);
	err = -ENOMEM;
	if (!s->store || !s->command || !s->rule)
		goto fail;
	s->flags = f->flags;
	s->max_size = f->max_size;
	s->last_bytes = f->last_bytes;
	s->last_ns = f->last_ns;
	s->last_on_disk = f->last_on_disk;
	s->level = f->level;
	s->has_client = f->has_client;
	s->attached = f->attached;
	s->keep_if = (enum dep_keep_if)f->keep_if;
	s->start_ns = f->start_ns;
	s->start_realtime_ns = f->start_realtime_ns;
	s->owner = f->owner;
	s->pid = f->pid;
	s->launched = f->launched;
	s->exit_reported = f->exit_reported;
	s->status = f->status;
	s->cause = f->cause;
	s->begun = f->begun;
	s->stop_threads = f->stop_threads;
	s->native = f->native;
	s->removed = f->removed;
	s->stop_ns = f->stop_ns;
	s->store_dev = f->store_dev;
	s->store_ino = f->store_ino;
	s->target.base = f->base;
	s->before = f->totals;
	*saved = f->saved;
	*out = f;
	return 0;

fail:
	munmap(f, sizeof(*f));
	return err;
}

void file_update(struct session_file *f, struct session *s)
{
	struct dep_base base = s->target.base;

	f->pid = s->pid;
	f->launched = s->launched;
	f->exit_reported = s->exit_reported;
	f->status = s->status;
	f->state = s->state;
	f->cause = s->cause;
	f->begun = s->begun;
	f->stop_threads = s->stop_threads;
	f->native = s->native;
	f->removed = s->removed;
	f->stop_ns = s->stop_ns;
	f->store_dev = s->store_dev;
	f->store_ino = s->store_ino;
	/* Write the base privileges once; set `known` last: a partial base must not be used. */
	if (!f->base.known && base.known) {
		base.known = 0;
		f->base = base;
		__atomic_store_n(&f->base.known, 1, __ATOMIC_RELEASE);
	}
	session_totals(s, &f->totals);
}

void file_close(struct session_file *f, const struct session *s, bool remove)
{
	char name[PATH_MAX + 32];

	if (f)
		munmap(f, sizeof(*f));
	if (!remove)
		return;
	name_of(s, name, sizeof(name));
	unlink(name);
}

size_t file_list(const char *rundir, uint32_t *ids, size_t max)
{
	DIR *dir = opendir(rundir);
	struct dirent *e;
	unsigned int id;
	size_t n = 0;
	int used;

	if (!dir)
		return 0;
	while (n < max && (e = readdir(dir)))
		if (sscanf(e->d_name, "session-%u%n", &id, &used) == 1 && !e->d_name[used])
			ids[n++] = id;
	closedir(dir);
	return n;
}
