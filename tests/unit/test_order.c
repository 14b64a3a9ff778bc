// SPDX-License-Identifier: GPL-2.0-or-later
/* What orders threads: files, objects, and what the kernel says that it accessed. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../libdep/analyze/order/functions.h"
#include "../../libdep/format/store.h"

static void files(void **state)
{
	struct order_files f = { 0 }, copy = { 0 };
	u32 three;

	(void)state;
	three = order_file(&f, 3);
	assert_true(three != 0);
	assert_int_equal(order_file(&f, 3), three);
	assert_int_not_equal(order_file(&f, 4), three);
	/* a pipe is one file, and so is a duplicate */
	order_file_new(&f, 5, 6);
	assert_int_equal(order_file(&f, 5), order_file(&f, 6));
	order_file_same(&f, 100, 5);
	assert_int_equal(order_file(&f, 100), order_file(&f, 6));
	/* a number that is given again */
	order_file_new(&f, 3, -1);
	assert_int_not_equal(order_file(&f, 3), three);
	order_file_socket(&f, 7);
	order_file_socket(&f, 8);
	assert_int_equal(order_file(&f, 7), order_file(&f, 8));
	/* a copy is one only when somebody changes something */
	order_file_new(&f, ORDER_FILES_MAX - 2, -1);
	order_files_copy(&copy, &f);
	assert_int_equal(order_file(&copy, 100), order_file(&f, 5));
	order_file_same(&copy, 100, 5);
	assert_ptr_equal(copy.table, f.table);
	assert_int_equal(f.table->refs, 2);
	order_file_new(&copy, 100, -1);
	assert_int_not_equal(order_file(&copy, 100), order_file(&f, 100));
	assert_int_equal(order_file(&copy, 6), order_file(&f, 6));
	assert_int_equal(order_file(&copy, ORDER_FILES_MAX - 2),
			 order_file(&f, ORDER_FILES_MAX - 2));
	assert_int_equal(f.table->refs, 1);
	order_file_new(&f, 6, -1);
	assert_int_not_equal(order_file(&copy, 6), order_file(&f, 6));
	order_files_free(&f);
	order_files_free(&copy);
}

static void files_of_any_number(void **state)
{
	static const s64 odd[] = { -1, ORDER_FILES_MAX, 1ll << 40, INT64_MIN, INT64_MAX };
	struct order_files f = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_int_equal(order_file(&f, odd[i]), order_file(&f, ORDER_FILES_MAX - 1));
	/* who asks for one that nobody knows of needs no room for it */
	assert_null(f.table);
	assert_int_equal(order_file_new(&f, -1, -1), 0);
	assert_null(f.table);
	assert_int_equal(order_file_new(&f, INT64_MAX, -1), 0);
	assert_int_equal(f.table->room, ORDER_FILES_MAX);
	order_files_free(&f);
}

static void objects(void **state)
{
	struct order_object *all[1000], *o;
	struct order_objects objects = { 0 };
	struct race_detector *d;
	u64 i;

	(void)state;
	assert_int_equal(race_detector_create(&d, &(struct race_ops){ 0 }, NULL), 0);
	assert_null(order_object_find(&objects, ORDER_WORD, 1));
	assert_false(order_line_marked(&objects, 4));
	for (i = 0; i < 1000; i++) {
		all[i] = order_object_get(&objects, ORDER_WORD, i * 1000);
		assert_non_null(all[i]);
	}
	for (i = 0; i < 1000; i++) {
		assert_ptr_equal(order_object_find(&objects, ORDER_WORD, i * 1000), all[i]);
		assert_ptr_equal(order_object_get(&objects, ORDER_WORD, i * 1000), all[i]);
		assert_true(order_line_marked(&objects, i * 4000));
		assert_null(order_object_find(&objects, ORDER_WORD, i * 1000 + 1));
		assert_null(order_object_find(&objects, ORDER_FUTEX, i * 1000));
	}
	o = order_object_get(&objects, ORDER_FUTEX, 0);
	assert_ptr_not_equal(o, all[0]);
	order_objects_free(&objects, d);
	assert_null(order_object_find(&objects, ORDER_WORD, 0));
	race_detector_free(d);
}

/* Also where hashes are the same. */
static void serials(void **state)
{
	static char all[5000];
	struct order_serials s = { 0 };
	u32 i;

	(void)state;
	assert_null(order_serials_find(&s, 0));
	for (i = 0; i < sizeof(all); i++)
		assert_int_equal(order_serials_add(&s, i * 0x10001, &all[i]), 0);
	for (i = 0; i < sizeof(all); i++) {
		assert_ptr_equal(order_serials_find(&s, i * 0x10001), &all[i]);
		assert_null(order_serials_find(&s, i * 0x10001 + 1));
	}
	order_serials_free(&s);
	assert_null(order_serials_find(&s, 0));
}

/* ---- system calls ---- */

struct two {
	struct dep_races_options options;
	struct order_words words;
	struct order_feed feed;
	struct order_thread *first, *second;
};

static void begin(struct two *t)
{
	memset(t, 0, sizeof(*t));
	t->feed.options = &t->options;
	t->feed.words = &t->words;
	t->first = order_thread_of(&t->feed, &(struct dep_thread){ .serial = 1, .tid = 10,
								  .process = 1 });
	t->second = order_thread_of(&t->feed, &(struct dep_thread){ .serial = 2, .tid = 11,
								   .process = 1 });
	assert_int_equal(order_thread_begin(t->first), 0);
	assert_int_equal(order_thread_begin(t->second), 0);
}

static void finish(struct two *t)
{
	order_free(&t->feed);
	order_scopes_free(&t->feed);
}

