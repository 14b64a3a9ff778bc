// SPDX-License-Identifier: GPL-2.0-or-later
/* Synchronisation by files and objects, and accesses of system calls. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "two_threads.h"

static void files(void **state)
{
	struct sync_files f = { 0 }, copy = { 0 };
	u32 three;

	(void)state;
	three = sync_file(&f, 3);
	assert_true(three != 0);
	assert_int_equal(sync_file(&f, 3), three);
	assert_int_not_equal(sync_file(&f, 4), three);
	/* both ends of a pipe are one file, and so are duplicates */
	sync_file_new(&f, 5, 6);
	assert_int_equal(sync_file(&f, 5), sync_file(&f, 6));
	sync_file_same(&f, 100, 5);
	assert_int_equal(sync_file(&f, 100), sync_file(&f, 6));
	/* a reused descriptor number */
	sync_file_new(&f, 3, -1);
	assert_int_not_equal(sync_file(&f, 3), three);
	sync_file_socket(&f, 7);
	sync_file_socket(&f, 8);
	assert_int_equal(sync_file(&f, 7), sync_file(&f, 8));
	/* the copy shares its table until one of both changes */
	sync_file_new(&f, SYNC_FILES_MAX - 2, -1);
	sync_files_copy(&copy, &f);
	assert_int_equal(sync_file(&copy, 100), sync_file(&f, 5));
	sync_file_same(&copy, 100, 5);
	assert_ptr_equal(copy.table, f.table);
	assert_int_equal(f.table->refs, 2);
	sync_file_new(&copy, 100, -1);
	assert_int_not_equal(sync_file(&copy, 100), sync_file(&f, 100));
	assert_int_equal(sync_file(&copy, 6), sync_file(&f, 6));
	assert_int_equal(sync_file(&copy, SYNC_FILES_MAX - 2),
			 sync_file(&f, SYNC_FILES_MAX - 2));
	assert_int_equal(f.table->refs, 1);
	sync_file_new(&f, 6, -1);
	assert_int_not_equal(sync_file(&copy, 6), sync_file(&f, 6));
	sync_files_free(&f);
	sync_files_free(&copy);
}

static void files_of_any_number(void **state)
{
	static const s64 odd[] = { -1, SYNC_FILES_MAX, 1ll << 40, INT64_MIN, INT64_MAX };
	struct sync_files f = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_int_equal(sync_file(&f, odd[i]), sync_file(&f, SYNC_FILES_MAX - 1));
	/* a query of an unknown descriptor allocates nothing */
	assert_null(f.table);
	assert_int_equal(sync_file_new(&f, -1, -1), 0);
	assert_null(f.table);
	assert_int_equal(sync_file_new(&f, INT64_MAX, -1), 0);
	assert_int_equal(f.table->room, SYNC_FILES_MAX);
	sync_files_free(&f);
}

static void objects(void **state)
{
	struct sync_object *all[1000], *o;
	struct sync_objects objects = { 0 };
	struct race_detector *d;
	u64 i;

	(void)state;
	assert_int_equal(race_detector_create(&d, &(struct race_ops){ 0 }, NULL), 0);
	assert_null(sync_object_find(&objects, SYNC_WORD, 1));
	assert_false(sync_line_marked(&objects, 4));
	for (i = 0; i < 1000; i++) {
		all[i] = sync_object_get(&objects, SYNC_WORD, i * 1000);
		assert_non_null(all[i]);
	}
	for (i = 0; i < 1000; i++) {
		assert_ptr_equal(sync_object_find(&objects, SYNC_WORD, i * 1000), all[i]);
		assert_ptr_equal(sync_object_get(&objects, SYNC_WORD, i * 1000), all[i]);
		assert_true(sync_line_marked(&objects, i * 4000));
		assert_null(sync_object_find(&objects, SYNC_WORD, i * 1000 + 1));
		assert_null(sync_object_find(&objects, SYNC_FUTEX, i * 1000));
	}
	o = sync_object_get(&objects, SYNC_FUTEX, 0);
	assert_ptr_not_equal(o, all[0]);
	sync_objects_free(&objects, d);
	assert_null(sync_object_find(&objects, SYNC_WORD, 0));
	race_detector_free(d);
}

