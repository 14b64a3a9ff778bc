// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "libdep/format/codec/compress.h"
#include "libdep/format/read/segment_file.h"
#include "libdep/format/file/wire.h"
#include "libdep/format/read/store.h"
#include "tests/unit/lib/close_writer.h"
#include "forge.h"
#include "old_store.h"
#include "tests/unit/lib/store_util.h"

static void round_trip(void **state)
{
	struct dep_loss loss = { .dropped_chunks = 5, .dropped_bytes = 1ull << 62,
				 .unfinished_threads = 6 };
	const struct dep_process *p;
	const struct dep_segment *g;
	const struct dep_thread *t;
	const struct dep_meta *m;
	const char *const *note;
	struct dep_writer *w, *none;
	struct dep_store *st;
	struct stream s;
	u64 count, code, desc;
	char dir[128];
	size_t i;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	write_store(dir, &w, &s);
	assert_int_equal(dep_writer_create(&none, dir, &meta, 0), -EEXIST);
	assert_null(none);

	/* Open while it is being written. */
	assert_int_equal(dep_store_open(&st, dir), 0);
	assert_int_equal(dep_store_segments(st, &g), CHUNKS);
	assert_int_equal(dep_store_loss(st)->unclean, 1);
	assert_int_equal(dep_store_loss(st)->torn_segments, 0);
	assert_int_equal(dep_store_exit_status(st), -1);
	dep_store_close(st);

	assert_int_equal(close_writer(w, &loss, 256), 0);
	assert_int_equal(dep_store_open(&st, dir), 0);
	assert_int_equal(dep_store_processes(st, &p), 2);
	assert_string_equal(p[0].exe, "/bin/prog");
	assert_int_equal(p[0].end_ns, 78);
	assert_int_equal(p[0].built, 12);
	assert_true(p[0].translate_ns == 1ull << 40);
	assert_int_equal(p[1].parent, 1);
	/* that of its parent: it was not seen itself */
	assert_string_equal(p[1].exe, "/bin/prog");
	assert_int_equal(dep_store_threads(st, &t), 1);
	assert_int_equal(t->end_ns, 77);
	assert_int_equal(t->flushes, 3);
	assert_int_equal(t->end, DEP_END_UNFINISHED);
	assert_int_equal(dep_store_messages(st, &note), 1);
	assert_string_equal(note[0], "hello");
	assert_int_equal(dep_store_segments(st, &g), CHUNKS);
	for (i = 0; i < CHUNKS; i++) {
		assert_int_equal(g[i].seq, i);
		assert_int_equal(g[i].raw_bytes, s.chunk[i].c.fill);
		assert_int_equal(g[i].control_bytes + g[i].value_bytes, s.chunk[i].c.fill);
	}
	m = dep_store_meta(st);
	assert_int_equal(m->argc, 2);
	assert_string_equal(m->argv[1], argv_of_test[1]);
	assert_string_equal(m->cwd, "/tmp");
	assert_true(m->max_size == meta.max_size && m->aslr == 1);
	assert_true(m->start_realtime_ns == meta.start_realtime_ns);
	assert_int_equal(m->session_flags, ADEPT_S_DROP);
	assert_int_equal(m->tsc_trusted, !system("grep -qw tsc /sys/devices/system/clocksource/"
						 "clocksource0/available_clocksource"));
	assert_int_equal(dep_store_exit_status(st), 256);
	assert_int_equal(dep_store_loss(st)->unclean, 0);
	assert_int_equal(dep_store_loss(st)->dropped_chunks, 5);
	assert_int_equal(dep_store_loss(st)->unfinished_threads, 6);
	assert_true(dep_store_loss(st)->dropped_bytes == 1ull << 62);
	dep_store_fragments(st, &count, &code, &desc);
	assert_int_equal(count, s.nfrags);
	assert_int_equal(desc, s.desc_size);
	dep_store_close(st);
	scratch_remove(dir);
	stream_free(&s);
}