static void call(struct order_thread *t, const struct adept_ev_syscall *c)
{
	assert_int_equal(order_call_enter(t, c, 0x1000), 0);
	assert_int_equal(order_call_leave(t, c, 0x1000), 0);
	assert_int_equal(order_flush(t), 0);
}

static u32 races(const struct two *t)
{
	return race_rows_count(t->feed.processes->rows);
}

/* Whatever a damaged store says of sizes, it does not cost as much shadow memory. */
static void huge_calls(void **state)
{
	static const u64 huge[] = { 1ull << 31, 1ull << 40, 1ull << 62, ~0ull - 4096 };
	struct race_stats stats;
	struct two t;
	size_t i;

	(void)state;
	begin(&t);
	for (i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
		call(t.first, &(struct adept_ev_syscall){ .nr = SYS_read, .result = huge[i],
							 .args = { 0, 0x10000, huge[i] } });
		call(t.first, &(struct adept_ev_syscall){ .nr = SYS_write, .result = huge[i],
							 .args = { 0, 0x20000, huge[i] } });
		call(t.first, &(struct adept_ev_syscall){ .nr = SYS_epoll_wait, .result = huge[i],
							 .args = { 0, 0x30000, huge[i] } });
		call(t.first, &(struct adept_ev_syscall){ .nr = SYS_read, .result = 100,
							 .args = { 0, ~0ull - 50, 100 } });
		call(t.second, &(struct adept_ev_syscall){ .nr = SYS_munmap,
							  .args = { 0x10000, huge[i] } });
		call(t.second, &(struct adept_ev_syscall){ .nr = SYS_mremap, .result = 0x5000,
							  .args = { 0x5000, huge[i], 1 } });
		call(t.second, &(struct adept_ev_syscall){ .nr = SYS_mmap, .result = 0x7000,
							  .args = { 0x7000, huge[i], 0,
								    MAP_FIXED | MAP_STACK } });
	}
	race_get_stats(t.feed.processes->detector, &stats);
	assert_true(stats.bytes < 64u << 20);
	finish(&t);
}

static void unmapped(void **state)
{
	struct two t;

	(void)state;
	begin(&t);
	assert_int_equal(order_access(t.first, 0x2000, 0x50008, 4, RACE_WRITE), 0);
	assert_int_equal(order_flush(t.first), 0);
	call(t.second, &(struct adept_ev_syscall){ .nr = SYS_munmap, .args = { 0x60000, 4096 } });
	assert_int_equal(races(&t), 0);
	call(t.second, &(struct adept_ev_syscall){ .nr = SYS_munmap, .args = { 0x50000, 4096 } });
	assert_int_equal(races(&t), 1);
	/* it is another one's now */
	assert_int_equal(order_access(t.first, 0x2001, 0x50008, 4, RACE_WRITE), 0);
	assert_int_equal(order_flush(t.first), 0);
	assert_int_equal(races(&t), 1);
	finish(&t);
}

static void closed(void **state)
{
	const struct adept_ev_syscall use = { .nr = SYS_fsync, .args = { 5 } };
	const struct adept_ev_syscall replace = { .nr = SYS_dup2, .result = 5, .args = { 6, 5 } };
	const struct adept_ev_syscall close = { .nr = SYS_close, .args = { 5 } };
	struct two t;

	(void)state;
	begin(&t);
	call(t.first, &use);
	call(t.second, &replace);
	assert_int_equal(races(&t), 0);
	call(t.second, &close);
	assert_int_equal(races(&t), 1);
	finish(&t);
	/* The child of vfork closes its own. */
	begin(&t);
	t.second->vforked = true;
	call(t.first, &use);
	call(t.second, &close);
	assert_int_equal(races(&t), 0);
	finish(&t);
}

static void piped(void **state)
{
	struct two t;

	(void)state;
	begin(&t);
	call(t.first, &(struct adept_ev_syscall){ .nr = SYS_pipe, .args = { 0x1000 },
						 .out = 8ull << 32 | 7 });
	assert_int_equal(order_access(t.first, 0x2000, 0x50008, 4, RACE_WRITE), 0);
	call(t.first, &(struct adept_ev_syscall){ .nr = SYS_write, .result = 1,
						 .args = { 8, 0x3000, 1 } });
	call(t.second, &(struct adept_ev_syscall){ .nr = SYS_read, .result = 1,
						  .args = { 7, 0x4000, 1 } });
	assert_int_equal(order_access(t.second, 0x2001, 0x50008, 4, RACE_READ), 0);
	assert_int_equal(order_flush(t.second), 0);
	/* only that it reads the descriptor, of which nobody told it */
	assert_int_equal(races(&t), 1);
	finish(&t);
}

/* What a call found in memory is accessed by that call, and by no other. */
static void buffers(void **state)
{
	const struct adept_ev_syscall writev = { .nr = SYS_writev, .result = 8,
						.args = { 5, 0x9000, 1 } };
	const struct adept_ev_syscall readv = { .nr = SYS_readv, .result = 8,
					       .args = { 6, 0x9000, 1 } };
	struct two t;
	u32 i;

	(void)state;
	begin(&t);
	assert_int_equal(order_access(t.first, 0x2000, 0x50004, 1, RACE_WRITE), 0);
	assert_int_equal(order_flush(t.first), 0);
	call(t.second, &writev);
	assert_int_equal(races(&t), 0);
	order_note_buffer(t.second, &(struct adept_ev_buffer){ 0x50000, 4 });
	call(t.second, &writev);
	assert_int_equal(races(&t), 0);
	order_note_buffer(t.second, &(struct adept_ev_buffer){ 0x50000, 8 });
	call(t.second, &writev);
	assert_int_equal(races(&t), 1);
	call(t.second, &readv);
	assert_int_equal(races(&t), 1);
	/* from a damaged store */
	for (i = 0; i < 2 * ADEPT_BUFFERS; i++)
		order_note_buffer(t.second, &(struct adept_ev_buffer){ i << 20, ~0ull });
	order_note_buffer(t.second, &(struct adept_ev_buffer){ ~0ull - 7, 8 });
	call(t.second, &readv);
	finish(&t);
}

