// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <xxhash.h>

#include <cmocka.h>

#include "parts.h"
#include "tests/unit/lib/store_util.h"

const struct dep_meta parts_meta = {
	.argc = 2, .argv = argv_of_test, .cwd = "/tmp", .chunk_size = 65536, .nchunks = 4,
	.start_ns = 1, .start_realtime_ns = 1700000000123456789ull,
};

void parts_stream(struct stream *s)
{
	int i;

	stream_init(s, 4711);
	stream_standard(s);
	for (i = 0; i < PARTS_SEGMENTS; i++) {
		stream_random_run(s, 12);
		stream_close(s);
	}
}

struct dep_writer *parts_write(const char *dir, const struct dep_meta *m, const struct stream *s,
			       enum dep_thread_end end)
{
	struct dep_process p = { .serial = 1, .pid = 100, .start_ns = 1, .exe = "/bin/prog" };
	struct dep_thread t = { .process = 1, .start_ns = 2, .end = end };
	struct adept_chunk c;
	struct dep_writer *w;
	size_t i;

	assert_int_equal(dep_writer_create(&w, dir, m, 0), 0);
	w->roll = PARTS_ROLL;
	assert_int_equal(dep_writer_process(w, &p), 0);
	assert_int_equal(dep_writer_descriptors(w, 1, s->desc, s->desc_size), 0);
	for (i = 1; i <= PARTS_THREADS; i++) {
		t.serial = i;
		t.tid = 100 + i;
		assert_int_equal(dep_writer_thread(w, &t), 0);
	}
	for (i = 0; i < PARTS_SEGMENTS; i++) {
		c = s->chunk[i].c;
		c.seq = parts_index(i);
		c.start_ns = 10 + i;
		assert_int_equal(dep_writer_segment(w, parts_thread(i), &c, s->chunk[i].body), 0);
		if (i == PARTS_SEGMENTS / 2)
			assert_int_equal(dep_writer_mark(w), 0);
	}
	for (i = 1; i <= PARTS_THREADS; i++) {
		t.serial = i;
		t.end_ns = 100 + i;
		assert_int_equal(dep_writer_thread_end(w, &t), 0);
	}
	p.end_ns = 110;
	assert_int_equal(dep_writer_process_end(w, &p), 0);
	return w;
}

static void name_of(char *name, size_t size, u32 number)
{
	snprintf(name, size, DEP_SEG_NAME, number);
}

static void load_frames(struct parts *p)
{
	const struct dep_log_entry *e;
	struct dep_log_scan scan;

	assert_int_equal(dep_log_open(&scan, p->log, p->log_size), 0);
	p->fmt = scan.fmt;
	while ((e = dep_log_next(&scan))) {
		assert_true(p->nframes < PARTS_FRAMES);
		p->frame[p->nframes++] = (struct part){
			.data = p->log + e->at, .at = e->at, .size = e->end - e->at,
			.used = sizeof(struct dep_frame) + e->size,
		};
	}
	assert_int_equal(scan.bad_bytes, 0);
}

static void load_segments(struct parts *p, u32 file)
{
	size_t at = sizeof(struct dep_file_header);
	struct dep_seg_header *h;

	for (; at < p->file_size[file]; at += dep_seg_bytes(h)) {
		h = (void *)(p->file[file] + at);
		assert_true(p->nsegments < PARTS_SEGMENTS);
		p->segment[p->nsegments++] = (struct part){
			.file = file, .data = (u8 *)h, .at = at, .size = dep_seg_bytes(h),
			.used = (size_t)h->size + h->control_stored + h->value_stored,
		};
	}
}

void parts_load(struct parts *p, const char *dir)
{
	char name[32], path[256];

	memset(p, 0, sizeof(*p));
	p->log = slurp(dir, DEP_LOG_NAME, &p->log_size);
	p->manifest = slurp(dir, "manifest.json", &p->manifest_size);
	load_frames(p);
	for (; p->nfiles < PARTS_FILES; p->nfiles++) {
		name_of(name, sizeof(name), p->nfiles);
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (access(path, F_OK))
			break;
		p->file[p->nfiles] = slurp(dir, name, &p->file_size[p->nfiles]);
		load_segments(p, p->nfiles);
	}
	assert_int_equal(p->nsegments, PARTS_SEGMENTS);
	assert_in_range(p->nfiles, 3, PARTS_FILES - 1);
}

void parts_free(struct parts *p)
{
	u32 i;

	for (i = 0; i < p->nfiles; i++)
		free(p->file[i]);
	free(p->log);
	free(p->manifest);
}

void parts_put(const struct parts *p, const char *dir)
{
	char name[32];
	u32 i;

	spew(dir, DEP_LOG_NAME, p->log, p->log_size);
	spew(dir, "manifest.json", p->manifest, p->manifest_size);
	for (i = 0; i < p->nfiles; i++) {
		name_of(name, sizeof(name), i);
		spew(dir, name, p->file[i], p->file_size[i]);
	}
}

static void put_parts(const char *dir, const char *name, const u8 *header, u32 file,
		      const struct part *part, size_t n)
{
	size_t size = sizeof(struct dep_file_header), i;
	u8 *all;

	for (i = 0; i < n; i++)
		size += part[i].file == file ? part[i].size : 0;
	all = malloc(size);
	size = sizeof(struct dep_file_header);
	memcpy(all, header, size);
	for (i = 0; i < n; i++) {
		if (part[i].file != file)
			continue;
		memcpy(all + size, part[i].data, part[i].size);
		size += part[i].size;
	}
	spew(dir, name, all, size);
	free(all);
}

void parts_put_segments(const struct parts *p, const char *dir, const struct part *part, size_t n)
{
	char name[32];
	u32 i;

	for (i = 0; i < p->nfiles; i++) {
		name_of(name, sizeof(name), i);
		put_parts(dir, name, p->file[i], i, part, n);
	}
}

void parts_put_frames(const struct parts *p, const char *dir, const struct part *part, size_t n)
{
	put_parts(dir, DEP_LOG_NAME, p->log, 0, part, n);
}

void parts_seal(const struct parts *p, u8 *segment)
{
	struct dep_seg_header *h = (void *)segment;

	h->check = XXH3_64bits_withSeed(h, offsetof(struct dep_seg_header, check), p->fmt.seed);
}
