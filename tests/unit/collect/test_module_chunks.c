// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What becomes of chunks of the kernel module's rings: taken, awaited, left out and
 * counted.  The module and the queue are faked, what crossings mean is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/collect/chunk_end.h"
#include "libdep/collect/internal.h"
#include "tests/unit/lib/stream.h"

#define NCHUNKS		4u
#define CHUNK		65536u
#define MAX_JOBS	16u
#define UNKNOWN_ID	0x0ffffff0u	/* of no descriptor */

static struct stream s;
static u32 known_id;
static struct dep_session session;
static struct dep_collector c;
static struct thread_slot thread;
static struct proc_slot proc;

/* ---- the module ---- */

static u8 body[NCHUNKS][CHUNK];
static struct dep_module_chunks ready[NCHUNKS];
static u32 nready;
static struct dep_ring_state ring;
static u64 given[MAX_JOBS];
static u32 ngiven;

u32 dep_module_take(struct dep_module *m, struct dep_module_chunks *out, u32 n)
{
	u32 taken = nready < n ? nready : n;

	(void)m;
	memcpy(out, ready, taken * sizeof(*out));
	nready = 0;
	ring.filled -= taken;
	return taken;
}

void dep_module_give(struct dep_module *m, const struct dep_module_chunks *f)
{
	(void)m;
	given[ngiven++] = f->seq;
}

void dep_module_state(struct dep_module *m, u32 slot, struct dep_ring_state *out)
{
	(void)m;
	assert_int_equal(slot, 0);
	*out = ring;
}

void dep_module_current(const struct dep_module *m, u32 slot, const struct dep_ring_state *st,
			struct dep_module_chunks *out)
{
	(void)m;
	*out = (struct dep_module_chunks){
		.slot = slot, .ring = st->ring, .index = st->index, .seq = st->seq, .end = CHUNK,
		.unfinished = true, .body = body[st->index],
	};
}

void dep_module_flush(struct dep_module *m, u32 slot, u32 number)
{
	(void)m;
	(void)slot;
	(void)number;
	ring.ended = true;
}

void dep_module_reset(struct dep_module *m, u32 slot, u32 number)
{
	(void)m;
	(void)slot;
	(void)number;
	ring.there = false;
}

void dep_module_discard(struct dep_module *m)
{
	(void)m;
}

/* ---- the queue and the rest of the collector ---- */

static struct adept_chunk put[MAX_JOBS];
static u32 nput, nnotes;
static struct dep_job *job;

bool dep_queue_stopped(struct dep_queue *q)
{
	(void)q;
	return false;
}

struct dep_job *dep_queue_job(struct dep_queue *q, enum dep_job_kind kind, size_t room)
{
	(void)q;
	(void)room;
	assert_null(job);
	job = calloc(1, sizeof(*job) + CHUNK);
	assert_non_null(job);
	job->kind = kind;
	return job;
}

void dep_queue_put(struct dep_queue *q, struct dep_job *j)
{
	(void)q;
	assert_true(nput < MAX_JOBS);
	if (j->kind != DEP_JOB_NOTHING)
		put[nput++] = j->chunk;
	if (j->done)
		j->done(j);
	free(j);
	job = NULL;
}

void dep_queue_wake(struct dep_queue *q)
{
	(void)q;
}

void dep_queue_cancel(struct dep_queue *q, struct dep_job *j)
{
	(void)q;
	free(j);
	job = NULL;
}

void dep_collector_message(struct dep_collector *collector, const char *fmt, ...)
{
	(void)collector;
	assert_non_null(strstr(fmt, "left out"));
	nnotes++;
}

int dep_procs_drain(struct dep_collector *collector, bool *did)
{
	(void)collector;
	(void)did;
	return 1;
}

void dep_copy_upwards(u8 *to, const u8 *from, size_t size)
{
	memcpy(to, from, size);
}

/* ---- what happens ---- */

/* A crossing between two records, whose id is not there yet. */
static struct dep_crossing crossing(bool valid)
{
	struct dep_crossing x = { .record_at = 1000, .fault_at = 1000, .valid = valid };
	u32 i;

	for (i = 0; i < 16; i++)
		x.regs[i] = 100 + i;
	return x;
}

