// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which descriptors a trim of a window drops: removed fragments that no chunk names and no thread
 * can name any more, and mappings that are gone; and that a window of a program which generates
 * code for ever stays in its bound.
 *
 * The index of the test has fragments with one exit each; a fragment's number is its exit id. The
 * body of a chunk is the numbers that it names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/collect/window.h"
#include "libdep/format/write/pack.h"

#define FIRST	5000u
#define KNOWN	2000000u
#define BOUND	(8u << 20)

static bool known[KNOWN];
static size_t nknown;
static u64 now_ns;
static u32 seq[8];

static bool frag(void *arg, u32 first_exit, u32 *number)
{
	(void)arg;
	*number = first_exit;
	return first_exit < KNOWN && known[first_exit];
}

static void named(void *arg, const u8 *body, u32 size, u32 from, u32 n, u8 *bits)
{
	const u32 *id = (const u32 *)(const void *)body;
	u32 i;

	(void)arg;
	for (i = 0; i < size / 4; i++)
		if (id[i] - from < n)
			bits[(id[i] - from) / 8] |= (u8)(1u << (id[i] - from) % 8);
}

static void forget(void *arg, struct dep_forgotten *f)
{
	size_t i;

	(void)arg;
	for (i = 0; i < f->n; i++) {
		assert_int_equal(f->frag[i].nexits, 1);
		assert_true(known[f->frag[i].first_exit]);
		known[f->frag[i].first_exit] = false;
		nknown--;
	}
	free(f);
}

static const struct dep_trim_ops ops = { frag, named, forget, NULL };

static void put(struct dep_window *w, u32 process, const void *d, size_t size)
{
	assert_int_equal(dep_window_descriptors(w, process, d, size, 8 * nknown), 0);
}

static void fragment(struct dep_window *w, u32 process, u32 id)
{
	const struct adept_desc_frag d = {
		.h = { sizeof(d), ADEPT_DESC_FRAGMENT }, .first_exit = id, .nexits = 1,
	};

	put(w, process, &d, sizeof(d));
	known[id] = true;
	nknown++;
}

static void removed(struct dep_window *w, u32 process, u32 id)
{
	const struct adept_desc_removed d = {
		.h = { sizeof(d), ADEPT_DESC_REMOVED }, .first_exit = id, .time_ns = ++now_ns,
	};

	put(w, process, &d, sizeof(d));
}

static void forked(struct dep_window *w, u32 process)
{
	const struct adept_desc_forked d = {
		.h = { sizeof(d), ADEPT_DESC_FORKED }, .time_ns = ++now_ns,
	};

	put(w, process, &d, sizeof(d));
}

static void map(struct dep_window *w, u32 process, u64 start, u64 end)
{
	const struct adept_desc_map d = {
		.h = { sizeof(d), ADEPT_DESC_MAP }, .start = start, .end = end,
		.time_ns = ++now_ns,
	};

	put(w, process, &d, sizeof(d));
}

static void unmap(struct dep_window *w, u32 process, u64 start, u64 end)
{
	const struct adept_desc_unmap d = {
		.h = { sizeof(d), ADEPT_DESC_UNMAP }, .start = start, .end = end,
		.time_ns = ++now_ns,
	};

	put(w, process, &d, sizeof(d));
}

static struct dep_job *job_of(enum dep_job_kind kind, u32 serial, size_t room)
{
	struct dep_job *job = calloc(1, sizeof(*job) + room);

	assert_non_null(job);
	job->kind = kind;
	job->serial = serial;
	job->room = room;
	return job;
}

static void entry(struct dep_window *w, enum dep_job_kind kind, u32 serial, u32 of)
{
	struct dep_job *job = job_of(kind, serial, 0);

	if (kind == DEP_JOB_THREAD) {
		job->thread.process = of;
		job->thread.start_ns = ++now_ns;
	} else if (kind == DEP_JOB_PROCESS) {
		job->process.parent = of;
		job->process.cause = of ? ADEPT_BY_FORK : ADEPT_BY_LAUNCH;
	}
	assert_int_equal(dep_window_entry(w, job), 0);
	free(job);
}

/* A chunk of @thread that begins now, has @n bytes and names @id. */
static void chunk(struct dep_window *w, u32 thread, u32 n, u32 id)
{
	struct dep_job *job = job_of(DEP_JOB_SEGMENT, thread, n);

	job->chunk.seq = seq[thread]++;
	job->chunk.fill = n;
	job->chunk.start_ns = ++now_ns;
	job->size = n;
	memcpy(job->data, &id, sizeof(id));
	assert_int_equal(dep_window_chunk(w, job, (struct dep_moment){ now_ns, now_ns }), 0);
	free(job);
}