/* As differences, few values take more than they did, and so do any that are noise. */
static void values_that_grow(void **state)
{
	struct dep_loss loss;
	struct dep_writer *w;
	struct stream s;
	char dir[128];
	int i, k;

	(void)state;
	stream_init(&s, 7);
	stream_standard(&s);
	for (i = 0; i < CHUNKS; i++) {
		for (k = 0; k < 16; k++)
			s.reg[k] = stream_random(&s);
		stream_context(&s, s.frag[0].pc[0]);
		stream_run(&s, 0, 0);
		stream_close(&s);
	}
	scratch_name(dir, sizeof(dir));
	write_store(dir, &w, &s);
	assert_int_equal(recover_what_is_there(dir, &loss), CHUNKS);
	assert_int_equal(loss.torn_segments, 0);
	memset(&loss, 0, sizeof(loss));
	assert_int_equal(close_writer(w, &loss, 0), 0);
	assert_int_equal(recover_what_is_there(dir, &loss), CHUNKS);
	assert_int_equal(loss.torn_segments, 0);
	scratch_remove(dir);
	stream_free(&s);
}

/* ---- stores of format 3 ---- */

static struct dep_store *open_old(const char *dir, bool oldest)
{
	struct dep_store *st;

	assert_int_equal(old_store(dir, oldest), 0);
	assert_int_equal(dep_store_open(&st, dir), 0);
	return st;
}

/* Frames as they were before they grew. */
static void older_frames(void **state)
{
	struct dep_loss loss = { .native_images = 5, .unfinished_threads = 6 };
	const struct dep_process *p;
	const struct dep_thread *t;
	struct dep_writer *w;
	struct dep_store *st;
	struct stream s;
	char dir[128];

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	write_store(dir, &w, &s);
	assert_int_equal(close_writer(w, &loss, 0), 0);
	st = open_old(dir, true);
	assert_int_equal(dep_store_processes(st, &p), 2);
	assert_int_equal(p[0].end_ns, 78);
	assert_int_equal(p[0].built, 0);
	assert_int_equal(dep_store_threads(st, &t), 1);
	assert_int_equal(t->flushes, 3);
	assert_int_equal(t->end, DEP_END_UNKNOWN);
	assert_int_equal(dep_store_loss(st)->native_images, 5);
	assert_int_equal(dep_store_loss(st)->unfinished_threads, 0);
	assert_int_equal(dep_store_loss(st)->unclean, 0);
	dep_store_close(st);
	scratch_remove(dir);
	stream_free(&s);
}

/* All of it can be read, and nothing is known to be missing; no proof is claimed. */
static void older_store(void **state)
{
	const struct dep_verdict *v;
	const struct dep_segment *g;
	struct dep_loss loss = { 0 };
	struct dep_writer *w;
	struct dep_store *st;
	struct stream s;
	char dir[128];
	size_t i;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	write_store(dir, &w, &s);
	assert_int_equal(close_writer(w, NULL, 256), 0);
	st = open_old(dir, false);
	assert_int_equal(dep_store_segments(st, &g), CHUNKS);
	for (i = 0; i < CHUNKS; i++)
		assert_int_equal(dep_segment_check(st, &g[i]), 0);
	assert_int_equal(dep_store_exit_status(st), 256);
	v = dep_store_verdict(st);
	assert_int_equal(v->state, DEP_VERDICT_NO_PROOF);
	assert_false(v->proof);
	assert_int_equal(v->ndefects + v->more, 0);
	dep_store_close(st);
	assert_int_equal(recover_what_is_there(dir, &loss), CHUNKS);
	assert_int_equal(loss.torn_segments + loss.unclean, 0);
	scratch_remove(dir);
	stream_free(&s);
}

/* What @kind of defect is alone in an old store; it is closed if @close. */
static void older_defect(const struct stream *s, bool close, enum dep_defect_kind kind)
{
	const struct dep_verdict *v;
	struct dep_writer *w;
	struct dep_store *st;
	char dir[128];

	scratch_name(dir, sizeof(dir));
	write_store(dir, &w, s);
	if (close)
		assert_int_equal(close_writer(w, NULL, 0), 0);
	else
		dep_writer_discard(w);
	st = open_old(dir, false);
	v = dep_store_verdict(st);
	assert_int_equal(v->state, DEP_VERDICT_INCOMPLETE);
	assert_false(v->proof);
	assert_int_equal(v->ndefects, 1);
	assert_int_equal(v->defect[0].kind, kind);
	dep_store_close(st);
	scratch_remove(dir);
}

