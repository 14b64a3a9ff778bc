// SPDX-License-Identifier: GPL-2.0-or-later
/* The window of --last: what is dropped, in which order, and what is stored at the end. */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/collect/window.h"

#define SIZE	(128u << 10)	/* bytes of a chunk */
#define BOUND	(8u * SIZE)

static u64 now_ns;
static struct dep_job *stored, **stored_end = &stored;

/* A queue that keeps the jobs, for the test to look at. */
struct dep_job *dep_queue_job(struct dep_queue *q, enum dep_job_kind kind, size_t room)
{
	struct dep_job *job = calloc(1, sizeof(*job) + room);

	(void)q;
	assert_non_null(job);
	job->kind = kind;
	job->room = room;
	return job;
}

void dep_queue_put(struct dep_queue *q, struct dep_job *job)
{
	(void)q;
	job->next = NULL;
	*stored_end = job;
	stored_end = &job->next;
}

static struct dep_job *take_stored(void)
{
	struct dep_job *job = stored;

	if (!job)
		return NULL;
	stored = job->next;
	if (!stored)
		stored_end = &stored;
	return job;
}

static void finish_job(struct dep_job *job)
{
	if (job->done)
		job->done(job);
	free(job);
}

static void entry(struct dep_window *w, enum dep_job_kind kind, u32 serial, u32 of)
{
	struct dep_job *job = dep_queue_job(NULL, kind, 32);

	job->serial = serial;
	if (kind == DEP_JOB_THREAD) {
		job->thread.process = of;
	} else if (kind == DEP_JOB_THREAD_END) {
		strcpy((char *)job->data, "name");
		job->thread.name = (char *)job->data;
		job->tid_address = 0x1000 + serial;
	} else if (kind == DEP_JOB_PROCESS) {
		strcpy((char *)job->data, "/bin/prog");
		job->process.exe = (char *)job->data;
		job->process.parent = of;
		job->process.cause = of ? ADEPT_BY_FORK : ADEPT_BY_LAUNCH;
	}
	assert_int_equal(dep_window_entry(w, job), 0);
	free(job);
}

/* Add chunk @seq of @thread; its first bytes are the two numbers. */
static void chunk(struct dep_window *w, u32 thread, u32 seq, u32 fill, u32 last_of)
{
	struct dep_job *job = dep_queue_job(NULL, DEP_JOB_SEGMENT, fill);
	const u32 mark[2] = { thread, seq };

	job->serial = thread;
	job->last_of = last_of;
	job->chunk.seq = seq;
	job->chunk.fill = fill;
	job->size = fill;
	memcpy(job->data, mark, sizeof(mark));
	now_ns++;
	assert_int_equal(dep_window_chunk(w, job, (struct dep_moment){ now_ns, 2 * now_ns }), 0);
	free(job);
}

static struct dep_window *with_threads(u32 n, u64 ns)
{
	struct dep_window *w = dep_window_new(BOUND, ns, SIZE - 8192);
	u32 i;

	assert_non_null(w);
	now_ns = 1000;
	entry(w, DEP_JOB_PROCESS, 1000, 0);
	for (i = 1; i <= n; i++)
		entry(w, DEP_JOB_THREAD, i, 1000);
	return w;
}

