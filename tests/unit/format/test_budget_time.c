// SPDX-License-Identifier: GPL-2.0-or-later
/* No store makes its reader take time in proportion to the square of its size. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forge.h"
#include "tests/unit/lib/store_util.h"
#include "test_budget.h"

#define MANY	200000u

static size_t put_unmap(void *to, u64 start, u64 end, u64 time_ns)
{
	const struct adept_desc_unmap un = {
		.h = { .size = sizeof(un), .type = ADEPT_DESC_UNMAP }, .start = start, .end = end,
		.time_ns = time_ns,
	};

	memcpy(to, &un, sizeof(un));
	return sizeof(un);
}

/* How many rows of modules there are, and how many of them never ended. */
static int count_modules(const char *dir, size_t *left)
{
	const struct dep_module *m;
	struct dep_store *s;
	size_t i, n;

	assert_int_equal(dep_store_open(&s, dir), 0);
	n = dep_store_modules(s, &m);
	for (i = 0, *left = 0; i < n; i++)
		*left += !m[i].to_ns;
	dep_store_close(s);
	return (int)n;
}

/* All are listed: no number of them is the most. */
void many_mappings(void **state)
{
	char *all = malloc(MANY * 128);
	size_t size = 0, left;
	struct forge f;
	u32 i;

	(void)state;
	assert_non_null(all);
	/* Twice each: what is known already is no other. */
	for (i = 0; i < MANY; i++)
		size += forge_map(all + size, 2 * (i % (MANY / 2)), 1, i, "/l");
	forge_begin(&f);
	forge_process(&f, 1, 0, ADEPT_BY_LAUNCH, 1);
	forge_frame(&f, DEP_F_DESCRIPTORS, 1, all, size);
	forge_end(&f);
	free(all);
	assert_int_equal(forge_run(&f, read_store, false).ret, 0);
	assert_int_equal(count_modules(f.dir, &left), MANY / 2);
	assert_int_equal(left, MANY / 2);
	forge_remove(&f);
}

/* Mappings that are cut in two, and then end by ones and all at once. */
void mappings_end(void **state)
{
	char *all = malloc(3 * MANY / 4 * 128);
	const u32 n = MANY / 4;
	size_t size = 0, left;
	struct forge f;
	u32 i;

	(void)state;
	assert_non_null(all);
	for (i = 0; i < n; i++)
		size += forge_map(all + size, 2ull * i, 1, i, "/l");
	for (i = 0; i < n; i++)
		size += put_unmap(all + size, (2ull * i << 12) + 256, (2ull * i << 12) + 512,
				  n + i);
	for (i = 0; i < n / 2; i++)
		size += put_unmap(all + size, 2ull * i << 12, (2ull * i + 1) << 12, 2 * n + i);
	size += put_unmap(all + size, 0, ~0ull, 3 * n);
	forge_begin(&f);
	forge_process(&f, 1, 0, ADEPT_BY_LAUNCH, 1);
	forge_frame(&f, DEP_F_DESCRIPTORS, 1, all, size);
	forge_end(&f);
	free(all);
	assert_int_equal(forge_run(&f, read_store, false).ret, 0);
	assert_int_equal(count_modules(f.dir, &left), 3 * n);
	assert_int_equal(left, 0);
	forge_remove(&f);
}

/* Each process is the child of the one before, and has what that has. */
void fork_chain(void **state)
{
	size_t left, size;
	char one[128];
	struct forge f;
	u32 i;

	(void)state;
	size = forge_map(one, 1, 1, 1, "/l");
	forge_begin(&f);
	forge_process(&f, 1, 0, ADEPT_BY_LAUNCH, 1);
	forge_frame(&f, DEP_F_DESCRIPTORS, 1, one, size);
	for (i = 2; i <= MANY / 4; i++)
		forge_process(&f, i, i - 1, ADEPT_BY_FORK, i);
	forge_end(&f);
	assert_int_equal(forge_run(&f, read_store, false).ret, 0);
	assert_int_equal(count_modules(f.dir, &left), MANY / 4);
	assert_int_equal(left, MANY / 4);
	forge_remove(&f);
}