static void trim_begin(struct dep_window *w)
{
	assert_int_equal(dep_window_trim_begin(w, ++now_ns, &ops), 0);
}

/* Thread @thread is in a system call, and its unfinished chunk names @id. */
static void idle(struct dep_window *w, u32 thread, u32 id)
{
	struct dep_job *job = job_of(DEP_JOB_TRIM_THREAD, thread, 8);

	job->upto = ++now_ns;
	job->size = 4;
	memcpy(job->data, &id, sizeof(id));
	dep_window_trim_thread(w, job);
	free(job);
}

static void trim(struct dep_window *w)
{
	trim_begin(w);
	dep_window_trim_end(w);
}

/* The kinds of all descriptors that are left: F, M, U, K (forked). */
static const char *left(struct dep_window *w)
{
	static const char kinds[] = "?FMU???" "???K";
	static char text[256];
	const struct adept_desc *h;
	struct dep_saved s;
	size_t i, n, at = 0;

	assert_int_equal(dep_window_save(w, &s), 0);
	for (i = 0; i < s.descriptors.n; i++)
		for (n = 0; n < s.descriptors.row[i]->size; n += h->size) {
			h = (const void *)(s.descriptors.row[i]->data + n);
			assert_true(h->type < sizeof(kinds) - 1 && at < sizeof(text) - 1);
			text[at++] = kinds[h->type];
		}
	text[at] = '\0';
	dep_saved_free(&s);
	return text;
}

/* A window with process 1000 and threads 1 to @n. */
static struct dep_window *with_threads(u32 n)
{
	struct dep_window *w = dep_window_new(BOUND, 0, 128u << 10);
	u32 i;

	assert_non_null(w);
	memset(known, 0, sizeof(known));
	memset(seq, 0, sizeof(seq));
	nknown = 0;
	now_ns = 1000;
	entry(w, DEP_JOB_PROCESS, 1000, 0);
	for (i = 1; i <= n; i++)
		entry(w, DEP_JOB_THREAD, i, 1000);
	return w;
}

/* A thread that runs may be in a removed fragment until it has begun two chunks. */
static void running(void **state)
{
	struct dep_window *w = with_threads(1);

	(void)state;
	fragment(w, 1000, FIRST);
	fragment(w, 1000, FIRST + 1);
	chunk(w, 1, 64, 0);
	removed(w, 1000, FIRST);
	trim(w);
	assert_string_equal(left(w), "FF");
	/* This chunk was begun after the removal, so the next one cannot name it. */
	chunk(w, 1, 64, 0);
	trim(w);
	assert_string_equal(left(w), "F");
	assert_true(!known[FIRST] && known[FIRST + 1]);
	dep_window_free(w);
}

/* What a chunk in the window names stays as long as the chunk. */
static void named_in_window(void **state)
{
	struct dep_window *w = with_threads(1);
	u32 i;

	(void)state;
	fragment(w, 1000, FIRST);
	fragment(w, 1000, FIRST + 1);
	chunk(w, 1, 64, FIRST);
	removed(w, 1000, FIRST);
	removed(w, 1000, FIRST + 1);
	chunk(w, 1, 64, 0);
	chunk(w, 1, 64, 0);
	trim(w);
	assert_true(known[FIRST] && !known[FIRST + 1]);
	for (i = 0; i < 100; i++)
		chunk(w, 1, 128u << 10, 0);
	trim(w);
	assert_string_equal(left(w), "");
	assert_int_equal(nknown, 0);
	dep_window_free(w);
}

/* A record that goes on in the next chunk is named in that chunk, too, by its header. */
static void next_chunk(void **state)
{
	struct dep_window *w = with_threads(2);

	(void)state;
	fragment(w, 1000, FIRST);
	removed(w, 1000, FIRST);
	chunk(w, 1, 64, 0);
	chunk(w, 2, 64, FIRST);
	chunk(w, 2, 64, 0);
	trim(w);
	assert_string_equal(left(w), "F");
	dep_window_free(w);
}

/* A thread that does not run keeps what it may be in; one in a system call only what it names. */
static void not_running(void **state)
{
	struct dep_window *w = with_threads(2);
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++)
		fragment(w, 1000, FIRST + i);
	for (i = 0; i < 3; i++)
		removed(w, 1000, FIRST + i);
	chunk(w, 1, 64, 0);
	chunk(w, 1, 64, 0);
	trim(w);
	assert_string_equal(left(w), "FFF");
	trim_begin(w);
	idle(w, 2, FIRST + 1);
	dep_window_trim_end(w);
	assert_string_equal(left(w), "F");
	assert_true(known[FIRST + 1]);
	/* Its chunk was not looked at this time. */
	trim(w);
	assert_string_equal(left(w), "F");
	entry(w, DEP_JOB_THREAD_END, 2, 0);
	trim(w);
	assert_string_equal(left(w), "");
	dep_window_free(w);
}