/* Even if hashes are equal. */
static void serials(void **state)
{
	static char all[5000];
	struct sync_serials s = { 0 };
	u32 i;

	(void)state;
	assert_null(sync_serials_find(&s, 0));
	for (i = 0; i < sizeof(all); i++)
		assert_int_equal(sync_serials_add(&s, i * 0x10001, &all[i]), 0);
	for (i = 0; i < sizeof(all); i++) {
		assert_ptr_equal(sync_serials_find(&s, i * 0x10001), &all[i]);
		assert_null(sync_serials_find(&s, i * 0x10001 + 1));
	}
	sync_serials_free(&s);
	assert_null(sync_serials_find(&s, 0));
}

/* ---- system calls ---- */

/* Sizes in a damaged store do not allocate as much shadow memory. */
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
	race_get_stats(t.sync.processes->detector, &stats);
	assert_true(stats.bytes < 64u << 20);
	finish(&t);
}

static void unmapped(void **state)
{
	struct two t;

	(void)state;
	begin(&t);
	assert_int_equal(sync_access(t.first, 0x2000, 0x50008, 4, RACE_WRITE), 0);
	assert_int_equal(sync_flush(t.first), 0);
	call(t.second, &(struct adept_ev_syscall){ .nr = SYS_munmap, .args = { 0x60000, 4096 } });
	assert_int_equal(races(&t), 0);
	call(t.second, &(struct adept_ev_syscall){ .nr = SYS_munmap, .args = { 0x50000, 4096 } });
	assert_int_equal(races(&t), 1);
	/* the memory is new after munmap */
	assert_int_equal(sync_access(t.first, 0x2001, 0x50008, 4, RACE_WRITE), 0);
	assert_int_equal(sync_flush(t.first), 0);
	assert_int_equal(races(&t), 1);
	finish(&t);
}

static void access_by(struct sync_thread *t, enum dep_code code)
{
	item(t, &(struct dep_item){
		.kind = DEP_ITEM_REF,
		.ref = { .pc = 0x3000, .addr = 0x70000 + t->serial * 64, .size = 4,
			 .type = DEP_READ, .origin = code + 1 },
	});
}

/*
 * The C library orders its unmapping of stacks itself, even if the program handles a signal in the
 * meantime.  After a gap a handler's return does not restore this state.
 */
static void unmapped_in_library(void **state)
{
	const struct adept_ev_syscall unmap = { .nr = SYS_munmap, .args = { 0x50000, 4096 } };
	bool missing;
	struct two t;

	(void)state;
	for (missing = false;; missing = true) {
		begin(&t);
		assert_int_equal(sync_access(t.first, 0x2000, 0x50008, 4, RACE_WRITE), 0);
		assert_int_equal(sync_flush(t.first), 0);
		access_by(t.second, DEP_CODE_THREADS);
		event(t.second, ADEPT_EV_SIGNAL);
		access_by(t.second, DEP_CODE_PROGRAM);
		/* a nested handler */
		event(t.second, ADEPT_EV_SIGNAL);
		event(t.second, ADEPT_EV_SIGRETURN);
		assert_false(t.second->in_library);
		if (missing)
			assert_int_equal(sync_gap(&t.sync, &(struct dep_thread){
				.serial = 2, .tid = 11, .process = 1 }), 0);
		event(t.second, ADEPT_EV_SIGRETURN);
		assert_int_equal(t.second->in_library, !missing);
		if (missing)
			break;
		call(t.second, &unmap);
		end(&t, 0);
	}
	/* after a gap the thread may be ordered after earlier accesses */
	assert_int_equal(sync_access(t.first, 0x2000, 0x50008, 4, RACE_WRITE), 0);
	assert_int_equal(sync_flush(t.first), 0);
	call(t.second, &unmap);
	end(&t, 1);
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
	/* The child of vfork closes its own descriptors. */
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
	assert_int_equal(sync_access(t.first, 0x2000, 0x50008, 4, RACE_WRITE), 0);
	call(t.first, &(struct adept_ev_syscall){ .nr = SYS_write, .result = 1,
						 .args = { 8, 0x3000, 1 } });
	call(t.second, &(struct adept_ev_syscall){ .nr = SYS_read, .result = 1,
						  .args = { 7, 0x4000, 1 } });
	assert_int_equal(sync_access(t.second, 0x2001, 0x50008, 4, RACE_READ), 0);
	assert_int_equal(sync_flush(t.second), 0);
	/* only the read of the descriptor: no event passed its number to this thread */
	assert_int_equal(races(&t), 1);
	finish(&t);
}