/* Fill chunk @seq, whose first record has @id; its head is known or not. */
static void fill(u64 seq, u32 id, bool valid)
{
	struct dep_module_chunks *f = &ready[nready++];

	*f = (struct dep_module_chunks){
		.ring = 7, .index = (u32)(seq % NCHUNKS), .seq = seq, .end = 1000,
		.head = crossing(valid), .tail = crossing(true), .body = body[seq % NCHUNKS],
	};
	memcpy(body[seq % NCHUNKS], &id, 4);
	ring.filled++;
}

/* The writer is in chunk @seq now, and has begun with @id. */
static void writes(u64 seq, u32 id)
{
	ring.seq = seq;
	ring.index = (u32)(seq % NCHUNKS);
	memcpy(body[ring.index], &id, 4);
}

static bool take(void)
{
	bool did = false, gave;

	dep_module_chunks_collect(&c);
	dep_module_chunks_take(&c, 0, &did);
	/* What was stored is given back with the next round. */
	dep_module_chunks_take(&c, 0, &gave);
	return did;
}

static int begin(void **state)
{
	(void)state;
	memset(&c, 0, sizeof(c));
	memset(&thread, 0, sizeof(thread));
	memset(&proc, 0, sizeof(proc));
	memset(&session, 0, sizeof(session));
	session.layout.nchunks = NCHUNKS;
	session.layout.chunk_size = CHUNK;
	session.map = calloc(1, sizeof(struct adept_session) + sizeof(struct adept_thread));
	session.layout.thread_off = sizeof(struct adept_session);
	c.s = &session;
	c.w = (struct dep_writer *)&session;
	c.threads = &thread;
	c.procs = &proc;
	c.cuts = dep_cuts_new();
	ring = (struct dep_ring_state){ .there = true, .ring = 7 };
	nready = ngiven = nput = nnotes = 0;
	stream_init(&s, 11);
	stream_standard(&s);
	known_id = s.frag[0].id;
	return !session.map || !c.cuts || dep_cuts_add(c.cuts, s.desc, s.desc_size);
}

static int end(void **state)
{
	(void)state;
	dep_module_chunks_free(&c, 0);
	dep_cuts_free(c.cuts);
	stream_free(&s);
	free(session.map);
	return 0;
}

static void test_known(void **state)
{
	(void)state;
	fill(0, known_id, true);
	fill(1, known_id, true);
	writes(2, 0);
	/* The last one waits for the id of what was begun after it. */
	assert_true(take());
	assert_int_equal(nput, 1);
	assert_false(take());
	writes(2, known_id);
	assert_true(take());
	assert_int_equal(nput, 2);
	assert_int_equal(put[1].seq, 1);
	assert_int_equal(put[1].regs[0], 100);
	assert_int_equal(put[1].dropped_chunks, 0);
	assert_int_equal(ngiven, 2);
	assert_int_equal(nnotes, 0);
}

/* Nobody will ever know where these begin: they are no segments, but counted. */
static void test_blind(void **state)
{
	(void)state;
	fill(0, known_id, true);
	fill(1, known_id, false);
	fill(2, known_id, false);
	fill(3, known_id, true);
	writes(4, known_id);
	/* lost by the module itself, between the two */
	ready[2].lost_chunks = 5;
	ready[2].lost_bytes = 500;
	ready[3].lost_chunks = 1;
	ready[3].lost_bytes = 10;
	assert_true(take());
	assert_int_equal(nput, 2);
	assert_int_equal(put[0].seq, 0);
	assert_int_equal(put[1].seq, 3);
	assert_int_equal(put[1].regs[1], 101);
	/* All are given back, one note is enough. */
	assert_int_equal(ngiven, 4);
	assert_int_equal(nnotes, 1);
	assert_int_equal(thread.unreadable_chunks, 2);
	assert_int_equal(thread.unreadable_bytes, 2000);
	assert_int_equal(put[0].dropped_chunks, 0);
	assert_int_equal(put[1].dropped_chunks, 5 + 1 + 2);
	assert_int_equal(put[1].dropped_bytes, 500 + 10 + 2000);
	/* What was left out was not dropped on request: it is counted apart, as discarded. */
	ring.lost_chunks = 6;
	ring.lost_bytes = 510;
	dep_module_chunks_tally(&c, 0);
	assert_int_equal(thread.dropped_chunks, 6);
	assert_int_equal(thread.dropped_bytes, 510);
	assert_int_equal(thread.unreadable_bytes, 2000);
}