/* Neither parents are there, nor the processes that end, nor names for those that have none. */
void processes_without_parents(void **state)
{
	struct dep_wire_process_end end = { .end_ns = 1 };
	struct forge f;
	u32 i;

	(void)state;
	forge_begin(&f);
	for (i = 1; i <= MANY; i++)
		forge_process(&f, i, ~0u, i % 2 ? ADEPT_BY_FORK : ADEPT_BY_EXEC, i);
	for (i = 1; i <= MANY; i++) {
		end.serial = MANY + i;
		forge_frame(&f, DEP_F_PROCESS_END, end.serial, &end, sizeof(end));
	}
	forge_end(&f);
	assert_int_equal(forge_run(&f, read_store, false).ret, 0);
	forge_remove(&f);
}

static void put_marks(struct forge *f, u32 n, bool descending)
{
	struct dep_wire_thread_sum *sum = calloc(n + 1, sizeof(*sum));
	struct dep_wire_mark *mark = (void *)sum;
	u32 i;

	assert_non_null(sum);
	_Static_assert(sizeof(*mark) == 16, "it ends where the rows begin");
	mark = (void *)((char *)(sum + 1) - sizeof(*mark));
	mark->rows = n;
	for (i = 0; i < n; i++)
		sum[1 + i].serial = descending ? n - i : i + 1;
	forge_frame(f, DEP_F_MARK, 0, mark, sizeof(*mark) + n * sizeof(*sum));
	free(sum);
}

void threads_in_disorder(void **state)
{
	struct forge_ran ran;
	struct forge f;

	(void)state;
	forge_begin(&f);
	put_marks(&f, 1000000, false);
	forge_end(&f);
	assert_int_equal(forge_run(&f, read_store, false).ret, 0);
	assert_int_equal(forge_run(&f, resume_store, false).ret, 0);
	forge_remove(&f);
	forge_begin(&f);
	put_marks(&f, 1000000, true);
	forge_end(&f);
	ran = forge_run(&f, read_store, false);
	assert_true(ran.ret < 0);
	assert_non_null(strstr(ran.why, "serial numbers of processes or threads are in disorder"));
	ran = forge_run(&f, resume_store, false);
	assert_true(ran.ret < 0);
	assert_non_null(strstr(ran.why, "in disorder"));
	forge_remove(&f);
}

/* At each place a frame that claims all that follows, with a wrong checksum. */
void frames_overlap(void **state)
{
	const struct dep_frame fr = {
		.magic = DEP_FRAME_MAGIC, .type = DEP_F_MESSAGE, .size = 60 << 20,
	};
	const size_t n = 64 << 20;
	struct iovec iov;
	struct forge f;
	size_t i;

	(void)state;
	iov.iov_base = malloc(n);
	iov.iov_len = n;
	assert_non_null(iov.iov_base);
	for (i = 0; i + sizeof(fr) <= n; i += sizeof(fr))
		memcpy((char *)iov.iov_base + i, &fr, sizeof(fr));
	forge_begin(&f);
	assert_int_equal(dep_file_append(&f.log.file, &iov, 1), 0);
	forge_end(&f);
	free(iov.iov_base);
	assert_int_equal(forge_run(&f, read_store, false).ret, 0);
	/* Good frames may follow, and are not found. */
	assert_int_equal(forge_run(&f, resume_store, false).ret, -EBADMSG);
	forge_remove(&f);
}

/* Mappings whose build-ids are looked for among many others. */
void build_ids_missing(void **state)
{
	const u32 n = 60000;
	char *all = malloc(n * 128);
	struct { struct dep_wire_build_id id; char text[16]; } one = { .text = "ab\0/nowhere" };
	struct forge f;
	size_t size = 0;
	u32 i;

	(void)state;
	assert_non_null(all);
	for (i = 0; i < n; i++)
		size += forge_map(all + size, i, i, 1, "/nowhere");
	forge_begin(&f);
	forge_frame(&f, DEP_F_DESCRIPTORS, 1, all, size);
	for (i = 0; i < n; i++) {
		one.id.inode = n + i;
		forge_frame(&f, DEP_F_BUILD_ID, 1, &one, sizeof(one.id) + sizeof("ab\0/nowhere"));
	}
	forge_end(&f);
	free(all);
	assert_int_equal(forge_run(&f, read_store, false).ret, 0);
	assert_int_equal(forge_run(&f, resume_store, false).ret, 0);
	forge_remove(&f);
}
