// SPDX-License-Identifier: GPL-2.0-or-later
/* Synchronisation by hooked functions and locked instructions, and missing windows. */
#include <sys/syscall.h>

#include "libdep/format/read/store.h"
#include "tests/unit/lib/joined.h"
#include "two_threads.h"

static void heap(void **state)
{
	struct two t;

	(void)state;
	/* used after free, without an earlier use */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.first, DEP_F_FREE, BLOCK, 0, 0);
	access_it(t.second, BLOCK + 12, DEP_READ);
	end(&t, 1);
	/* after its end */
	begin(&t);
	run(t.first, DEP_F_CALLOC, 4, 4, BLOCK);
	run(t.first, DEP_F_FREE, BLOCK, 0, 0);
	access_it(t.second, BLOCK + 16, DEP_READ);
	end(&t, 0);
	/* used again */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	access_it(t.first, BLOCK, DEP_WRITE);
	run(t.first, DEP_F_FREE, BLOCK, 0, 0);
	run(t.second, DEP_F_NEW, 16, 0, BLOCK);
	access_it(t.second, BLOCK, DEP_WRITE);
	run(t.second, DEP_F_DELETE, BLOCK, 0, 0);
	/* allocated by a function whose result is not known */
	run(t.first, DEP_F_POSIX_MEMALIGN, 0x9000, 16, 0);
	access_it(t.first, BLOCK, DEP_WRITE);
	end(&t, 0);
	/* more bytes than requested */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.first, DEP_F_MALLOC_USABLE_SIZE, BLOCK, 0, 32);
	access_it(t.first, BLOCK + 16, DEP_WRITE);
	run(t.first, DEP_F_FREE, BLOCK, 0, 0);
	run(t.second, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.second, DEP_F_MALLOC_USABLE_SIZE, BLOCK, 0, 32);
	access_it(t.second, BLOCK + 16, DEP_WRITE);
	end(&t, 0);
	/* a failed allocation frees nothing */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.first, DEP_F_REALLOC, BLOCK, 1u << 30, 0);
	access_it(t.second, BLOCK, DEP_WRITE);
	end(&t, 0);
	/* realloc() frees a block that it moves, not one that stays */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.first, DEP_F_REALLOC, BLOCK, 32, BLOCK);
	access_it(t.second, BLOCK, DEP_WRITE);
	assert_int_equal(races(&t), 0);
	run(t.first, DEP_F_REALLOC, BLOCK, 64, 2 * BLOCK);
	end(&t, 1);
}

/* All code of hooked functions is library code. */
static enum dep_code origin(void *arg, uint32_t process, uint64_t pc)
{
	(void)arg;
	(void)process;
	return pc < 0x1000 ? DEP_CODE_LIBRARY : DEP_CODE_PROGRAM;
}

/*
 * Accesses inside an allocator are ignored; those of a signal handler that interrupts it are not.
 */
static void inside(void **state)
{
	struct two t;

	(void)state;
	begin(&t);
	enter(t.first, DEP_F_MALLOC, 0x8000, 16, 0);
	access_it(t.first, LOCK, DEP_WRITE);
	access_it(t.second, LOCK, DEP_WRITE);
	assert_int_equal(races(&t), 0);
	event(t.first, ADEPT_EV_SIGNAL);
	access_it(t.first, LOCK, DEP_WRITE);
	assert_int_equal(races(&t), 1);
	/* on another stack */
	run(t.first, DEP_F_FREE, 0, 0, 0);
	event(t.first, ADEPT_EV_SIGRETURN);
	assert_true(t.first->muted);
	access_it(t.first, LOCK + 64, DEP_WRITE);
	access_it(t.second, LOCK + 64, DEP_WRITE);
	assert_int_equal(races(&t), 1);
	leave(t.first, 0x8000, BLOCK);
	access_it(t.first, LOCK + 64, DEP_WRITE);
	end(&t, 2);
	/* left by longjmp */
	begin(&t);
	enter(t.first, DEP_F_MALLOC, 0x8000, 16, 0);
	enter(t.first, DEP_F_MUTEX_INIT, 0x8100, LOCK, 0);
	assert_false(t.first->muted);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	enter(t.first, DEP_F_MALLOC, 0x8000, 16, 0);
	run(t.first, DEP_F_FREE, BLOCK, 0, 0);
	access_it(t.second, BLOCK, DEP_WRITE);
	assert_int_equal(races(&t), 1);
	/* a return without a call */
	leave(t.first, 0x8200, BLOCK);
	leave(t.first, 0x8100, 0);
	end(&t, 1);
	/* code of the program means that the function was left */
	begin(&t);
	t.options.code = origin;
	enter(t.first, DEP_F_MALLOC, 0x8000, 16, 0);
	access_it(t.first, LOCK, DEP_WRITE);
	access_it(t.second, LOCK, DEP_WRITE);
	end(&t, 1);
	/* the state after a gap is unknown */
	begin(&t);
	enter(t.first, DEP_F_MALLOC, 0x8000, 16, 0);
	assert_int_equal(sync_gap(&t.sync, &(struct dep_thread){ .serial = 1, .process = 1 }), 0);
	assert_false(t.first->muted);
	end(&t, 0);
}

