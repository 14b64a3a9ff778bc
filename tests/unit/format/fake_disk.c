// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_disk.h"

#define MAX_FILES	64	/* inodes, and names */
#define SECTOR		512u

enum op_kind { OP_WRITE, OP_TRUNCATE, OP_SYNC, OP_SYNC_FAILED, OP_NAME, OP_SYNC_DIR };

/* One step of the log. */
struct op {
	enum op_kind kind;
	u32 file;		/* number of the inode.. */
	u32 name;		/* ..and of OP_NAME, the name; file ~0: no file has it */
	u64 at, size;
	u8 *data;
};

static struct {
	bool on;
	struct disk_fault fault, also;
	unsigned int calls[DISK_CALLS];
	bool is_full;
	char dir[160];
	ino_t dir_ino;
	bool made, parent_synced;
	struct op *op;
	size_t nops;
	ino_t ino[MAX_FILES];		/* of each file */
	u64 allocated[MAX_FILES];	/* size up to which its disk space is allocated */
	u32 nfiles;
	char name[MAX_FILES][64];
	u32 nnames;
} disk;

static void (*after_mkdir)(const char *dir);

static const char *const call_names[DISK_CALLS] = {
	"write", "sync", "sync of a directory", "sync_file_range", "fallocate", "create", "open",
	"mkdir", "rename", "truncate", "unlink", "chmod",
};

const char *disk_name(enum disk_call call)
{
	return call_names[call];
}

unsigned int disk_calls(enum disk_call call)
{
	return disk.calls[call];
}

size_t disk_ops(void)
{
	return disk.nops;
}

u32 disk_names(void)
{
	return disk.nnames;
}

const char *disk_name_at(u32 number)
{
	return disk.name[number];
}

void disk_after_mkdir(void (*fn)(const char *dir))
{
	after_mkdir = fn;
}

bool disk_parent_synced(void)
{
	return disk.parent_synced;
}

void disk_free(void)
{
	size_t i;

	for (i = 0; i < disk.nops; i++)
		free(disk.op[i].data);
	free(disk.op);
	memset(&disk, 0, sizeof(disk));
}

void disk_begin(const char *dir, const struct disk_fault *fault)
{
	struct stat st;

	disk_free();
	snprintf(disk.dir, sizeof(disk.dir), "%s", dir);
	if (!stat(dir, &st))
		disk.dir_ino = st.st_ino;
	if (fault)
		disk.fault = *fault;
	disk.on = true;
}

void disk_also(const struct disk_fault *fault)
{
	disk.also = *fault;
}

void disk_end(void)
{
	disk.on = false;
}

/* ---- the log ---- */

static struct op *record(enum op_kind kind, u32 file)
{
	if (!(disk.nops & (disk.nops - 1)))
		disk.op = realloc(disk.op, (disk.nops ? disk.nops * 2 : 1) * sizeof(*disk.op));
	assert_non_null(disk.op);
	disk.op[disk.nops] = (struct op){ .kind = kind, .file = file };
	return &disk.op[disk.nops++];
}

static u32 file_of(int fd)
{
	struct stat st;
	u32 i;

	assert_int_equal(fstat(fd, &st), 0);
	for (i = 0; i < disk.nfiles; i++)
		if (disk.ino[i] == st.st_ino)
			return i;
	assert_true(i < MAX_FILES);
	disk.ino[i] = st.st_ino;
	disk.nfiles++;
	return i;
}

static u32 name_of(const char *name)
{
	u32 i;

	for (i = 0; i < disk.nnames; i++)
		if (!strcmp(disk.name[i], name))
			return i;
	assert_true(i < MAX_FILES);
	snprintf(disk.name[i], sizeof(disk.name[i]), "%s", name);
	disk.nnames++;
	return i;
}

static void record_name(const char *name, u32 file)
{
	record(OP_NAME, file)->name = name_of(name);
}

/* ---- faults ---- */

/* Count a call; return true if it must fail, with errno set. */
static bool fails(enum disk_call call)
{
	const struct disk_fault *f = &disk.fault;

	if (!disk.on)
		return false;
	disk.calls[call]++;
	if (disk.also.call == call && disk.also.n == disk.calls[call]) {
		errno = disk.also.error;
		return true;
	}
	if (!f->n || f->call != call || disk.calls[call] != f->n)
		return false;
	disk.is_full = f->full;
	errno = f->error;
	return !f->full && f->error;
}

static bool no_space(u32 file, u64 end)
{
	if (!disk.on || !disk.is_full || (file != ~0u && end <= disk.allocated[file]))
		return false;
	errno = disk.fault.error;
	return true;
}

/* ---- the system calls ---- */

