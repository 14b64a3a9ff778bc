// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "libdep/format/write/store_dir.h"
#include "tests/unit/lib/store_util.h"
#include "window_fixture.h"

struct stream window_stream;
char window_dir[128], window_to[128];
struct dep_last *window_dropped;

int window_fixture_make(void **state)
{
	(void)state;
	make_stream(&window_stream);
	window_dropped = mmap(NULL, sizeof(*window_dropped), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return window_dropped == MAP_FAILED;
}

int window_fixture_free(void **state)
{
	(void)state;
	stream_free(&window_stream);
	return munmap(window_dropped, sizeof(*window_dropped));
}

void window_entry(struct dep_window *w, enum dep_job_kind kind, u32 serial)
{
	struct dep_job *job = calloc(1, sizeof(*job) + 16);

	assert_non_null(job);
	job->kind = kind;
	job->serial = serial;
	job->room = 16;
	if (kind == DEP_JOB_PROCESS || kind == DEP_JOB_PROCESS_END) {
		strcpy((char *)job->data, "/bin/prog");
		job->process = (struct dep_process){
			.serial = serial,
			.pid = 100,
			.start_ns = 1,
			.end_ns = 77,
			.exe = (char *)job->data,
			.cause = ADEPT_BY_LAUNCH,
		};
	} else {
		strcpy((char *)job->data, "name");
		job->tid_address = 0x1000 + serial;
		job->thread = (struct dep_thread){
			.serial = serial,
			.tid = 200 + serial,
			.process = 1000,
			.start_ns = 2,
			.end_ns = kind == DEP_JOB_THREAD ? 0 : 50,
			.end = DEP_END_WHOLE,
			.name = (char *)job->data,
		};
	}
	assert_int_equal(dep_window_entry(w, job), 0);
	free(job);
}

int window_try_chunk(struct dep_window *w, u32 thread, u64 seq, u32 most)
{
	const struct stream_chunk *k = &window_stream.chunk[seq % window_stream.nchunks];
	struct dep_job *job = calloc(1, sizeof(*job));
	static u64 ns = 1000;
	int err;

	assert_non_null(job);
	job->kind = DEP_JOB_SEGMENT;
	job->serial = thread;
	job->chunk = k->c;
	job->chunk.seq = seq;
	if (job->chunk.fill > most)
		job->chunk.fill = most;
	job->size = job->chunk.fill;
	job->body = k->body;
	ns++;
	err = dep_window_chunk(w, job, (struct dep_moment){ns, 2 * ns});
	free(job);
	return err;
}

void window_chunk(struct dep_window *w, u32 thread, u64 seq)
{
	assert_int_equal(window_try_chunk(w, thread, seq, UINT32_MAX), 0);
}

void window_small_chunk(struct dep_window *w, u32 thread, u64 seq)
{
	assert_int_equal(window_try_chunk(w, thread, seq, 64), 0);
}

/* A window in a new store @window_dir, with process 1000 and @threads threads. */
struct dep_window *window_new(struct dep_writer **writer, struct dep_store_dir *at, u32 threads)
{
	struct dep_window *w = dep_window_new(WINDOW_BOUND, 0, 65536);
	u32 i;

	assert_non_null(w);
	assert_int_equal(dep_writer_create(writer, window_dir, &meta, 0), 0);
	assert_int_equal(dep_writer_dir(*writer, at), 0);
	assert_int_equal(dep_window_to_disk(w, at), 0);
	window_entry(w, DEP_JOB_PROCESS, 1000);
	for (i = 1; i <= threads; i++)
		window_entry(w, DEP_JOB_THREAD, i);
	return w;
}

/* Record in a child, which ends without a word. Of thread 4 nothing is kept, thread 2 has ended. */
static void record_and_die(void)
{
	struct dep_store_dir at;
	struct dep_writer *writer;
	struct dep_window *w = window_new(&writer, &at, WINDOW_THREADS + 1);
	u32 i;

	assert_int_equal(
		dep_window_descriptors(w, 1000, window_stream.desc, window_stream.desc_size, 0), 0);
	window_chunk(w, WINDOW_THREADS + 1, 0);
	for (i = 0; i < WINDOW_ROUNDS; i++)
		window_chunk(w, 1 + i % WINDOW_THREADS, i / WINDOW_THREADS);
	window_entry(w, DEP_JOB_THREAD_END, 2);
	dep_window_dropped(w, window_dropped);
	_exit(0);
}

void window_kill(void)
{
	int status;
	pid_t child;

	scratch_name(window_dir, sizeof(window_dir));
	scratch_name(window_to, sizeof(window_to));
	child = fork();
	if (!child)
		record_and_die();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(dep_window_is_left(window_dir));
}