/* In a missing window of a thread, other threads may have been created and joined. */
static void behind_gaps(void **state)
{
	struct dep_thread all[] = {
		{ .serial = 1, .tid = 10, .process = 1 }, { .serial = 2, .tid = 11, .process = 1 },
		{ .serial = 3, .tid = 12, .process = 1 },
	};
	struct dep_store store = { .model.threads = { all, 3, 3 } };
	struct sync_thread *third;
	struct two t;
	u32 i;

	(void)state;
	/* it continues after all ended threads.. */
	begin(&t);
	access_it(t.second, LOCK, DEP_WRITE);
	assert_int_equal(sync_thread_ended(t.second), 0);
	assert_int_equal(sync_gap(&t.sync, &(struct dep_thread){ .serial = 1, .process = 1 }), 0);
	access_it(t.first, LOCK, DEP_WRITE);
	end(&t, 0);
	/* ..as does a thread without a known creator.. */
	begin(&t);
	access_it(t.second, LOCK, DEP_WRITE);
	assert_int_equal(sync_thread_ended(t.second), 0);
	third = sync_thread_of(&t.sync, &(struct dep_thread){ .serial = 3, .tid = 12,
							      .process = 1 });
	assert_int_equal(sync_thread_begin(third), 0);
	access_it(third, LOCK, DEP_WRITE);
	/* ..and no further */
	access_it(t.first, BLOCK, DEP_WRITE);
	access_it(third, BLOCK, DEP_WRITE);
	end(&t, 1);
	/* Even if no two of them were there at once. */
	memset(&t, 0, sizeof(t));
	t.sync.options = &t.options;
	t.sync.words = &t.words;
	t.sync.store = &store;
	for (i = 0; i < 3; i++) {
		access_it(sync_thread_of(&t.sync, &all[i]), LOCK, DEP_WRITE);
		assert_int_equal(sync_end(&t.sync, &all[i]), 0);
	}
	end(&t, 0);
}

/*
 * The detector of an ended process is freed unless its results are needed; a late thread creates it
 * again.
 */
static void lives(void **state)
{
	struct dep_thread all[] = {
		{ .serial = 1, .process = 1 }, { .serial = 2, .process = 1 },
		{ .serial = 3, .process = 1 },
	};
	struct dep_store store = { .model.threads = { all, 3, 3 } };
	struct sync_thread *third;
	struct two t;
	u32 i;

	(void)state;
	/* a recorded thread may not have done anything yet */
	for (i = 0; i < 2; i++) {
		begin(&t);
		t.sync.pass = SYNC_FIRST;
		t.sync.store = i ? NULL : &store;
		locked(t.first, 0x1001, false);
		access_it(t.first, LOCK, DEP_MODIFY);
		locked(t.first, 0x1001, true);
		access_it(t.first, BLOCK, DEP_WRITE);
		assert_int_equal(sync_thread_ended(t.first), 0);
		assert_non_null(t.first->process->detector);
		assert_int_equal(sync_thread_ended(t.second), 0);
		assert_int_equal(!t.first->process->detector, i);
		assert_int_equal(sync_gap(&t.sync, &all[1]), 0);
		assert_int_equal(sync_end(&t.sync, &all[1]), 0);
		third = sync_thread_of(&t.sync, &all[2]);
		access_it(third, BLOCK, DEP_WRITE);
		assert_non_null(t.first->process->detector);
		assert_int_equal(sync_gap(&t.sync, &all[2]), 0);
		assert_int_equal(sync_thread_ended(third), 0);
		assert_null(t.first->process->detector);
		assert_int_equal(sync_facts_learn(&t.sync), 0);
		assert_true(dep_word_set_has(&t.first->process->scope->locked, LOCK, 4));
		finish(&t);
	}
	/* results are needed */
	begin(&t);
	t.sync.pass = SYNC_EXACT;
	t.sync.store = NULL;
	access_it(t.first, BLOCK, DEP_WRITE);
	access_it(t.second, BLOCK, DEP_WRITE);
	assert_int_equal(sync_thread_ended(t.first), 0);
	assert_int_equal(sync_thread_ended(t.second), 0);
	assert_non_null(t.first->process->detector);
	end(&t, 1);
}

