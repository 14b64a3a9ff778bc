// SPDX-License-Identifier: GPL-2.0-or-later
/* Merging threads by timestamps: synthetic streams of system calls with one load in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dep/analyze.h"
#include "dep/races.h"
#include "libdep/recover/filter/filter.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/scratch.h"
#include "tests/unit/lib/stream.h"

#define MAX_SEEN	1024u
#define LOAD		1000u	/* the analyzer's note of a load */
#define DEFERRED		1001u	/* of a page of deferred loads */
#define ENTER		2000u	/* of an early call, plus its number */
#define GAP		5000u
#define END		5001u

/* What an analyzer received: thread * 10000 + one of the above. */
struct seen {
	u32 what[MAX_SEEN];
	bool late[MAX_SEEN];
	u32 n;
	u32 deferring;	/* thread whose load is deferred; 0: none */
	const struct dep_process_filter *scope;
};

static const struct dep_process_filter *scope(void *self, const struct dep_thread *t)
{
	(void)t;
	return ((struct seen *)self)->scope;
}

static void see(struct seen *s, const struct dep_thread *t, u32 what, bool late)
{
	assert_true(s->n < MAX_SEEN);
	s->what[s->n] = t->serial * 10000 + what;
	s->late[s->n++] = late;
}

static ssize_t items(void *self, const struct dep_thread *t, const struct dep_item *it, size_t n,
		     bool late)
{
	const struct adept_ev_syscall *call;
	struct seen *s = self;
	size_t i;

	for (i = 0; i < n; i++, it++) {
		if (it->kind == DEP_ITEM_REF) {
			if (t->serial == s->deferring && !late)
				return (ssize_t)i;
			see(s, t, LOAD, late);
		} else if (it->kind == DEP_ITEM_PAGE) {
			see(s, t, DEFERRED, late);
		} else if (it->kind == DEP_ITEM_EVENT &&
			   (it->event.id & ~DEP_EV_ENTER) == ADEPT_EV_SYSCALL) {
			call = it->event.payload;
			see(s, t, call->nr + (it->event.id & DEP_EV_ENTER ? ENTER : 0), late);
		}
	}
	return (ssize_t)n;
}

static int gap(void *self, const struct dep_thread *t)
{
	see(self, t, GAP, false);
	return 0;
}

static int end(void *self, const struct dep_thread *t)
{
	see(self, t, END, false);
	return 0;
}

/* ---- threads ---- */

static const u8 load[] = { 0x48, 0x8b, 0x07, 0xeb, 0x00 };	/* mov (%rdi),%rax; jmp */

/*
 * Begin a thread whose first segment begins at @timestamp, and whose load needs the registers
 * @mask.
 */
static void begin_with(struct stream *s, u64 timestamp, u16 mask)
{
	const struct stream_code code = {
		.pc = 0x401000, .bytes = load, .len = sizeof(load), .entry_mask = mask,
	};

	stream_init(s, 1);
	s->cur.timestamp = timestamp;
	stream_fragment(s, &code);
	stream_context(s, 0x401000);
}

static void begin(struct stream *s, u64 timestamp)
{
	begin_with(s, timestamp, 0xffff);
}

static void call(struct stream *s, u32 nr, u64 before, u64 after)
{
	struct adept_ev_syscall ev = { .nr = nr, .before = before, .after = after };

	stream_event(s, ADEPT_EV_SYSCALL, &ev);
	stream_context(s, 0x401000);
}

/* The next segment begins at @timestamp; 0: unknown. */
static void next_segment(struct stream *s, u64 timestamp)
{
	stream_close(s);
	s->cur.timestamp = timestamp;
}