static void older_defects(void **state)
{
	struct stream_chunk gone;
	struct stream s;
	size_t i;

	(void)state;
	make_stream(&s);
	older_defect(&s, false, DEP_DEFECT_UNCLOSED);
	/* Without a segment in the middle. */
	gone = s.chunk[2];
	for (i = 2; i + 1 < s.nchunks; i++)
		s.chunk[i] = s.chunk[i + 1];
	s.nchunks--;
	older_defect(&s, true, DEP_DEFECT_SEGMENTS);
	s.chunk[s.nchunks++] = gone;
	stream_free(&s);
}

/* Each file cut at every byte: what is whole must still come out. */
static void torn_at_every_byte(void **state)
{
	static const char *const names[] = { "segments.000", "fragments" };
	const struct dep_segment *g;
	struct dep_segment seg[CHUNKS];
	struct dep_loss loss;
	struct dep_writer *w;
	struct dep_store *st;
	struct stream s;
	char dir[128];
	size_t size, at, i, whole;
	int good, last = CHUNKS;
	u8 *data;
	u32 k;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	write_store(dir, &w, &s);
	assert_int_equal(dep_store_open(&st, dir), 0);
	assert_int_equal(dep_store_segments(st, &g), CHUNKS);
	memcpy(seg, g, sizeof(seg));
	dep_store_close(st);
	for (k = 0; k < 2; k++) {
		data = slurp(dir, names[k], &size);
		for (at = size; at-- > 0;) {
			spew(dir, names[k], data, at);
			good = recover_what_is_there(dir, &loss);
			assert_true(good <= last);
			if (k) {
				/* Without its descriptors nothing can be recovered. */
				assert_true(at >= sizeof(struct dep_file_header) ? good >= 0 :
										  good == -1);
				last = good > 0 ? last : 0;
				continue;
			}
			for (i = 0, whole = 0; i < CHUNKS; i++)
				whole += seg[i].offset + seg[i].stored_bytes <= at + 7;
			assert_true(good == (int)whole || good == (int)whole - 1);
			assert_int_equal(loss.unclean, 1);
		}
		spew(dir, names[k], data, size);
		assert_int_equal(recover_what_is_there(dir, &loss), CHUNKS);
		free(data);
	}
	close_writer(w, NULL, 0);
	scratch_remove(dir);
	stream_free(&s);
}

/* Any byte changed: its own segment or frame is lost at most. */
static void corrupted_bytes(void **state)
{
	struct dep_loss loss;
	struct dep_writer *w;
	struct stream s;
	char dir[128];
	size_t size, at;
	u8 *data;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	write_store(dir, &w, &s);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	data = slurp(dir, "segments.000", &size);
	for (at = sizeof(struct dep_file_header); at < size; at++) {
		data[at] ^= 0x41;
		spew(dir, "segments.000", data, size);
		assert_true(recover_what_is_there(dir, &loss) >= CHUNKS - 1);
		data[at] ^= 0x41;
	}
	spew(dir, "segments.000", data, size);
	free(data);
	data = slurp(dir, "fragments", &size);
	for (at = 0; at < size; at += 3) {
		data[at] ^= 0x41;
		spew(dir, "fragments", data, size);
		recover_what_is_there(dir, &loss);
		data[at] ^= 0x41;
	}
	free(data);
	scratch_remove(dir);
	stream_free(&s);
}

#define COLUMN	40000u

/* What is repeated is packed, by which codec says the level; noise is not. */
static void columns(void **state)
{
	static const struct { int level; u8 codec; } levels[] = {
		{ DEP_PACKER_NONE, DEP_C_RAW }, { 1, DEP_C_ZSTD }, { DEP_LEVEL_QUICK, DEP_C_LZ4 },
	};
	u8 *in = malloc(COLUMN), *back = malloc(COLUMN), *out = malloc(dep_column_bound(COLUMN));
	struct dep_packer *p = dep_packer_new();
	struct stream s;
	u32 i, k, n;
	u8 codec;

	(void)state;
	assert_true(in && back && out && p);
	stream_init(&s, 3);
	for (i = 0; i < 2 * sizeof(levels) / sizeof(levels[0]); i++) {
		for (k = 0; k < COLUMN; k++)
			in[k] = i % 2 ? (u8)stream_random(&s) : (u8)(k % 40 * 7);
		dep_packer_level(p, levels[i / 2].level);
		n = dep_column_pack(p, in, COLUMN, out, &codec);
		assert_int_equal(codec, i % 2 ? DEP_C_RAW : levels[i / 2].codec);
		assert_true(codec == DEP_C_RAW ? n == COLUMN : n < COLUMN / 10);
		assert_int_equal(dep_column_unpack(codec, out, n, back, COLUMN), 0);
		assert_memory_equal(in, back, COLUMN);
		assert_int_equal(dep_column_unpack(codec, out, n, back, COLUMN - 1), -EBADMSG);
		assert_int_equal(dep_column_unpack(codec, out, n - 1, back, COLUMN), -EBADMSG);
		assert_int_equal(dep_column_unpack(DEP_C_CODECS, out, n, back, COLUMN), -EBADMSG);
		assert_int_equal(dep_column_pack(p, in, 0, out, &codec), 0);
		assert_int_equal(codec, DEP_C_RAW);
	}
	dep_packer_free(p);
	stream_free(&s);
	free(in);
	free(back);
	free(out);
}