/* A function returns to a locked instruction, whose timestamp comes first. */
static void returned_to(void **state)
{
	struct two t;
	size_t i;

	(void)state;
	begin(&t);
	for (i = 0; i < 2; i++) {
		struct sync_thread *thread = i ? t.second : t.first;
		u64 pc = 0x1000 + thread->serial;

		enter(thread, DEP_F_MALLOC_USABLE_SIZE, 0x8000, BLOCK, 0);
		locked(thread, pc, false);
		leave(thread, 0x8000, 16);
		access_it(thread, LOCK, DEP_MODIFY);
		locked(thread, pc, true);
	}
	end(&t, 0);
	/* one inside an allocator orders no thread */
	begin(&t);
	for (i = 0; i < 2; i++) {
		struct sync_thread *thread = i ? t.second : t.first;

		access_it(thread, BLOCK, DEP_WRITE);
		enter(thread, DEP_F_MALLOC, 0x8000, 16, 0);
		locked(thread, 0x1000 + thread->serial, false);
		access_it(thread, LOCK, DEP_MODIFY);
		locked(thread, 0x1000 + thread->serial, true);
		leave(thread, 0x8000, 2 * BLOCK);
		access_it(thread, BLOCK, DEP_WRITE);
	}
	end(&t, 1);
}

static void locks(void **state)
{
	static const struct { enum dep_function first, second; u32 races; } how[] = {
		{ DEP_F_RWLOCK_RDLOCK, DEP_F_RWLOCK_RDLOCK, 1 },
		{ DEP_F_RWLOCK_RDLOCK, DEP_F_RWLOCK_WRLOCK, 0 },
		{ DEP_F_RWLOCK_WRLOCK, DEP_F_RWLOCK_RDLOCK, 0 },
		{ DEP_F_RWLOCK_WRLOCK, DEP_F_RWLOCK_TRYWRLOCK, 0 },
	};
	struct two t;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		begin(&t);
		run(t.first, how[i].first, LOCK, 0, 0);
		access_it(t.first, BLOCK, DEP_WRITE);
		run(t.first, DEP_F_RWLOCK_UNLOCK, LOCK, 0, 0);
		run(t.second, how[i].second, LOCK, 0, 0);
		access_it(t.second, BLOCK, DEP_WRITE);
		run(t.second, DEP_F_RWLOCK_UNLOCK, LOCK, 0, 0);
		end(&t, how[i].races);
	}
	/* a lock that was not acquired orders nothing */
	begin(&t);
	run(t.first, DEP_F_RWLOCK_WRLOCK, LOCK, 0, 0);
	access_it(t.first, BLOCK, DEP_WRITE);
	run(t.first, DEP_F_RWLOCK_UNLOCK, LOCK, 0, 0);
	run(t.second, DEP_F_RWLOCK_TRYRDLOCK, LOCK, 0, 16);
	access_it(t.second, BLOCK, DEP_WRITE);
	end(&t, 1);
	/* an object in memory that was freed and allocated again */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 64, 0, BLOCK);
	run(t.first, DEP_F_MUTEX_LOCK, BLOCK, 0, 0);
	run(t.second, DEP_F_MALLOC, 64, 0, BLOCK);
	run(t.second, DEP_F_MUTEX_INIT, BLOCK, 0, 0);
	assert_int_equal(races(&t), 0);
	run(t.first, DEP_F_MUTEX_LOCK, BLOCK, 0, 0);
	end(&t, 1);
}

#define COND	0x30000u

