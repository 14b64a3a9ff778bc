// SPDX-License-Identifier: GPL-2.0-or-later
/* Potential paths: of what was executed, of several recordings together, and of the file's code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dep/path_profile.h"

#define PC	0x1000u

/* nop; je +1; nop; je +1; nop; je +1; nop; ret: three decisions one after another */
static const uint8_t diamonds[] = { 0x90, 0x74, 1, 0x90, 0x74, 1, 0x90, 0x74, 1, 0x90, 0xc3 };

/* A block of @at to @end, whose last instruction is at @last. */
static struct dep_path_code code(const uint8_t *bytes, uint32_t at, uint32_t last, uint32_t end,
				 uint8_t branch)
{
	return (struct dep_path_code){
		.pc = PC + at, .last = PC + last, .bytes = bytes + at, .size = end - at,
		.branch = branch,
	};
}

static void check(struct dep_path_flow *f, uint64_t want, bool want_more)
{
	uint64_t paths = 0;
	bool more;

	assert_int_equal(dep_path_flow_potential(f, &paths, &more), 0);
	assert_int_equal(paths, want);
	assert_int_equal(more, want_more);
}

static void add(struct dep_path_flow *f, uint8_t kind, const struct dep_path_code *b, uint32_t n,
		uint64_t next, uint64_t base)
{
	const struct dep_path_row row = { .kind = kind, .blocks = n, .next = next };

	assert_int_equal(dep_path_flow_path(f, &row, b, base), 0);
}

/* The blocks of the path that takes the jumps of @taken, one bit each; returns their number. */
static uint32_t diamond_path(struct dep_path_code *b, unsigned int taken)
{
	uint32_t i, n = 0;

	b[n++] = code(diamonds, 0, 1, 3, DEP_BRANCH_COND);
	for (i = 1; i < 3; i++) {
		if (taken & 1u << (i - 1))
			b[n++] = code(diamonds, 3 * i + 1, 3 * i + 1, 3 * i + 3, DEP_BRANCH_COND);
		else
			b[n++] = code(diamonds, 3 * i, 3 * i + 1, 3 * i + 3, DEP_BRANCH_COND);
	}
	if (taken & 4)
		b[n++] = code(diamonds, 10, 10, 11, DEP_BRANCH_RETURN);
	else
		b[n++] = code(diamonds, 9, 10, 11, DEP_BRANCH_RETURN);
	return n;
}

static void executed_code(void **state)
{
	struct dep_path_code b[8];
	struct dep_path_flow *f;

	(void)state;
	assert_int_equal(dep_path_flow_new(PC, &f), 0);
	add(f, DEP_PATH_ROW_WHOLE, b, diamond_path(b, 0), 0, 0);
	check(f, 1, false);
	/* The same again, then in a recording where the code is elsewhere. */
	add(f, DEP_PATH_ROW_WHOLE, b, diamond_path(b, 0), 0, 0);
	check(f, 1, false);
	add(f, DEP_PATH_ROW_WHOLE, b, diamond_path(b, 1), 0, 0);
	check(f, 2, false);
	/* Blocks are divided where only the other recording had to. */
	dep_path_flow_free(f);
	assert_int_equal(dep_path_flow_new(PC - 0x500, &f), 0);
	add(f, DEP_PATH_ROW_WHOLE, b, diamond_path(b, 0), 0, 0x500);
	add(f, DEP_PATH_ROW_WHOLE, b, diamond_path(b, 7), 0, 0x500);
	check(f, 8, false);
	dep_path_flow_free(f);
}

static void code_of_the_file(void **state)
{
	/* je 1; ret; 1: jmp *table(,%rax,8); 2 instructions that only the table leads to */
	static const uint8_t table[] = { 0x74, 1, 0xc3, 0xff, 0x24, 0xc5, 0, 0, 0, 0, 0x90, 0xc3 };
	/* nop; loop to the nop; jmp *pointer */
	static const uint8_t tail[] = { 0x90, 0x75, 0xfd, 0xff, 0x25, 0, 0, 0, 0 };
	struct dep_path_code b[8];
	struct dep_path_flow *f;

	(void)state;
	assert_int_equal(dep_path_flow_new(PC, &f), 0);
	assert_int_equal(dep_path_flow_code(f, PC, diamonds, sizeof(diamonds)), 0);
	check(f, 8, false);
	add(f, DEP_PATH_ROW_WHOLE, b, diamond_path(b, 5), 0, 0);
	check(f, 8, false);
	dep_path_flow_free(f);

	assert_int_equal(dep_path_flow_new(PC, &f), 0);
	assert_int_equal(dep_path_flow_code(f, PC, table, sizeof(table)), 0);
	check(f, 2, true);
	b[0] = code(table, 0, 0, 2, DEP_BRANCH_COND);
	b[1] = code(table, 3, 3, 10, DEP_BRANCH_JUMP_INDIRECT);
	b[2] = code(table, 11, 11, 12, DEP_BRANCH_RETURN);
	add(f, DEP_PATH_ROW_WHOLE, b, 3, 0, 0);
	check(f, 2, true);
	b[2] = code(table, 10, 11, 12, DEP_BRANCH_RETURN);
	add(f, DEP_PATH_ROW_WHOLE, b, 3, 0, 0);
	check(f, 3, true);
	dep_path_flow_free(f);

	/* A block that goes back to itself ends no path. */
	assert_int_equal(dep_path_flow_new(PC, &f), 0);
	assert_int_equal(dep_path_flow_code(f, PC, tail, sizeof(tail)), 0);
	check(f, 1, false);
	dep_path_flow_free(f);
}

