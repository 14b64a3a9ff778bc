// SPDX-License-Identifier: GPL-2.0-or-later
/* Sequences of paths whose rows are known, and sequences that do not fit in the memory allowed. */
#include <errno.h>

#include "dep/path_profile.h"
#include "fold_store.h"

/* Of libdep/path_profile/pass.h, which cannot be included with libdep/fold/walk.h. */
extern u64 dep_path_hash_bits;

#define CALLS	20u
#define BLOCKS	16
#define TEXT	256

enum {
	CALL_T, CALL_U, CALL_U_2, CALL_P, CALL_P_2, CALL_W, CALL_W_2, T, T_2, T_3, U, U_2, U_3,
	P, P_X, P_Y, P_Z, P_END, W, W_2, W_3, W_4, FRAGMENTS
};

#define CALL_T_PC	0x1000ull
#define CALL_P_PC	0x2000ull
#define CALL_W_PC	0x3000ull
#define T_PC		0x4000ull
#define U_PC		0x5000ull
#define P_PC		0x6000ull
#define W_PC		0x7000ull
#define RSP		0x800000ull

static const struct stream_code codes[FRAGMENTS] = {
	/* Callers: call T; call U; jmp.  call P; jmp.  call W; jmp */
	[CALL_T] = FOLD_CODE(CALL_T_PC, 0xe8, 0xfb, 0x2f, 0, 0),
	[CALL_U] = FOLD_CODE(CALL_T_PC + 5, 0xe8, 0xf6, 0x3f, 0, 0),
	[CALL_U_2] = FOLD_CODE(CALL_T_PC + 10, 0xeb, 0xf4),
	[CALL_P] = FOLD_CODE(CALL_P_PC, 0xe8, 0xfb, 0x3f, 0, 0),
	[CALL_P_2] = FOLD_CODE(CALL_P_PC + 5, 0xeb, 0xf9),
	[CALL_W] = FOLD_CODE(CALL_W_PC, 0xe8, 0xfb, 0x3f, 0, 0),
	[CALL_W_2] = FOLD_CODE(CALL_W_PC + 5, 0xeb, 0xf9),
	/* nop; jne T_3.  nop; jmp T.  T_3: jmp U */
	[T] = FOLD_CODE(T_PC, 0x90, 0x75, 0x03),
	[T_2] = FOLD_CODE(T_PC + 3, 0x90, 0xeb, 0xfa),
	[T_3] = FOLD_CODE(T_PC + 6, 0xe9, 0xf5, 0x0f, 0, 0),
	/* nop; jne U_3.  nop; jmp U.  U_3: ret */
	[U] = FOLD_CODE(U_PC, 0x90, 0x75, 0x03),
	[U_2] = FOLD_CODE(U_PC + 3, 0x90, 0xeb, 0xfa),
	[U_3] = FOLD_CODE(U_PC + 6, 0xc3),
	/* jmp X.  Z: nop; jne END; Y: nop; jne Z; X: nop; jne Y; END: ret */
	[P] = FOLD_CODE(P_PC, 0xeb, 0x06),
	[P_Z] = FOLD_CODE(P_PC + 2, 0x90, 0x75, 0x06, 0x90, 0x75, 0xfa, 0x90, 0x75, 0xfa),
	[P_Y] = FOLD_CODE(P_PC + 5, 0x90, 0x75, 0xfa, 0x90, 0x75, 0xfa),
	[P_X] = FOLD_CODE(P_PC + 8, 0x90, 0x75, 0xfa),
	[P_END] = FOLD_CODE(P_PC + 11, 0xc3),
	/* nop; je W_3.  nop.  W_3: nop; jne W.  ret */
	[W] = FOLD_CODE(W_PC, 0x90, 0x74, 0x01),
	[W_2] = FOLD_CODE(W_PC + 3, 0x90, 0x90, 0x75, 0xf9),
	[W_3] = FOLD_CODE(W_PC + 4, 0x90, 0x75, 0xf9),
	[W_4] = FOLD_CODE(W_PC + 7, 0xc3),
};

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

/* The jumps of a fragment up to number @n are not taken; the next one is, if there is one. */
static void run_past(struct fold_chunk *c, u32 frag, u32 n)
{
	fold_exit(c, fold_stream.frag[frag].id + n);
}

static void run_all(struct fold_chunk *c, const u32 *frag, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		fold_run(c, frag[i]);
}

#define RUN(c, ...) \
	run_all(c, (const u32[]){ __VA_ARGS__ }, \
		sizeof((const u32[]){ __VA_ARGS__ }) / sizeof(u32))

static struct dep_path_profile *paths_of(struct fold_store *f, u32 iterations)
{
	const struct dep_path_profile_options o = { .iterations = iterations };
	struct dep_path_profile *p;

	if (dep_path_profile_make(f->s, f->code, &o, &p))
		fail_msg("%s", dep_error());
	assert_int_equal(p->not_counted, 0);
	return p;
}

/* ---- rows that are known ---- */