/* How the first thread leaves pthread_cond_wait(). */
enum leaving {
	LEFT_NOT, LEFT_BY_RETURN, LEFT_BY_JUMP, LEFT_FROM_OUTSIDE, LEFT_BY_SIGRETURN,
	LEFT_CANCELLED, LEFT_ANOTHER_MUTEX,
};

static void wait_and_leave(struct sync_thread *t, enum leaving how)
{
	enter(t, DEP_F_BARRIER_INIT, 0x8100, 2 * COND, 0);
	if (how == LEFT_BY_SIGRETURN)
		event(t, ADEPT_EV_SIGNAL);
	enter(t, DEP_F_COND_WAIT, 0x8000, COND, LOCK);
	switch (how) {
	case LEFT_NOT:
		break;
	case LEFT_BY_RETURN:
		leave(t, 0x8000, 0);
		break;
	case LEFT_BY_JUMP:
		run(t, DEP_F_SPIN_INIT, 3 * COND, 0, 0);
		break;
	case LEFT_FROM_OUTSIDE:
		leave(t, 0x8100, 0);
		break;
	case LEFT_BY_SIGRETURN:
		event(t, ADEPT_EV_SIGRETURN);
		break;
	case LEFT_CANCELLED:
	case LEFT_ANOTHER_MUTEX:
		event(t, ADEPT_EV_SIGNAL);
		enter(t, DEP_F_MUTEX_UNLOCK, 0x7000, how == LEFT_CANCELLED ? LOCK : 2 * LOCK, 0);
		leave(t, 0x7000, 0);
		break;
	}
}

/* A thread that has left a wait, in any way, does not use the condition any more. */
static void waits(void **state)
{
	enum leaving how;
	struct two t;

	(void)state;
	for (how = LEFT_NOT; how <= LEFT_ANOTHER_MUTEX; how++) {
		begin(&t);
		wait_and_leave(t.first, how);
		/* order all its accesses before the destruction */
		assert_int_equal(sync_release(t.first, SYNC_FILE, 1), 0);
		assert_int_equal(sync_acquire(t.second, SYNC_FILE, 1), 0);
		run(t.second, DEP_F_COND_DESTROY, COND, 0, 0);
		end(&t, how == LEFT_NOT || how == LEFT_ANOTHER_MUTEX);
	}
}

/*
 * A word is waited for if a thread does the same between two sleeps repeatedly, and not if it does
 * something else each time, even if its accesses are merged.
 */
static void rounds(void **state)
{
	const struct adept_ev_syscall sleep = { .nr = SYS_nanosleep };
	union joined_room deferred = { .j = { .pc = 0x1000, .origin = 1 + DEP_CODE_PROGRAM,
					     .nwords = 1 } };
	struct two t;
	u32 i, other;

	(void)state;
	deferred.j.word[0].read = ~0ull;
	for (other = 0; other < 2; other++) {
		begin(&t);
		t.sync.pass = SYNC_FIRST;
		for (i = 0; i < 12; i++) {
			access_it(t.first, LOCK, DEP_WRITE);
			access_it(t.first, BLOCK, DEP_READ);
			deferred.j.addr = BLOCK & -DEP_ACCESS_PAGE_SIZE;
			deferred.j.words = 1ull << i * other;
			item(t.first, &(struct dep_item){
				.kind = DEP_ITEM_PAGE, .joined = &deferred.j,
			});
			call(t.first, &sleep);
		}
		assert_int_equal(dep_word_set_has(&t.first->process->scope->spin_words, BLOCK, 4),
				 !other);
		assert_false(dep_word_set_has(&t.first->process->scope->spin_words, LOCK, 4));
		finish(&t);
	}
}

static void frees_partly(struct sync_thread *t, u64 address, u64 again)
{
	const struct dep_call_values p = { .sp = 0x8000, .value = { address }, .again = again };

	item(t, &(struct dep_item){
		.kind = DEP_ITEM_FUNCTION,
		.function = { .pc = 0x90, .function = DEP_F_FREE, .known = 1, .passed = &p },
	});
	leave(t, 0x8000, 0);
}

/* Begin a first pass; the result is the set of words that may race. */
static const struct dep_word_set *begin_first(struct two *t)
{
	begin(t);
	t->sync.pass = SYNC_FIRST;
	return &t->first->process->scope->raced;
}