/* ---- functions ---- */

#define BLOCK	0x10000u
#define LOCK	0x20000u

static void item(struct order_thread *t, const struct dep_item *it)
{
	const struct dep_thread *of = &(struct dep_thread){
		.serial = t->serial, .tid = t->tid, .process = 1,
	};

	assert_int_equal(order_items(t->feed, of, it, 1, false), 1);
}

static void enter(struct order_thread *t, enum dep_function function, u64 sp, u64 a, u64 b)
{
	const struct dep_passed p = { .sp = sp, .value = { a, b } };

	item(t, &(struct dep_item){
		.kind = DEP_ITEM_FUNCTION,
		.function = {
			.pc = 0x100 + function, .function = function, .known = 15, .passed = &p,
		},
	});
}

static void leave(struct order_thread *t, u64 sp, u64 result)
{
	const struct dep_passed p = { .sp = sp + 8, .value = { result } };

	item(t, &(struct dep_item){
		.kind = DEP_ITEM_FUNCTION,
		.function = { .pc = 0x50, .is_return = 1, .known = 1, .passed = &p },
	});
}

static void run(struct order_thread *t, enum dep_function function, u64 a, u64 b, u64 result)
{
	enter(t, function, 0x8000, a, b);
	leave(t, 0x8000, result);
}

static void access_it(struct order_thread *t, u64 address, u32 type)
{
	item(t, &(struct dep_item){
		.kind = DEP_ITEM_REF,
		.ref = {
			.pc = 0x1000 + (address & 0xf0) + t->serial, .addr = address, .size = 4,
			.type = type,
		},
	});
}

static void event(struct order_thread *t, u32 id)
{
	const struct adept_ev_signal sig = { .signo = 10 };

	item(t, &(struct dep_item){
		.kind = DEP_ITEM_EVENT, .event = { .id = id, .size = sizeof(sig), .payload = &sig },
	});
}

static void end(struct two *t, u32 want)
{
	assert_int_equal(races(t), want);
	finish(t);
}

static void heap(void **state)
{
	struct two t;

	(void)state;
	/* freed while it is used, and not used at all before */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.first, DEP_F_FREE, BLOCK, 0, 0);
	access_it(t.second, BLOCK + 12, DEP_READ);
	end(&t, 1);
	/* behind its end */
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
	/* by one whose address is not known */
	run(t.first, DEP_F_POSIX_MEMALIGN, 0x9000, 16, 0);
	access_it(t.first, BLOCK, DEP_WRITE);
	end(&t, 0);
	/* more than it was asked for */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.first, DEP_F_MALLOC_USABLE_SIZE, BLOCK, 0, 32);
	access_it(t.first, BLOCK + 16, DEP_WRITE);
	run(t.first, DEP_F_FREE, BLOCK, 0, 0);
	run(t.second, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.second, DEP_F_MALLOC_USABLE_SIZE, BLOCK, 0, 32);
	access_it(t.second, BLOCK + 16, DEP_WRITE);
	end(&t, 0);
	/* an allocation that failed gives nothing back */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.first, DEP_F_REALLOC, BLOCK, 1u << 30, 0);
	access_it(t.second, BLOCK, DEP_WRITE);
	end(&t, 0);
	/* one that moved does, one that stayed does not */
	begin(&t);
	run(t.first, DEP_F_MALLOC, 16, 0, BLOCK);
	run(t.first, DEP_F_REALLOC, BLOCK, 32, BLOCK);
	access_it(t.second, BLOCK, DEP_WRITE);
	assert_int_equal(races(&t), 0);
	run(t.first, DEP_F_REALLOC, BLOCK, 64, 2 * BLOCK);
	end(&t, 1);
}

/* Functions are the library's. */
static enum dep_code whose(void *arg, uint32_t process, uint64_t pc)
{
	(void)arg;
	(void)process;
	return pc < 0x1000 ? DEP_CODE_LIBRARY : DEP_CODE_PROGRAM;
}

/* What is done inside is nobody's business; what interrupts it is. */
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
	/* what comes there without having been called */
	leave(t.first, 0x8200, BLOCK);
	leave(t.first, 0x8100, 0);
	end(&t, 1);
	/* the program's code shows that, too */
	begin(&t);
	t.options.code = whose;
	enter(t.first, DEP_F_MALLOC, 0x8000, 16, 0);
	access_it(t.first, LOCK, DEP_WRITE);
	access_it(t.second, LOCK, DEP_WRITE);
	end(&t, 1);
	/* nobody knows what a thread did in a gap */
	begin(&t);
	enter(t.first, DEP_F_MALLOC, 0x8000, 16, 0);
	assert_int_equal(order_gap(&t.feed, &(struct dep_thread){ .serial = 1, .process = 1 }), 0);
	assert_false(t.first->muted);
	end(&t, 0);
}

