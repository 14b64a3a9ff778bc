// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The encoder's hot loop makes the same calls as its hooks: with a check of each call, all calls go
 * by the hooks, and otherwise nearly none.
 */
#include <errno.h>
#include <malloc.h>

#include "dep/contexts.h"
#include "fold_store.h"

#define CHUNKS		120u
#define RSP		0x8000ull

/* ---- memory: the linker leads all calls of the library here ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);

/* @blocks: allocated and not freed.  @fail_in: that allocation fails; 0: none does */
static size_t blocks, fail_in;

static bool fails(void)
{
	return fail_in && !--fail_in;
}

static void *count(void *p)
{
	blocks += p != NULL;
	return p;
}

static void *count_again(void *old, void *p)
{
	blocks += !old && p;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : count(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : count(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : count_again(p, __real_realloc(p, size));
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : count_again(p, __real_reallocarray(p, n, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : count(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *p)
{
	blocks -= p != NULL;
	__real_free(p);
}

/* ---- calls that go by the hooks ---- */

struct check;
struct check_stack;
struct check_entered;
struct dep_branch_at;

int __real_check_enter(struct check *c, struct check_stack *s, const struct check_entered *f,
		       const struct dep_branch_at *b);
int __wrap_check_enter(struct check *c, struct check_stack *s, const struct check_entered *f,
		       const struct dep_branch_at *b);

static u64 hooked;

int __wrap_check_enter(struct check *c, struct check_stack *s, const struct check_entered *f,
		       const struct dep_branch_at *b)
{
	hooked++;
	return __real_check_enter(c, s, f, b);
}

/* ---- the program ---- */

/* Each is a fragment with one exit. */
enum { MAIN_F, MAIN_G, MAIN_R, MAIN_T, MAIN_END, F, F_END, G, R, R_ANY, R_END, T, FRAGMENTS };

#define MAIN_PC	0x1000ull
#define F_PC	0x2000ull
#define G_PC	0x3000ull
#define R_PC	0x4000ull
#define T_PC	0x5000ull

static const struct stream_code codes[FRAGMENTS] = {
	/* call F; call G; call R; call T; jmp MAIN_F */
	[MAIN_F] = FOLD_CODE(MAIN_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[MAIN_G] = FOLD_CODE(MAIN_PC + 5, 0xe8, 0xf6, 0x1f, 0, 0),
	[MAIN_R] = FOLD_CODE(MAIN_PC + 10, 0xe8, 0xf1, 0x2f, 0, 0),
	[MAIN_T] = FOLD_CODE(MAIN_PC + 15, 0xe8, 0xec, 0x3f, 0, 0),
	[MAIN_END] = FOLD_CODE(MAIN_PC + 20, 0xeb, 0xea),
	/* call G; ret */
	[F] = FOLD_CODE(F_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[F_END] = FOLD_CODE(F_PC + 5, 0xc3),
	/* nop; ret */
	[G] = FOLD_CODE(G_PC, 0x90, 0xc3),
	/* call G; call *rax; ret */
	[R] = FOLD_CODE(R_PC, 0xe8, 0xfb, 0xef, 0xff, 0xff),
	[R_ANY] = FOLD_CODE(R_PC + 5, 0xff, 0xd0),
	[R_END] = FOLD_CODE(R_PC + 7, 0xc3),
	/* jmp F */
	[T] = FOLD_CODE(T_PC, 0xe9, 0xfb, 0xcf, 0xff, 0xff),
};

static u32 random_state;

static u32 any(u32 n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 16) % n;
}

static void run_f(struct fold_chunk *c)
{
	fold_run(c, F);
	fold_run(c, G);
	fold_run(c, F_END);
}

/* R calls itself, or G, or later F. */
static void run_r(struct fold_chunk *c, u32 depth, bool later)
{
	fold_run(c, R);
	fold_run(c, G);
	fold_run(c, R_ANY);
	if (depth)
		run_r(c, depth - 1, later);
	else if (later && any(2))
		run_f(c);
	else
		fold_run(c, G);
	fold_run(c, R_END);
}

static void write_store(struct fold_store *f, u32 nchunks)
{
	static struct fold_chunk c[CHUNKS];
	u32 i, k;

	random_state = 1;
	memset(c, 0, sizeof(c));
	for (i = 0; i < nchunks; i++) {
		c[i].seq = i;
		c[i].rsp = RSP;
		if (!i)
			fold_start(c);
		for (k = 0; k < 10; k++) {
			fold_run(c + i, MAIN_F);
			run_f(c + i);
			fold_run(c + i, MAIN_G);
			fold_run(c + i, G);
			fold_run(c + i, MAIN_R);
			run_r(c + i, any(5), 2 * i > nchunks);
			fold_run(c + i, MAIN_T);
			fold_run(c + i, T);
			run_f(c + i);
			fold_run(c + i, MAIN_END);
		}
	}
	fold_store_write(f, c, nchunks);
}

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

/* ---- tests ---- */

static struct dep_context_check checked(struct fold_store *f, u64 every)
{
	const struct dep_context_check_options o = { .every = every, .jobs = 1 };
	struct dep_context_check check;

	if (dep_contexts_check(f->s, f->code, &o, &check))
		fail_msg("%s", dep_error());
	assert_int_equal(check.mismatches, 0);
	assert_true(check.not_compared <= 1);
	return check;
}

static void assert_same(struct dep_context_check a, struct dep_context_check b)
{
	/* These depend on how many are checked. */
	a.checked = b.checked;
	a.late = b.late;
	a.compared = b.compared;
	a.not_compared = b.not_compared;
	assert_memory_equal(&a, &b, sizeof(a));
}

static void loop_and_hooks_agree(void **state)
{
	struct dep_context_check all;
	struct fold_store f;

	(void)state;
	write_store(&f, CHUNKS);
	all = checked(&f, 1);
	assert_int_equal(all.checked, all.calls);
	/* The thread's beginning counts as a call. */
	assert_int_equal(hooked + 1, all.calls);
	assert_true(all.calls > 4096);
	assert_true(all.encodings > 1);
	assert_true(all.saves > 100);
	assert_true(all.recursive > 100);
	assert_true(all.fresh > 100);
	assert_int_equal(all.edges, 11);
	hooked = 0;
	assert_same(checked(&f, 0), all);
	assert_true(hooked < all.calls / 10);
	assert_same(checked(&f, 2), all);
	assert_same(checked(&f, 97), all);
	fold_store_close(&f);
}

static void memory_runs_out(void **state)
{
	const struct dep_context_check_options o = { .every = 5, .jobs = 1 };
	struct dep_context_check check, whole;
	size_t before, failed = 0, i;
	struct fold_store f;
	int err;

	(void)state;
	write_store(&f, 2);
	whole = checked(&f, 5);
	for (i = 1;; i++) {
		before = blocks;
		fail_in = i;
		err = dep_contexts_check(f.s, f.code, &o, &check);
		if (fail_in)
			break;
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_non_null(strstr(dep_error(), strerror(ENOMEM)));
			assert_null(strstr(dep_error(), "memory allowed"));
			failed++;
		} else {
			assert_int_equal(check.mismatches, 0);
			if (!check.loss.segments)
				assert_same(check, whole);
		}
		assert_int_equal(blocks, before);
	}
	fail_in = 0;
	assert_int_equal(err, 0);
	assert_true(failed > 20);
	fold_store_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(loop_and_hooks_agree, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(memory_runs_out, set_up, fold_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
