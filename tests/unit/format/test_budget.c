// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No store makes its reader take more than 256 MiB and 16 times its size, whatever it claims.
 *
 * Each store is made here, and read by a child that can get no more.  What it is refused with is
 * the reader's own word: want of memory would be another.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dep/recover.h"
#include "libdep/format/write/resume.h"
#include "libdep/format/write/writer.h"
#include "forge.h"
#include "tests/unit/lib/store_util.h"
#include "test_budget.h"

/* The last error of those, which is what the reader says. */
static int recover_all(struct dep_store *s)
{
	const struct dep_segment *seg;
	size_t i, n = dep_store_segments(s, &seg);
	int err = 0, e;

	for (i = 0; i < n; i++) {
		e = dep_recover_segment(s, &seg[i], NULL, NULL);
		err = e ? e : err;
	}
	return err;
}

int read_store(const char *dir)
{
	struct dep_store *s;
	int err = dep_store_open(&s, dir);

	if (err)
		return err;
	dep_store_verdict(s);
	err = recover_all(s);
	dep_store_close(s);
	return err;
}

int resume_store(const char *dir)
{
	struct dep_resume r;
	struct dep_writer *w;
	int err = dep_writer_resume(&w, dir, 0, NULL, NULL, &r);

	if (err)
		return err;
	dep_resume_free(&r);
	dep_writer_discard(w);
	return 0;
}

/* ---- files that are mostly holes ---- */

static void sparse_log(void **state)
{
	struct forge_ran ran;
	struct forge f;

	(void)state;
	forge_begin(&f);
	assert_int_equal(ftruncate(f.log.file.fd, 1ll << 40), 0);
	forge_end(&f);
	ran = forge_run(&f, read_store, false);
	assert_int_equal(ran.ret, -EFBIG);
	assert_non_null(strstr(ran.why, "fragments is a sparse file of 1099511627776 bytes"));
	ran = forge_run(&f, resume_store, false);
	assert_int_equal(ran.ret, -EFBIG);
	forge_remove(&f);
}

/* It is damaged, and looked at as far as there is anything. */
static void sparse_segments(void **state)
{
	struct forge f;

	(void)state;
	forge_begin(&f);
	forge_bomb(&f, 1, 0, 4096);
	assert_int_equal(ftruncate(f.seg.fd, 1ll << 40), 0);
	f.seg.size = 1ull << 40;
	forge_bomb(&f, 1, 1, 4096);
	forge_end(&f);
	/* A record that is all zeros is none. */
	assert_int_equal(forge_run(&f, read_store, false).ret, -EBADMSG);
	assert_int_equal(forge_run(&f, resume_store, false).ret, 0);
	forge_remove(&f);
}

/* ---- columns that claim to be large ---- */

static void bomb(void **state)
{
	struct forge_ran ran;
	struct forge f;

	(void)state;
	forge_begin(&f);
	forge_bomb(&f, 1, 0, DEP_BODY_MAX);
	forge_end(&f);
	assert_true(forge_input(&f) < 64 << 10);
	ran = forge_run(&f, read_store, false);
	assert_int_equal(ran.ret, -EFBIG);
	assert_non_null(strstr(ran.why, "claims to unpack to 1024 MiB"));
	/* Its bytes are what the writer stored: that they unpack is not looked at. */
	assert_int_equal(forge_run(&f, resume_store, false).ret, 0);
	forge_remove(&f);
}

/* As large as a chunk can be: it is unpacked. */
static void largest_chunk(void **state)
{
	struct forge f;

	(void)state;
	forge_begin(&f);
	forge_bomb(&f, 1, 0, 64 << 20);
	forge_end(&f);
	assert_int_equal(forge_run(&f, read_store, false).ret, -EBADMSG);
	forge_remove(&f);
}

static int read_with_threads(const char *dir)
{
	const struct dep_segment *seg;
	struct dep_store *s;
	int err = dep_store_open(&s, dir);
	size_t n;

	if (err)
		return err;
	n = dep_store_segments(s, &seg);
	if (dep_store_jobs(s, seg, n, 64) != 2 || dep_store_jobs(s, seg, 0, 64) != 64)
		err = -ERANGE;
	else
		err = dep_recover(s, seg, n, NULL, &(struct dep_recover_options){ .jobs = 64 });
	dep_store_close(s);
	return err;
}

static void many_bombs(void **state)
{
	struct forge f;
	int i;

	(void)state;
	forge_begin(&f);
	for (i = 0; i < 32; i++)
		forge_bomb(&f, 1, (u64)i, 60 << 20);
	forge_end(&f);
	assert_int_equal(forge_run(&f, read_with_threads, true).ret, 0);
	forge_remove(&f);
}

/* ---- the log ---- */

/* The smallest fragments, each with an id far from all others. */
static void scattered_exits(void **state)
{
	const size_t n = 400000, each = sizeof(struct adept_desc_frag) + sizeof(struct adept_exit);
	char *all = calloc(n, each);
	struct adept_desc_frag *d;
	struct forge f;
	size_t i;

	(void)state;
	assert_non_null(all);
	for (i = 0; i < n; i++) {
		d = (void *)(all + i * each);
		d->h.size = (u32)each;
		d->h.type = ADEPT_DESC_FRAGMENT;
		d->first_exit = (u32)(ADEPT_FIRST_EXIT + i * 660);
		d->nexits = 1;
	}
	forge_begin(&f);
	forge_frame(&f, DEP_F_DESCRIPTORS, 1, all, n * each);
	forge_end(&f);
	free(all);
	assert_int_equal(forge_run(&f, read_store, false).ret, 0);
	assert_int_equal(forge_run(&f, resume_store, false).ret, 0);
	forge_remove(&f);
}

