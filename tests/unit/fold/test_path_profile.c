// SPDX-License-Identifier: GPL-2.0-or-later
/* Path profiles of stores that are written word by word: losses, limits and odd code. */
#include "dep/path_profile.h"
#include "fold_store.h"

enum { MAIN, MAIN_2, MAIN_3, F, G, G_2, G_3, RECURSIVE, FRAGMENTS };

#define MAIN_PC		0x1000ull
#define F_PC		0x2000ull
#define G_PC		0x3000ull
#define RECURSIVE_PC	0x4000ull
#define RSP		0x800000ull

static const struct stream_code codes[FRAGMENTS] = {
	/* call F; call G; jmp MAIN */
	[MAIN] = FOLD_CODE(MAIN_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[MAIN_2] = FOLD_CODE(MAIN_PC + 5, 0xe8, 0xf6, 0x1f, 0, 0),
	[MAIN_3] = FOLD_CODE(MAIN_PC + 10, 0xeb, 0xf4),
	/* nop; jmp G */
	[F] = FOLD_CODE(F_PC, 0x90, 0xe9, 0xfa, 0x0f, 0, 0),
	/* nop; je G_2; G_2: ret.  G_3: nop; jmp G */
	[G] = FOLD_CODE(G_PC, 0x90, 0x74, 0x00),
	[G_2] = FOLD_CODE(G_PC + 3, 0xc3),
	[G_3] = FOLD_CODE(G_PC + 0x10, 0x90, 0xeb, 0xed),
	/* call RECURSIVE */
	[RECURSIVE] = FOLD_CODE(RECURSIVE_PC, 0xe8, 0xfb, 0xff, 0xff, 0xff),
};

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

static struct fold_chunk chunk(u64 seq)
{
	return (struct fold_chunk){ .seq = seq, .rsp = RSP };
}

/* ---- what comes out ---- */

static struct dep_path_profile *paths_of(struct fold_store *f,
					 const struct dep_path_profile_options *o)
{
	struct dep_path_profile *p;

	if (dep_path_profile_make(f->s, f->code, o, &p))
		fail_msg("%s", dep_error());
	return p;
}

/* ---- losses ---- */

/* Calls whose contexts do not fit in the memory are a loss: what they execute is not theirs. */
static void contexts_that_do_not_fit(void **state)
{
	struct dep_path_profile_options o = { .fold.jobs = 1 };
	struct fold_chunk c = chunk(0);
	struct dep_path_profile *p;
	struct fold_store f;
	u32 i;

	(void)state;
	fold_start(&c);
	for (i = 0; i < 400; i++)
		fold_run(&c, RECURSIVE);
	fold_store_write(&f, &c, 1);
	p = paths_of(&f, &o);
	assert_int_equal(p->not_counted, 0);
	dep_path_profile_free(p);
	o.memory = 400 << 10;
	p = paths_of(&f, &o);
	assert_in_range(p->not_counted, 1, 399);
	dep_path_profile_free(p);
	fold_store_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(contexts_that_do_not_fit, set_up, fold_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