static void expect_behind_24(const struct dep_word_set *raced)
{
	assert_int_equal(raced->words, 10);
	assert_true(dep_word_set_has(raced, BLOCK + 24, 1));
	assert_true(dep_word_set_has(raced, BLOCK + 63, 1));
}

static void reported(struct sync_thread *t, u64 address, u64 size, u64 again)
{
	const struct dep_call_values p = { .sp = 0x8008, .value = { size }, .again = again };

	enter(t, DEP_F_MALLOC_USABLE_SIZE, 0x8000, address, 0);
	item(t, &(struct dep_item){
		.kind = DEP_ITEM_FUNCTION,
		.function = { .pc = 0x90, .is_return = 1, .known = 1, .passed = &p },
	});
}

/* Bytes that the filter does not emit again after free() may race. */
static void freed_partly(void **state)
{
	const struct dep_word_set *raced;
	struct two t;

	(void)state;
	raced = begin_first(&t);
	run(t.first, DEP_F_MALLOC, 64, 0, BLOCK);
	frees_partly(t.first, BLOCK, 64);
	run(t.first, DEP_F_MALLOC, 64, 0, BLOCK);
	frees_partly(t.first, BLOCK, DEP_FILTER_ALL_OF_IT);
	frees_partly(t.first, BLOCK, 0);
	assert_int_equal(raced->words, 0);
	run(t.first, DEP_F_MALLOC, 64, 0, BLOCK);
	frees_partly(t.first, BLOCK, 24);
	expect_behind_24(raced);
	/* a damaged store: the accessed part of the range, and a page around it */
	assert_int_equal(sync_access(t.first, 0x2000, BLOCK + (1ull << 40), 8, RACE_READ), 0);
	assert_int_equal(sync_flush(t.first), 0);
	run(t.second, DEP_F_MALLOC, 24, 0, BLOCK);
	reported(t.first, BLOCK, ~0ull >> 1, 24);
	assert_in_range(raced->words, 1024, 4096);
	assert_true(dep_word_set_has(raced, BLOCK + (1ull << 40), 8));
	finish(&t);
	/* in other passes the filter does not hide accesses */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 64, 0, BLOCK);
	frees_partly(t.first, BLOCK, 0);
	assert_int_equal(t.first->process->scope->raced.words, 0);
	finish(&t);
}

/* The same for a block whose size was reported again without a change. */
static void reported_again(void **state)
{
	const struct dep_word_set *raced;
	struct two t;

	(void)state;
	raced = begin_first(&t);
	run(t.first, DEP_F_MALLOC, 24, 0, BLOCK);
	reported(t.first, BLOCK, 64, DEP_FILTER_ALL_OF_IT);
	reported(t.first, BLOCK, 64, 0);
	assert_int_equal(raced->words, 0);
	/* Another thread has allocated it in the meantime. */
	run(t.second, DEP_F_MALLOC, 24, 0, BLOCK);
	reported(t.first, BLOCK, 64, 0);
	expect_behind_24(raced);
	finish(&t);
}

static void locks_it(struct sync_thread *t, u32 type)
{
	locked(t, 0x100, false);
	item(t, &(struct dep_item){
		.kind = DEP_ITEM_REF,
		.ref = { .pc = 0x100, .addr = LOCK, .size = 4, .type = (u16)type },
	});
	locked(t, 0x100, true);
}

/* An atomic counter that did not end an interval orders nothing, but is no plain access either. */
static void counts(void **state)
{
	struct two t;
	u32 i;

	(void)state;
	for (i = 0; i < 2; i++) {
		begin(&t);
		t.sync.pass = SYNC_FIRST;
		access_it(t.first, BLOCK, DEP_WRITE);
		locks_it(t.first, DEP_MODIFY | (i ? DEP_REF_COUNTS : 0));
		locks_it(t.second, DEP_MODIFY);
		access_it(t.second, BLOCK, DEP_WRITE);
		end(&t, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heap),
		cmocka_unit_test(inside),
		cmocka_unit_test(behind_gaps),
		cmocka_unit_test(lives),
		cmocka_unit_test(returned_to),
		cmocka_unit_test(locks),
		cmocka_unit_test(waits),
		cmocka_unit_test(rounds),
		cmocka_unit_test(freed_partly),
		cmocka_unit_test(reported_again),
		cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