/* Where a window of a thread is missing others may have been created and joined in it. */
static void behind_gaps(void **state)
{
	struct order_thread *third;
	struct two t;

	(void)state;
	/* it goes on behind all that there was.. */
	begin(&t);
	access_it(t.second, LOCK, DEP_WRITE);
	assert_int_equal(order_thread_ended(t.second), 0);
	assert_int_equal(order_gap(&t.feed, &(struct dep_thread){ .serial = 1, .process = 1 }), 0);
	access_it(t.first, LOCK, DEP_WRITE);
	end(&t, 0);
	/* ..as does a thread that nobody is known to have created.. */
	begin(&t);
	access_it(t.second, LOCK, DEP_WRITE);
	assert_int_equal(order_thread_ended(t.second), 0);
	third = order_thread_of(&t.feed, &(struct dep_thread){ .serial = 3, .tid = 12,
							      .process = 1 });
	assert_int_equal(order_thread_begin(third), 0);
	access_it(third, LOCK, DEP_WRITE);
	/* ..and no further */
	access_it(t.first, BLOCK, DEP_WRITE);
	access_it(third, BLOCK, DEP_WRITE);
	end(&t, 1);
}

static void locked(struct order_thread *t, u64 pc, bool behind);

/* Of a process that is over nothing is kept that nobody asks for; it can come to life again. */
static void lives(void **state)
{
	struct dep_thread all[] = {
		{ .serial = 1, .process = 1 }, { .serial = 2, .process = 1 },
		{ .serial = 3, .process = 1 },
	};
	struct dep_store store = { .model.threads = { all, 3, 3 } };
	struct order_thread *third;
	struct two t;
	u32 i;

	(void)state;
	/* one that was recorded may not have done anything yet */
	for (i = 0; i < 2; i++) {
		begin(&t);
		t.feed.pass = ORDER_FIRST;
		t.feed.store = i ? NULL : &store;
		locked(t.first, 0x1001, false);
		access_it(t.first, LOCK, DEP_MODIFY);
		locked(t.first, 0x1001, true);
		access_it(t.first, BLOCK, DEP_WRITE);
		assert_int_equal(order_thread_ended(t.first), 0);
		assert_non_null(t.first->process->detector);
		assert_int_equal(order_thread_ended(t.second), 0);
		assert_int_equal(!t.first->process->detector, i);
		assert_int_equal(order_gap(&t.feed, &all[1]), 0);
		assert_int_equal(order_end(&t.feed, &all[1]), 0);
		third = order_thread_of(&t.feed, &all[2]);
		access_it(third, BLOCK, DEP_WRITE);
		assert_non_null(t.first->process->detector);
		assert_int_equal(order_gap(&t.feed, &all[2]), 0);
		assert_int_equal(order_thread_ended(third), 0);
		assert_null(t.first->process->detector);
		assert_int_equal(order_scopes_learn(&t.feed), 0);
		assert_true(dep_places_has(&t.first->process->scope->locked, LOCK, 4));
		finish(&t);
	}
	/* races are asked for */
	begin(&t);
	t.feed.pass = ORDER_EXACT;
	t.feed.store = NULL;
	access_it(t.first, BLOCK, DEP_WRITE);
	access_it(t.second, BLOCK, DEP_WRITE);
	assert_int_equal(order_thread_ended(t.first), 0);
	assert_int_equal(order_thread_ended(t.second), 0);
	assert_non_null(t.first->process->detector);
	end(&t, 1);
}

static void locked(struct order_thread *t, u64 pc, bool behind)
{
	item(t, &(struct dep_item){
		.kind = DEP_ITEM_TICKET, .ticket = { .pc = pc, .behind = behind, .wrote = true },
	});
}