/* A path that ends at the head of a loop, and those that begin there. */
static void loops(void **state)
{
	/* nop; 1: nop; je 2; nop; 2: nop; jne 1; ret */
	static const uint8_t loop[] = { 0x90, 0x90, 0x74, 1, 0x90, 0x90, 0x75, 0xf9, 0xc3 };
	/* je 1; nop; 1: jne 0; ret: the loop's head is the entry */
	static const uint8_t whole[] = { 0x74, 1, 0x90, 0x75, 0xfb, 0xc3 };
	/* nop; 1: nop; jne 1; ret */
	static const uint8_t self[] = { 0x90, 0x90, 0x75, 0xfd, 0xc3 };
	struct dep_path_code b[4];
	struct dep_path_flow *f;

	(void)state;
	assert_int_equal(dep_path_flow_new(PC, &f), 0);
	b[0] = code(self, 0, 0, 1, DEP_BRANCH_NONE);
	b[1] = code(self, 1, 2, 4, DEP_BRANCH_COND);
	b[2] = code(self, 4, 4, 5, DEP_BRANCH_RETURN);
	add(f, DEP_PATH_ROW_WHOLE, b, 3, 0, 0);
	/* No path begins at a block that goes back to itself. */
	add(f, DEP_PATH_ROW_LOOP, b + 1, 1, PC + 1, 0);
	check(f, 1, false);
	dep_path_flow_free(f);

	assert_int_equal(dep_path_flow_new(PC, &f), 0);
	assert_int_equal(dep_path_flow_code(f, PC, loop, sizeof(loop)), 0);
	/* From the entry or the head, by either way, to the head or the end. */
	check(f, 8, false);
	b[0] = code(loop, 1, 2, 4, DEP_BRANCH_COND);
	b[1] = code(loop, 5, 6, 8, DEP_BRANCH_COND);
	add(f, DEP_PATH_ROW_WHOLE, b, 2, PC + 1, 0);
	check(f, 8, false);
	/* Where a path began that nothing in the code explains, others can begin, too. */
	b[0] = code(loop, 4, 4, 5, DEP_BRANCH_NONE);
	add(f, DEP_PATH_ROW_PARTIAL, b, 1, 0, 0);
	check(f, 10, false);
	dep_path_flow_free(f);

	assert_int_equal(dep_path_flow_new(PC, &f), 0);
	assert_int_equal(dep_path_flow_code(f, PC, whole, sizeof(whole)), 0);
	/* Paths of the same blocks count once, whether they begin with a call or not. */
	check(f, 4, false);
	dep_path_flow_free(f);
}

/* Paths lead to the entry, whose code is not known. */
static void no_entry(void **state)
{
	static const uint8_t bytes[] = { 0x90, 0x74, 0xfd, 0xc3 };
	struct dep_path_code b[2];
	struct dep_path_flow *f;

	(void)state;
	assert_int_equal(dep_path_flow_new(PC + 0x100, &f), 0);
	b[0] = code(bytes, 0, 1, 3, DEP_BRANCH_COND);
	b[1] = code(bytes, 3, 3, 4, DEP_BRANCH_RETURN);
	add(f, DEP_PATH_ROW_WHOLE, b, 2, 0, 0);
	/* The empty entry, and the path that begins elsewhere. */
	check(f, 2, false);
	/* The entry comes behind it as well. */
	add(f, DEP_PATH_ROW_WHOLE, b, 1, PC + 0x100, 0);
	check(f, 3, false);
	dep_path_flow_free(f);
}

/* Code that is cut off, or is none. */
static void odd_code(void **state)
{
	static const uint8_t bad[] = { 0x90, 0x74, 0x7f, 0x06, 0x06, 0xe8 };
	struct dep_path_flow *f;
	size_t i;

	(void)state;
	for (i = 0; i <= sizeof(bad); i++) {
		assert_int_equal(dep_path_flow_new(PC, &f), 0);
		assert_int_equal(dep_path_flow_code(f, PC, bad, i), 0);
		check(f, i < 4 ? 1 : 2, false);
		dep_path_flow_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executed_code),
		cmocka_unit_test(code_of_the_file),
		cmocka_unit_test(loops),
		cmocka_unit_test(no_entry),
		cmocka_unit_test(odd_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