/* A row: distances of blocks from the function, a sequence's paths with ">" between. */
struct known {
	const char *text;
	u64 count;
};

static void put_blocks(char *text, const struct dep_path_row *r,
		       const struct dep_path_code *block, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		snprintf(text + strlen(text), TEXT - strlen(text), "%s%lx", i ? " " : "",
			 block[i].pc - r->pc);
}

static void row_text(const struct dep_path_profile *p, size_t row, char *text)
{
	const struct dep_path_row *r = p->row + row;
	struct dep_path_code block[BLOCKS];
	u64 number[DEP_PATH_ITERATIONS];
	size_t n = dep_path_profile_before(p, row, number, DEP_PATH_ITERATIONS), i, blocks;

	*text = 0;
	assert_int_equal(n, r->before);
	for (i = 0; i < n; i++) {
		blocks = dep_path_profile_path(p, r->function, number[i], block, BLOCKS);
		assert_in_range(blocks, 1, BLOCKS);
		assert_int_equal(dep_path_profile_path(p, r->function, number[i], NULL, 0), blocks);
		put_blocks(text, r, block, blocks);
		snprintf(text + strlen(text), TEXT - strlen(text), " > ");
	}
	put_blocks(text, r, block, dep_path_profile_blocks(p, row, block, BLOCKS));
}

static void check_rows(const struct dep_path_profile *p, u64 function, const struct known *known,
		       size_t n)
{
	size_t i, k, found = 0;
	char text[TEXT];

	for (i = 0; i < p->nrows; i++) {
		if (p->row[i].pc != function)
			continue;
		row_text(p, i, text);
		for (k = 0; k < n && strcmp(known[k].text, text) != 0; k++)
			;
		if (k == n || known[k].count != p->row[i].count)
			fail_msg("%s: %lu", text, p->row[i].count);
		found++;
	}
	assert_int_equal(found, n);
}

#define ROWS(p, function, ...) \
	check_rows(p, function, (const struct known[]){ __VA_ARGS__ }, \
		   sizeof((const struct known[]){ __VA_ARGS__ }) / sizeof(struct known))

/* A function that is entered by a jump has executed nothing yet, as one that is called. */
static void sequences_begin(void **state)
{
	struct fold_chunk c = { .rsp = RSP };
	struct dep_path_profile *p;
	struct fold_store f;
	u32 i;

	(void)state;
	fold_start(&c);
	for (i = 0; i < CALLS; i++) {
		fold_run(&c, CALL_T);
		run_past(&c, T, 1);
		fold_run(&c, T_2);
		run_past(&c, T, 1);
		RUN(&c, T_2, T, T_3);
		run_past(&c, U, 1);
		RUN(&c, U_2, U, U_3, CALL_U, U, U_3, CALL_U_2);
	}
	fold_store_write(&f, &c, 1);
	p = paths_of(&f, 2);
	ROWS(p, T_PC, { "0 3", CALLS }, { "0 3 > 0 3", CALLS }, { "0 3 > 0 6", CALLS });
	ROWS(p, U_PC, { "0 3", CALLS }, { "0 3 > 0 6", CALLS }, { "0 6", CALLS });
	dep_path_profile_free(p);
	p = paths_of(&f, 3);
	ROWS(p, T_PC, { "0 3", CALLS }, { "0 3 > 0 3", CALLS }, { "0 3 > 0 3 > 0 6", CALLS });
	ROWS(p, U_PC, { "0 3", CALLS }, { "0 3 > 0 6", CALLS }, { "0 6", CALLS });
	dep_path_profile_free(p);
	fold_store_close(&f);
}

/* A fragment in which several paths end. */
static void ends_in_a_stretch(void **state)
{
	struct fold_chunk c = { .rsp = RSP };
	struct dep_path_profile *p;
	struct fold_store f;
	u32 i;

	(void)state;
	fold_start(&c);
	for (i = 0; i < CALLS; i++) {
		RUN(&c, CALL_P, P, P_X, P_Y);
		run_past(&c, P_Z, 3);
		RUN(&c, P_END, CALL_P_2);
	}
	fold_store_write(&f, &c, 1);
	p = paths_of(&f, 1);
	ROWS(p, P_PC, { "0 8 5 2", CALLS }, { "5", CALLS }, { "8 b", CALLS });
	dep_path_profile_free(p);
	p = paths_of(&f, 2);
	ROWS(p, P_PC, { "0 8 5 2", CALLS }, { "0 8 5 2 > 5", CALLS }, { "5 > 8 b", CALLS });
	dep_path_profile_free(p);
	p = paths_of(&f, DEP_PATH_ITERATIONS);
	ROWS(p, P_PC, { "0 8 5 2", CALLS }, { "0 8 5 2 > 5", CALLS },
	     { "0 8 5 2 > 5 > 8 b", CALLS });
	dep_path_profile_free(p);
	fold_store_close(&f);
}