/* Write the @n threads without segment @missing of the first one, analyse them, and free them. */
static struct dep_analysis show(struct stream *s, u32 n, u64 missing, unsigned int jobs,
				struct seen *seen)
{
	const struct dep_analyze_options options = { .jobs = jobs };
	struct dep_process p = { .serial = 1, .pid = 100, .start_ns = 1 };
	const struct dep_analyzer a = {
		.name = "test", .want = DEP_WANT_REFS, .scope = scope, .items = items, .gap = gap,
		.end = end,
	};
	struct dep_meta meta = { .cwd = "/" };
	struct dep_analysis how;
	struct dep_store *store;
	struct dep_writer *w;
	char dir[256];
	size_t k;
	u32 i;

	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	assert_int_equal(dep_writer_process(w, &p), 0);
	assert_int_equal(dep_writer_descriptors(w, 1, s->desc, s->desc_size), 0);
	for (i = 0; i < n; i++) {
		struct dep_thread t = { .serial = i + 1, .tid = 100 + i, .process = 1,
					.end = DEP_END_WHOLE };

		assert_int_equal(dep_writer_thread(w, &t), 0);
		stream_close(&s[i]);
		for (k = 0; k < s[i].nchunks; k++) {
			if (i || s[i].chunk[k].c.seq != missing)
				assert_int_equal(dep_writer_segment(w, t.serial, &s[i].chunk[k].c,
								    s[i].chunk[k].body), 0);
		}
		assert_int_equal(dep_writer_thread_end(w, &t), 0);
	}
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_int_equal(dep_store_open(&store, dir), 0);
	assert_int_equal(dep_analyze(store, &a, seen, &options, &how), 0);
	dep_store_close(store);
	scratch_remove(dir);
	for (i = 0; i < n; i++)
		stream_free(&s[i]);
	return how;
}

static void check(const struct seen *s, const u32 *want, u32 n)
{
	u32 i;

	for (i = 0; i < n && i < s->n; i++)
		assert_int_equal(s->what[i], want[i]);
	assert_int_equal(s->n, n);
}

#define CHECK(seen, ...)							\
	do {									\
		static const u32 want[] = { __VA_ARGS__ };			\
		check(seen, want, sizeof(want) / sizeof(want[0]));		\
	} while (0)

/* ---- tests ---- */

/* Two threads whose calls overlap, with @jobs workers. */
static void two_threads(unsigned int jobs, struct seen *seen)
{
	struct dep_analysis how;
	struct stream s[2];

	begin(&s[0], 1);
	call(&s[0], 1, 10, 20);
	stream_run(&s[0], 0, 0);
	call(&s[0], 2, 30, 60);
	begin(&s[1], 5);
	call(&s[1], 3, 15, 40);
	stream_run(&s[1], 0, 0);
	next_segment(&s[1], 45);
	call(&s[1], 4, 50, 70);
	how = show(s, 2, ~0ull, jobs, seen);
	assert_int_equal(how.gaps, 0);
	assert_int_equal(how.disorder, 0);
	assert_int_equal(how.counts.refs, 2);
}

static void by_timestamps(void **state)
{
	struct seen one = { 0 }, two = { 0 };

	(void)state;
	two_threads(1, &one);
	CHECK(&one, 12001, 22003, 10001, 11000, 12002, 20003, 21000, 22004, 10002, 10000 + END,
	      20004, 20000 + END);
	two_threads(2, &two);
	assert_memory_equal(&one, &two, sizeof(one));
}

/* The load of thread 1 is deferred to the beginning of its next segment, or its first timestamp. */
static void late(u64 timestamp, struct seen *seen)
{
	struct dep_analysis how;
	struct stream s[2];

	seen->deferring = 1;
	begin(&s[0], 1);
	call(&s[0], 1, 10, 11);
	stream_run(&s[0], 0, 0);
	next_segment(&s[0], timestamp);
	call(&s[0], 2, 20, 21);
	begin(&s[1], 2);
	call(&s[1], 3, 12, 13);
	call(&s[1], 4, 30, 31);
	how = show(s, 2, ~0ull, 1, seen);
	assert_int_equal(how.disorder, 0);
}

