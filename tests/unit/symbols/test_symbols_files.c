// SPDX-License-Identifier: GPL-2.0-or-later
/* Names if files are missing, replaced or damaged, or were mapped in succession. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "libdep/format/write/store_writer.h"
#include "tests/unit/lib/scratch.h"
#include "sym_run.h"
#include "test_symbols_files.h"

/* Expect only the location, and one message with @why. */
static void expect_nameless(struct sym_store *t, const struct sym_run *r, const char *path,
			    const char *why)
{
	u64 pc = sym_at(r, "innermost");
	const char *const *note;
	struct dep_place p[4];
	struct dep_object o;
	int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(dep_symbols_frames(t->s, 1, pc, 0, p, 4), 1);
		assert_null(p->function);
		assert_null(p->file);
		assert_string_equal(p->module, path);
		assert_true(p->offset == pc - r->map[0].start + r->map[0].offset);
		assert_true(!p->linked && !p->line);
		assert_int_equal(dep_symbols_object(t->s, 1, sym_at(r, "key"), 4, 0, &o), 0);
		assert_int_equal(dep_symbols_find(t->s, 1, "outer", NULL, 0), 0);
	}
	assert_int_equal(dep_symbols_messages(t->s, &note), 1);
	assert_non_null(strstr(note[0], why));
	assert_non_null(strstr(note[0], path));
}

void files_replaced(void **state)
{
	struct sym_store t;
	struct sym_run r;
	char path[128];

	(void)state;
	sym_begin(&r, &t, path, "sym_pie");
	sym_copy("sym_gz", path);
	sym_store_read(&t);
	expect_nameless(&t, &r, path, "is not the file that was recorded: its build-id is ");
	sym_store_end(&t);
	unlink(path);
}

