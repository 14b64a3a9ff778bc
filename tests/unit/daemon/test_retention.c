// SPDX-License-Identifier: GPL-2.0-or-later
/* Removing old stores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "daemon/retention/retention.h"
#include "libdep/format/write/resume.h"
#include "libdep/format/write/writer.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/scratch.h"

#define DAY 86400

static char top[128];
static struct retention_result out;

static const char *path_of(const char *name, const char *file)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/%s%s%s", top, name, *file ? "/" : "", file);
	return path;
}

static void put_file(const char *name, const char *file, size_t size)
{
	char block[4096] = "x";
	FILE *f = fopen(path_of(name, file), "w");

	assert_non_null(f);
	for (; size; size -= 4096)
		assert_int_equal(fwrite(block, 1, 4096, f), 4096);
	fclose(f);
}

static void set_age(const char *name, const char *file, time_t age)
{
	struct timespec t[2] = { { time(NULL) - age, 0 }, { time(NULL) - age, 0 } };

	assert_int_equal(utimensat(AT_FDCWD, path_of(name, file), t, AT_SYMLINK_NOFOLLOW), 0);
}

/* A store of slightly more than 1 MiB that was last written @age seconds ago. */
static void put_store(const char *name, time_t age)
{
	static const char *const files[] = { "manifest.json", "fragments", "segments.000",
					     "segments.001", "segments.1000" };
	size_t i;

	assert_int_equal(mkdir(path_of(name, ""), 0777), 0);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		put_file(name, files[i], i ? 256 << 10 : 4096);
		set_age(name, files[i], age);
	}
	/* These files do not count for its age. */
	put_file(name, "catalog.db", 4096);
	put_file(name, "catalog.db-journal", 4096);
	put_file(name, "catalog.db-wal", 4096);
	put_file(name, "catalog.db-shm", 4096);
	put_file(name, "segments.index", 4096);
	put_file(name, "segments.index.tmp-0123456789abcdef", 4096);
	put_file(name, "profile.counts", 4096);
	put_file(name, "profile.counts.tmp-0123456789abcdef", 4096);
	put_file(name, "profile.contexts", 4096);
	put_file(name, "profile.contexts.tmp-0123456789abcdef", 4096);
	put_file(name, "races.txt", 4096);
	put_file(name, "manifest.json.tmp", 4096);
	put_file(name, "manifest.json.tmp-0123456789abcdef", 4096);
}

static int is_there(const char *name)
{
	struct stat st;

	return !lstat(path_of(name, ""), &st);
}

static void upkeep(u64 max_bytes, u64 max_age, u64 removed, u64 kept)
{
	int err = retention_run(top, max_bytes, max_age, &out);

	assert_int_equal(err, 0);
	assert_int_equal(out.removed, removed);
	assert_int_equal(out.kept, kept);
	assert_true(out.kept_bytes >= kept << 20 && out.kept_bytes <= kept * (1100 << 10));
	assert_true(out.removed_bytes >= removed << 20 && !!out.failed == !!*out.why);
}

static void limits(void **state)
{
	static const char *const names[] = { "e.dep", "b.dep", "d.dep", "a.dep", "c.dep" };
	int i;

	(void)state;
	upkeep(1, 1, 0, 0);
	for (i = 0; i < 5; i++)
		put_store(names[i], (5 - i) * DAY);
	upkeep(0, 0, 0, 5);
	upkeep(100 << 20, 6 * DAY, 0, 5);
	upkeep(11 << 19, 0, 0, 5);
	upkeep(4 << 20, 9 * DAY, 2, 3);
	assert_true(!is_there("e.dep") && !is_there("b.dep") && is_there("d.dep"));
	upkeep(0, 2 * DAY + DAY / 2, 1, 2);
	assert_true(!is_there("d.dep") && is_there("a.dep") && is_there("c.dep"));
	/* Each of its segment files counts for its age. */
	set_age("a.dep", "segments.1000", DAY / 4);
	upkeep(0, 3 * DAY / 2, 0, 2);
	upkeep(3 << 19, 0, 1, 1);
	assert_true(is_there("a.dep"));
	/* From the future. */
	for (i = 0; i < 2; i++)
		set_age("a.dep", i ? "manifest.json" : "fragments", -3 * DAY);
	upkeep(0, 1, 0, 1);
	upkeep(1, 0, 1, 0);
	assert_int_equal(out.failed, 0);
}

