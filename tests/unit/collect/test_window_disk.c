// SPDX-License-Identifier: GPL-2.0-or-later
/* A window on the disk: its bounds, and what is stored if its collector was killed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dep/verdict.h"
#include "libdep/format/read/store.h"
#include "libdep/format/write/store_dir.h"
#include "tests/unit/lib/store_util.h"
#include "window_fixture.h"

static void check_segments(struct dep_store *s, const struct dep_last *last)
{
	const struct dep_segment *seg;
	size_t n = dep_store_segments(s, &seg), i;

	assert_int_equal(n + last->chunks, WINDOW_ROUNDS + 1);
	for (i = 0; i < n; i++)
		if (!i || seg[i].thread != seg[i - 1].thread)
			assert_int_equal(seg[i].seq, dep_store_first(s, seg[i].thread));
		else
			assert_int_equal(seg[i].seq, seg[i - 1].seq + 1);
	assert_int_equal(seg[n - 1].seq, (WINDOW_ROUNDS - WINDOW_THREADS) / WINDOW_THREADS);
}

static void killed(void **state)
{
	struct dep_save_result r;
	struct dep_last last;
	const struct dep_thread *t;
	const struct dep_verdict *v;
	struct dep_store *s;
	size_t i;

	(void)state;
	window_kill();
	assert_int_equal(dep_window_recover(window_dir, window_to, 0, &r), 0);
	assert_int_equal(r.threads, WINDOW_THREADS + 1);
	assert_int_equal(dep_store_open(&s, window_to), 0);
	assert_true(dep_store_last(s, &last));
	assert_int_equal(last.max_bytes, WINDOW_BOUND);
	/* A chunk stays until the last one of its file is dropped. */
	assert_in_range(last.chunks, window_dropped->chunks / 2, window_dropped->chunks);
	assert_int_equal(last.nthreads, WINDOW_THREADS + 1);
	for (i = 0; i < WINDOW_THREADS; i++)
		assert_in_range(last.thread[i].chunks, last.chunks / WINDOW_THREADS - 1,
				last.chunks / WINDOW_THREADS + 1);
	assert_int_equal(last.thread[WINDOW_THREADS].chunks, 1);
	assert_int_equal(last.thread[WINDOW_THREADS].first, 1);
	assert_int_equal(last.thread[1].tid_address, 0x1002);
	check_segments(s, &last);
	assert_int_equal(dep_store_threads(s, &t), WINDOW_THREADS + 1);
	assert_int_equal(t[1].end, DEP_END_WHOLE);
	assert_string_equal(t[1].name, "name");
	assert_int_equal(t[0].end, DEP_END_UNTAKEN);
	v = dep_store_verdict(s);
	assert_int_equal(v->state, DEP_VERDICT_INCOMPLETE);
	assert_int_equal(v->cause, DEP_CLOSE_LOST);
	/* The kill, and the three threads that ran on. */
	assert_int_equal(v->ndefects, 1 + WINDOW_THREADS);
	dep_store_close(s);
	/* The store that was left did not change, so it can be done again, but not to the same. */
	assert_int_equal(dep_window_recover(window_dir, window_to, 0, &r), -EEXIST);
	scratch_remove(window_to);
	assert_int_equal(dep_window_recover(window_dir, window_to, 0, &r), 0);
	scratch_remove(window_to);
	scratch_remove(window_dir);
}

static void newest_file(char *name, size_t size)
{
	u32 n;

	for (n = 9999; n; n--) {
		snprintf(name, size, "%s/window.%03u", window_dir, n);
		if (!access(name, F_OK))
			return;
	}
	fail();
}

/* The collector was killed while it appended a chunk, at any byte: that is no damage. */
static void unfinished(void **state)
{
	struct dep_save_result r;
	struct dep_store *s;
	char name[192];
	struct stat st;
	u32 cut;

	(void)state;
	window_kill();
	newest_file(name, sizeof(name));
	for (cut = 1; cut < 4; cut++) {
		assert_int_equal(stat(name, &st), 0);
		assert_int_equal(truncate(name, st.st_size - (cut == 1 ? 8 : 100 * cut)), 0);
		assert_int_equal(dep_window_recover(window_dir, window_to, 0, &r), 0);
		assert_int_equal(dep_store_open(&s, window_to), 0);
		assert_int_equal(dep_store_loss(s)->discarded_bytes, 0);
		dep_store_close(s);
		scratch_remove(window_to);
	}
	scratch_remove(window_dir);
}

