// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chunks of the kernel module's rings: taken, awaited, or dropped and counted.  The module and the
 * queue are fake; the evaluation of chunk ends is real.
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

/* ---- actions of a test ---- */

/* A chunk end between two records, the second of which has no id yet. */
static struct dep_crossing crossing(bool valid)
{
	struct dep_crossing x = { .record_at = 1000, .fault_at = 1000, .valid = valid };
	u32 i;

	for (i = 0; i < 16; i++)
		x.regs[i] = 100 + i;
	x.words[ADEPT_GS_GSBASE] = 200;
	return x;
}

/* Fill chunk @seq, whose first record has @id; @valid: its head is known. */
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

/* The writer is in chunk @seq now, whose first record has @id. */
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
	/* Stored chunks are returned in the next pass. */
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
	/* The last chunk waits for the id of the next record. */
	assert_true(take());
	assert_int_equal(nput, 1);
	assert_false(take());
	writes(2, known_id);
	assert_true(take());
	assert_int_equal(nput, 2);
	assert_int_equal(put[1].seq, 1);
	assert_int_equal(put[1].regs[0], 100);
	/* The first chunk begins with events, but its thread may have inherited a gs base. */
	assert_int_equal(put[0].gs_base, 200);
	assert_int_equal(put[1].gs_base, 200);
	assert_int_equal(put[1].dropped_chunks, 0);
	assert_int_equal(ngiven, 2);
	assert_int_equal(nnotes, 0);
}

/* Chunks whose beginning will never be known: they do not become segments, but are counted. */
static void test_blind(void **state)
{
	(void)state;
	fill(0, known_id, true);
	fill(1, known_id, false);
	fill(2, known_id, false);
	fill(3, known_id, true);
	writes(4, known_id);
	/* lost by the module, between the two */
	ready[2].lost_chunks = 5;
	ready[2].lost_bytes = 500;
	ready[3].lost_chunks = 1;
	ready[3].lost_bytes = 10;
	assert_true(take());
	assert_int_equal(nput, 2);
	assert_int_equal(put[0].seq, 0);
	assert_int_equal(put[1].seq, 3);
	assert_int_equal(put[1].regs[1], 101);
	/* All are returned; there is only one message. */
	assert_int_equal(ngiven, 4);
	assert_int_equal(nnotes, 1);
	assert_int_equal(thread.unreadable_chunks, 2);
	assert_int_equal(thread.unreadable_bytes, 2000);
	assert_int_equal(put[0].dropped_chunks, 0);
	assert_int_equal(put[1].dropped_chunks, 5 + 1 + 2);
	assert_int_equal(put[1].dropped_bytes, 500 + 10 + 2000);
	/* These chunks were not dropped on request: they are counted separately, as discarded. */
	ring.lost_chunks = 6;
	ring.lost_bytes = 510;
	dep_module_chunks_tally(&c, 0);
	assert_int_equal(thread.dropped_chunks, 6);
	assert_int_equal(thread.dropped_bytes, 510);
	assert_int_equal(thread.unreadable_bytes, 2000);
}

/* A missing descriptor may arrive later, unless nothing more can arrive. */
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
	/* the id that decides the end of the first chunk is still unknown */
	assert_false(take());
	proc.broken = true;
	assert_true(take());
	assert_int_equal(nput, 1);
	assert_int_equal(put[0].seq, 1);
	assert_int_equal(thread.unreadable_chunks, 1);
	assert_int_equal(ngiven, 2);
}

/* A signal arrived between the first store of a record and its id. */
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

/* If the registers say nothing about the record, they never will: do not wait. */
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

/* Its successor was dropped: the chunk ends with its last whole record, immediately. */
static void test_gap(void **state)
{
	(void)state;
	fill(1, known_id, true);
	writes(5, known_id);
	/* another chunk is filled, which may be the successor */
	ring.filled = 2;
	assert_false(take());
	ring.filled = 0;
	assert_true(take());
	assert_int_equal(nput, 1);
	assert_int_equal(put[0].fill, 1000);
	assert_int_equal(put[0].tail.frag, 0);
	/* the gap is visible in the sequence numbers */
	fill(6, known_id, true);
	fill(8, known_id, true);
	ready[1].lost_chunks = 1;
	writes(9, known_id);
	assert_true(take());
	assert_int_equal(nput, 3);
	assert_int_equal(put[2].dropped_chunks, 1);
}

/* The last chunk of a thread, unfinished and without known registers: its content is unknown. */
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

/* The chunk that a living thread is writing: read, but not returned. */
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
