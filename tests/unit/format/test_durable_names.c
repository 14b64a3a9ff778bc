// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names in a store's directory that are taken by something else, and who may read a store.
 *
 * A user who may write to the directory can put anything there at any moment.  The writer may be a
 * daemon: it must neither follow, nor wait, nor change what is elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "libdep/format/file/remove.h"
#include "tests/unit/lib/close_writer.h"
#include "durable.h"
#include "tests/unit/lib/fixed_random.h"
#include "tests/unit/lib/store_util.h"

#define WAIT	10	/* seconds: nothing may block */

/* ---- what takes a name ---- */

enum kind { FIFO, LINK, DANGLING, DIRECTORY, HARD_LINK, SOCKET, DEVICE, KINDS };

static const char *const kinds[KINDS] = {
	"FIFO", "symbolic link", "symbolic link to nothing", "directory", "hard link", "socket",
	"device",
};

/* A file elsewhere, which must stay as it is; what a link of a dangling one would make. */
static char victim[160], nothing[160];
static u8 victim_data[1u << 16];
static size_t victim_size;

static void make_victim(const char *like)
{
	FILE *f;

	scratch_name(victim, sizeof(victim));
	scratch_name(nothing, sizeof(nothing));
	victim_size = 0;
	f = like ? fopen(like, "rb") : NULL;
	if (f) {
		victim_size = fread(victim_data, 1, sizeof(victim_data), f);
		fclose(f);
	}
	f = fopen(victim, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(victim_data, 1, victim_size, f), victim_size);
	fclose(f);
	assert_int_equal(chmod(victim, 0644), 0);
}