/* A buffer event belongs to the next system call only. */
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
	assert_int_equal(sync_access(t.first, 0x2000, 0x50004, 1, RACE_WRITE), 0);
	assert_int_equal(sync_flush(t.first), 0);
	call(t.second, &writev);
	assert_int_equal(races(&t), 0);
	sync_note_buffer(t.second, &(struct adept_ev_buffer){ 0x50000, 4 });
	call(t.second, &writev);
	assert_int_equal(races(&t), 0);
	sync_note_buffer(t.second, &(struct adept_ev_buffer){ 0x50000, 8 });
	call(t.second, &writev);
	assert_int_equal(races(&t), 1);
	call(t.second, &readv);
	assert_int_equal(races(&t), 1);
	/* from a damaged store */
	for (i = 0; i < 2 * ADEPT_BUFFERS; i++)
		sync_note_buffer(t.second, &(struct adept_ev_buffer){ i << 20, ~0ull });
	sync_note_buffer(t.second, &(struct adept_ev_buffer){ ~0ull - 7, 8 });
	call(t.second, &readv);
	finish(&t);
}

/* ---- stacks ---- */

/* Functions are 0x100 bytes long. */
static bool by_hundreds(void *arg, u32 process, u64 from, u64 to)
{
	(void)arg;
	(void)process;
	return from >> 8 != to >> 8;
}

static void at(struct sync_thread *t, u64 pc)
{
	if (t->jump)
		assert_int_equal(sync_note_pc(t, pc), 0);
}

static void goes(struct sync_thread *t, u64 pc, u64 sp, bool is_return, bool is_jump)
{
	const struct dep_call c = { pc, sp, is_return, is_jump };

	at(t, pc);
	assert_int_equal(sync_note_call(t, &c), 0);
}

static void expect_stack(const struct sync_thread *t, const u64 *pc, u32 n)
{
	u32 i;

	assert_int_equal(t->depth, n);
	for (i = 0; i < n; i++)
		assert_int_equal(t->stack[i].pc, pc[i]);
}

/* The caller of a function that ends with a jump is the caller of the jumping function. */
static void jumps(void **state)
{
	struct two t;
	struct sync_thread *first;
	u64 pc;

	(void)state;
	begin(&t);
	first = t.first;
	/* A jump without a known caller. */
	t.options.leaves = by_hundreds;
	goes(first, 0x110, 0x7000, false, true);
	at(first, 0x200);
	expect_stack(first, NULL, 0);
	goes(first, 0x120, 0x6ff8, false, false);
	/* within the function; with something on the stack; at an unknown stack pointer */
	goes(first, 0x310, 0x6ff8, false, true);
	at(first, 0x320);
	goes(first, 0x330, 0x6ff0, false, true);
	at(first, 0x400);
	expect_stack(first, (u64[]){ 0x120 }, 1);
	goes(first, 0x340, 0, false, true);
	at(first, 0x500);
	expect_stack(first, (u64[]){ 0x120, 0x340 }, 2);
	/* what that calls */
	goes(first, 0x510, 0x6fe0, false, false);
	expect_stack(first, (u64[]){ 0x120, 0x340, 0x510 }, 3);
	goes(first, 0x610, 0x6fe8, true, false);
	goes(first, 0x520, 0x6ff8, false, true);
	/* one return leaves both functions */
	goes(first, 0x710, 0x7000, true, false);
	expect_stack(first, NULL, 0);
	/* jumps in a cycle, and an endless chain of jumps */
	goes(first, 0x120, 0x6ff8, false, false);
	for (pc = 0; pc < 100; pc++)
		goes(first, pc % 2 ? 0x310 : 0x410, 0x6ff8, false, true);
	at(first, 0x500);
	expect_stack(first, (u64[]){ 0x120, 0x410, 0x310 }, 3);
	for (pc = 0x1000; pc < 0x10000; pc += 0x100)
		goes(first, pc, 0x6ff8, false, true);
	assert_in_range(first->depth, 4, 32);
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
		cmocka_unit_test(unmapped_in_library),
		cmocka_unit_test(closed),
		cmocka_unit_test(piped),
		cmocka_unit_test(buffers),
		cmocka_unit_test(jumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