/* What is not described yet may be; but not when nothing more can come. */
static void test_later(void **state)
{
	(void)state;
	dep_cuts_free(c.cuts);
	c.cuts = dep_cuts_new();
	fill(1, known_id, true);
	fill(2, UNKNOWN_ID, true);
	writes(3, known_id);
	assert_false(take());
	assert_int_equal(ngiven, 0);
	assert_int_equal(dep_cuts_add(c.cuts, s.desc, s.desc_size), 0);
	/* the second one's id is unknown still, which is the first one's end */
	assert_false(take());
	proc.broken = true;
	assert_true(take());
	assert_int_equal(nput, 1);
	assert_int_equal(put[0].seq, 1);
	assert_int_equal(thread.unreadable_chunks, 1);
	assert_int_equal(ngiven, 2);
}

/* A signal came between the first store of a record and its id. */
static void test_left(void **state)
{
	const struct adept_ev_partial p = { .frag = known_id };
	const struct adept_ev_partial unknown = { .frag = UNKNOWN_ID };

	(void)state;
	fill(1, known_id, true);
	fill(2, ADEPT_EV_PARTIAL, true);
	memcpy(body[2 % NCHUNKS] + 4, &unknown, sizeof(unknown));
	ready[0].tail.fault_at = ready[1].head.fault_at += 4;
	writes(3, known_id);
	assert_false(take());
	memcpy(body[2 % NCHUNKS] + 4, &p, sizeof(p));
	assert_true(take());
	assert_int_equal(nput, 2);
	assert_int_equal(ngiven, 2);
	assert_int_equal(nnotes, 0);
}

/* What tells nothing of the record does so for ever: nobody waits for that. */
static void test_not_told(void **state)
{
	(void)state;
	fill(1, known_id, true);
	fill(2, ADEPT_EV_SIGNAL, true);
	writes(3, known_id);
	assert_true(take());
	assert_int_equal(nput, 1);
	assert_int_equal(put[0].tail.frag, 0);
	assert_int_equal(thread.unreadable_chunks, 1);
	assert_int_equal(ngiven, 2);
}

/* Its successor was given up: the chunk ends with its last whole record, at once. */
static void test_gap(void **state)
{
	(void)state;
	fill(1, known_id, true);
	writes(5, known_id);
	/* more is filled: it may be the successor */
	ring.filled = 2;
	assert_false(take());
	ring.filled = 0;
	assert_true(take());
	assert_int_equal(nput, 1);
	assert_int_equal(put[0].fill, 1000);
	assert_int_equal(put[0].tail.frag, 0);
	/* seen to be missing in what has come */
	fill(6, known_id, true);
	fill(8, known_id, true);
	ready[1].lost_chunks = 1;
	writes(9, known_id);
	assert_true(take());
	assert_int_equal(nput, 3);
	assert_int_equal(put[2].dropped_chunks, 1);
}

/* The last one of a thread, unfinished, and blind; what is in it is not known. */
static void test_blind_end(void **state)
{
	(void)state;
	fill(3, known_id, false);
	ready[0].unfinished = true;
	ready[0].end = CHUNK;
	writes(3, known_id);
	assert_true(dep_module_chunks_finish(&c, 0, false));
	take();
	assert_int_equal(nput, 0);
	assert_int_equal(thread.unreadable_chunks, 1);
	assert_int_equal(thread.unreadable_bytes, 0);
	assert_int_equal(ngiven, 1);
	assert_int_equal(nnotes, 1);
}

/* The one that a living thread is writing: seen, but not given back. */
static void test_blind_living(void **state)
{
	(void)state;
	writes(3, known_id);
	assert_true(dep_module_chunks_finish(&c, 0, true));
	assert_int_equal(nput, 0);
	assert_int_equal(thread.unreadable_chunks, 1);
	assert_int_equal(ngiven, 0);
	assert_int_equal(nnotes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_known, begin, end),
		cmocka_unit_test_setup_teardown(test_blind, begin, end),
		cmocka_unit_test_setup_teardown(test_later, begin, end),
		cmocka_unit_test_setup_teardown(test_left, begin, end),
		cmocka_unit_test_setup_teardown(test_not_told, begin, end),
		cmocka_unit_test_setup_teardown(test_gap, begin, end),
		cmocka_unit_test_setup_teardown(test_blind_end, begin, end),
		cmocka_unit_test_setup_teardown(test_blind_living, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