/* Empty the window: the order of all jobs, such as "P1000 T1 T2 L 1.7 2.3 t1 t2 p1000". */
static const char *order(struct dep_window *w, struct dep_last *last)
{
	static char text[8192];
	static struct dep_last_thread rows[64];
	struct dep_job *job;
	char *at = text;

	assert_int_equal(dep_window_empty(w, NULL), 0);
	while ((job = take_stored())) {
		switch (job->kind) {
		case DEP_JOB_PROCESS:
			assert_string_equal(job->process.exe, "/bin/prog");
			/* fall through */
		case DEP_JOB_PROCESS_END:
			at += sprintf(at, "%c%u ", job->kind == DEP_JOB_PROCESS ? 'P' : 'p',
				      job->serial);
			break;
		case DEP_JOB_THREAD_END:
			assert_string_equal(job->thread.name, "name");
			/* fall through */
		case DEP_JOB_THREAD:
			at += sprintf(at, "%c%u ", job->kind == DEP_JOB_THREAD ? 'T' : 't',
				      job->serial);
			break;
		case DEP_JOB_LAST:
			assert_true(job->last.nthreads <= 64);
			memcpy(rows, job->last.thread, job->last.nthreads * sizeof(rows[0]));
			*last = job->last;
			last->thread = rows;
			at += sprintf(at, "L ");
			break;
		case DEP_JOB_LOG:
			at += sprintf(at, "D%u ", job->serial);
			break;
		default:
			assert_int_equal(job->kind, DEP_JOB_SEGMENT);
			assert_int_equal(job->size, job->chunk.fill);
			assert_int_equal(((const u32 *)job->body)[0], job->serial);
			assert_int_equal(((const u32 *)job->body)[1], job->chunk.seq);
			at += sprintf(at, "%u.%u ", job->serial, (u32)job->chunk.seq);
		}
		finish_job(job);
	}
	dep_window_free(w);
	return text;
}

static void oldest_first(void **state)
{
	struct dep_window *w = with_threads(3, 0);
	struct dep_last last;
	u32 i;

	(void)state;
	for (i = 0; i < 60; i++) {
		chunk(w, 1 + i % 3, i / 3, SIZE - 8192 - 4096 * (i % 5), 0);
		assert_true(dep_window_bytes(w) <= BOUND);
	}
	assert_true(dep_window_bytes(w) > BOUND - 2 * SIZE);
	assert_string_equal(order(w, &last), "P1000 T1 T2 T3 L 2.17 3.17 1.18 2.18 3.18 1.19 "
			    "2.19 3.19 ");
	assert_int_equal(last.chunks, 52);
	/* All were added later than the last one that was dropped: the 52nd. */
	assert_int_equal(last.from_ns, 1052);
	assert_int_equal(last.from_timestamp, 2104);
	assert_int_equal(last.nthreads, 3);
	assert_int_equal(last.thread[0].thread, 1);
	assert_int_equal(last.thread[0].first, 18);
	assert_int_equal(last.thread[1].first, 17);
	assert_int_equal(last.thread[0].chunks + last.thread[1].chunks + last.thread[2].chunks, 52);
	assert_int_equal(last.thread[0].bytes + last.thread[1].bytes + last.thread[2].bytes,
			 last.bytes);
}

/* One chunk of a quiet thread stays while it is not the oldest one. */
static void quiet_thread(void **state)
{
	struct dep_last last;
	struct dep_window *w;
	u32 i, more;

	(void)state;
	for (more = 6; more <= 7; more++) {
		w = with_threads(2, 0);
		for (i = 0; i < 4; i++)
			chunk(w, 1, i, SIZE - 8192, 0);
		chunk(w, 2, 0, SIZE - 8192, 0);
		for (i = 4; i < 4 + more; i++)
			chunk(w, 1, i, SIZE - 8192, 0);
		chunk(w, 1, i, SIZE - 8192, 0);
		assert_string_equal(order(w, &last), more == 6 ?
				    "P1000 T1 T2 L 2.0 1.4 1.5 1.6 1.7 1.8 1.9 1.10 " :
				    "P1000 T1 T2 L 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 ");
		assert_int_equal(last.thread[1].chunks, more - 6);
		assert_int_equal(last.thread[1].first, more - 6);
	}
}

static void too_old(void **state)
{
	struct dep_window *w = with_threads(1, 100);
	struct dep_last last;

	(void)state;
	chunk(w, 1, 0, 8, 0);
	chunk(w, 1, 1, 8, 0);
	now_ns += 98;
	chunk(w, 1, 2, 8, 0);
	now_ns += 1;
	chunk(w, 1, 3, 8, 0);
	dep_window_expire(w, (struct dep_moment){ now_ns + 1, 0 });
	assert_string_equal(order(w, &last), "P1000 T1 L 1.2 1.3 ");
	assert_int_equal(last.from_ns, 1002);
	assert_int_equal(last.chunks, 2);
	assert_int_equal(last.bytes, 16);
	assert_int_equal(last.max_ns, 100);
}

