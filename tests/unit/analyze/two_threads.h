/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two synthetic threads of one process, for tests of libdep/analyze/sync. */
#ifndef TESTS_UNIT_ANALYZE_TWO_THREADS_H
#define TESTS_UNIT_ANALYZE_TWO_THREADS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/analyze/sync/events.h"
#include "libdep/analyze/sync/hooked_functions.h"

#define BLOCK	0x10000u
#define LOCK	0x20000u

struct two {
	struct dep_races_options options;
	struct sync_words words;
	struct sync_events sync;
	struct sync_thread *first, *second;
};

static inline void begin(struct two *t)
{
	memset(t, 0, sizeof(*t));
	t->sync.options = &t->options;
	t->sync.words = &t->words;
	t->first = sync_thread_of(&t->sync, &(struct dep_thread){ .serial = 1, .tid = 10,
								  .process = 1 });
	t->second = sync_thread_of(&t->sync, &(struct dep_thread){ .serial = 2, .tid = 11,
								   .process = 1 });
	assert_int_equal(sync_thread_begin(t->first), 0);
	assert_int_equal(sync_thread_begin(t->second), 0);
}

static inline void finish(struct two *t)
{
	sync_free(&t->sync);
	sync_facts_free(&t->sync);
}

static inline void call(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	assert_int_equal(sync_call_enter(t, c, 0x1000), 0);
	assert_int_equal(sync_call_leave(t, c, 0x1000), 0);
	assert_int_equal(sync_flush(t), 0);
}

static inline u32 races(const struct two *t)
{
	return race_rows_count(t->sync.processes->rows);
}

static inline void item(struct sync_thread *t, const struct dep_item *it)
{
	const struct dep_thread *of = &(struct dep_thread){
		.serial = t->serial, .tid = t->tid, .process = 1,
	};

	assert_int_equal(sync_items(t->sync, of, it, 1, false), 1);
}

static inline void enter(struct sync_thread *t, enum dep_function function, u64 sp, u64 a, u64 b)
{
	const struct dep_call_values p = { .sp = sp, .value = { a, b } };

	item(t, &(struct dep_item){
		.kind = DEP_ITEM_FUNCTION,
		.function = {
			.pc = 0x100 + function, .function = function, .known = 15, .passed = &p,
		},
	});
}

static inline void leave(struct sync_thread *t, u64 sp, u64 result)
{
	const struct dep_call_values p = { .sp = sp + 8, .value = { result } };

	item(t, &(struct dep_item){
		.kind = DEP_ITEM_FUNCTION,
		.function = { .pc = 0x50, .is_return = 1, .known = 1, .passed = &p },
	});
}

static inline void run(struct sync_thread *t, enum dep_function function, u64 a, u64 b, u64 result)
{
	enter(t, function, 0x8000, a, b);
	leave(t, 0x8000, result);
}

static inline void access_it(struct sync_thread *t, u64 address, u32 type)
{
	item(t, &(struct dep_item){
		.kind = DEP_ITEM_REF,
		.ref = {
			.pc = 0x1000 + (address & 0xf0) + t->serial, .addr = address, .size = 4,
			.type = type,
		},
	});
}

static inline void event(struct sync_thread *t, u32 id)
{
	const struct adept_ev_signal sig = { .signo = 10 };

	item(t, &(struct dep_item){
		.kind = DEP_ITEM_EVENT, .event = { .id = id, .size = sizeof(sig), .payload = &sig },
	});
}

static inline void end(struct two *t, u32 want)
{
	assert_int_equal(races(t), want);
	finish(t);
}

static inline void locked(struct sync_thread *t, u64 pc, bool after)
{
	item(t, &(struct dep_item){
			.kind = DEP_ITEM_TIMESTAMP,
			.timestamp = {.pc = pc, .after = after, .wrote = true},
		});
}

#endif