static void to_the_next_segment(void **state)
{
	static const u64 timestamps[] = { 20, 0, 15, 25 };
	size_t i;
	u32 k;

	(void)state;
	for (i = 0; i < sizeof(timestamps) / sizeof(timestamps[0]); i++) {
		struct seen seen = { 0 };

		late(timestamps[i], &seen);
		CHECK(&seen, 12001, 10001, 22003, 20003, 11000, 12002, 10002, 10000 + END, 22004,
		      20004, 20000 + END);
		for (k = 0; k < seen.n; k++)
			assert_int_equal(seen.late[k], seen.what[k] == 11000);
	}
}

/* Within a segment the load comes at the next timestamp, at the end of the last segment at once. */
static void to_the_next_timestamp(void **state)
{
	struct seen seen = { .deferring = 1 };
	struct stream s[2];

	(void)state;
	begin(&s[0], 1);
	stream_run(&s[0], 0, 0);
	call(&s[0], 1, 10, 20);
	stream_run(&s[0], 0, 0);
	begin(&s[1], 2);
	call(&s[1], 2, 3, 25);
	show(s, 2, ~0ull, 1, &seen);
	CHECK(&seen, 22002, 11000, 12001, 10001, 11000, 10000 + END, 20002, 20000 + END);
	assert_true(seen.late[1] && seen.late[4]);
}

static void missing_segment(void **state)
{
	struct seen seen = { 0 };
	struct dep_analysis how;
	struct stream s[1];

	(void)state;
	begin(&s[0], 1);
	call(&s[0], 1, 10, 11);
	next_segment(&s[0], 12);
	call(&s[0], 2, 20, 21);
	next_segment(&s[0], 22);
	call(&s[0], 3, 30, 31);
	how = show(s, 1, 1, 1, &seen);
	assert_int_equal(how.gaps, 1);
	CHECK(&seen, 12001, 10001, 10000 + GAP, 12003, 10003, 10000 + END);
}

/* Timestamps that run backwards count as equal, and are reported. */
static void disorder(void **state)
{
	struct seen seen = { 0 };
	struct dep_analysis how;
	struct stream s[1];

	(void)state;
	begin(&s[0], 1);
	call(&s[0], 1, 10, 11);
	call(&s[0], 2, 9, 12);
	how = show(s, 1, ~0ull, 1, &seen);
	assert_int_equal(how.disorder, 1);
	CHECK(&seen, 12001, 10001, 12002, 10002, 10000 + END);
}

/* A new process's stream begins with the call that created it, at a timestamp of the parent's. */
static void forked(void **state)
{
	struct adept_ev_start start = { .tid = 100, .timestamp = 30 };
	struct seen seen = { 0 };
	struct dep_analysis how;
	struct stream s[1];

	(void)state;
	begin(&s[0], 29);
	stream_event(&s[0], ADEPT_EV_THREAD_START, &start);
	stream_context(&s[0], 0x401000);
	call(&s[0], 57, 10, 31);
	how = show(s, 1, ~0ull, 1, &seen);
	assert_int_equal(how.disorder, 0);
	CHECK(&seen, 12057, 10057, 10000 + END);
}

static u8 code(void *arg, u32 process, u64 pc)
{
	(void)arg;
	(void)process;
	(void)pc;
	return DEP_CODE_PROGRAM;
}

/* Threads with many segments, which are filtered one after the other. */
static void many_segments(unsigned int jobs, struct seen *seen)
{
	struct dep_word_set locked, spin_words;
	const struct dep_process_filter once = {
		.code = code, .locked = &locked, .spin_words = &spin_words,
	};
	struct dep_analysis how;
	struct stream s[3];
	u32 i, k, n;

	dep_word_set_init(&locked);
	dep_word_set_init(&spin_words);
	seen->scope = &once;
	for (i = 0; i < 3; i++) {
		/* load repeatedly without a context in between */
		begin_with(&s[i], 1 + i, X86_BIT(X86_RDI));
		for (k = 1; k < 40; k++) {
			for (n = 0; n < 5; n++)
				stream_run(&s[i], 0, 0);
			/* the first thread synchronises seldom */
			if (i || k % 20 == 0)
				call(&s[i], 1, k * 10 + i, k * 10 + i + 4);
			next_segment(&s[i], 0);
		}
	}
	how = show(s, 3, ~0ull, jobs, seen);
	assert_int_equal(how.gaps, 0);
	assert_int_equal(how.counts.refs, 3 * 39 * 5);
	dep_word_set_free(&locked);
	dep_word_set_free(&spin_words);
	seen->scope = NULL;
}