/* The last chunks of the process that ends are kept beyond the bound, those of others are not. */
static void last_chunks(void **state)
{
	struct dep_window *w = with_threads(20, 0);
	struct dep_last last;
	u32 i;

	(void)state;
	for (i = 0; i < 7; i++)
		chunk(w, 1, i, SIZE - 8192, 0);
	for (i = 1; i <= 10; i++)
		chunk(w, i, 100, SIZE - 8192, 1000);
	assert_true(dep_window_bytes(w) > BOUND);
	dep_window_dropped(w, &last);
	assert_int_equal(last.chunks, 0);
	/* Another process ends, or goes on: they count. */
	chunk(w, 11, 100, SIZE - 8192, 1001);
	dep_window_dropped(w, &last);
	assert_int_equal(last.chunks, 9);
	chunk(w, 12, 100, SIZE - 8192, 0);
	assert_true(dep_window_bytes(w) <= BOUND);
	for (i = 12; i <= 20; i++)
		chunk(w, i, 101, SIZE - 8192, 1002);
	assert_string_equal(order(w, &last),
			    "P1000 T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T15 T16 T17 T18 "
			    "T19 T20 L 5.100 6.100 7.100 8.100 9.100 10.100 11.100 12.100 12.101 "
			    "13.101 14.101 15.101 16.101 17.101 18.101 19.101 20.101 ");
}

/* Ended threads and processes of which nothing is kept do not stay. */
static void forgotten(void **state)
{
	struct dep_window *w = with_threads(1, 0);
	struct dep_last last;
	u32 i;

	(void)state;
	for (i = 1; i <= 3000; i++) {
		entry(w, DEP_JOB_PROCESS, 1000 + 2 * i, 0);
		entry(w, DEP_JOB_THREAD, 1001 + 2 * i, 1000 + 2 * i);
		if (i % 2)
			chunk(w, 1001 + 2 * i, 0, SIZE - 8192, 0);
		entry(w, DEP_JOB_THREAD_END, 1001 + 2 * i, 0);
		entry(w, DEP_JOB_PROCESS_END, 1000 + 2 * i, 0);
	}
	for (i = 0; i < 7; i++)
		chunk(w, 1, i, SIZE - 8192, 0);
	assert_string_equal(order(w, &last), "P1000 P6998 T1 T6999 L 6999.0 1.0 1.1 1.2 1.3 1.4 "
			    "1.5 1.6 t6999 p6998 ");
	assert_int_equal(last.threads, 2999);
	assert_int_equal(last.processes, 2999);
	assert_int_equal(last.thread[1].tid_address, 0x1000 + 6999);
	assert_int_equal(last.thread[0].tid_address, 0);
}

/* The mappings of a forked process are those of its parent, which stays as long. */
static void parents(void **state)
{
	struct dep_window *w = with_threads(1, 0);
	struct dep_last last;

	(void)state;
	entry(w, DEP_JOB_PROCESS, 1001, 1000);
	entry(w, DEP_JOB_PROCESS, 1002, 1001);
	entry(w, DEP_JOB_THREAD, 2, 1002);
	entry(w, DEP_JOB_PROCESS_END, 1001, 0);
	entry(w, DEP_JOB_THREAD_END, 1, 0);
	entry(w, DEP_JOB_PROCESS_END, 1000, 0);
	dep_window_dropped(w, &last);
	assert_int_equal(last.processes, 0);
	assert_int_equal(last.threads, 1);
	entry(w, DEP_JOB_THREAD_END, 2, 0);
	entry(w, DEP_JOB_PROCESS_END, 1002, 0);
	assert_string_equal(order(w, &last), "L ");
	assert_int_equal(last.processes, 3);
}