/* A store for the moment. */
static void quick_store(void **state)
{
	struct dep_columns c = { 0 };
	const struct dep_segment *g;
	struct dep_store *st;
	struct dep_writer *w;
	struct dep_loss loss;
	struct stream s;
	char dir[128];
	int i;

	(void)state;
	stream_init(&s, 7);
	stream_standard(&s);
	stream_context(&s, s.frag[0].pc[0]);
	for (i = 0; i < 2000; i++)
		stream_run(&s, 0, 0);
	stream_close(&s);
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, DEP_LEVEL_QUICK), 0);
	assert_int_equal(dep_writer_descriptors(w, 1, s.desc, s.desc_size), 0);
	assert_int_equal(dep_writer_segment(w, 1, &s.chunk[0].c, s.chunk[0].body), 0);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_int_equal(recover_what_is_there(dir, &loss), 1);
	assert_int_equal(loss.torn_segments, 0);
	assert_int_equal(dep_store_open(&st, dir), 0);
	assert_int_equal(dep_store_segments(st, &g), 1);
	assert_int_equal(dep_store_columns(st, g, &c), 0);
	assert_int_equal(c.h.control_codec, DEP_C_LZ4);
	assert_int_equal(c.h.value_codec, DEP_C_DELTA);
	assert_true(c.h.control_stored < c.h.control_raw / 20);
	dep_columns_free(&c);
	dep_store_close(st);
	scratch_remove(dir);
	stream_free(&s);
}

static int count_rows(const char *dir, const char *table)
{
	char path[256], sql[128];
	sqlite3_stmt *st;
	sqlite3 *db;
	int n = -1;

	snprintf(path, sizeof(path), "%s/catalog.db", dir);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), 0);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	if (!sqlite3_prepare_v2(db, sql, -1, &st, NULL) && sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static void catalog(void **state)
{
	struct dep_loss loss;
	struct dep_writer *w;
	struct stream s;
	char dir[128], path[160];
	sqlite3 *db;
	int i;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/catalog.db", dir);
	write_store(dir, &w, &s);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(count_rows(dir, "segments"), CHUNKS);
		assert_int_equal(count_rows(dir, "processes"), 2);
		assert_int_equal(count_rows(dir, "threads"), 1);
		assert_int_equal(count_rows(dir, "notes"), 1);
		assert_int_equal(count_rows(dir, "loss"), 1);
		/* Without one, then over one that is no database. */
		if (i == 0)
			unlink(path);
		else
			spew(dir, "catalog.db", (const u8 *)"garbage, not SQLite at all", 26);
		assert_int_equal(recover_what_is_there(dir, &loss), CHUNKS);
		assert_int_equal(dep_store_rebuild(dir), 0);
	}
	/* An analyzer's table survives. */
	assert_int_equal(sqlite3_open(path, &db), 0);
	sqlite3_exec(db, "CREATE TABLE races(pc); INSERT INTO races VALUES(1)", 0, 0, 0);
	sqlite3_close(db);
	assert_int_equal(dep_store_rebuild(dir), 0);
	assert_int_equal(count_rows(dir, "races"), 1);
	/* As long as something of it is in a journal it is not touched. */
	assert_int_equal(sqlite3_open(path, &db), 0);
	sqlite3_exec(db, "PRAGMA journal_mode=WAL; INSERT INTO races VALUES(2)", 0, 0, 0);
	assert_int_equal(dep_store_rebuild(dir), -EBUSY);
	assert_non_null(strstr(dep_error(), "catalog.db-wal"));
	sqlite3_close(db);
	assert_int_equal(dep_store_rebuild(dir), 0);
	assert_int_equal(count_rows(dir, "races"), 2);
	assert_int_equal(count_rows(dir, "segments"), CHUNKS);
	spew(dir, "catalog.db-journal", (const u8 *)"hot", 3);
	assert_int_equal(dep_store_rebuild(dir), -EBUSY);
	assert_non_null(strstr(dep_error(), "catalog.db-journal"));
	scratch_remove(dir);
	stream_free(&s);
}

