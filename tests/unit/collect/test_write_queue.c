// SPDX-License-Identifier: GPL-2.0-or-later
/* The queue with the real writer: order, errors, a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "libdep/collect/write_queue.h"
#include "libdep/format/write/writer.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/fixed_random.h"
#include "tests/unit/lib/store_util.h"

#define STREAMS	12

static struct stream streams[STREAMS];

static int make_streams(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < STREAMS; i++) {
		stream_init(&streams[i], 7 + i);
		streams[i].next_id += i * 100000;
		stream_standard(&streams[i]);
		for (j = 0; j < CHUNKS; j++) {
			stream_random_run(&streams[i], 40);
			stream_close(&streams[i]);
		}
	}
	return 0;
}

static int free_streams(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < STREAMS; i++)
		stream_free(&streams[i]);
	return 0;
}

/* As the loop does if the queue is full. */
static struct dep_job *get_job(struct dep_queue *q, enum dep_job_kind kind, size_t room)
{
	struct dep_job *job;

	while (!(job = dep_queue_job(q, kind, room)))
		usleep(100);
	return job;
}

static void put_data(struct dep_queue *q, enum dep_job_kind kind, u32 serial, const void *data,
		     size_t size)
{
	struct dep_job *job = get_job(q, kind, size);

	job->serial = serial;
	job->size = size;
	memcpy(job->data, data, size);
	dep_queue_put(q, job);
}

static u64 put_order, done_order;

static void chunk_done(struct dep_job *job)
{
	assert_int_equal(job->upto, ++done_order);
	memset((u8 *)job->body, 0, job->size);
	free((u8 *)job->body);
}

static void put_chunk(struct dep_queue *q, u32 serial, const struct stream_chunk *k, bool scan)
{
	struct dep_job *job = get_job(q, scan ? DEP_JOB_SCAN : DEP_JOB_SEGMENT, 0);

	job->serial = serial;
	job->chunk = k->c;
	job->size = k->c.fill;
	/* A read of the body after done() would find zeros. */
	job->body = malloc(k->c.fill + 8);
	assert_non_null(job->body);
	memcpy((u8 *)job->body, k->body, k->c.fill);
	job->done = chunk_done;
	job->upto = ++put_order;
	dep_queue_put(q, job);
}

struct outcome {
	char dir[128];
	struct dep_loss loss;
	bool failed;
};

/* @hurt: damage every fifth chunk and the descriptors of every fourth process. */
static void run(struct outcome *o, u32 workers, bool hurt, u64 max_size, u64 disk)
{
	struct dep_thread t = { .process = 1 };
	struct dep_process p = { .serial = 1000, .pid = 100 };
	struct adept_session s = { 0 };
	struct dep_queue_setup setup = { .s = &s, .chunk_size = 1 << 20, .max_size = max_size };
	struct dep_pool *pool = dep_pool_create(workers);
	struct rlimit old, lim;
	struct dep_writer *w;
	struct dep_queue *q;
	struct dep_job *job;
	size_t i, j, n = 0;
	u32 id;

	memset(o, 0, sizeof(*o));
	scratch_name(o->dir, sizeof(o->dir));
	fixed_random_reset();
	assert_int_equal(dep_writer_create(&w, o->dir, &meta, 0), 0);
	w->roll = 20000;
	getrlimit(RLIMIT_FSIZE, &old);
	lim = (struct rlimit){ disk ? disk : old.rlim_cur, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &lim);
	put_order = done_order = 0;
	setup.w = w;
	assert_non_null(pool);
	q = dep_queue_create(pool, &setup);
	assert_non_null(q);
	job = get_job(q, DEP_JOB_PROCESS, 0);
	job->process = p;
	dep_queue_put(q, job);
	for (i = 0; i < STREAMS; i++) {
		t.serial = i + 1;
		job = get_job(q, DEP_JOB_THREAD, 0);
		job->thread = t;
		dep_queue_put(q, job);
		put_data(q, DEP_JOB_DESCRIPTORS, 1000, streams[i].desc,
			 hurt && i % 4 == 3 ? streams[i].desc_size - 8 : streams[i].desc_size);
		for (j = 0; j < streams[i].nchunks; j++, n++) {
			struct stream_chunk k = streams[i].chunk[j];

			if (hurt && n % 5 == 2) {
				/* An exit that is described later. */
				id = streams[STREAMS - 1].frag[0].id;
				memcpy(k.body, &id, 4);
			}
			put_chunk(q, t.serial, &k, j == CHUNKS - 1);
		}
		job = get_job(q, DEP_JOB_THREAD_END, 0);
		job->thread = t;
		dep_queue_put(q, job);
	}
	dep_queue_drain(q);
	assert_true(dep_queue_drained(q));
	assert_int_equal(done_order, put_order);
	setrlimit(RLIMIT_FSIZE, &old);
	dep_queue_loss(q, &o->loss);
	o->failed = dep_queue_failed(q);
	if (o->failed)
		assert_non_null(strstr(dep_queue_error(q), "cannot write"));
	dep_queue_free(q);
	dep_pool_free(pool);
	assert_int_equal(close_writer(w, &o->loss, 0), 0);
}