static void in_use(void **state)
{
	struct dep_meta meta = { .cwd = "/" };
	struct dep_writer *w;
	struct dep_resume r;

	(void)state;
	assert_int_equal(dep_writer_create(&w, path_of("used.dep", ""), &meta, 0), 0);
	/* Its log has reserved disk space. */
	put_file("used.dep", "segments.001", 3 << 18);
	set_age("used.dep", "manifest.json", 9 * DAY);
	set_age("used.dep", "fragments", 9 * DAY);
	set_age("used.dep", "segments.000", 9 * DAY);
	set_age("used.dep", "segments.001", 9 * DAY);
	put_store("new.dep", 0);
	/* Its size counts, so the other store must be removed. */
	upkeep(3 << 19, DAY, 1, 1);
	assert_int_equal(out.in_use, 1);
	assert_true(is_there("used.dep") && !is_there("new.dep") && !out.failed);
	upkeep(1, 1, 0, 1);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	unlink(path_of("used.dep", "segments.001"));
	assert_int_equal(dep_writer_create(&w, path_of("dead.dep", ""), &meta, 0), 0);
	dep_writer_free(w);
	assert_int_equal(dep_writer_resume(&w, path_of("dead.dep", ""), 0, NULL, NULL, &r), 0);
	dep_resume_free(&r);
	assert_int_equal(retention_run(top, 1, 0, &out), 0);
	assert_true(out.in_use == 1 && out.removed == 1 && out.kept == 1);
	assert_true(is_there("dead.dep") && !is_there("used.dep"));
	dep_writer_free(w);
	assert_int_equal(retention_run(top, 1, 0, &out), 0);
	assert_true(out.removed == 1 && !out.kept && !is_there("dead.dep"));
}

/* The files of a window are the store's: they count for its size and age, and go with it. */
static void windows(void **state)
{
	static const char *const files[] = {
		"window.log", "window.log.new", "window.000", "window.4294967295",
	};
	size_t i;

	(void)state;
	put_store("w.dep", 9 * DAY);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		put_file("w.dep", files[i], 512 << 10);
		set_age("w.dep", files[i], i == 2 ? DAY : 9 * DAY);
	}
	assert_int_equal(retention_run(top, 0, 2 * DAY, &out), 0);
	assert_true(!out.removed && !out.failed && out.kept_bytes >= 3 << 20);
	assert_int_equal(retention_run(top, 3 << 20, 0, &out), 0);
	assert_true(out.removed == 1 && !out.failed && !is_there("w.dep"));
}

static void foreign(void **state)
{
	static const char *const strange[] = {
		"notes.txt", "segments.00", "segments.0000000", "segments.", "segments.000x",
		"window.", "window.00", "window.000x", "window.log.old", "window.00000000000",
		"catalog.db.bak", "fragments.tmp", ".hidden", "manifest.json.tmp-",
		"manifest.json.tmp-0123456789abcdeg", "manifest.json.tmp-0123456789abcdef0",
	};
	size_t i;

	(void)state;
	/* None of these is a store. */
	mkdir(path_of("empty.dep", ""), 0777);
	mkdir(path_of("log.dep", ""), 0777);
	put_file("log.dep", "fragments", 4096);
	mkdir(path_of("manifest.dep", ""), 0777);
	put_file("manifest.dep", "manifest.json", 4096);
	mkdir(path_of("folders.dep", ""), 0777);
	mkdir(path_of("folders.dep", "manifest.json"), 0777);
	mkdir(path_of("folders.dep", "fragments"), 0777);
	put_store("named-otherwise", 9 * DAY);
	put_store(".dep", 9 * DAY);
	put_file("file.dep", "", 4096);
	upkeep(1, 1, 0, 0);
	assert_true(is_there("empty.dep") && is_there("log.dep/fragments"));
	assert_true(is_there("manifest.dep/manifest.json") && is_there("folders.dep"));
	assert_true(is_there("named-otherwise/segments.1000") && is_there(".dep/fragments"));
	assert_true(is_there("file.dep"));
	/* A store with a foreign file in it stays complete. */
	put_store("s.dep", 9 * DAY);
	put_store("t.dep", 8 * DAY);
	for (i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		put_file("s.dep", strange[i], 4096);
		upkeep(5 << 19, 0, 0, 2);
		upkeep(0, 8 * DAY + DAY / 2, 0, 2);
		assert_int_equal(out.failed, 1);
		assert_non_null(strstr(out.why, "s.dep cannot be removed"));
		assert_non_null(strstr(out.why, strange[i]));
		assert_true(is_there("s.dep/segments.000"));
		unlink(path_of("s.dep", strange[i]));
	}
	mkdir(path_of("s.dep", "segments.002"), 0777);
	/* Other stores are removed instead. */
	upkeep(3 << 19, 0, 1, 1);
	assert_true(out.failed == 1 && !is_there("t.dep") && is_there("s.dep/fragments"));
	rmdir(path_of("s.dep", "segments.002"));
	upkeep(1, 0, 1, 0);
}