static void without_manifest(void **state)
{
	struct dep_loss loss;
	struct dep_store *st;
	struct dep_writer *w;
	struct stream s;
	char dir[128], path[160];
	size_t size, i;
	u8 *text;
	int err;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	write_store(dir, &w, &s);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	snprintf(path, sizeof(path), "%s/manifest.json", dir);
	text = slurp(dir, "manifest.json", &size);
	unlink(path);
	assert_int_equal(dep_store_open(&st, dir), -ENOENT);
	spew(dir, "manifest.json", (const u8 *)"{\"format\":", 10);
	assert_int_equal(dep_store_open(&st, dir), -EBADMSG);
	assert_null(st);
	/* Whatever bit is wrong. */
	for (i = 0; i < size; i++) {
		text[i] ^= 1;
		spew(dir, "manifest.json", text, size);
		err = dep_store_open(&st, dir);
		assert_true(err == -EBADMSG || err == -EPROTONOSUPPORT);
		text[i] ^= 1;
	}
	spew(dir, "manifest.json", text, size);
	assert_int_equal(recover_what_is_there(dir, &loss), CHUNKS);
	free(text);
	scratch_remove(dir);
	stream_free(&s);
}

/* What cannot be opened is not what there is not: a store without it would look complete. */
static void file_that_cannot_be_opened(void **state)
{
	struct dep_store *store;
	struct dep_writer *w;
	char dir[128], path[160];
	struct stream s;

	(void)state;
	scratch_name(dir, sizeof(dir));
	make_stream(&s);
	write_store(dir, &w, &s);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	snprintf(path, sizeof(path), "%s/segments.001", dir);
	assert_int_equal(symlink("segments.001", path), 0);
	assert_int_equal(dep_store_open(&store, dir), -ELOOP);
	assert_int_equal(dep_store_open_growing(&store, dir), 0);
	assert_int_equal(dep_store_grow(store), -ELOOP);
	dep_store_close(store);
	scratch_remove(dir);
	stream_free(&s);
}

static void put_map(struct dep_writer *w, u32 process, u64 start, u64 end, u64 time,
		    const char *path)
{
	struct {
		struct adept_desc_map m;
		char path[64];
	} d = { .m = { .h = { sizeof(d), ADEPT_DESC_MAP }, .start = start, .end = end,
		       .offset = 0x1000, .time_ns = time } };
	struct stat st;

	snprintf(d.path, sizeof(d.path), "%s", path);
	if (!stat(path, &st)) {
		d.m.dev = (u64)major(st.st_dev) << 32 | minor(st.st_dev);
		d.m.inode = st.st_ino;
	}
	assert_int_equal(dep_writer_descriptors(w, process, &d, sizeof(d)), 0);
}

static void modules(void **state)
{
	struct adept_desc_unmap un = { .h = { sizeof(un), ADEPT_DESC_UNMAP },
				       .start = 0x12000, .end = 0x13000, .time_ns = 30 };
	struct dep_process p = { .serial = 1, .pid = 1, .start_ns = 1 };
	struct dep_process child = { .serial = 2, .pid = 2, .parent = 1,
				     .cause = ADEPT_BY_FORK, .start_ns = 25 };
	const struct dep_process *process;
	const struct dep_module *m;
	struct dep_writer *w;
	struct dep_store *s;
	char dir[128];

	(void)state;
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	dep_writer_process(w, &p);
	put_map(w, 1, 0x10000, 0x14000, 10, "/bin/sh");
	put_map(w, 1, 0x10000, 0x14000, 11, "/bin/sh");	/* nothing new */
	dep_writer_process(w, &child);
	assert_int_equal(dep_writer_descriptors(w, 1, &un, sizeof(un)), 0);
	put_map(w, 1, 0x13000, 0x15000, 40, "/nonexistent");
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_int_equal(dep_store_open(&s, dir), 0);
	assert_int_equal(dep_store_processes(s, &process), 2);
	/* Its name is not logged. */
	assert_string_equal(process[0].exe, "/bin/sh");
	assert_int_equal(dep_store_modules(s, &m), 5);
	assert_true(m[0].start == 0x10000 && m[0].end == 0x14000 && m[0].to_ns == 30);
	assert_int_equal(strlen(m[0].build_id), 40);
	assert_true(m[1].process == 2 && m[1].from_ns == 25 && m[1].to_ns == 0);
	assert_true(m[2].start == 0x10000 && m[2].end == 0x12000 && m[2].offset == 0x1000);
	assert_true(m[3].start == 0x13000 && m[3].end == 0x14000 && m[3].offset == 0x4000);
	assert_true(m[3].to_ns == 40 && m[4].start == 0x13000 && !m[4].build_id[0]);
	dep_store_close(s);
	scratch_remove(dir);
}