static void check_victim(void)
{
	static u8 now[sizeof(victim_data)];
	struct stat st;
	FILE *f = fopen(victim, "rb");

	assert_non_null(f);
	assert_int_equal(fread(now, 1, sizeof(now), f), victim_size);
	assert_memory_equal(now, victim_data, victim_size);
	assert_int_equal(fstat(fileno(f), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	fclose(f);
	assert_int_equal(access(nothing, F_OK), -1);
	unlink(victim);
}

/* Only root can make a device node. */
static bool can_make(enum kind kind)
{
	return kind != DEVICE || !geteuid();
}

/* Put it under a name, in place of what is there. */
static void plant(const char *dir, const char *name, enum kind kind)
{
	char path[4400];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	make_victim(path);
	unlink(path);
	switch (kind) {
	case FIFO:
		assert_int_equal(mkfifo(path, 0666), 0);
		break;
	case LINK:
		assert_int_equal(symlink(victim, path), 0);
		break;
	case DANGLING:
		assert_int_equal(symlink(nothing, path), 0);
		break;
	case DIRECTORY:
		assert_int_equal(mkdir(path, 0777), 0);
		break;
	case HARD_LINK:
		assert_int_equal(link(victim, path), 0);
		break;
	case SOCKET:
		assert_int_equal(mknod(path, S_IFSOCK | 0666, 0), 0);
		break;
	default:
		assert_int_equal(mknod(path, S_IFCHR | 0666, makedev(1, 3)), 0);
	}
}

static void take_away(const char *dir, const char *name)
{
	char path[4400];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (rmdir(path))
		unlink(path);
}

static void remove_all(const char *dir, const char *name)
{
	take_away(dir, name);
	scratch_remove(dir);
	assert_int_equal(access(dir, F_OK), -1);
}

/* An error must say which name it was. */
static void expect_named(int err, const char *name, enum kind kind)
{
	if (err >= 0 || strstr(dep_error(), name))
		return;
	print_error("%s is a %s: %d: %s\n", name, kinds[kind], err, dep_error());
	fail();
}

/* ---- while a store is made, recorded into and closed ---- */

static const char *taken;
static enum kind taken_by;

static void take_name(const char *dir)
{
	plant(dir, taken, taken_by);
}

/* Every name that the writer makes, taken from the moment on when the directory is there. */
void names_while_recording(void **state)
{
	struct durable *d = *state;
	char name[64][64], dir[128];
	struct outcome o;
	struct held h;
	u32 i, n, refused = 0;
	int err;

	scratch_name(dir, sizeof(dir));
	disk_begin(dir, NULL);
	durable_record(d, dir, false, &o);
	disk_end();
	scratch_remove(dir);
	n = disk_names();
	assert_in_range(n, 10, 64);
	for (i = 0; i < n; i++)
		snprintf(name[i], sizeof(name[i]), "%s", disk_name_at(i));
	disk_after_mkdir(take_name);
	for (i = 0; i < n; i++) {
		for (taken_by = 0; taken_by < KINDS; taken_by++) {
			if (!can_make(taken_by))
				continue;
			taken = name[i];
			alarm(WAIT);
			scratch_name(dir, sizeof(dir));
			disk_begin(dir, NULL);
			durable_record(d, dir, true, &o);
			disk_end();
			check_victim();
			expect_named(o.created, name[i], taken_by);
			/* Where END is written the store says that it failed. */
			refused += o.created || o.error || o.closed;
			if (!o.created && (err = durable_check(d, dir, NULL, &h))) {
				/* Nobody can read it as long as that is there. */
				expect_named(err, name[i], taken_by);
				take_away(dir, name[i]);
				assert_int_equal(durable_check(d, dir, NULL, &h), 0);
			}
			if (!o.created && o.error)
				assert_true(h.cause == DEP_CLOSE_FAILED && h.lost >= h.absent);
			if (!o.created && !o.error)
				assert_int_equal(h.state, DEP_VERDICT_COMPLETE);
			remove_all(dir, name[i]);
		}
	}
	disk_after_mkdir(NULL);
	assert_true(refused > 2 * n);
	alarm(0);
}

/* The store's own name. */
void names_at_creation(void **state)
{
	struct dep_writer *w;
	struct dep_store *s;
	struct dep_resume r;
	char base[128], dir[160];
	enum kind kind;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		if (!can_make(kind))
			continue;
		alarm(WAIT);
		scratch_name(base, sizeof(base));
		assert_int_equal(mkdir(base, 0777), 0);
		plant(base, "x.dep", kind);
		snprintf(dir, sizeof(dir), "%s/x.dep", base);
		assert_int_equal(dep_writer_create(&w, dir, &durable_meta, 0), -EEXIST);
		assert_null(w);
		expect_named(-EEXIST, dir, kind);
		/* Nor does anything else follow it, wait for it, or remove anything there. */
		assert_false(dep_store_in_use(dir));
		assert_true(dep_store_open(&s, dir) < 0);
		expect_named(-1, kind == DIRECTORY ? "manifest.json" : dir, kind);
		assert_true(dep_writer_resume(&w, dir, 0, NULL, NULL, &r) < 0);
		expect_named(-1, kind == DIRECTORY ? "fragments" : dir, kind);
		assert_int_equal(!dep_store_remove(dir), kind == DIRECTORY);
		check_victim();
		remove_all(base, "x.dep");
	}
	alarm(0);
}

/* Another directory gets the name of a store that is being removed: its files stay. */
void name_at_removal(void **state)
{
	char dir[128], other[160], file[160];
	int fd;

	(void)state;
	scratch_name(dir, sizeof(dir));
	snprintf(other, sizeof(other), "%s.other", dir);
	snprintf(file, sizeof(file), "%s/fragments", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	close(openat(fd, "fragments", O_CREAT | O_WRONLY, 0600));
	assert_int_equal(rename(dir, other), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	assert_true(dep_store_remove_open(fd, dir) < 0);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(rmdir(other), 0);
	assert_int_equal(dep_store_remove(dir), 0);
}

/* Names that are exchanged for something else while the writer has the files open. */
void names_at_close(void **state)
{
	static const char *const names[] = {
		"fragments", "segments.000", "segments.001", "manifest.json", "catalog.db",
		"catalog.db-journal", "catalog.db-wal", "catalog.db-shm", "segments.index",
	};
	struct dep_writer *w;
	char dir[128];
	enum kind kind;
	size_t i;
	int err;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (kind = 0; kind < KINDS; kind++) {
			if (!can_make(kind))
				continue;
			alarm(WAIT);
			scratch_name(dir, sizeof(dir));
			assert_int_equal(dep_writer_create(&w, dir, &durable_meta, 0), 0);
			plant(dir, names[i], kind);
			err = close_writer(w, NULL, 0);
			assert_true(err == 0 || err == 1);
			if (err)
				expect_named(-1, names[i], kind);
			check_victim();
			remove_all(dir, names[i]);
		}
	}
	alarm(0);
}

/* ---- when a store is taken up again, or read ---- */

static void make_store(const struct durable *d, const char *dir, bool closed)
{
	struct dep_writer *w;
	size_t i;

	fixed_random_reset();
	assert_int_equal(dep_writer_create(&w, dir, &durable_meta, 0), 0);
	w->roll = DURABLE_ROLL;
	assert_int_equal(dep_writer_descriptors(w, 1, d->stream.desc, d->stream.desc_size), 0);
	for (i = 0; i < DURABLE_CHUNKS; i++)
		assert_int_equal(dep_writer_segment(w, 1, &d->stream.chunk[i].c,
						    d->stream.chunk[i].body), 0);
	if (closed)
		assert_int_equal(close_writer(w, NULL, 0), 0);
	else
		dep_writer_discard(w);
}

/* What may be done with a hard link: it is a regular file, which is read, and never written. */
static bool may_succeed(const char *name, enum kind kind)
{
	return kind == HARD_LINK && strcmp(name, "fragments") && strncmp(name, "segments", 8);
}

void names_at_resume(void **state)
{
	static const char *const names[] = {
		"fragments", "segments.000", "segments.001", "segments.002", "segments.003",
		"segments.004", "segments.005", "segments.009", "manifest.json",
	};
	struct durable *d = *state;
	struct dep_writer *w;
	struct dep_resume r;
	char dir[128];
	enum kind kind;
	size_t i;
	int err;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (kind = 0; kind < KINDS; kind++) {
			if (!can_make(kind))
				continue;
			alarm(WAIT);
			scratch_name(dir, sizeof(dir));
			make_store(d, dir, false);
			plant(dir, names[i], kind);
			dep_store_in_use(dir);
			err = dep_writer_resume(&w, dir, 0, NULL, NULL, &r);
			assert_true(err < 0 || may_succeed(names[i], kind));
			if (strcmp(names[i], "segments.009"))
				expect_named(err, names[i], kind);
			else
				expect_named(err, "segment files are missing", kind);
			if (!err)
				assert_int_equal(close_writer(w, NULL, 0), 0);
			dep_resume_free(&r);
			check_victim();
			remove_all(dir, names[i]);
		}
	}
	alarm(0);
}

void names_at_reading(void **state)
{
	static const char *const names[] = {
		"fragments", "segments.000", "segments.002", "manifest.json", "catalog.db",
		"catalog.db-journal", "catalog.db-wal", "catalog.db-shm", "segments.index",
	};
	struct durable *d = *state;
	struct dep_store *s;
	char dir[128];
	enum kind kind;
	size_t i;
	int err;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (kind = 0; kind < KINDS; kind++) {
			if (!can_make(kind))
				continue;
			alarm(WAIT);
			scratch_name(dir, sizeof(dir));
			make_store(d, dir, true);
			plant(dir, names[i], kind);
			err = dep_store_open(&s, dir);
			expect_named(err, names[i], kind);
			if (err)
				assert_non_null(strstr(dep_error(), "is not a regular file"));
			assert_true(err < 0 || kind == HARD_LINK || i > 3);
			dep_store_close(err ? NULL : s);
			dep_store_in_use(dir);
			err = dep_store_rebuild(dir);
			if (i < 4)
				expect_named(err, names[i], kind);
			check_victim();
			remove_all(dir, names[i]);
		}
	}
	alarm(0);
}