void files_missing(void **state)
{
	static const struct sym_bytes text = { (u8 *)"just text", 9 };
	struct sym_store t;
	struct sym_run r;
	char path[128];

	(void)state;
	sym_begin(&r, &t, path, "sym_pie");
	sym_store_read(&t);
	unlink(path);
	expect_nameless(&t, &r, path, "No such file");
	dep_symbols_close(t.s);
	sym_save(path, &text);
	assert_int_equal(dep_symbols_open(&t.s, t.store), 0);
	expect_nameless(&t, &r, path, "is no ELF file");
	dep_symbols_close(t.s);
	unlink(path);
	/* Opening it would wait for a writer. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(dep_symbols_open(&t.s, t.store), 0);
	expect_nameless(&t, &r, path, "is no ELF file");
	sym_store_end(&t);
	unlink(path);
}

/* Without a build-id only the time of the last change is known. */
void files_modified(void **state)
{
	struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct dep_meta meta = { .cwd = "/", .chunk_size = 65536, .nchunks = 4, .start_ns = 1,
				 .start_realtime_ns = 1000000000000000000ull };
	struct dep_place p[4];
	struct sym_store t;
	struct sym_run r;
	char path[128];
	int old;

	(void)state;
	for (old = 0; old < 2; old++) {
		scratch_name(path, sizeof(path));
		sym_copy("sym_noid", path);
		assert_true(sym_run(&r, path, NULL, NULL));
		scratch_name(t.dir, sizeof(t.dir));
		assert_int_equal(dep_writer_create(&t.w, t.dir, &meta, 0), 0);
		sym_store_process(&t, 1);
		sym_store_map(&t, 1, &r.map[0], 0);
		if (old)
			assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		sym_store_read(&t);
		if (old) {
			dep_symbols_frames(t.s, 1, sym_at(&r, "innermost"), 0, p, 4);
			assert_string_equal(p->function, "innermost");
		} else {
			expect_nameless(&t, &r, path, "was modified after it was recorded");
		}
		sym_store_end(&t);
		unlink(path);
	}
}

/* Unlinked while it was running; another file now has its name, equal or not. */
void files_deleted(void **state)
{
	struct sym_store t;
	struct sym_run r;
	struct sym_map m;
	struct dep_place p[4];
	struct stat st;
	char path[128], gone[140], name[64];
	int dir;

	(void)state;
	scratch_name(path, sizeof(path));
	sym_copy("sym_pie", path);
	assert_true(sym_run(&r, path, NULL, NULL));
	/* The writer reads the build-id, so make a file with exactly this name first. */
	snprintf(gone, sizeof(gone), "%s (deleted)", path);
	sym_copy("sym_pie", gone);
	m = r.map[0];
	strcpy(m.path, gone);
	sym_store_begin(&t);
	sym_store_process(&t, 1);
	sym_store_map(&t, 1, &m, 0);
	sym_store_read(&t);
	unlink(gone);
	dep_symbols_frames(t.s, 1, sym_at(&r, "innermost"), 0, p, 4);
	assert_string_equal(p->function, "innermost");
	assert_string_equal(p->module, gone);
	dep_symbols_close(t.s);
	sym_copy("sym_gz", path);
	assert_int_equal(dep_symbols_open(&t.s, t.store), 0);
	expect_nameless(&t, &r, gone, "No such file");
	/* Files without use are not kept open. */
	dir = open(path, O_RDONLY);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", dir + 1);
	assert_true(dir >= 0 && lstat(name, &st) && errno == ENOENT);
	close(dir);
	sym_store_end(&t);
	unlink(path);
}

void no_files(void **state)
{
	static const struct sym_map vdso = { 0x7000, 0x9000, 0, "[vdso]" };
	static const struct sym_map code = { 0x10000, 0x20000, 0, "" };
	struct dep_place p[2];
	struct dep_object o;
	struct sym_store t;
	const char *const *note;

	(void)state;
	sym_store_begin(&t);
	sym_store_process(&t, 1);
	sym_store_map(&t, 1, &vdso, 0);
	sym_store_map(&t, 1, &code, 0);
	sym_store_read(&t);
	assert_int_equal(dep_symbols_frames(t.s, 1, 0x7123, 0, p, 2), 1);
	assert_string_equal(p->module, "[vdso]");
	assert_int_equal(p->offset, 0x123);
	assert_int_equal(dep_symbols_frames(t.s, 1, 0x10123, 0, p, 2), 1);
	assert_string_equal(p->module, "[anonymous]");
	assert_int_equal(p->offset, 0x10123);
	assert_int_equal(dep_symbols_frames(t.s, 1, 0x20000, 0, p, 2), 1);
	assert_string_equal(p->module, "[unknown]");
	assert_string_equal(p->build_id, "");
	assert_int_equal(dep_symbols_frames(t.s, 1, UINT64_MAX, 0, p, 2), 1);
	assert_int_equal(dep_symbols_frames(t.s, 7, 0x7123, 5, p, 2), 1);
	assert_string_equal(p->module, "[unknown]");
	assert_int_equal(dep_symbols_object(t.s, 1, 0x7123, 4, 0, &o), 0);
	assert_int_equal(dep_symbols_find(t.s, 1, "main", NULL, 0), 0);
	assert_int_equal(dep_symbols_messages(t.s, &note), 0);
	sym_store_end(&t);
}

/* The library that was at @name's address in @r. */
static const struct sym_map *map_of(const struct sym_run *r, const char *path)
{
	u32 i;

	for (i = 0; i < r->nmaps; i++)
		if (!strcmp(r->map[i].path, path))
			return &r->map[i];
	fail_msg("%s was not mapped", path);
	return NULL;
}

static bool run_with_libraries(struct sym_run *r, char a[512], char b[512])
{
	const char *program;

	snprintf(a, 512, "%s", sym_program("sym_liba.so"));
	snprintf(b, 512, "%s", sym_program("sym_libb.so"));
	program = sym_program("sym_pie");
	return sym_run(r, program, a, b);
}

/* Two libraries at one address, in succession. */
void over_time(void **state)
{
	struct sym_map a, b;
	char patha[512], pathb[512];
	struct dep_object o;
	struct dep_place p[4];
	struct sym_store t;
	struct sym_run r;
	u64 pca, pcb, da, db;

	(void)state;
	assert_true(run_with_libraries(&r, patha, pathb));
	a = *map_of(&r, patha);
	b = *map_of(&r, pathb);
	/* As if both had been mapped at the address of the first one. */
	pca = sym_at(&r, "a_work");
	pcb = sym_at(&r, "b_work") - b.start + a.start;
	da = sym_at(&r, "a_data");
	db = sym_at(&r, "b_data") - b.start + a.start;
	b.end += a.start - b.start;
	b.start = a.start;
	sym_store_begin(&t);
	sym_store_process(&t, 1);
	sym_store_map(&t, 1, &a, 2000);
	sym_store_unmap(&t, 1, &a, 3000);
	sym_store_map(&t, 1, &b, 4000);
	sym_store_read(&t);
	dep_symbols_frames(t.s, 1, pca, 2500, p, 4);
	assert_string_equal(p->function, "a_work");
	assert_int_equal(p->line, sym_line("sym_lib.c", "work"));
	assert_string_equal(p->module, patha);
	assert_false(p->ambiguous);
	dep_symbols_frames(t.s, 1, pcb, 4000, p, 4);
	assert_string_equal(p->function, "b_work");
	assert_false(p->ambiguous);
	/* Without a time the last mapping is used; between two, the nearest one. */
	dep_symbols_frames(t.s, 1, pcb, 0, p, 4);
	assert_string_equal(p->module, pathb);
	assert_true(p->ambiguous);
	dep_symbols_frames(t.s, 1, pca, 3100, p, 4);
	assert_string_equal(p->module, patha);
	assert_true(p->ambiguous);
	dep_symbols_frames(t.s, 1, pca, 1, p, 4);
	assert_string_equal(p->module, patha);
	assert_int_equal(dep_symbols_object(t.s, 1, da, 4, 2500, &o), 1);
	assert_string_equal(o.name, "a_data[4]");
	assert_false(o.ambiguous);
	assert_int_equal(dep_symbols_object(t.s, 1, db, 4, 9000, &o), 1);
	assert_string_equal(o.name, "b_data[4]");
	assert_int_equal(dep_symbols_object(t.s, 1, db, 4, 0, &o), 1);
	assert_string_equal(o.name, "b_data[4]");
	assert_true(o.ambiguous);
	assert_int_equal(dep_symbols_find(t.s, 1, "call", NULL, 0), 2);
	assert_int_equal(dep_symbols_find(t.s, 1, "a_work", NULL, 0), 1);
	sym_store_end(&t);
}

/* With their real mappings. */
void loaded_libraries(void **state)
{
	char patha[512], pathb[512];
	struct dep_place p[4];
	struct sym_store t;
	struct sym_run r;
	u32 i;

	(void)state;
	assert_true(run_with_libraries(&r, patha, pathb));
	sym_store_begin(&t);
	sym_store_process(&t, 1);
	for (i = 0; i < r.nmaps; i++)
		sym_store_map(&t, 1, &r.map[i], 1000 + i);
	sym_store_read(&t);
	dep_symbols_frames(t.s, 1, sym_at(&r, "b_work"), 0, p, 4);
	assert_string_equal(p->function, "b_work");
	dep_symbols_frames(t.s, 1, sym_at(&r, "plain"), 0, p, 4);
	assert_string_equal(p->function, "plain");
	sym_store_end(&t);
}

/* One program at two places, another one in a third process; files are read once. */
void processes(void **state)
{
	struct dep_place p[3][4];
	struct sym_run r[3];
	struct sym_store t;
	u32 i, k;

	(void)state;
	assert_true(sym_run(&r[0], sym_program("sym_pie"), NULL, NULL));
	assert_true(sym_run(&r[1], sym_program("sym_pie"), NULL, NULL));
	assert_true(sym_run(&r[2], sym_program("sym_nopie"), NULL, NULL));
	sym_store_begin(&t);
	for (i = 0; i < 3; i++) {
		sym_store_process(&t, 5 * i + 1);
		for (k = 0; k < r[i].nmaps; k++)
			sym_store_map(&t, 5 * i + 1, &r[i].map[k], 1000 + i);
	}
	sym_store_read(&t);
	for (i = 0; i < 3; i++) {
		dep_symbols_frames(t.s, 5 * i + 1, sym_at(&r[i], "plain"), 0, p[i], 4);
		assert_string_equal(p[i]->function, "plain");
		assert_int_equal(dep_symbols_find(t.s, 5 * i + 1, "outer", NULL, 0), 1);
	}
	assert_memory_equal(&p[0][0], &p[1][0], sizeof(p[0][0]));
	assert_string_equal(p[2]->module, sym_program("sym_nopie"));
	sym_store_end(&t);
}