/* The first code is that of the dynamic loader, which is mapped above the program. */
static void program_is_lowest(void **state)
{
	static const struct { u64 start; const char *path; } maps[][4] = {
		{ { 0x7f000000, "/lib/ld.so" }, { 0x7e000000, "/lib/libc.so" },
		  { 0x55000000, "/bin/prog" }, { 0x7d000000, "/lib/libm.so" } },
		{ { 0x55000000, "/bin/prog" }, { 0x7f000000, "/lib/ld.so" },
		  { 0x1000, "[generated]" }, { 0x7e000000, "/lib/libc.so" } },
	};
	const struct dep_process *process;
	struct dep_process p = { .pid = 1, .start_ns = 1 };
	struct dep_writer *w;
	struct dep_store *s;
	char dir[128];
	u32 i, k;

	(void)state;
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	for (i = 0; i < 2; i++) {
		p.serial = i + 1;
		dep_writer_process(w, &p);
		for (k = 0; k < 4; k++)
			put_map(w, i + 1, maps[i][k].start, maps[i][k].start + 0x1000, 10 + k,
				maps[i][k].path);
	}
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_int_equal(dep_store_open(&s, dir), 0);
	assert_int_equal(dep_store_processes(s, &process), 2);
	for (i = 0; i < 2; i++)
		assert_string_equal(process[i].exe, "/bin/prog");
	dep_store_close(s);
	scratch_remove(dir);
}

/* The name of a thread is where its frame says, so newer recorders can write more before it. */
static void longer_thread_end(void **state)
{
	struct {
		struct dep_wire_thread w;
		u64 more[2];
		char name[8];
	} end = { .w = { .serial = 1, .process = 1 }, .more = { 1, 2 }, .name = "name" };
	const struct dep_thread *t;
	struct dep_store *s;
	struct forge f;

	(void)state;
	forge_begin(&f);
	forge_process(&f, 1, 0, 0, 1);
	end.w.fixed = offsetof(typeof(end), name);
	forge_frame(&f, DEP_F_THREAD_END, 1, &end, sizeof(end));
	/* Older ones write no size. */
	end.w.serial = 2;
	end.w.fixed = 0;
	memcpy(end.more, "older", 6);
	forge_frame(&f, DEP_F_THREAD_END, 1, &end, sizeof(end));
	/* No room for a name. */
	end.w.serial = 3;
	end.w.fixed = ~0u;
	forge_frame(&f, DEP_F_THREAD_END, 1, &end, sizeof(end));
	forge_end(&f);
	assert_int_equal(dep_store_open(&s, f.dir), 0);
	assert_int_equal(dep_store_threads(s, &t), 3);
	assert_string_equal(t[0].name, "name");
	assert_string_equal(t[1].name, "older");
	assert_null(t[2].name);
	dep_store_close(s);
	forge_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(values_that_grow),
		cmocka_unit_test(older_frames),
		cmocka_unit_test(older_store),
		cmocka_unit_test(older_defects),
		cmocka_unit_test(torn_at_every_byte),
		cmocka_unit_test(corrupted_bytes),
		cmocka_unit_test(columns),
		cmocka_unit_test(quick_store),
		cmocka_unit_test(catalog),
		cmocka_unit_test(without_manifest),
		cmocka_unit_test(file_that_cannot_be_opened),
		cmocka_unit_test(modules),
		cmocka_unit_test(program_is_lowest),
		cmocka_unit_test(longer_thread_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