/* ---- who may read ---- */

static void expect_modes(const char *dir, mode_t dir_mode, mode_t file_mode, gid_t group)
{
	struct dirent *e;
	struct stat st;
	unsigned int n = 0;
	DIR *d = opendir(dir);

	assert_non_null(d);
	assert_int_equal(fstat(dirfd(d), &st), 0);
	assert_int_equal(st.st_mode & 07777, dir_mode);
	assert_int_equal(st.st_gid, group);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		assert_int_equal(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_mode & 07777, file_mode);
		assert_int_equal(st.st_gid, group);
		assert_int_equal(st.st_uid, geteuid());
		n++;
	}
	closedir(d);
	assert_true(n >= 6);
}

/* A whole life: made, recorded, killed, resumed, closed, its catalog made again. */
static void live(const struct durable *d, const struct dep_meta *meta, mode_t mask)
{
	mode_t dir_mode = meta->shared ? 0750 : 0700, file_mode = meta->shared ? 0640 : 0600;
	gid_t group = meta->shared ? meta->group : getegid();
	struct dep_writer *w;
	struct dep_resume r;
	char dir[128];
	size_t i;

	scratch_name(dir, sizeof(dir));
	umask(mask);
	disk_begin(dir, NULL);
	if (dep_writer_create(&w, dir, meta, 0)) {
		print_error("umask %03o: %s\n", mask, dep_error());
		fail();
	}
	w->roll = DURABLE_ROLL;
	assert_int_equal(dep_writer_descriptors(w, 1, d->stream.desc, d->stream.desc_size), 0);
	for (i = 0; i < DURABLE_CHUNKS; i++)
		assert_int_equal(dep_writer_segment(w, 1, &d->stream.chunk[i].c,
						    d->stream.chunk[i].body), 0);
	expect_modes(dir, dir_mode, file_mode, group);
	dep_writer_discard(w);
	assert_int_equal(dep_writer_resume(&w, dir, 0, NULL, NULL, &r), 0);
	dep_resume_free(&r);
	assert_int_equal(dep_writer_segment_file(w, w->seg_number + 1), 0);
	expect_modes(dir, dir_mode, file_mode, group);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	expect_modes(dir, dir_mode, file_mode, group);
	assert_int_equal(dep_store_rebuild(dir), 0);
	expect_modes(dir, dir_mode, file_mode, group);
	disk_end();
	umask(022);
	scratch_remove(dir);
	assert_int_equal(access(dir, F_OK), -1);
}