static ssize_t write_part(int fd, const struct iovec *iov, int n, off_t off, size_t part)
{
	size_t done = 0, size;
	ssize_t ret;
	int i;

	for (i = 0; i < n && done < part; i++, done += size) {
		size = iov[i].iov_len < part - done ? iov[i].iov_len : part - done;
		ret = syscall(SYS_pwrite64, fd, iov[i].iov_base, size, off + (off_t)done);
		if (ret != (ssize_t)size)
			return -1;
		if (disk.on && size) {
			struct op *o = record(OP_WRITE, file_of(fd));

			o->at = (u64)off + done;
			o->size = size;
			o->data = malloc(size);
			memcpy(o->data, iov[i].iov_base, size);
		}
	}
	return (ssize_t)done;
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	size_t size = 0;
	ssize_t ret;
	bool fail;
	int i, err;

	for (i = 0; i < n; i++)
		size += iov[i].iov_len;
	fail = fails(DISK_WRITE);
	err = errno;
	if (disk.on && no_space(file_of(fd), (u64)off + size))
		return -1;
	if (disk.on && !disk.fault.full && disk.fault.part && disk.fault.call == DISK_WRITE &&
	    disk.calls[DISK_WRITE] == disk.fault.n) {
		/* The caller writes the rest with another call, which fails. */
		if (disk.fault.error)
			disk.fault.n++;
		disk.fault.part = disk.fault.part < size ? disk.fault.part : size;
		ret = write_part(fd, iov, n, off, disk.fault.part);
		disk.fault.part = 0;
		return ret;
	}
	errno = err;
	return fail ? -1 : write_part(fd, iov, n, off, size);
}

int ftruncate(int fd, off_t size)
{
	struct op *o;
	int ret;

	if (fails(DISK_TRUNCATE))
		return -1;
	ret = (int)syscall(SYS_ftruncate, fd, size);
	if (!ret && disk.on) {
		o = record(OP_TRUNCATE, file_of(fd));
		o->size = (u64)size;
		/* Also frees disk space that is allocated after the end, as file systems do. */
		if (disk.allocated[o->file] > o->size)
			disk.allocated[o->file] = o->size;
	}
	return ret;
}

int fallocate(int fd, int mode, off_t at, off_t size)
{
	int ret;

	if (fails(DISK_ALLOC) || (disk.on && no_space(file_of(fd), (u64)(at + size))))
		return -1;
	ret = (int)syscall(SYS_fallocate, fd, mode, at, size);
	if (!ret && disk.on && disk.allocated[file_of(fd)] < (u64)(at + size))
		disk.allocated[file_of(fd)] = (u64)(at + size);
	return ret;
}

int fdatasync(int fd)
{
	int err;

	if (fails(DISK_SYNC)) {
		err = errno;
		record(OP_SYNC_FAILED, file_of(fd));
		errno = err;
		return -1;
	}
	if (disk.on)
		record(OP_SYNC, file_of(fd));
	return 0;
}

int fsync(int fd)
{
	struct stat st;

	/* The writer syncs only directories with this call. */
	if (disk.on) {
		assert_int_equal(fstat(fd, &st), 0);
		assert_true(S_ISDIR(st.st_mode));
	}
	if (fails(DISK_SYNC_DIR))
		return -1;
	if (disk.on && st.st_ino == disk.dir_ino)
		record(OP_SYNC_DIR, ~0u);
	else if (disk.on)
		disk.parent_synced = disk.made;
	return 0;
}

int sync_file_range(int fd, off_t at, off_t size, unsigned int flags)
{
	(void)fd, (void)at, (void)size, (void)flags;
	return fails(DISK_RANGE) ? -1 : 0;
}

static int open_at(int dirfd, const char *name, int flags, mode_t mode)
{
	bool makes = flags & O_CREAT;
	int fd;

	if (fails(makes ? DISK_CREATE : DISK_OPEN) || (makes && no_space(~0u, 0)))
		return -1;
	fd = (int)syscall(SYS_openat, dirfd, name, flags, mode);
	if (fd >= 0 && makes && disk.on) {
		assert_int_equal(mode & 0077, 0);
		record_name(name, file_of(fd));
	}
	return fd;
}

int openat(int dirfd, const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return open_at(dirfd, name, flags, mode);
}