/* A locked instruction that a function returns to: its ticket comes first. */
static void returned_to(void **state)
{
	struct two t;
	size_t i;

	(void)state;
	begin(&t);
	for (i = 0; i < 2; i++) {
		struct order_thread *thread = i ? t.second : t.first;
		u64 pc = 0x1000 + thread->serial;

		enter(thread, DEP_F_MALLOC_USABLE_SIZE, 0x8000, BLOCK, 0);
		locked(thread, pc, false);
		leave(thread, 0x8000, 16);
		access_it(thread, LOCK, DEP_MODIFY);
		locked(thread, pc, true);
	}
	end(&t, 0);
	/* one inside orders nobody */
	begin(&t);
	for (i = 0; i < 2; i++) {
		struct order_thread *thread = i ? t.second : t.first;

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
	/* one that could not be had orders nothing */
	begin(&t);
	run(t.first, DEP_F_RWLOCK_WRLOCK, LOCK, 0, 0);
	access_it(t.first, BLOCK, DEP_WRITE);
	run(t.first, DEP_F_RWLOCK_UNLOCK, LOCK, 0, 0);
	run(t.second, DEP_F_RWLOCK_TRYRDLOCK, LOCK, 0, 16);
	access_it(t.second, BLOCK, DEP_WRITE);
	end(&t, 1);
	/* an object whose memory is a new one's */
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

/* What the first thread does behind its pthread_cond_wait(). */
enum leaving {
	LEFT_NOT, LEFT_BY_RETURN, LEFT_BY_JUMP, LEFT_FROM_OUTSIDE, LEFT_BY_SIGRETURN,
	LEFT_CANCELLED, LEFT_ANOTHER_MUTEX,
};

static void wait_and_leave(struct order_thread *t, enum leaving how)
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

/* Who has left a wait, however, does not wait. */
static void waits(void **state)
{
	enum leaving how;
	struct two t;

	(void)state;
	for (how = LEFT_NOT; how <= LEFT_ANOTHER_MUTEX; how++) {
		begin(&t);
		wait_and_leave(t.first, how);
		/* all that it did comes before */
		assert_int_equal(order_release(t.first, ORDER_FILE, 1), 0);
		assert_int_equal(order_acquire(t.second, ORDER_FILE, 1), 0);
		run(t.second, DEP_F_COND_DESTROY, COND, 0, 0);
		end(&t, how == LEFT_NOT || how == LEFT_ANOTHER_MUTEX);
	}
}

/* ---- processes ---- */

static void shares(void **state)
{
	static const struct order_share all[] = {
		{ { 1, 7, 0 }, 1, true, 0x1000 },
		{ { 1, 7, 0 }, 2, false, 0x9000 },
		{ { 1, 8, 0 }, 3, true, 0x1000 },
		/* the same twice in one place, and in two places */
		{ { 1, 8, 0 }, 3, true, 0x1000 },
		{ { 2, 8, 0 }, 4, true, 0x1000 },
		{ { 2, 8, 0 }, 4, true, 0x2000 },
		/* nobody writes */
		{ { 3, 1, 0 }, 5, false, 0x1000 },
		{ { 3, 1, 0 }, 6, false, 0x1000 },
		{ { ORDER_ANONYMOUS, 9, 1 }, 9, true, 0x1000 },
		{ { ORDER_ANONYMOUS, 9, 2 }, 10, true, 0x1000 },
	};
	struct order_shares s = { 0 };
	size_t i;

	(void)state;
	assert_int_equal(order_shares_settle(&s), 0);
	assert_false(order_shares_has(&s, 1));
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(order_shares_note(&s, &all[i]), 0);
	assert_int_equal(order_shares_settle(&s), 0);
	assert_int_equal(s.nimages, 3);
	assert_true(order_shares_has(&s, 1));
	assert_true(order_shares_has(&s, 2));
	assert_true(order_shares_has(&s, 4));
	assert_false(order_shares_has(&s, 3));
	order_shares_free(&s);
}

/* Each is noted once, however often and in whatever order. */
static void many_shares(void **state)
{
	struct order_shares s = { 0 };
	struct order_share share = { .image = 1 };
	u32 i;

	(void)state;
	for (i = 0; i < 60000; i++) {
		share.key = (struct order_key){ i % 3, i % 20000 / 100, 0 };
		share.at = i % 100 << 12;
		share.writes = i >= 40000;
		assert_int_equal(order_shares_note(&s, &share), 0);
	}
	assert_int_equal(s.n, 60000);
	share.writes = false;
	for (i = 0; i < 60000; i++) {
		share.key = (struct order_key){ i % 3, i % 20000 / 100, 0 };
		share.at = i % 100 << 12;
		assert_int_equal(order_shares_note(&s, &share), 0);
	}
	assert_int_equal(s.n, 60000);
	for (i = 0; i < 60000; i++)
		assert_int_equal(s.v[i].writes, i >= 40000);
	order_shares_free(&s);
}

#define SHARED	0x200000u
#define MOVED	0x700000u
#define OWN	0x500000u
#define FILE_MAP 0x900000u

/* A process that maps memory.. */
static void begin_first(struct two *t, struct order_shares *s, u64 flags)
{
	static u32 both[] = { 1, 2 };

	memset(t, 0, sizeof(*t));
	*s = (struct order_shares){ .image = both, .nimages = 2 };
	t->feed.options = &t->options;
	t->feed.words = &t->words;
	t->feed.pass = ORDER_EXACT;
	t->feed.shares = s;
	t->first = order_thread_of(&t->feed, &(struct dep_thread){ .serial = 1, .tid = 10,
								  .process = 1 });
	assert_int_equal(order_thread_begin(t->first), 0);
	call(t->first, &(struct adept_ev_syscall){
		.nr = SYS_mmap, .result = SHARED,
		.args = { 0, 8192, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS },
	});
}

/* ..and one that it forked. */
static void begin_second(struct two *t)
{
	t->second = order_thread_of(&t->feed, &(struct dep_thread){ .serial = 2, .tid = 20,
								   .process = 2 });
	assert_int_equal(order_thread_begin(t->second), 0);
	assert_ptr_equal(t->first->process, t->second->process);
}

static void begin_processes(struct two *t, struct order_shares *s, u64 flags)
{
	begin_first(t, s, flags);
	assert_int_equal(order_thread_created(t->first, &(struct adept_ev_fork){ .pid = 20 }), 0);
	/* what it maps later its child does not have */
	call(t->first, &(struct adept_ev_syscall){
		.nr = SYS_mmap, .result = OWN,
		.args = { 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS },
	});
	begin_second(t);
}

static void end_processes(struct two *t, u32 want)
{
	assert_int_equal(races(t), want);
	finish(t);
}

static void processes(void **state)
{
	const struct adept_ev_syscall wait = { .nr = SYS_wait4, .result = 20, .args = { ~0ull } };
	const struct adept_ev_syscall send[] = {
		{ .nr = SYS_kill, .args = { 10, 11 } },
		{ .nr = SYS_kill, .args = { 10, 10 } },
		{ .nr = SYS_tkill, .args = { 10, 10 } },
		{ .nr = SYS_tgkill, .args = { 10, 10, 10 } },
		{ .nr = SYS_rt_sigqueueinfo, .args = { 10, 10 } },
		{ .nr = SYS_pidfd_send_signal, .args = { 3, 10 } },
	};
	const struct adept_ev_fork fork = { .pid = 20 };
	struct order_shares s;
	struct two t;
	u32 i;

	(void)state;
	/* private memory, and what only one has */
	begin_processes(&t, &s, MAP_PRIVATE);
	access_it(t.first, SHARED, DEP_WRITE);
	access_it(t.second, SHARED, DEP_WRITE);
	access_it(t.first, OWN, DEP_WRITE);
	access_it(t.second, OWN, DEP_WRITE);
	end_processes(&t, 0);

	begin_processes(&t, &s, MAP_SHARED);
	access_it(t.first, SHARED + 8, DEP_WRITE);
	access_it(t.second, SHARED + 16, DEP_WRITE);
	assert_int_equal(races(&t), 0);
	access_it(t.second, SHARED + 8, DEP_READ);
	end_processes(&t, 1);

	/* before the fork; behind the end */
	begin_first(&t, &s, MAP_SHARED);
	access_it(t.first, SHARED, DEP_WRITE);
	assert_int_equal(order_thread_created(t.first, &fork), 0);
	begin_second(&t);
	access_it(t.second, SHARED, DEP_WRITE);
	assert_int_equal(order_thread_ended(t.second), 0);
	call(t.first, &wait);
	access_it(t.first, SHARED, DEP_WRITE);
	end_processes(&t, 0);

	/* it is told which one it waits for, or any */
	for (i = 0; i < 3; i++) {
		begin_processes(&t, &s, MAP_SHARED);
		access_it(t.second, SHARED, DEP_WRITE);
		assert_int_equal(order_thread_ended(t.second), 0);
		call(t.first, &(struct adept_ev_syscall){
			.nr = SYS_waitid, .args = { i ? P_PID : P_ALL, i > 1 ? 21 : 20 } });
		access_it(t.first, SHARED, DEP_WRITE);
		end_processes(&t, i > 1);
	}

	/* what a child that has not been seen yet has is not gone */
	begin_first(&t, &s, MAP_SHARED);
	assert_int_equal(order_thread_created(t.first, &fork), 0);
	access_it(t.first, SHARED, DEP_WRITE);
	call(t.first, &(struct adept_ev_syscall){ .nr = SYS_munmap, .args = { SHARED, 8192 } });
	begin_second(&t);
	access_it(t.second, SHARED, DEP_WRITE);
	assert_int_equal(t.first->process->regions.v[0]->maps, 1);
	end_processes(&t, 1);

	/* a signal comes behind what was done before it was sent, however */
	for (i = 0; i < sizeof(send) / sizeof(send[0]); i++) {
		begin_processes(&t, &s, MAP_SHARED);
		access_it(t.second, SHARED, DEP_WRITE);
		call(t.second, &send[i]);
		event(t.first, ADEPT_EV_SIGNAL);
		access_it(t.first, SHARED, DEP_WRITE);
		end_processes(&t, !i);
	}

	/* a process is there while a thread is that has not been seen yet */
	begin_processes(&t, &s, MAP_SHARED);
	assert_int_equal(order_thread_created(t.first, &(struct adept_ev_fork){
		.pid = 11, .flags = CLONE_VM | CLONE_THREAD }), 0);
	assert_int_equal(order_thread_ended(t.first), 0);
	t.first = order_thread_of(&t.feed, &(struct dep_thread){ .serial = 3, .tid = 11,
								.process = 1 });
	access_it(t.first, SHARED, DEP_WRITE);
	access_it(t.second, SHARED, DEP_WRITE);
	assert_int_equal(order_thread_ended(t.first), 0);
	assert_int_equal(t.first->image->maps.n, 0);
	end_processes(&t, 1);

	/* the half that went elsewhere, and what then is where it was */
	begin_processes(&t, &s, MAP_SHARED);
	call(t.second, &(struct adept_ev_syscall){
		.nr = SYS_mremap, .result = MOVED, .args = { SHARED + 4096, 4096, 4096, 1 },
	});
	access_it(t.first, SHARED + 4096, DEP_WRITE);
	access_it(t.second, SHARED + 4096, DEP_WRITE);
	assert_int_equal(races(&t), 0);
	access_it(t.second, MOVED, DEP_WRITE);
	assert_int_equal(order_address_of(t.second->image, order_at(t.first, SHARED + 4096)),
			 MOVED);
	end_processes(&t, 1);
}

static void map_file(struct order_thread *t, u64 at)
{
	t->shared = (struct adept_ev_shared){ 1, 7, 4096 };
	t->has_shared = true;
	call(t, &(struct adept_ev_syscall){
		.nr = SYS_mmap, .result = at,
		.args = { 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, 3 },
	});
}

/* What is done to memory stays while there is somebody who has it mapped, and no longer. */
static void regions(void **state)
{
	const struct adept_ev_syscall move = { .nr = SYS_mremap, .result = MOVED,
					      .args = { FILE_MAP, 4096, 4096, 1 } };
	const struct adept_ev_syscall unmap = { .nr = SYS_munmap, .args = { FILE_MAP, 4096 } };
	struct order_shares s;
	struct two t;

	(void)state;
	begin_processes(&t, &s, MAP_PRIVATE);
	map_file(t.first, FILE_MAP);
	access_it(t.first, FILE_MAP, DEP_WRITE);
	call(t.first, &move);
	map_file(t.second, FILE_MAP);
	access_it(t.second, FILE_MAP, DEP_WRITE);
	end_processes(&t, 1);
	/* the same once more in its place */
	begin_processes(&t, &s, MAP_PRIVATE);
	map_file(t.first, FILE_MAP);
	access_it(t.first, FILE_MAP, DEP_WRITE);
	map_file(t.first, FILE_MAP);
	map_file(t.second, FILE_MAP);
	access_it(t.second, FILE_MAP, DEP_WRITE);
	end_processes(&t, 1);
	/* what the detector has not yet been told */
	begin_processes(&t, &s, MAP_PRIVATE);
	map_file(t.first, FILE_MAP);
	assert_int_equal(order_access(t.first, 0x2000, order_at(t.first, FILE_MAP), 4, RACE_WRITE),
			 0);
	call(t.first, &unmap);
	map_file(t.second, FILE_MAP);
	access_it(t.second, FILE_MAP, DEP_WRITE);
	end_processes(&t, 0);
}

#define PAGES	48u
#define BASE	0x100000u

/* A file and its page at each page of memory, 0: none. */
static void check_places(const struct two *t, const u32 *file, const u32 *nth)
{
	const struct order_regions *all = &t->first->process->regions;
	const struct order_region *r;
	u64 left, place;
	u32 i, run;

	for (i = 0; i < PAGES; i++) {
		left = ~0ull;
		place = order_place(t->first->image, BASE + i * 4096 + 8, &left);
		for (run = i + 1; run < PAGES && file[run] == file[i] &&
		     (!file[i] || nth[run] == nth[i] + run - i); run++)
			;
		assert_int_equal(!!(place & ORDER_SHARED), !!file[i]);
		if (!file[i]) {
			/* nothing is lost between here and the next that is shared */
			assert_int_equal(place & ((1ull << ORDER_NUMBER) - 1), BASE + i * 4096 + 8);
			assert_true(run == PAGES || left == (run - i) * 4096 - 8);
			continue;
		}
		r = all->v[(place & ~ORDER_SHARED) >> ORDER_REGION];
		assert_int_equal(r->key.inode, file[i]);
		assert_int_equal(place - r->base, nth[i] * 4096 + 8);
		/* what was mapped by two calls may be told as two */
		assert_true(left <= (run - i) * 4096 - 8 && (left + 8) % 4096 == 0);
	}
}

static u32 random_number(u64 *seed, u32 n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(*seed >> 33) % n;
}

/* Against an array of pages. */
static void random_maps(void **state)
{
	u32 file[PAGES] = { 0 }, nth[PAGES] = { 0 }, from, to, n, i, k, was[2][PAGES];
	struct order_shares s;
	struct two t;
	u64 seed = 1;

	(void)state;
	begin_processes(&t, &s, MAP_PRIVATE);
	for (k = 0; k < 20000; k++) {
		n = 1 + random_number(&seed, 8);
		from = random_number(&seed, PAGES - n);
		to = random_number(&seed, PAGES - n);
		switch (random_number(&seed, 3)) {
		case 0:
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_munmap, .args = { BASE + from * 4096, n * 4096 } });
			memset(file + from, 0, n * sizeof(*file));
			break;
		case 1:
			t.first->shared = (struct adept_ev_shared){ 1, 1 + to % 5, 0 };
			t.first->has_shared = true;
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_mmap, .result = BASE + from * 4096,
				.args = { 0, n * 4096 - 5, 3, MAP_SHARED | MAP_FIXED, 3,
					  to * 4096 },
			});
			for (i = 0; i < n; i++) {
				file[from + i] = 1 + to % 5;
				nth[from + i] = to + i;
			}
			break;
		case 2:
			/* within one mapping, as the kernel wants it, and to elsewhere */
			for (i = 1; i < n && file[from] && file[from + i] == file[from] &&
			     nth[from + i] == nth[from] + i; i++)
				;
			if (i < n || !file[from] || (from < to + n && to < from + n))
				break;
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_mremap, .result = BASE + to * 4096,
				.args = { BASE + from * 4096, n * 4096, n * 4096, 3,
					  BASE + to * 4096 },
			});
			memcpy(was[0], file + from, n * sizeof(*file));
			memcpy(was[1], nth + from, n * sizeof(*nth));
			memset(file + from, 0, n * sizeof(*file));
			memcpy(file + to, was[0], n * sizeof(*file));
			memcpy(nth + to, was[1], n * sizeof(*nth));
			break;
		}
		check_places(&t, file, nth);
	}
	end_processes(&t, 0);
}