/* What was removed after the trim began is not looked at. */
static void too_late(void **state)
{
	struct dep_window *w = with_threads(1);

	(void)state;
	fragment(w, 1000, FIRST);
	trim_begin(w);
	removed(w, 1000, FIRST);
	idle(w, 1, 0);
	dep_window_trim_end(w);
	assert_string_equal(left(w), "F");
	trim_begin(w);
	idle(w, 1, 0);
	dep_window_trim_end(w);
	assert_string_equal(left(w), "");
	dep_window_free(w);
}

/* A child has what its parent had at the fork. Nobody removes what another process described. */
static void forks(void **state)
{
	struct dep_window *w = with_threads(1);

	(void)state;
	fragment(w, 1000, FIRST);
	map(w, 1000, 0x1000, 0x2000);
	forked(w, 1000);
	entry(w, DEP_JOB_PROCESS, 1001, 1000);
	entry(w, DEP_JOB_THREAD, 2, 1001);
	fragment(w, 1000, FIRST + 1);
	map(w, 1000, 0x3000, 0x4000);
	removed(w, 1000, FIRST);
	removed(w, 1000, FIRST + 1);
	unmap(w, 1000, 0x1000, 0x2000);
	unmap(w, 1000, 0x3000, 0x4000);
	removed(w, 1001, FIRST);
	/* It may end a mapping of the parent. */
	unmap(w, 1001, 0x1000, 0x2000);
	trim_begin(w);
	idle(w, 1, 0);
	idle(w, 2, 0);
	dep_window_trim_end(w);
	assert_true(known[FIRST] && !known[FIRST + 1]);
	assert_string_equal(left(w), "FMKUU");
	dep_window_free(w);
}

/* Mappings that have ended as a whole are dropped with what has ended them. */
static void mappings(void **state)
{
	struct dep_window *w = with_threads(1);

	(void)state;
	map(w, 1000, 0x1000, 0x3000);		/* ends in two steps */
	unmap(w, 1000, 0x1000, 0x2000);
	unmap(w, 1000, 0x2000, 0x3000);
	map(w, 1000, 0x5000, 0x6000);		/* is replaced */
	map(w, 1000, 0x4000, 0x7000);
	map(w, 1000, 0x10000, 0x20000);		/* a part of it is left */
	unmap(w, 1000, 0x10000, 0x18000);
	unmap(w, 1000, 0x90000, 0xa0000);	/* nothing was there */
	trim_begin(w);
	idle(w, 1, 0);
	dep_window_trim_end(w);
	assert_string_equal(left(w), "MMU");
	dep_window_free(w);
}

/* A mapping that ended while a chunk was written stays until the chunk is dropped. */
static void mappings_of_chunks(void **state)
{
	struct dep_window *w = with_threads(2);
	u32 i;

	(void)state;
	map(w, 1000, 0x1000, 0x3000);
	unmap(w, 1000, 0x1000, 0x3000);
	map(w, 1000, 0x5000, 0x6000);
	chunk(w, 1, 4096, FIRST);
	unmap(w, 1000, 0x5000, 0x6000);
	chunk(w, 1, 4096, FIRST);
	chunk(w, 1, 4096, FIRST);
	trim_begin(w);
	idle(w, 1, 0);
	idle(w, 2, 0);
	dep_window_trim_end(w);
	assert_string_equal(left(w), "MU");
	for (i = 0; i < BOUND / 4096; i++)
		chunk(w, 1, 4096, FIRST);
	trim_begin(w);
	idle(w, 1, 0);
	idle(w, 2, 0);
	dep_window_trim_end(w);
	assert_string_equal(left(w), "");
	dep_window_free(w);
}

/* A snapshot has what there was, whatever a trim drops later. */
static void shared(void **state)
{
	struct dep_window *w = with_threads(1);
	const struct adept_desc_frag *d;
	struct dep_saved s;

	(void)state;
	fragment(w, 1000, FIRST);
	removed(w, 1000, FIRST);
	assert_int_equal(dep_window_save(w, &s), 0);
	trim_begin(w);
	idle(w, 1, 0);
	dep_window_trim_end(w);
	assert_string_equal(left(w), "");
	assert_int_equal(s.descriptors.n, 1);
	d = (const void *)s.descriptors.row[0]->data;
	assert_int_equal(d->first_exit, FIRST);
	dep_saved_free(&s);
	dep_window_free(w);
}

