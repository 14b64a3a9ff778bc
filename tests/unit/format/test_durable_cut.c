// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Power cuts.
 *
 * A recording is written once, with each step recorded.  For each step the files are made that the
 * machine could have if its power had failed then, and the store is opened, resumed and closed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "libdep/format/write/resume.h"
#include "durable.h"
#include "tests/unit/lib/scratch.h"

#define CHANCES	6	/* different losses by chance, for each step */

struct cut {
	size_t upto;
	enum disk_lost lost;
	u64 seed;
};

static void print_cut(const struct cut *c, const char *what, int err)
{
	print_error("power cut after step %zu of %zu, loss %d, seed %llu: %s: %d: %s\n", c->upto,
		    disk_ops(), c->lost, (unsigned long long)c->seed, what, err, dep_error());
}

/* The collector that was recording is gone: what depd does with its store. */
static int close_lost(const char *dir)
{
	struct dep_ending e = { .cause = DEP_CLOSE_LOST, .exit_status = -1 };
	struct dep_writer *w;
	struct dep_resume r;
	int err = dep_writer_resume(&w, dir, 0, NULL, NULL, &r);

	if (err)
		return err;
	dep_resume_free(&r);
	err = dep_writer_message(w, "depd was killed");
	assert_int_equal(err, 0);
	return dep_writer_close(w, &e);
}

/* Record the rest, as if the machine had not failed: only what is really there may count. */
static int go_on(const struct durable *d, const char *dir)
{
	struct dep_writer *w;
	struct dep_resume r;
	int err = dep_writer_resume(&w, dir, 0, NULL, NULL, &r);

	if (err)
		return err;
	/* Which descriptors are missing is known only if those that are there are the first. */
	if (r.bad_bytes)
		dep_writer_free(w);
	else
		err = durable_go_on(d, w, &r);
	dep_resume_free(&r);
	return err;
}

static size_t finished;		/* stores that were complete after the rest was recorded */

/* Returns what opening it returned. */
static int check_cut(const struct durable *d, const struct cut *c, const struct outcome *o)
{
	/* From the first durable point on; nothing is promised before. */
	bool named = o->marks && c->upto >= o->ops_named, complete;
	struct held before, h;
	char dir[128];
	int err, ret;

	scratch_name(dir, sizeof(dir));
	disk_cut(dir, c->upto, c->lost, c->seed);
	ret = durable_check(d, dir, NULL, &before);
	if (ret && named) {
		print_cut(c, "a store with a MARK cannot be opened", ret);
		fail();
	}
	complete = !ret && before.state == DEP_VERDICT_COMPLETE;
	/* END is the proof, and the last that is written before the final manifest. */
	assert_true(!complete || before.ended);
	if (c->upto >= o->ops_closed && !o->error && !o->closed)
		assert_true(complete);
	err = close_lost(dir);
	/* It may be closed already; without a manifest and a log nothing was recorded. */
	if (err == -EALREADY ? !complete : err && (named || !ret)) {
		print_cut(c, "it cannot be resumed", err);
		fail();
	}
	if (!err) {
		assert_int_equal(durable_check(d, dir, &before, &h), 0);
		assert_true(h.ended && h.cause == DEP_CLOSE_LOST);
		assert_int_equal(h.state, DEP_VERDICT_INCOMPLETE);
		assert_int_equal(h.bad, 0);
	}
	scratch_remove(dir);
	if (ret || err == -EALREADY)
		return ret;
	disk_cut(dir, c->upto, c->lost, c->seed);
	err = go_on(d, dir);
	if (err) {
		print_cut(c, "it cannot be gone on with", err);
		fail();
	}
	assert_int_equal(durable_check(d, dir, &before, &h), 0);
	finished += h.state == DEP_VERDICT_COMPLETE;
	scratch_remove(dir);
	return ret;
}

void power_cuts(void **state)
{
	struct durable *d = *state;
	size_t refused = 0, n = 0;
	struct outcome o;
	struct cut c;
	char dir[128];

	scratch_name(dir, sizeof(dir));
	disk_begin(dir, NULL);
	durable_record(d, dir, false, &o);
	assert_true(!o.created && !o.error && !o.closed && disk_parent_synced());
	disk_end();
	scratch_remove(dir);
	for (c.upto = 0; c.upto <= disk_ops(); c.upto++)
		for (c.lost = 0; c.lost < DISK_LOSTS; c.lost++)
			for (c.seed = 1; c.seed <= (c.lost == DISK_LOSES_SOME ? CHANCES : 1);
			     c.seed++, n++)
				refused += check_cut(d, &c, &o) != 0;
	print_message("%zu power cuts, %zu before there was a store, %zu could be finished\n",
		      n, refused, finished);
	assert_true(n > 500 && refused < n / 3 && finished > n / 4);
}

/* A sync that failed: what it was for is lost, even if a later sync succeeds. */
void power_cuts_after_failed_syncs(void **state)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT };
	struct disk_fault f = { .call = DISK_SYNC };
	struct durable *d = *state;
	struct outcome o;
	struct held h;
	struct cut c;
	char dir[128];

	for (f.n = 1;; f.n++) {
		f.error = errors[f.n % 3];
		scratch_name(dir, sizeof(dir));
		disk_begin(dir, &f);
		durable_record(d, dir, f.n % 2, &o);
		disk_end();
		scratch_remove(dir);
		if (disk_calls(DISK_SYNC) < f.n)
			break;
		for (c.upto = o.ops_named; o.marks && c.upto <= disk_ops(); c.upto++)
			for (c.lost = 0; c.lost < DISK_LOSTS; c.lost += DISK_LOSES_SOME) {
				disk_cut(dir, c.upto, c.lost, c.seed = f.n);
				if (durable_check(d, dir, NULL, &h)) {
					print_cut(&c, "cannot be opened", 0);
					fail();
				}
				scratch_remove(dir);
			}
	}
	assert_true(f.n > 8);
}