/* Too many iterations, and a table in which rows of one path would be several paths. */
static void what_is_refused(void **state)
{
	const struct dep_path_profile_options o = { .iterations = DEP_PATH_ITERATIONS + 1 };
	struct fold_chunk c = { .rsp = RSP };
	struct dep_path_profile *p;
	struct dep_path_table table;
	struct fold_store f;

	(void)state;
	fold_start(&c);
	RUN(&c, CALL_P, P, P_X, P_Y);
	fold_store_write(&f, &c, 1);
	assert_int_equal(dep_path_profile_make(f.s, f.code, &o, &p), -EINVAL);
	assert_string_equal(dep_error(), "paths over 65 iterations: Invalid argument");
	p = paths_of(&f, 2);
	assert_int_equal(dep_path_profile_table(p, &table), -EINVAL);
	dep_path_profile_free(p);
	fold_store_close(&f);
}

/* ---- memory ---- */

#define ITERATIONS	12u
#define WALKS		60u
#define STEPS		100u

/* Both ways through a loop, in any order: nearly each path has other ones in front of it. */
static void random_store(struct fold_store *f)
{
	struct fold_chunk c;
	u32 walk, i;

	fold_store_begin(f, fold_stream.desc, fold_stream.desc_size);
	for (walk = 0; walk < WALKS; walk++) {
		c = (struct fold_chunk){ .seq = walk, .rsp = RSP };
		if (!walk)
			fold_start(&c);
		fold_run(&c, CALL_W);
		for (i = 0; i < STEPS; i++) {
			if (stream_random(&fold_stream) >> 32 & 1) {
				RUN(&c, W, W_3);
				continue;
			}
			run_past(&c, W, 1);
			fold_run(&c, W_2);
		}
		fold_run(&c, W);
		run_past(&c, W_3, 1);
		RUN(&c, W_4, CALL_W_2);
		fold_store_segment(f, 1, &c);
	}
	fold_store_open(f);
}

static int compare_rows(const struct dep_path_profile *a, size_t i,
			const struct dep_path_profile *b, size_t k)
{
	u64 x[DEP_PATH_ITERATIONS] = { 0 }, y[DEP_PATH_ITERATIONS] = { 0 };
	const struct dep_path_row *r = a->row + i, *s = b->row + k;

	dep_path_profile_before(a, i, x, DEP_PATH_ITERATIONS);
	dep_path_profile_before(b, k, y, DEP_PATH_ITERATIONS);
	return r->pc == s->pc && r->kind == s->kind && r->number == s->number &&
	       r->block == s->block && r->before == s->before && !memcmp(x, y, sizeof(x));
}

static u64 sum(const struct dep_path_profile *p)
{
	u64 all = 0;
	size_t i;

	for (i = 0; i < p->nrows; i++)
		all += p->row[i].kind == DEP_PATH_ROW_LOOP ? 0 : p->row[i].count;
	return all;
}

/* The rows of @part are rows of @all in the same order, with at most the same counts. */
static void check_part(const struct dep_path_profile *part, const struct dep_path_profile *all)
{
	size_t i, k = 0;

	for (i = 0; i < part->nrows; i++, k++) {
		while (k < all->nrows && !compare_rows(part, i, all, k))
			k++;
		assert_in_range(k, 0, all->nrows - 1);
		assert_in_range(part->row[i].count, 1, all->row[k].count);
	}
	assert_int_equal(sum(part) + part->not_counted, sum(all));
}

/* What does not fit is counted as missing, and the counts of all other rows are not too high. */
static void sequences_that_do_not_fit(void **state)
{
	struct dep_path_profile_options o = { .iterations = ITERATIONS };
	struct dep_path_profile *p, *all, *alone;
	u32 some = 0, whole = 0;
	struct fold_store f;

	(void)state;
	random_store(&f);
	alone = paths_of(&f, 1);
	all = paths_of(&f, ITERATIONS);
	assert_in_range(all->nrows, 2000, WALKS * (STEPS + 1));
	assert_int_equal(sum(all), sum(alone));
	assert_int_equal(all->insns, alone->insns);
	assert_int_equal(all->function->paths, alone->function->paths);
	/* Different sequences with the same hash. */
	dep_path_hash_bits = 15;
	p = paths_of(&f, ITERATIONS);
	dep_path_hash_bits = UINT64_MAX;
	check_part(p, all);
	assert_int_equal(p->nrows, all->nrows);
	dep_path_profile_free(p);
	for (o.memory = 1 << 19; o.memory < 1 << 24; o.memory += o.memory / 8) {
		if (dep_path_profile_make(f.s, f.code, &o, &p))
			continue;
		check_part(p, all);
		some += p->not_counted > 0;
		whole += !p->not_counted;
		dep_path_profile_free(p);
	}
	assert_true(some > 3 && whole > 1);
	dep_path_profile_free(alone);
	dep_path_profile_free(all);
	fold_store_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sequences_begin, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(ends_in_a_stretch, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(what_is_refused, set_up, fold_tear_down),
		cmocka_unit_test_setup_teardown(sequences_that_do_not_fit, set_up, fold_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