/* What the window itself needs is not stored: FORKED is left out. */
static void stored(void **state)
{
	struct dep_window *w = with_threads(1);
	struct dep_saved s;
	size_t at = 0, size;

	(void)state;
	forked(w, 1000);
	fragment(w, 1000, FIRST);
	fragment(w, 1000, FIRST + 1);
	forked(w, 1000);
	forked(w, 1000);
	map(w, 1000, 0x1000, 0x2000);
	forked(w, 1000);
	assert_int_equal(dep_window_save(w, &s), 0);
	assert_int_equal(s.descriptors.n, 1);
	size = dep_batch_run(s.descriptors.row[0], &at);
	assert_int_equal(at, sizeof(struct adept_desc_forked));
	assert_int_equal(size, 2 * sizeof(struct adept_desc_frag));
	at += size;
	size = dep_batch_run(s.descriptors.row[0], &at);
	assert_int_equal(size, sizeof(struct adept_desc_map));
	at += size;
	assert_int_equal(dep_batch_run(s.descriptors.row[0], &at), 0);
	dep_saved_free(&s);
	dep_window_free(w);
}

/* Removals of fragments that are unknown, or come twice; a malformed descriptor. */
static void odd(void **state)
{
	struct dep_window *w = with_threads(1);
	const struct adept_desc bad = { 4, ADEPT_DESC_MAP };

	(void)state;
	removed(w, 1000, 77);
	removed(w, 4711, FIRST);
	fragment(w, 1000, FIRST);
	removed(w, 1000, FIRST);
	removed(w, 1000, FIRST);
	map(w, 1000, 0x2000, 0x1000);
	unmap(w, 1000, 0x3000, 0x1000);
	trim_begin(w);
	idle(w, 1, 0);
	idle(w, 99, 0);
	dep_window_trim_end(w);
	assert_false(known[FIRST]);
	dep_window_trim_end(w);
	assert_true(dep_window_descriptors(w, 1000, (const u8 *)&bad, sizeof(bad), 0) < 0);
	dep_window_free(w);
}

/* Code for ever: what is counted stays within the bound, and chunks keep a part of it. */
static void for_ever(void **state)
{
	struct dep_window *w = with_threads(2);
	u64 most = 0, least = UINT64_MAX;
	u32 i, id = FIRST;

	(void)state;
	for (i = 0; id < KNOWN - 64; i++) {
		for (u32 k = 0; k < 64; k++, id++) {
			fragment(w, 1000, id);
			removed(w, 1000, id);
			map(w, 1000, 0x1000, 0x2000);
			unmap(w, 1000, 0x1000, 0x2000);
		}
		chunk(w, 1, 4096, id - 1);
		if (dep_window_descriptor_bytes(w) + dep_window_bytes(w) > most)
			most = dep_window_descriptor_bytes(w) + dep_window_bytes(w);
		if (i > 10000 && dep_window_bytes(w) < least)
			least = dep_window_bytes(w);
		if (!dep_window_wants_trim(w))
			continue;
		trim_begin(w);
		idle(w, 2, FIRST);
		dep_window_trim_end(w);
	}
	/* The trim comes after some more descriptors. */
	assert_in_range(most, BOUND / 2, BOUND + BOUND / 8);
	assert_in_range(least, BOUND / 16, BOUND);
	assert_true(known[FIRST]);
	dep_window_free(w);
}

/* Code that may still be executed is never dropped; beyond the limit there is an error. */
static void too_much(void **state)
{
	struct dep_window *w = with_threads(1);
	struct adept_desc_frag d = { .h = { 4096, ADEPT_DESC_FRAGMENT }, .nexits = 1 };
	u8 data[4096] = { 0 };
	int err = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 100000 && !err; i++) {
		d.first_exit = FIRST + i;
		memcpy(data, &d, sizeof(d));
		err = dep_window_descriptors(w, 1000, data, sizeof(data), 0);
	}
	assert_int_equal(err, -7 /* E2BIG */);
	assert_in_range((u64)i * sizeof(data), BOUND, 80u << 20);
	dep_window_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running),
		cmocka_unit_test(named_in_window),
		cmocka_unit_test(next_chunk),
		cmocka_unit_test(not_running),
		cmocka_unit_test(too_late),
		cmocka_unit_test(forks),
		cmocka_unit_test(mappings),
		cmocka_unit_test(mappings_of_chunks),
		cmocka_unit_test(shared),
		cmocka_unit_test(stored),
		cmocka_unit_test(odd),
		cmocka_unit_test(for_ever),
		cmocka_unit_test(too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
