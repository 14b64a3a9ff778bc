// SPDX-License-Identifier: GPL-2.0-or-later
/* The index of segments: it gives what their headers give, and opening a store takes no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "libdep/format/file/remove.h"
#include "libdep/format/read/segment_index.h"
#include "libdep/format/write/writer.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/store_util.h"

#define MANY		1000000u	/* simulated segments; 8 times as many with LONG=1 */
#define MANY_BYTES	128u		/* of each of them */
#define MEMORY_KIB	(64l << 10)	/* that opening 8 million segments may take */

static void make_closed(const char *dir)
{
	struct dep_writer *w;
	struct stream s;

	make_stream(&s);
	write_store(dir, &w, &s);
	assert_int_equal(close_writer(w, NULL, 0), 0);
}

static bool has_index(const char *dir)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" DEP_INDEX_NAME, dir);
	return !access(path, F_OK);
}

static struct dep_store *open_store(const char *dir, bool by_index)
{
	struct dep_store *s;

	assert_int_equal(dep_store_open(&s, dir), 0);
	assert_int_equal(s->segs.mapped, by_index);
	return s;
}

/* Open the store, with the index if @by_index; its segments are those of @expect. */
static void check_open(const char *dir, bool by_index, const struct dep_segment *expect)
{
	struct dep_store *s = open_store(dir, by_index);
	const struct dep_segment *g;

	assert_int_equal(dep_store_segments(s, &g), CHUNKS);
	assert_memory_equal(g, expect, CHUNKS * sizeof(*g));
	assert_int_equal(dep_store_loss(s)->torn_segments, 0);
	assert_int_equal(dep_store_verdict(s)->state, DEP_VERDICT_COMPLETE);
	dep_store_close(s);
}

static void same_segments(void **state)
{
	struct dep_segment expect[CHUNKS];
	const struct dep_segment *g;
	struct dep_loss loss;
	struct dep_store *s;
	char dir[128];

	(void)state;
	scratch_name(dir, sizeof(dir));
	make_closed(dir);
	assert_false(has_index(dir));	/* a store of this size needs none */
	s = open_store(dir, false);
	assert_int_equal(dep_store_segments(s, &g), CHUNKS);
	memcpy(expect, g, sizeof(expect));
	dep_store_close(s);

	dep_seg_index_min = 1;
	assert_int_equal(dep_store_rebuild(dir), 0);
	assert_true(has_index(dir));
	check_open(dir, true, expect);
	assert_int_equal(recover_what_is_there(dir, &loss), CHUNKS);
	assert_int_equal(dep_store_rebuild(dir), 0);
	check_open(dir, true, expect);
	/* One that is not needed any more is removed. */
	dep_seg_index_min = CHUNKS + 1;
	assert_int_equal(dep_store_rebuild(dir), 0);
	assert_true(has_index(dir));
	spew(dir, DEP_INDEX_NAME, (const u8 *)"", 0);
	assert_int_equal(dep_store_rebuild(dir), 0);
	assert_false(has_index(dir));
	dep_store_remove(dir);
}

/* Each byte that is changed, each byte that is missing: the headers are read instead. */
static void damaged_index(void **state)
{
	struct dep_segment expect[CHUNKS];
	const struct dep_segment *g;
	struct dep_store *s;
	char dir[128], path[256];
	size_t size, i;
	u8 *data;

	(void)state;
	dep_seg_index_min = 1;
	scratch_name(dir, sizeof(dir));
	make_closed(dir);
	s = open_store(dir, true);
	assert_int_equal(dep_store_segments(s, &g), CHUNKS);
	memcpy(expect, g, sizeof(expect));
	dep_store_close(s);
	data = slurp(dir, DEP_INDEX_NAME, &size);
	assert_int_equal(size, DEP_INDEX_ROWS + CHUNKS * sizeof(*g));
	for (i = 0; i < size; i++) {
		/* What is behind the header means nothing. */
		if (i >= sizeof(struct dep_wire_index) && i < DEP_INDEX_ROWS)
			continue;
		data[i] ^= 0x10;
		spew(dir, DEP_INDEX_NAME, data, size);
		check_open(dir, false, expect);
		data[i] ^= 0x10;
	}
	for (i = 0; i < size; i += 40) {
		spew(dir, DEP_INDEX_NAME, data, i);
		check_open(dir, false, expect);
	}
	spew(dir, DEP_INDEX_NAME, data, size);
	check_open(dir, true, expect);
	/* So are they if somebody else could change it later. */
	snprintf(path, sizeof(path), "%s/" DEP_INDEX_NAME, dir);
	assert_int_equal(chmod(path, 0620), 0);
	check_open(dir, false, expect);
	assert_int_equal(chmod(path, 0602), 0);
	check_open(dir, false, expect);
	assert_int_equal(chmod(path, 0644), 0);
	check_open(dir, true, expect);
	if (!geteuid()) {
		assert_int_equal(chown(path, 12345, 0), 0);
		check_open(dir, false, expect);
	}
	free(data);
	dep_store_remove(dir);
}

/* Give the index of an open store the checksums that belong to its contents. */
static void seal(const struct dep_store *s, u8 *data, size_t size)
{
	struct dep_wire_index *h = (void *)data;

	h->rows_check = XXH3_64bits_withSeed(data + DEP_INDEX_ROWS, size - DEP_INDEX_ROWS,
					     s->fmt.seed);
	h->check = XXH3_64bits_withSeed(h, offsetof(struct dep_wire_index, check), s->fmt.seed);
}

