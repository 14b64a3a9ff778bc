// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files of a window on the disk stay when a recording ends with an error. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cmocka.h>

#include "libdep/format/read/store.h"
#include "libdep/format/write/store_dir.h"
#include "tests/unit/lib/store_util.h"
#include "window_fixture.h"

static bool disk_is_short;

/* The real one is not used: a window asks only for the free bytes. */
int fstatvfs(int fd, struct statvfs *st)
{
	(void)fd;
	*st = (struct statvfs){.f_frsize = 4096, .f_bavail = disk_is_short ? 0 : 1u << 20};
	return 0;
}

struct recording {
	struct adept_session s;
	struct dep_pool *pool;
	struct dep_writer *writer;
	struct dep_window *w;
	struct dep_queue *q;
};

static struct dep_job *new_job(struct recording *r, enum dep_job_kind kind, size_t room)
{
	struct dep_job *job = dep_queue_job(r->q, kind, room);

	assert_non_null(job);
	return job;
}

/* A queue whose window on the disk has @chunks chunks of thread 1. */
static void record(struct recording *r, u32 chunks)
{
	struct dep_queue_setup setup = {.s = &r->s, .chunk_size = 65536};
	struct dep_store_dir at;
	struct dep_job *job;
	u32 i;

	memset(r, 0, sizeof(*r));
	scratch_name(window_dir, sizeof(window_dir));
	scratch_name(window_to, sizeof(window_to));
	r->w = window_new(&r->writer, &at, 1);
	setup.w = r->writer;
	setup.window = r->w;
	r->pool = dep_pool_create(1);
	assert_non_null(r->pool);
	r->q = dep_queue_create(r->pool, &setup);
	assert_non_null(r->q);
	job = new_job(r, DEP_JOB_DESCRIPTORS, window_stream.desc_size);
	job->serial = 1000;
	job->size = window_stream.desc_size;
	memcpy(job->data, window_stream.desc, window_stream.desc_size);
	dep_queue_put(r->q, job);
	dep_queue_drain(r->q);
	for (i = 0; i < chunks; i++)
		window_chunk(r->w, 1, i);
}

static void end(struct recording *r)
{
	dep_queue_free(r->q);
	dep_window_free(r->w);
	dep_pool_free(r->pool);
}

static u32 count_files(void)
{
	struct dirent *e;
	DIR *d = opendir(window_dir);
	u32 n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += !strncmp(e->d_name, "window.", 7);
	closedir(d);
	return n;
}

/*
 * The disk is short, so that files are removed as soon as they are stored.  But the store fails
 * before the window ends: nothing of it is stored, so all files stay.
 */
static void store_fails(void **state)
{
	const struct dep_kept why = {.reason = DEP_KEEP_ENDED};
	const struct dep_segment *seg;
	struct rlimit old, none;
	struct dep_save_result result;
	struct recording r;
	struct dep_store *s;
	struct dep_job *job;
	u32 files;

	(void)state;
	record(&r, 20);
	getrlimit(RLIMIT_FSIZE, &old);
	none = (struct rlimit){1, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	job = new_job(&r, DEP_JOB_MESSAGE, 16);
	strcpy((char *)job->data, "no room");
	job->size = 8;
	dep_queue_put(r.q, job);
	dep_queue_drain(r.q);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(dep_queue_store_failed(r.q));
	files = count_files();
	assert_true(files > 1);
	disk_is_short = true;
	assert_int_equal(dep_queue_end_window(r.q, &why), 0);
	dep_queue_drain(r.q);
	disk_is_short = false;
	assert_int_equal(count_files(), files);
	dep_window_keep_files(r.w);
	end(&r);
	dep_writer_discard(r.writer);
	assert_int_equal(count_files(), files);
	assert_int_equal(dep_window_recover(window_dir, window_to, 0, &result), 0);
	assert_int_equal(dep_store_open(&s, window_to), 0);
	assert_int_equal(dep_store_segments(s, &seg), 20);
	dep_store_close(s);
	scratch_remove(window_to);
	scratch_remove(window_dir);
}

/* Too many descriptions end a recording, but what the window has is stored: no file stays. */
static void too_many_descriptions(void **state)
{
	const struct dep_kept why = {.reason = DEP_KEEP_ENDED};
	const struct dep_segment *seg;
	struct recording r;
	struct dep_store *s;
	struct dep_job *job;
	u32 i;

	(void)state;
	record(&r, 4);
	for (i = 0; i < 70 && !dep_queue_failed(r.q); i++) {
		job = new_job(&r, DEP_JOB_PROCESS, 1 << 20);
		job->serial = 2000 + i;
		job->process = (struct dep_process){.serial = 2000 + i, .pid = 1000 + i};
		dep_queue_put(r.q, job);
		dep_queue_drain(r.q);
	}
	assert_true(dep_queue_failed(r.q));
	assert_false(dep_queue_store_failed(r.q));
	assert_false(dep_window_is_empty(r.w));
	assert_int_equal(dep_queue_end_window(r.q, &why), 0);
	dep_queue_put(r.q, new_job(&r, DEP_JOB_CLOSE, 0));
	dep_queue_drain(r.q);
	assert_true(dep_window_is_empty(r.w));
	assert_false(dep_queue_store_failed(r.q));
	end(&r);
	assert_int_equal(count_files(), 0);
	assert_int_equal(dep_store_open(&s, window_dir), 0);
	assert_int_equal(dep_store_segments(s, &seg), 4);
	dep_store_close(s);
	scratch_remove(window_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_fails),
		cmocka_unit_test(too_many_descriptions),
	};

	return cmocka_run_group_tests(tests, window_fixture_make, window_fixture_free);
}