/*
 * There are no numbers for more threads than that, also if they have ended: it is not gone on
 * with, and it is said.
 */
static void crowds(void **state)
{
	struct adept_ev_fork fork = { .flags = CLONE_VM | CLONE_THREAD };
	const struct dep_item it = {
		.kind = DEP_ITEM_EVENT,
		.event = { .id = ADEPT_EV_FORK, .size = sizeof(fork), .payload = &fork },
	};
	struct two t;
	u32 i;

	(void)state;
	begin(&t);
	access_it(t.first, BLOCK, DEP_WRITE);
	access_it(t.second, BLOCK, DEP_WRITE);
	for (i = 2; i < RACE_THREADS; i++) {
		fork.pid = 100 + i;
		item(t.first, &it);
	}
	assert_int_equal(t.feed.ncrowded, 0);
	fork.pid = 100 + i;
	item(t.first, &it);
	assert_int_equal(t.feed.ncrowded, 1);
	/* the one without a number may have ordered these */
	access_it(t.first, BLOCK + 8, DEP_WRITE);
	access_it(t.second, BLOCK + 8, DEP_WRITE);
	assert_int_equal(order_end(&t.feed, &(struct dep_thread){ .serial = 1, .process = 1 }), 0);
	assert_int_equal(order_gap(&t.feed, &(struct dep_thread){ .serial = 2, .process = 1 }), 0);
	assert_int_equal(t.feed.ncrowded, 1);
	end(&t, 1);
}