int open(const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return open_at(AT_FDCWD, name, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
	struct stat st;
	int ret;

	if (fails(DISK_MKDIR) || no_space(~0u, 0))
		return -1;
	ret = (int)syscall(SYS_mkdir, path, mode);
	if (!ret && disk.on && !strcmp(path, disk.dir)) {
		disk.made = true;
		assert_int_equal(stat(path, &st), 0);
		disk.dir_ino = st.st_ino;
		/* Others must not be able to read it at any time. */
		assert_int_equal(mode & 0077, 0);
		if (after_mkdir)
			after_mkdir(path);
	}
	return ret;
}

int renameat(int from, const char *old, int to, const char *name)
{
	struct stat st;
	u32 i = ~0u;
	int ret;

	if (fails(DISK_RENAME))
		return -1;
	if (disk.on && !fstatat(from, old, &st, AT_SYMLINK_NOFOLLOW))
		for (i = 0; i < disk.nfiles && disk.ino[i] != st.st_ino; i++)
			;
	ret = (int)syscall(SYS_renameat, from, old, to, name);
	if (!ret && disk.on) {
		assert_true(i < disk.nfiles);
		record_name(name, i);
		record_name(old, ~0u);
	}
	return ret;
}

int unlinkat(int dirfd, const char *name, int flags)
{
	int ret;

	if (fails(DISK_UNLINK))
		return -1;
	ret = (int)syscall(SYS_unlinkat, dirfd, name, flags);
	if (!ret && disk.on)
		record_name(name, ~0u);
	return ret;
}

int fchmod(int fd, mode_t mode)
{
	return fails(DISK_MODE) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

/* ---- power failures ---- */

static u64 chance_state;

static u32 chance(u32 below)
{
	chance_state = chance_state * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(chance_state >> 33) % below;
}

/* The contents of one file on disk. */
struct image {
	u8 *data;
	u64 size, room;
};

static void extend(struct image *im, u64 size)
{
	if (size > im->room) {
		im->data = realloc(im->data, size * 2);
		assert_non_null(im->data);
		im->room = size * 2;
	}
	if (size > im->size) {
		memset(im->data + im->size, 0, size - im->size);
		im->size = size;
	}
}

static void apply(struct image *im, const struct op *o)
{
	if (o->kind == OP_TRUNCATE && o->size <= im->size) {
		im->size = o->size;
		return;
	}
	extend(im, o->at + o->size);
	if (o->kind == OP_WRITE)
		memcpy(im->data + o->at, o->data, o->size);
}

/* Some sectors of a write, or only its change of the size. */
static void apply_torn(struct image *im, const struct op *o)
{
	u64 at = o->at, end = o->at + o->size, next;
	bool none = chance(3) == 0;

	extend(im, end);
	for (; at < end; at = next) {
		next = (at / SECTOR + 1) * SECTOR;
		if (next > end)
			next = end;
		if (!none && chance(2))
			memcpy(im->data + at, o->data + (at - o->at), next - at);
	}
}

static bool keeps(enum disk_lost lost, bool is_log)
{
	return lost == DISK_LOSES_NOTHING || (lost == DISK_KEEPS_LOG && is_log) ||
	       (lost == DISK_KEEPS_SEGMENTS && !is_log);
}

static void make_image(struct image *im, u32 file, size_t upto, enum disk_lost lost, bool is_log)
{
	size_t sure = 0, i, k, from = 0;
	const struct op *o;

	for (i = 0; i < upto; i++) {
		o = &disk.op[i];
		if (o->file != file || (o->kind != OP_SYNC && o->kind != OP_SYNC_FAILED))
			continue;
		for (k = from; k < i && o->kind == OP_SYNC; k++)
			if (disk.op[k].file == file && disk.op[k].kind <= OP_TRUNCATE)
				apply(im, &disk.op[k]);
		from = i;
	}
	sure = from;
	for (i = sure; i < upto; i++) {
		o = &disk.op[i];
		if (o->file != file || o->kind > OP_TRUNCATE)
			continue;
		if (lost != DISK_LOSES_SOME ? keeps(lost, is_log) : !chance(3))
			apply(im, o);
		else if (lost == DISK_LOSES_SOME && o->kind == OP_WRITE && chance(2))
			apply_torn(im, o);
	}
}

/* The file that has @name after a power failure; ~0: none. */
static u32 file_named(u32 name, size_t upto, enum disk_lost lost)
{
	u32 may[MAX_FILES] = { ~0u }, n = 1;
	size_t i;

	for (i = 0; i < upto; i++) {
		if (disk.op[i].kind == OP_SYNC_DIR) {
			may[0] = may[n - 1];
			n = 1;
		} else if (disk.op[i].kind == OP_NAME && disk.op[i].name == name) {
			assert_true(n < MAX_FILES);
			may[n++] = disk.op[i].file;
		}
	}
	if (lost == DISK_LOSES_ALL)
		return may[0];
	return lost == DISK_LOSES_SOME ? may[chance(n)] : may[n - 1];
}

void disk_cut(const char *dir, size_t upto, enum disk_lost lost, u64 seed)
{
	struct image im;
	char path[256];
	u32 name, file;
	FILE *f;

	chance_state = seed * 0x9e3779b97f4a7c15ull + 1;
	assert_int_equal(mkdir(dir, 0700), 0);
	for (name = 0; name < disk.nnames; name++) {
		file = file_named(name, upto, lost);
		if (file == ~0u)
			continue;
		memset(&im, 0, sizeof(im));
		make_image(&im, file, upto, lost, !strcmp(disk.name[name], "fragments"));
		snprintf(path, sizeof(path), "%s/%s", dir, disk.name[name]);
		f = fopen(path, "wb");
		assert_non_null(f);
		assert_int_equal(im.size ? fwrite(im.data, 1, im.size, f) : 0, im.size);
		fclose(f);
		free(im.data);
	}
}