/* Rows that cannot be, with checksums that match. */
static void forged_index(void **state)
{
	struct dep_segment *row, *first, saved;
	struct dep_store *s;
	size_t size;
	char dir[128];
	u8 *data;
	int i;

	(void)state;
	dep_seg_index_min = 1;
	scratch_name(dir, sizeof(dir));
	make_closed(dir);
	s = open_store(dir, true);
	data = slurp(dir, DEP_INDEX_NAME, &size);
	first = (void *)(data + DEP_INDEX_ROWS);
	row = first + 2;
	saved = *row;
	for (i = 0; i < 7; i++) {
		*row = saved;
		switch (i) {
		case 0: row->file = 7; break;
		case 1: row->offset += 4; break;
		case 2: row->offset = 1ull << 40; break;
		case 3: row->stored_bytes = UINT32_MAX; break;
		case 4: row->value_bytes = UINT32_MAX; break;
		case 5: row->seq = first->seq; break;
		case 6: *row = first[1]; break;
		}
		seal(s, data, size);
		spew(dir, DEP_INDEX_NAME, data, size);
		dep_store_close(open_store(dir, false));
	}
	/* What the checks accept is found when the segment is read. */
	*row = saved;
	row->control_bytes += 4;
	seal(s, data, size);
	spew(dir, DEP_INDEX_NAME, data, size);
	dep_store_close(s);
	s = open_store(dir, true);
	assert_int_equal(dep_segment_check(s, s->segs.seg + 1), 0);
	assert_true(dep_segment_check(s, s->segs.seg + 2) < 0);
	dep_store_close(s);
	free(data);
	dep_store_remove(dir);
}

/* The index is not used if a segment file has another size, or is missing. */
static void changed_files(void **state)
{
	char dir[128], path[256];
	struct dep_store *s;
	struct stat st;

	(void)state;
	dep_seg_index_min = 1;
	scratch_name(dir, sizeof(dir));
	make_closed(dir);
	dep_store_close(open_store(dir, true));
	snprintf(path, sizeof(path), "%s/segments.000", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 8), 0);
	s = open_store(dir, false);
	assert_int_equal(dep_store_loss(s)->torn_segments, 1);
	dep_store_close(s);
	/* A store with damaged segments has no index. */
	dep_store_rebuild(dir);
	assert_false(has_index(dir));
	dep_store_remove(dir);
}

/* ---- many segments ---- */

static long peak_kib(void)
{
	char line[128];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

static u32 many(void)
{
	const char *longer = getenv("LONG");

	return longer && !strcmp(longer, "1") ? 8 * MANY : MANY;
}

/* A closed store whose segment file is a hole, and an index that says what would be in it. */
static void simulate(const char *dir, u32 n)
{
	struct dep_segment *row = calloc(n, sizeof(*row));
	struct dep_chain *chain;
	struct dep_writer *w;
	struct dep_store *s;
	u32 i;

	assert_non_null(row);
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	assert_int_equal(dep_writer_thread(w, &(struct dep_thread){ .serial = 1, .process = 1 }),
			 0);
	w->seg.size = 4096 + (u64)n * MANY_BYTES;
	assert_int_equal(ftruncate(w->seg.fd, (off_t)w->seg.size), 0);
	chain = dep_chain_of(&w->chains, 1);
	assert_non_null(chain);
	chain->segments = n;
	close_writer(w, NULL, 0);
	s = open_store(dir, false);
	for (i = 0; i < n; i++)
		row[i] = (struct dep_segment){
			.thread = 1, .seq = i, .stored_bytes = MANY_BYTES, .control_bytes = 4096,
			.offset = 4096 + (u64)i * MANY_BYTES, .index = i,
		};
	free(s->segs.seg);
	s->segs = (struct dep_seg_list){ .seg = row, .n = n };
	assert_int_equal(dep_seg_index_write(s), 0);
	dep_store_close(s);
}

/* In a process of its own: the first one has had all rows in memory. */
static int open_many(const char *dir, u32 n)
{
	const struct dep_segment *g;
	struct timespec from, to;
	struct dep_store *s;
	long before = peak_kib(), kib;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	s = open_store(dir, true);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	kib = peak_kib() - before;
	assert_int_equal(dep_store_segments(s, &g), n);
	assert_int_equal(g[n / 2].seq, n / 2);
	assert_int_equal(g[n - 1].seq, n - 1);
	dep_store_close(s);
	print_message("%u segments: opened in %.0f ms, %ld KiB\n", n,
		      (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6, kib);
	return kib <= MEMORY_KIB / (8 * MANY / n);
}

static void many_segments(void **state)
{
	const u32 n = many();
	char dir[128];
	int status;
	pid_t pid;

	(void)state;
	scratch_name(dir, sizeof(dir));
	pid = fork();
	if (!pid) {
		simulate(dir, n);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(open_many(dir, n));
	dep_store_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_segments),
		cmocka_unit_test(damaged_index),
		cmocka_unit_test(forged_index),
		cmocka_unit_test(changed_files),
		cmocka_unit_test(many_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