/* Each fork doubles nothing, but copies all: rows in proportion to the square of the log. */
static void forks_of_many_mappings(void **state)
{
	struct forge_ran ran;
	static char all[1000 * 128];
	struct forge f;
	size_t size = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 1000; i++)
		size += forge_map(all + size, 2 * i, i, 1, "/lib/l.so");
	forge_begin(&f);
	forge_process(&f, 1, 0, ADEPT_BY_LAUNCH, 1);
	forge_frame(&f, DEP_F_DESCRIPTORS, 1, all, size);
	for (i = 2; i < 20000; i++)
		forge_process(&f, i, 1, ADEPT_BY_FORK, i);
	forge_end(&f);
	ran = forge_run(&f, read_store, false);
	assert_int_equal(ran.ret, -EFBIG);
	assert_non_null(strstr(ran.why, "mappings are in fragments, too many for its size"));
	forge_remove(&f);
}

/* ---- files that the log says were removed ---- */

static int resume_and_close(const char *dir)
{
	const struct dep_ending ending = { .cause = DEP_CLOSE_STOPPED };
	struct dep_resume r;
	struct dep_writer *w;
	int err = dep_writer_resume(&w, dir, 0, NULL, NULL, &r);

	if (err)
		return err;
	dep_resume_free(&r);
	return dep_writer_close(w, &ending);
}

static void all_files_removed(void **state)
{
	static const u32 first[] = { 1, 5, DEP_SEG_FILES - 1, DEP_SEG_FILES, UINT32_MAX };
	struct dep_wire_trim trim = { 0 };
	char path[256];
	struct dep_store *s;
	struct forge f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		trim.first_file = first[i];
		forge_begin(&f);
		snprintf(path, sizeof(path), "%s/segments.000", f.dir);
		assert_int_equal(unlink(path), 0);
		forge_frame(&f, DEP_F_TRIM, 0, &trim, sizeof(trim));
		forge_end(&f);
		if (first[i] >= DEP_SEG_FILES) {
			assert_int_equal(forge_run(&f, resume_and_close, false).ret, -EBADMSG);
			forge_remove(&f);
			continue;
		}
		/* What comes is in the first file that was not removed. */
		assert_int_equal(forge_run(&f, resume_and_close, false).ret, 0);
		assert_int_equal(dep_store_open(&s, f.dir), 0);
		assert_int_equal(s->model.end.first_file, first[i]);
		assert_int_equal(s->model.end.files, 1);
		assert_int_equal(dep_store_verdict(s)->state, DEP_VERDICT_COMPLETE);
		dep_store_close(s);
		forge_remove(&f);
	}
}

/* ---- the manifest and the catalog ---- */

static void manifest_of_ones(void **state)
{
	const size_t n = 20 << 20;
	char *text = malloc(n);
	struct forge_ran ran;
	struct forge f;
	size_t i;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < n; i++)
		text[i] = i % 2 ? '1' : ',';
	text[0] = '[';
	text[n - 1] = ']';
	forge_begin(&f);
	forge_end(&f);
	spew(f.dir, "manifest.json", (const u8 *)text, n);
	free(text);
	ran = forge_run(&f, read_store, false);
	assert_int_equal(ran.ret, -EFBIG);
	assert_non_null(strstr(ran.why, "manifest.json has more than 1048576 values"));
	forge_remove(&f);
}

/* A database of views, of which SQLite keeps what it has parsed. */
static void make_views(const char *dir, int count)
{
	char path[256], sql[2 * 1900 + 200], ones[2 * 1900];
	sqlite3 *db;
	int i;

	for (i = 0; i < 1899; i++)
		memcpy(ones + 2 * i, ",1", 2);
	ones[2 * 1899] = 0;
	snprintf(path, sizeof(path), "%s/catalog.db", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA writable_schema=1; BEGIN;", NULL, NULL, NULL), 0);
	for (i = 0; i < count; i++) {
		snprintf(sql, sizeof(sql), "INSERT INTO sqlite_schema VALUES('view','v%d','v%d',0,"
			 "'CREATE VIEW v%d AS SELECT 1%s')", i, i, i, ones);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	}
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void catalog_of_views(void **state)
{
	struct forge_ran ran;
	char path[256];
	struct forge f;

	(void)state;
	forge_begin(&f);
	forge_end(&f);
	make_views(f.dir, 50);
	assert_int_equal(forge_run(&f, dep_store_rebuild, false).ret, 0);
	snprintf(path, sizeof(path), "%s/catalog.db", f.dir);
	assert_int_equal(unlink(path), 0);
	make_views(f.dir, 3000);
	ran = forge_run(&f, dep_store_rebuild, false);
	assert_int_equal(ran.ret, -EFBIG);
	assert_non_null(strstr(ran.why, "catalog.db takes too much memory"));
	forge_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sparse_log),
		cmocka_unit_test(sparse_segments),
		cmocka_unit_test(bomb),
		cmocka_unit_test(largest_chunk),
		cmocka_unit_test(many_bombs),
		cmocka_unit_test(scattered_exits),
		cmocka_unit_test(forks_of_many_mappings),
		cmocka_unit_test(all_files_removed),
		cmocka_unit_test(manifest_of_ones),
		cmocka_unit_test(catalog_of_views),
		cmocka_unit_test(many_mappings),
		cmocka_unit_test(mappings_end),
		cmocka_unit_test(fork_chain),
		cmocka_unit_test(processes_without_parents),
		cmocka_unit_test(threads_in_disorder),
		cmocka_unit_test(frames_overlap),
		cmocka_unit_test(build_ids_missing),
	};

	/* Large pieces go back to the kernel when they are freed (forge_run()). */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