static void same_file(const struct outcome *a, const struct outcome *b, const char *name)
{
	size_t na, nb;
	u8 *x = slurp(a->dir, name, &na), *y = slurp(b->dir, name, &nb);

	assert_int_equal(na, nb);
	assert_memory_equal(x, y, na);
	free(x);
	free(y);
}

static void compare(u32 workers, bool hurt, u64 max_size)
{
	struct outcome one, more;
	struct dep_loss a, b;

	run(&one, 1, hurt, max_size, 0);
	run(&more, workers, hurt, max_size, 0);
	assert_int_equal(recover_what_is_there(one.dir, &a), recover_what_is_there(more.dir, &b));
	assert_int_equal(a.discarded_bytes, b.discarded_bytes);
	same_file(&one, &more, "fragments");
	same_file(&one, &more, "segments.000");
	if (!max_size)
		same_file(&one, &more, "segments.001");
	if (!hurt && !max_size) {
		assert_int_equal(recover_what_is_there(one.dir, &a), STREAMS * CHUNKS);
		assert_int_equal(a.discarded_bytes, 0);
	}
	if (hurt || max_size)
		assert_true(a.discarded_bytes);
	scratch_remove(one.dir);
	scratch_remove(more.dir);
}

static void same_bytes(void **state)
{
	u32 workers, i;

	(void)state;
	for (i = 0; i < 5; i++)
		for (workers = 2; workers <= 4; workers++)
			compare(workers, false, 0);
}

static void same_bytes_of_bad_input(void **state)
{
	(void)state;
	compare(4, true, 0);
	compare(2, true, 0);
}

static void same_bytes_up_to_max_size(void **state)
{
	(void)state;
	compare(4, false, 17000);
	compare(4, true, 17000);
}

/* The part that fits on the disk is a valid store, and the rest is counted. */
static void disk_full(void **state)
{
	struct outcome o;
	struct dep_loss loss = { 0 };
	u64 size, disk;
	size_t i, j;
	int good;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	for (i = 0, size = 0; i < STREAMS; i++)
		for (j = 0; j < CHUNKS; j++)
			size += streams[i].chunk[j].c.fill;
	for (disk = 3000; disk < 20000; disk += 1700) {
		run(&o, 4, false, 0, disk);
		assert_true(o.failed);
		good = recover_what_is_there(o.dir, &loss);
		assert_in_range(good, 0, STREAMS * CHUNKS - 1);
		assert_int_equal(loss.torn_segments, 0);
		assert_true(loss.discarded_bytes && loss.discarded_bytes <= size);
		scratch_remove(o.dir);
	}
}

static sem_t begun, go_on, was_done;

static void hang(struct dep_job *job)
{
	(void)job;
	sem_post(&begun);
	sem_wait(&go_on);
}

static void tell(struct dep_job *job)
{
	(void)job;
	sem_post(&was_done);
}

static void put_nothing(struct dep_queue *q, void (*done)(struct dep_job *job))
{
	struct dep_job *job = get_job(q, DEP_JOB_NOTHING, 0);

	job->done = done;
	dep_queue_put(q, job);
}

/*
 * A writer thread that hangs blocks its own queue only; another thread does the job of the other
 * queue.
 */
static void with_one_that_hangs(void **state)
{
	struct adept_session s = { 0 };
	struct dep_queue_setup setup = { .s = &s, .chunk_size = 1 << 20 };
	struct dep_pool *pool = dep_pool_create(2);
	struct dep_queue *one, *other;
	struct timespec until;

	(void)state;
	assert_non_null(pool);
	one = dep_queue_create(pool, &setup);
	other = dep_queue_create(pool, &setup);
	assert_true(one && other);
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&was_done, 0, 0);
	put_nothing(one, hang);
	sem_wait(&begun);
	put_nothing(other, tell);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	assert_int_equal(sem_timedwait(&was_done, &until), 0);
	sem_post(&go_on);
	dep_queue_drain(one);
	dep_queue_drain(other);
	dep_queue_free(one);
	dep_queue_free(other);
	dep_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_bytes),
		cmocka_unit_test(same_bytes_of_bad_input),
		cmocka_unit_test(same_bytes_up_to_max_size),
		cmocka_unit_test(disk_full),
		cmocka_unit_test(with_one_that_hangs),
	};

	return cmocka_run_group_tests(tests, make_streams, free_streams);
}