static void links(void **state)
{
	char target[400];

	(void)state;
	put_store("outside", 9 * DAY);
	put_store("s.dep", 9 * DAY);
	snprintf(target, sizeof(target), "%s", path_of("outside", ""));
	assert_int_equal(symlink(target, path_of("link.dep", "")), 0);
	assert_int_equal(symlink("outside", path_of("short.dep", "")), 0);
	assert_int_equal(symlink("../outside", path_of("s.dep", "segments.007")), 0);
	upkeep(1, 1, 0, 1);
	assert_int_equal(out.failed, 1);
	assert_non_null(strstr(out.why, "segments.007"));
	unlink(path_of("s.dep", "segments.007"));
	/* A link in place of a file that a store must have. */
	put_store("l.dep", 9 * DAY);
	unlink(path_of("l.dep", "fragments"));
	assert_int_equal(symlink("../outside/fragments", path_of("l.dep", "fragments")), 0);
	upkeep(1, 1, 1, 0);
	assert_true(is_there("link.dep") && is_there("short.dep") && is_there("l.dep/fragments"));
	assert_true(is_there("outside/fragments") && is_there("outside/segments.1000"));
	assert_int_equal(retention_run(path_of("nowhere", ""), 1, 1, &out), -ENOENT);
	assert_int_equal(retention_run(path_of("outside", "fragments"), 1, 1, &out), -ENOTDIR);
	assert_true(!out.removed && !out.kept);
}

/* Two removals at once, in parallel with a thread that removes and creates stores and links. */
static int stop;

static void *meddle(void *arg)
{
	char a[256], b[256];
	int i;

	(void)arg;
	snprintf(b, sizeof(b), "%s/outside", top);
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		snprintf(a, sizeof(a), "%s/%d.dep", top, i % 8);
		if (i % 3) {
			scratch_remove(a);
			if (!symlink(b, a))
				unlink(a);
		} else {
			strcat(a, "/fragments");
			unlink(a);
		}
	}
	return NULL;
}

static void *other_upkeep(void *arg)
{
	struct retention_result *r = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		retention_run(top, 1, 0, r);
	return NULL;
}

/* The other thread may remove a directory while it is being filled. */
static void try_store(int i)
{
	static const char *const files[] = { "manifest.json", "fragments", "segments.000" };
	char path[300];
	FILE *f;
	size_t k;

	snprintf(path, sizeof(path), "%s/%d.dep", top, i);
	mkdir(path, 0777);
	for (k = 0; k < 3; k++) {
		snprintf(path, sizeof(path), "%s/%d.dep/%s", top, i, files[k]);
		f = fopen(path, "wx");
		if (f)
			fclose(f);
	}
}

static void vanishing(void **state)
{
	struct retention_result other, r;
	pthread_t t[2];
	char path[300];
	int i;

	(void)state;
	put_store("outside", 9 * DAY);
	stop = 0;
	assert_int_equal(pthread_create(&t[0], NULL, meddle, NULL), 0);
	assert_int_equal(pthread_create(&t[1], NULL, other_upkeep, &other), 0);
	for (i = 0; i < 20000; i++) {
		try_store(i % 8);
		if (i % 4 == 0)
			assert_int_equal(retention_run(top, 1, 0, &r), 0);
		assert_true(r.kept < 20 && r.kept_bytes < 1 << 20);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	assert_true(is_there("outside/fragments") && is_there("outside/segments.1000"));
	for (i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "%s/%d.dep", top, i);
		scratch_remove(path);
		unlink(path);
	}
}

static int setup(void **state)
{
	(void)state;
	scratch_name(top, sizeof(top));
	return mkdir(top, 0777);
}

static int teardown(void **state)
{
	char command[200];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(limits, setup, teardown),
		cmocka_unit_test_setup_teardown(in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(windows, setup, teardown),
		cmocka_unit_test_setup_teardown(foreign, setup, teardown),
		cmocka_unit_test_setup_teardown(links, setup, teardown),
		cmocka_unit_test_setup_teardown(vanishing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