static void descriptors(struct dep_window *w, u32 process, char c, u32 n)
{
	struct { struct adept_desc h; char text[56]; } d = {
		.h = { sizeof(d.h) + n, ADEPT_DESC_MESSAGE },
	};

	assert_true(n <= sizeof(d.text));
	memset(d.text, c, n);
	assert_int_equal(dep_window_descriptors(w, process, (const u8 *)&d, d.h.size, 0), 0);
}

/* All descriptors of a snapshot, each process in brackets. */
static const char *descriptors_of(const struct dep_saved *s)
{
	static char text[256];
	const struct adept_desc *h;
	char *at = text;
	size_t i, n;

	for (i = 0; i < s->descriptors.n; i++) {
		at += sprintf(at, "[%u ", s->descriptors.row[i]->process);
		for (n = 0; n < s->descriptors.row[i]->size; n += h->size) {
			h = (const void *)(s->descriptors.row[i]->data + n);
			at += sprintf(at, "%.*s", (int)(h->size - sizeof(*h)),
				      (const char *)(h + 1));
		}
		at += sprintf(at, "]");
	}
	return text;
}

/* A snapshot has what the window had, whatever the window drops later. */
static void snapshots(void **state)
{
	struct dep_window *w = with_threads(2, 0);
	struct dep_job *job = dep_queue_job(NULL, DEP_JOB_SAVE_SCAN, 64);
	struct dep_saved s, after;
	struct dep_last last;
	u32 i;

	(void)state;
	descriptors(w, 1000, 'a', 8);
	for (i = 0; i < 20; i++)
		chunk(w, 1, i, SIZE - 8192, 0);
	job->serial = 2;
	job->chunk.seq = 5;
	job->chunk.fill = 8;
	assert_int_equal(dep_window_save_chunk(w, job, (struct dep_moment){ now_ns, 0 }), 0);
	job->kind = DEP_JOB_SAVE_END;
	strcpy((char *)job->data, "name");
	job->thread.name = (char *)job->data;
	assert_int_equal(dep_window_save_end(w, job), 0);
	memset(job->data, 'x', 8);
	assert_int_equal(dep_window_save(w, &s), 0);
	assert_int_equal(dep_window_save(w, &after), 0);
	descriptors(w, 1000, 'b', 8);
	for (i = 20; i < 60; i++)
		chunk(w, 1, i, SIZE - 8192, 0);
	/* The process, of which the first window has three jobs, and the end of a living thread. */
	assert_int_equal(s.nbegin, 3);
	assert_int_equal(s.nend, 1);
	assert_string_equal(s.end[0]->thread.name, "name");
	assert_int_equal(s.nchunks, 9);
	for (i = 0; i < 8; i++)
		assert_int_equal(((u32 *)s.chunk[i]->body)[1], 12 + i);
	assert_int_equal(s.chunk[8]->chunk.seq, 5);
	assert_string_equal(descriptors_of(&s), "[1000 aaaaaaaa]");
	assert_int_equal(s.last.thread[0].first, 12);
	assert_int_equal(s.last.chunks, 12);
	/* Its own chunks are in no other snapshot. */
	assert_int_equal(after.nchunks, 8);
	assert_int_equal(after.nend, 0);
	dep_saved_free(&s);
	assert_int_equal(((u32 *)after.chunk[0]->body)[1], 12);
	dep_saved_free(&after);
	assert_int_equal(dep_window_save(w, &s), 0);
	assert_string_equal(descriptors_of(&s), "[1000 aaaaaaaa][1000 bbbbbbbb]");
	dep_saved_free(&s);
	free(job);
	assert_string_equal(order(w, &last), "P1000 D1000 D1000 T1 T2 L 1.52 1.53 1.54 1.55 1.56 "
			    "1.57 1.58 1.59 ");
}

