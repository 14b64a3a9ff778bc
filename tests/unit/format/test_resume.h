/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores whose writers were killed, for test_resume. */
#ifndef TESTS_UNIT_FORMAT_TEST_RESUME_H
#define TESTS_UNIT_FORMAT_TEST_RESUME_H

#include "libdep/format/write/writer.h"
#include "tests/unit/lib/fixed_random.h"
#include "session.h"
#include "tests/unit/lib/store_util.h"

#define FILE_HEADER	sizeof(struct dep_file_header)

static inline int is_long(void)
{
	const char *s = getenv("LONG");

	return s && !strcmp(s, "1");
}

static inline u32 random_below(u32 n)
{
	static u64 x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x % n;
}

/* The files of a store that was not closed. */
struct files {
	u8 *log, *seg, *manifest;
	size_t log_size, seg_size, manifest_size;
};

static inline void load_files(struct files *f, const char *dir)
{
	f->log = slurp(dir, "fragments", &f->log_size);
	f->seg = slurp(dir, "segments.000", &f->seg_size);
	f->manifest = slurp(dir, "manifest.json", &f->manifest_size);
}

/* A new directory with so much of them. */
static inline void put_files(const struct files *f, char *dir, size_t size, size_t log_size,
		      size_t seg_size)
{
	scratch_name(dir, size);
	assert_int_equal(mkdir(dir, 0777), 0);
	spew(dir, "fragments", f->log, log_size);
	spew(dir, "segments.000", f->seg, seg_size);
	spew(dir, "manifest.json", f->manifest, f->manifest_size);
}

static inline void free_files(struct files *f)
{
	free(f->log);
	free(f->seg);
	free(f->manifest);
}

/* A store of the first @n steps whose writer was killed. */
static inline void killed_store(const struct session *s, size_t n, char *dir, size_t size, u64 roll)
{
	struct dep_writer *w;

	scratch_name(dir, size);
	fixed_random_reset();
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	if (roll)
		w->roll = roll;
	session_write(s, w, NULL, n);
	dep_writer_free(w);
}

static inline size_t size_of(const char *dir, const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) ? 0 : st.st_size;
}

/* test_resume_bad.c; the state is a struct session */
void damage_in_the_middle(void **state);
void refusals(void **state);
void random_damage(void **state);
void one_writer(void **state);

#endif
