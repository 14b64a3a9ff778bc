/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small store for tests that damage it. */
#ifndef TESTS_UNIT_LIB_STORE_UTIL_H
#define TESTS_UNIT_LIB_STORE_UTIL_H

#include <sys/stat.h>

#include "libdep/format/write/store_writer.h"
#include "scratch.h"
#include "stream.h"

#define CHUNKS 6

static char *const argv_of_test[] = { "./prog", "an \"argument\"", NULL };

static const struct dep_meta meta = {
	.argc = 2, .argv = argv_of_test, .cwd = "/tmp", .session_flags = ADEPT_S_DROP,
	.chunk_size = 65536, .nchunks = 4, .max_size = 1ull << 60, .aslr = 1,
	.start_ns = 12345, .start_realtime_ns = 1700000000123456789ull,
};

static inline void make_stream(struct stream *s)
{
	int i;

	stream_init(s, 99);
	stream_standard(s);
	for (i = 0; i < CHUNKS; i++) {
		stream_random_run(s, 12);
		stream_close(s);
	}
}

/* Records of every kind; @close: close the store. */
static inline void write_store(const char *dir, struct dep_writer **out, const struct stream *s)
{
	struct dep_process p = { .serial = 1, .pid = 100, .start_ns = 1, .exe = "/bin/prog" };
	struct dep_process child = { .serial = 2, .pid = 101, .parent = 1,
				     .cause = ADEPT_BY_FORK, .start_ns = 50 };
	struct dep_thread t = { .serial = 1, .tid = 100, .process = 1, .start_ns = 2 };
	struct dep_writer *w;
	size_t i;

	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	assert_int_equal(dep_writer_process(w, &p), 0);
	assert_int_equal(dep_writer_process(w, &child), 0);
	assert_int_equal(dep_writer_thread(w, &t), 0);
	assert_int_equal(dep_writer_descriptors(w, 1, s->desc, s->desc_size), 0);
	assert_int_equal(dep_writer_message(w, "hello"), 0);
	for (i = 0; i < s->nchunks; i++)
		assert_int_equal(dep_writer_segment(w, 1, &s->chunk[i].c, s->chunk[i].body), 0);
	t.end_ns = 77;
	t.flushes = 3;
	t.end = DEP_END_UNFINISHED;
	assert_int_equal(dep_writer_thread_end(w, &t), 0);
	p.end_ns = 78;
	p.built = 12;
	p.translate_ns = 1ull << 40;
	assert_int_equal(dep_writer_process_end(w, &p), 0);
	*out = w;
}

static inline u8 *slurp(const char *dir, const char *name, size_t *size)
{
	char path[256];
	struct stat st;
	FILE *f;
	u8 *p;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	fstat(fileno(f), &st);
	p = malloc(st.st_size + 1);
	*size = fread(p, 1, st.st_size, f);
	fclose(f);
	return p;
}

static inline void spew(const char *dir, const char *name, const u8 *p, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, size, f), size);
	fclose(f);
}

/* Open the store and recover all of it; return the number of valid segments. */
static inline int recover_what_is_there(const char *dir, struct dep_loss *loss)
{
	const struct dep_segment *seg;
	struct dep_counts counts;
	struct dep_store *s;
	int good = 0;
	size_t i, n;

	if (dep_store_open(&s, dir))
		return -1;
	n = dep_store_segments(s, &seg);
	for (i = 0; i < n; i++) {
		memset(&counts, 0, sizeof(counts));
		if (!dep_recover_segment(s, &seg[i], NULL, &counts)) {
			assert_int_equal(counts.values, counts.values_used);
			good++;
		}
	}
	*loss = *dep_store_loss(s);
	dep_store_close(s);
	return good;
}

#endif