static const mode_t masks[] = { 0, 022, 077, 0777 };

/* Run @fn as a plain user, if we may; its failures end the child. */
static void as_user(void (*fn)(const struct durable *d), const struct durable *d)
{
	int status;
	pid_t pid;

	if (geteuid()) {
		fn(d);
		return;
	}
	fflush(NULL);
	pid = fork();
	if (!pid) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			_exit(3);
		fn(d);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void all_masks(const struct durable *d)
{
	size_t i;

	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		live(d, &durable_meta, masks[i]);
}

void access_rights(void **state)
{
	alarm(WAIT);
	all_masks(*state);
	as_user(all_masks, *state);
	alarm(0);
}

/* Who may not give files to a group makes no store, and leaves none. */
static void foreign_group(const struct durable *d)
{
	struct dep_meta meta = durable_meta;
	struct dep_writer *w;
	char dir[128];

	(void)d;
	meta.shared = true;
	meta.group = 4711;
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), -EPERM);
	assert_non_null(strstr(dep_error(), "group 4711"));
	assert_int_equal(access(dir, F_OK), -1);
}

void group_rights(void **state)
{
	struct dep_meta meta = durable_meta;
	size_t i;

	alarm(WAIT);
	meta.shared = true;
	meta.group = geteuid() ? getegid() : 4711;
	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		live(*state, &meta, masks[i]);
	as_user(foreign_group, *state);
	alarm(0);
}