static void through_a_filter(void **state)
{
	static struct seen one, other;
	u32 jobs, i, loads = 0;

	(void)state;
	many_segments(1, &one);
	for (i = 0; i < one.n; i++)
		loads += one.what[i] % 10000 == LOAD;
	/* the first load of each interval: the registers are the same after each call */
	assert_int_equal(loads, 2 * 39 + 2);
	for (jobs = 2; jobs <= 4; jobs++) {
		memset(&other, 0, sizeof(other));
		many_segments(jobs, &other);
		assert_memory_equal(&one, &other, sizeof(one));
	}
}

/* Return how many of @what there are, and the position of the last one. */
static u32 count(const struct seen *s, u32 what, u32 *last)
{
	u32 i, n = 0;

	for (i = 0; i < s->n; i++) {
		if (s->what[i] % 10000 != what)
			continue;
		*last = i;
		n++;
	}
	return n;
}

#define PAGES	20u

static void load_pages(u64 missing, unsigned int jobs, struct seen *seen)
{
	struct dep_word_set locked, spin_words;
	const struct dep_process_filter once = {
		.code = code, .locked = &locked, .spin_words = &spin_words,
	};
	struct stream s[1];
	u32 i;

	dep_word_set_init(&locked);
	dep_word_set_init(&spin_words);
	memset(seen, 0, sizeof(*seen));
	seen->scope = &once;
	begin_with(&s[0], 1, X86_BIT(X86_RSP));
	for (i = 0; i < PAGES; i++) {
		s[0].reg[X86_RDI] = 0x10000 + i * 4096;
		stream_run(&s[0], 0, 0);
	}
	next_segment(&s[0], 0);
	/* once more in one of these pages */
	s[0].reg[X86_RDI] -= 4096 - 256;
	stream_run(&s[0], 0, 0);
	next_segment(&s[0], 0);
	call(&s[0], 1, 10, 14);
	show(s, 1, missing, jobs, seen);
	dep_word_set_free(&locked);
	dep_word_set_free(&spin_words);
}

/* Deferred loads are emitted once: at the end of the interval, but before a missing segment. */
static void between_segments(void **state)
{
	u32 jobs, joined = 0, gap = 0, enter = 0, n;
	static struct seen s;

	(void)state;
	for (jobs = 1; jobs <= 3; jobs++) {
		load_pages(~0ull, jobs, &s);
		n = count(&s, DEFERRED, &joined);
		assert_in_range(n, PAGES / 2, PAGES - 1);
		assert_int_equal(count(&s, GAP, &gap), 0);
		assert_int_equal(count(&s, ENTER + 1, &enter), 1);
		assert_true(joined < enter);
		load_pages(1, jobs, &s);
		assert_int_equal(count(&s, DEFERRED, &joined), n);
		assert_int_equal(count(&s, GAP, &gap), 1);
		assert_int_equal(count(&s, ENTER + 1, &enter), 1);
		assert_true(joined < gap && gap < enter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_timestamps),
		cmocka_unit_test(to_the_next_segment),
		cmocka_unit_test(to_the_next_timestamp),
		cmocka_unit_test(missing_segment),
		cmocka_unit_test(disorder),
		cmocka_unit_test(forked),
		cmocka_unit_test(through_a_filter),
		cmocka_unit_test(between_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