/* Descriptors of a process go with it, and not before the processes that it forked. */
static void forgotten_descriptors(void **state)
{
	struct dep_window *w = with_threads(1, 0);
	struct dep_saved s;
	u64 all;

	(void)state;
	descriptors(w, 1000, 'a', 8);
	entry(w, DEP_JOB_PROCESS, 1001, 1000);
	descriptors(w, 1001, 'b', 8);
	entry(w, DEP_JOB_PROCESS, 1002, 0);
	descriptors(w, 1002, 'c', 8);
	entry(w, DEP_JOB_THREAD_END, 1, 0);
	entry(w, DEP_JOB_PROCESS_END, 1000, 0);
	assert_int_equal(dep_window_save(w, &s), 0);
	assert_string_equal(descriptors_of(&s), "[1000 aaaaaaaa][1001 bbbbbbbb][1002 cccccccc]");
	dep_saved_free(&s);
	all = dep_window_descriptor_bytes(w);
	entry(w, DEP_JOB_PROCESS_END, 1001, 0);
	assert_true(dep_window_descriptor_bytes(w) <= all - 2 * (16 + DEP_BATCH_COST));
	assert_int_equal(dep_window_save(w, &s), 0);
	assert_string_equal(descriptors_of(&s), "[1002 cccccccc]");
	dep_saved_free(&s);
	dep_window_free(w);
}

/* Descriptors of two processes by turns: the memory is about what is counted. */
static void alternating_descriptors(void **state)
{
	struct dep_window *w = with_threads(1, 0);
	size_t before = mallinfo2().uordblks, taken;
	u64 counted;
	u32 i;

	(void)state;
	entry(w, DEP_JOB_PROCESS, 1001, 0);
	for (i = 0; i < 4000; i++)
		descriptors(w, 1000 + i % 2, 'a', 8);
	counted = dep_window_descriptor_bytes(w);
	taken = mallinfo2().uordblks - before;
	/* The last batch has room for more. */
	assert_in_range(taken, counted / 2, counted + counted / 4 + (128u << 10));
	dep_window_free(w);
}

/*
 * Each process forks the next one and ends, and describes nothing: what stays of it is counted, and
 * there is an end.
 */
static void chain_of_forks(void **state)
{
	struct dep_window *w = with_threads(1, 0);
	struct dep_job child = { .kind = DEP_JOB_PROCESS };
	struct dep_job end = { .kind = DEP_JOB_PROCESS_END };
	size_t before = mallinfo2().uordblks, taken;
	u32 serial;
	int err = 0;

	(void)state;
	for (serial = 2000; !err && serial < 200000; serial++) {
		child.serial = serial + 1;
		child.process.cause = ADEPT_BY_FORK;
		child.process.parent = end.serial = serial;
		err = dep_window_entry(w, &child);
		if (!err)
			err = dep_window_entry(w, &end);
	}
	taken = mallinfo2().uordblks - before;
	assert_int_equal(err, -E2BIG);
	assert_in_range(taken, 32u << 20, 96u << 20);
	dep_window_free(w);
}

/* Ends of unknown threads, a serial that comes twice, chunks of unknown threads: no crash. */
static void odd_jobs(void **state)
{
	struct dep_window *w = with_threads(1, 0);
	struct dep_last last;
	u32 i;

	(void)state;
	entry(w, DEP_JOB_THREAD_END, 77, 0);
	entry(w, DEP_JOB_PROCESS_END, 77, 0);
	entry(w, DEP_JOB_THREAD, 5, 4711);
	entry(w, DEP_JOB_THREAD, 3, 1000);
	for (i = 0; i < 20; i++)
		chunk(w, 99, i, SIZE - 8192, 0);
	entry(w, DEP_JOB_THREAD_END, 5, 0);
	entry(w, DEP_JOB_THREAD_END, 3, 0);
	entry(w, DEP_JOB_THREAD_END, 3, 0);
	assert_string_equal(order(w, &last), "P1000 T1 L 99.12 99.13 99.14 99.15 99.16 99.17 "
			    "99.18 99.19 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_first),
		cmocka_unit_test(quiet_thread),
		cmocka_unit_test(too_old),
		cmocka_unit_test(last_chunks),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(parents),
		cmocka_unit_test(snapshots),
		cmocka_unit_test(forgotten_descriptors),
		cmocka_unit_test(alternating_descriptors),
		cmocka_unit_test(chain_of_forks),
		cmocka_unit_test(odd_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