/* A recorder that lives is not disturbed. */
static void in_use(void **state)
{
	struct dep_save_result r;
	struct dep_writer *w;

	(void)state;
	scratch_name(window_dir, sizeof(window_dir));
	assert_int_equal(dep_writer_create(&w, window_dir, &meta, 0), 0);
	assert_false(dep_window_is_left(window_dir));
	assert_int_equal(dep_window_recover(window_dir, "/nowhere", 0, &r), -EBUSY);
	dep_writer_discard(w);
	assert_int_equal(dep_window_recover(window_dir, "/nowhere", 0, &r), -ENOENT);
	assert_non_null(strstr(r.error, "window.log"));
	scratch_remove(window_dir);
}

/*
 * The chunks of many threads come and go, while no thread begins or ends and no code is new: the
 * log does not grow for ever.
 */
static void log_is_bounded(void **state)
{
	const u32 threads = 1500;
	struct dep_store_dir at;
	struct dep_writer *writer;
	struct dep_window *w;
	struct stat st;
	off_t most = 0;
	u32 i;

	(void)state;
	scratch_name(window_dir, sizeof(window_dir));
	w = window_new(&writer, &at, threads);
	for (i = 0; i < 80000; i++) {
		window_small_chunk(w, 1 + i % threads, i / threads);
		if (i % 1000)
			continue;
		assert_int_equal(fstatat(at.dirfd, DEP_WINDOW_LOG, &st, 0), 0);
		if (st.st_size > most)
			most = st.st_size;
	}
	/* Twice what the window has in memory, and the slack of 1 MiB. */
	assert_in_range(most, 1, 2 * dep_window_descriptor_bytes(w) + (1u << 20) + 65536);
	dep_window_free(w);
	dep_writer_discard(writer);
	scratch_remove(window_dir);
}

/* The small chunks that the window has got, with those that it has dropped. */
static u64 count_added(const struct dep_window *w)
{
	struct dep_last last;

	dep_window_dropped(w, &last);
	return last.chunks + dep_window_bytes(w) / dep_window_file_size(64);
}

/*
 * Something is in the way of the new log.  That is not the chunk's fault, so the error is none of
 * those for which the queue rejects one chunk and goes on.  The window has not got the chunk.
 */
static void log_cannot_be_replaced(void **state)
{
	const u32 threads = 1500;
	struct dep_store_dir at;
	struct dep_writer *writer;
	struct dep_window *w;
	u64 added = 0;
	int err = 0;
	u32 i;

	(void)state;
	scratch_name(window_dir, sizeof(window_dir));
	w = window_new(&writer, &at, threads);
	assert_int_equal(mkdirat(at.dirfd, "window.log.new", 0700), 0);
	for (i = 0; i < 80000 && !err; i++) {
		added = count_added(w);
		err = window_try_chunk(w, 1 + i % threads, i / threads, 64);
	}
	assert_int_equal(err, -EIO);
	assert_int_equal(count_added(w), added);
	assert_int_equal(unlinkat(at.dirfd, "window.log.new", AT_REMOVEDIR), 0);
	dep_window_free(w);
	dep_writer_discard(writer);
	scratch_remove(window_dir);
}

/* Chunks of few bytes take more memory than disk: the limit of memory drops them. */
static void memory_is_bounded(void **state)
{
	const u64 most = 65536, size = dep_window_file_size(64);
	struct dep_store_dir at;
	struct dep_writer *writer;
	struct dep_window *w;
	u64 chunks;
	u32 i;

	(void)state;
	scratch_name(window_dir, sizeof(window_dir));
	w = window_new(&writer, &at, 1);
	for (i = 0; i < 1000; i++)
		window_small_chunk(w, 1, i);
	assert_int_equal(dep_window_bytes(w), 1000 * size);
	dep_window_max_memory(w, most);
	for (; i < 2000; i++)
		window_small_chunk(w, 1, i);
	chunks = dep_window_bytes(w) / size;
	assert_in_range(chunks * sizeof(struct dep_kept_chunk) + dep_window_descriptor_bytes(w),
			most / 2, most + sizeof(struct dep_kept_chunk));
	/* Descriptors take it all: a part is left to chunks. */
	for (i = 0; i < 2000; i++)
		window_entry(w, DEP_JOB_THREAD, 2 + i);
	assert_true(dep_window_descriptor_bytes(w) > most);
	window_small_chunk(w, 1, 2000);
	chunks = dep_window_bytes(w) / size;
	assert_in_range(chunks * sizeof(struct dep_kept_chunk), most / 32,
			most / 16 + sizeof(struct dep_kept_chunk));
	dep_window_free(w);
	dep_writer_discard(writer);
	scratch_remove(window_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed),
		cmocka_unit_test(unfinished),
		cmocka_unit_test(in_use),
		cmocka_unit_test(log_is_bounded),
		cmocka_unit_test(log_cannot_be_replaced),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, window_fixture_make, window_fixture_free);
}