/* Of which there are as many as there are numbers, and those that are alone are followed. */
static void crowds_of_processes(void **state)
{
	struct order_thread *lone, *other;
	struct order_shares s;
	struct two t;

	(void)state;
	begin_processes(&t, &s, MAP_SHARED);
	t.first->process->nimages = ORDER_IMAGES - 1;
	access_it(t.first, SHARED, DEP_WRITE);
	access_it(t.second, SHARED, DEP_WRITE);
	assert_int_equal(dep_places_add(&order_scope_of(&t.feed, 3)->raced, SHARED, 16), 0);
	lone = order_thread_of(&t.feed, &(struct dep_thread){ .serial = 3, .tid = 30,
							     .process = 3 });
	assert_ptr_not_equal(lone->process, t.first->process);
	assert_int_equal(t.feed.ncrowded, 1);
	access_it(t.first, SHARED + 8, DEP_WRITE);
	access_it(t.second, SHARED + 8, DEP_WRITE);
	other = order_thread_of(&t.feed, &(struct dep_thread){ .serial = 4, .tid = 31,
							      .process = 3 });
	assert_int_equal(order_thread_begin(lone), 0);
	assert_int_equal(order_thread_begin(other), 0);
	access_it(lone, SHARED + 8, DEP_WRITE);
	access_it(other, SHARED + 8, DEP_WRITE);
	assert_int_equal(race_rows_count(lone->process->rows), 1);
	assert_int_equal(race_rows_count(t.first->process->rows), 1);
	finish(&t);
}

/* A child of which nothing is in the store needs nothing. */
static void forks(void **state)
{
	struct dep_process all[] = {
		{ .serial = 1, .pid = 10 }, { .serial = 2, .pid = 20, .parent = 1 },
	};
	struct dep_store store = { .model.processes = { all, 2, 2 } };
	struct order_shares s;
	struct two t;
	u32 i;

	(void)state;
	begin_first(&t, &s, MAP_SHARED);
	t.feed.store = &store;
	for (i = 0; i < 1000; i++)
		assert_int_equal(order_thread_created(t.first,
						      &(struct adept_ev_fork){ .pid = 30 + i }),
				 0);
	assert_null(t.feed.forks);
	assert_int_equal(order_thread_created(t.first, &(struct adept_ev_fork){ .pid = 20 }), 0);
	assert_non_null(t.feed.forks);
	begin_second(&t);
	assert_null(t.feed.forks);
	assert_int_equal(t.second->index, 1);
	access_it(t.first, SHARED + 8, DEP_WRITE);
	access_it(t.second, SHARED + 8, DEP_WRITE);
	end_processes(&t, 1);
	/* in the first pass neither, but beside the recording nobody knows */
	for (i = 0; i < 2; i++) {
		struct dep_beside beside = { 0 };

		begin(&t);
		t.feed.store = &store;
		t.feed.pass = ORDER_FIRST;
		t.options.beside = i ? &beside : NULL;
		assert_int_equal(order_thread_created(t.first,
						      &(struct adept_ev_fork){ .pid = 30 }), 0);
		assert_int_equal(!!t.feed.forks, i);
		end(&t, 0);
	}
}

/* What a damaged store maps. */
static void odd_maps(void **state)
{
	static const u64 odd[] = { 0, 1, 4095, 1ull << 46, 1ull << 47, 1ull << 62, ~0ull - 4096 };
	struct order_shares s;
	struct two t, other;
	size_t i, k;

	(void)state;
	begin_processes(&t, &s, MAP_SHARED);
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		for (k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_mmap, .result = odd[i],
				.args = { 0, odd[k], 3, MAP_SHARED | MAP_ANONYMOUS },
			});
			t.second->shared = (struct adept_ev_shared){ 1, i, odd[k] };
			t.second->has_shared = true;
			call(t.second, &(struct adept_ev_syscall){
				.nr = SYS_mmap, .result = odd[k],
				.args = { 0, odd[i], 3, MAP_SHARED, 3, odd[k] },
			});
			t.second->has_shared = true;
			call(t.second, &(struct adept_ev_syscall){
				.nr = SYS_shmat, .result = odd[i], .args = { i } });
			call(t.second, &(struct adept_ev_syscall){
				.nr = SYS_mremap, .result = odd[k],
				.args = { odd[i], odd[k], odd[i] },
			});
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_shmdt, .args = { odd[i] } });
			access_it(t.second, odd[i], DEP_WRITE);
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_munmap, .args = { odd[i], odd[k] } });
		}
	}
	/* a range that wraps is none, and makes no two of one */
	begin_processes(&other, &s, MAP_SHARED);
	k = other.first->image->maps.n;
	for (i = 0; i < 16; i++)
		call(other.first, &(struct adept_ev_syscall){
			.nr = SYS_munmap, .args = { SHARED + 8191, ~0ull - 4095 } });
	assert_int_equal(other.first->image->maps.n, k);
	finish(&other);
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),
		cmocka_unit_test(files_of_any_number),
		cmocka_unit_test(objects),
		cmocka_unit_test(serials),
		cmocka_unit_test(huge_calls),
		cmocka_unit_test(unmapped),
		cmocka_unit_test(closed),
		cmocka_unit_test(piped),
		cmocka_unit_test(buffers),
		cmocka_unit_test(heap),
		cmocka_unit_test(inside),
		cmocka_unit_test(behind_gaps),
		cmocka_unit_test(lives),
		cmocka_unit_test(returned_to),
		cmocka_unit_test(locks),
		cmocka_unit_test(waits),
		cmocka_unit_test(shares),
		cmocka_unit_test(many_shares),
		cmocka_unit_test(processes),
		cmocka_unit_test(regions),
		cmocka_unit_test(random_maps),
		cmocka_unit_test(crowds),
		cmocka_unit_test(crowds_of_processes),
		cmocka_unit_test(forks),
		cmocka_unit_test(odd_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
