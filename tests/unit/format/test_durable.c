// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store's writer when the disk fails, loses power, or holds something else under a name.
 *
 * Each system call that the writer makes during a small recording fails once, at each of its
 * times, with each error.  Whatever fails, nothing that the store says is there may be absent.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/lib/close_writer.h"
#include "durable.h"
#include "tests/unit/lib/scratch.h"

#define MANY_THREADS	20000u

static const int errors[] = { EIO, ENOSPC, EDQUOT };

static void print_case(const struct disk_fault *f, bool stops, const struct outcome *o)
{
	print_error("%s number %u: %s, %zu bytes written before, %s%s; created %d, error %d, "
		    "closed %d\n", disk_name(f->call), f->n, strerror(f->error), f->part,
		    f->full ? "disk stays full, " : "", stops ? "stops" : "goes on", o->created,
		    o->error, o->closed);
}

/* A recording on a disk that fails as @f says; false if nothing failed. */
static bool record_with(const struct durable *d, const struct disk_fault *f, bool stops,
			struct outcome *o, char *dir, size_t size)
{
	bool failed;

	scratch_name(dir, size);
	disk_begin(dir, f);
	durable_record(d, dir, stops, o);
	failed = disk_calls(f->call) >= f->n;
	disk_end();
	return failed;
}

/* What must hold after any fault. */
static bool is_right(const struct durable *d, const char *dir, const struct outcome *o,
		     struct held *h)
{
	bool any = o->error || o->closed < 0;

	if (o->created)
		return access(dir, F_OK) && errno == ENOENT;
	if (durable_check(d, dir, NULL, h))
		return false;
	/* After a close that succeeded END is there. */
	if (o->closed >= 0 && !h->ended)
		return false;
	/* What fails in the close itself is in END only. */
	if (!any && h->cause == DEP_CLOSE_FAILED)
		return h->error && h->state == DEP_VERDICT_INCOMPLETE;
	if (!any)
		return h->state == DEP_VERDICT_COMPLETE;
	if (h->marks != o->marks)
		return false;
	if (h->ended && o->closed >= 0)
		return h->state == DEP_VERDICT_INCOMPLETE && h->cause == DEP_CLOSE_FAILED &&
		       h->error && h->lost >= h->absent && h->lost >= o->lost;
	return h->ended || h->state == DEP_VERDICT_INCOMPLETE;
}

static void expect_right(const struct durable *d, const char *dir, const struct disk_fault *f,
			 bool stops, const struct outcome *o)
{
	struct held h = { 0 };

	if (is_right(d, dir, o, &h)) {
		scratch_remove(dir);
		return;
	}
	print_case(f, stops, o);
	print_error("verdict %s, cause %s, error %d, %llu bytes absent, %llu said to be, "
		    "%u marks of %u\n", dep_verdict_name(h.state), dep_close_cause_name(h.cause),
		    h.error, (unsigned long long)h.absent, (unsigned long long)h.lost, h.marks,
		    o->marks);
	fail();
}

/* Every call of the kinds from @first to @last, once. */
static void each_call(const struct durable *d, enum disk_call first, enum disk_call last)
{
	struct disk_fault f;
	struct outcome o;
	char dir[128];
	size_t e;
	int stops;

	for (f = (struct disk_fault){ .call = first }; f.call <= last; f.call++) {
		for (f.n = 1;; f.n++) {
			for (e = 0; e < 2 * sizeof(errors) / sizeof(errors[0]); e++) {
				f.error = errors[e / 2];
				stops = e % 2;
				if (!record_with(d, &f, stops, &o, dir, sizeof(dir)))
					break;
				expect_right(d, dir, &f, stops, &o);
			}
			if (e < 2 * sizeof(errors) / sizeof(errors[0]))
				break;
		}
		scratch_remove(dir);
		/* These two take back what failed: failing_twice(). */
		assert_true(f.n > 1 || f.call == DISK_UNLINK || f.call == DISK_TRUNCATE);
		print_message("%u calls of %s\n", f.n - 1, disk_name(f.call));
	}
}

static void failing_writes(void **state)
{
	each_call(*state, DISK_WRITE, DISK_WRITE);
}

static void failing_syncs(void **state)
{
	each_call(*state, DISK_SYNC, DISK_RANGE);
}

static void failing_files(void **state)
{
	each_call(*state, DISK_ALLOC, DISK_MODE);
}

/* A write that is cut short goes on after that; if it then fails, nothing of it may count. */
static void short_writes(void **state)
{
	static const size_t parts[] = { 1, 40, 333, 100000 };
	struct disk_fault f = { .call = DISK_WRITE };
	struct durable *d = *state;
	struct outcome o;
	char dir[128];
	size_t i;

	for (f.n = 1;; f.n++) {
		for (i = 0; i < 4 * 3; i++) {
			f.part = parts[i / 3];
			f.error = i % 3 ? ENOSPC : 0;
			if (!record_with(d, &f, i % 3 == 2, &o, dir, sizeof(dir)))
				break;
			assert_true(i % 3 || (!o.created && !o.error && !o.closed));
			expect_right(d, dir, &f, i % 3 == 2, &o);
		}
		if (i < 4 * 3)
			break;
	}
	scratch_remove(dir);
	assert_true(f.n > 30);
}

/* Both the write and taking it back fail: what is left must not count as a part of the store. */
static void failing_twice(void **state)
{
	static const size_t parts[] = { 1, 40, 333 };
	static const struct disk_fault second = { DISK_TRUNCATE, .n = 1, .error = EIO };
	struct disk_fault f = { .call = DISK_WRITE, .error = EIO };
	struct durable *d = *state;
	struct outcome o;
	struct held h;
	char dir[128];
	size_t i;

	for (f.n = 1;; f.n++) {
		for (i = 0; i < 6; i++) {
			f.part = parts[i / 2];
			scratch_name(dir, sizeof(dir));
			disk_begin(dir, &f);
			disk_also(&second);
			durable_record(d, dir, i % 2, &o);
			disk_end();
			if (disk_calls(DISK_WRITE) < f.n)
				break;
			if (!o.created) {
				assert_int_equal(durable_check(d, dir, NULL, &h), 0);
				assert_true(h.state == DEP_VERDICT_INCOMPLETE ||
					    (!o.error && o.closed == 1));
			}
			scratch_remove(dir);
		}
		if (i < 6)
			break;
	}
	scratch_remove(dir);
	assert_true(f.n > 30);
}

/*
 * The disk becomes full at any moment and stays so: END goes into the space that is reserved for
 * it, and says why the recording ended.
 */
static void full_disk(void **state)
{
	static const enum disk_call kinds[] = { DISK_WRITE, DISK_ALLOC, DISK_CREATE };
	struct disk_fault f = { .full = true };
	struct durable *d = *state;
	struct outcome o;
	struct held h;
	char dir[128];
	size_t k, e, ended = 0;

	for (k = 0; k < 3; k++) {
		f.call = kinds[k];
		for (f.n = 1, e = 0; e < 4; f.n++) {
			for (e = 0; e < 4; e++) {
				f.error = e < 2 ? ENOSPC : EDQUOT;
				if (!record_with(d, &f, e % 2, &o, dir, sizeof(dir)))
					break;
				/* No file can be made any more, so there is no final manifest. */
				if (!o.created && o.closed != 1) {
					print_case(&f, e % 2, &o);
					fail();
				}
				if (!o.created && o.error) {
					assert_int_equal(durable_check(d, dir, NULL, &h), 0);
					assert_int_equal(h.cause, DEP_CLOSE_FAILED);
					assert_int_equal(h.error, f.error);
					ended++;
				}
				expect_right(d, dir, &f, e % 2, &o);
			}
			if (e < 4)
				break;
			e = 0;
		}
		scratch_remove(dir);
	}
	assert_true(ended > 40);
}

/* The reserve survives an append that failed: others fill the disk as soon as it is given back. */
static void reserve_is_kept(void **state)
{
	static const struct disk_fault faults[] = {
		{ .call = DISK_ALLOC, .n = 1, .error = ENOSPC, .full = true },
		{ .call = DISK_WRITE, .n = 1, .error = EDQUOT },
		{ .call = DISK_WRITE, .n = 1, .error = EDQUOT, .part = 100 },
	};
	static char text[400u << 10];
	struct dep_writer *w;
	struct stat st;
	char dir[128];
	size_t i;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		scratch_name(dir, sizeof(dir));
		assert_int_equal(dep_writer_create(&w, dir, &durable_meta, 0), 0);
		disk_begin(dir, &faults[i]);
		assert_int_equal(dep_writer_message(w, text), -faults[i].error);
		disk_end();
		assert_int_equal(fstat(w->log.file.fd, &st), 0);
		assert_int_equal(st.st_size, w->log.file.size);
		assert_true((u64)st.st_blocks * 512 >= (u64)st.st_size + DEP_LOG_RESERVE);
		dep_writer_free(w);
		scratch_remove(dir);
	}
}

/* A store of so many threads that the tables of END are larger than the reserve of a small one. */
static int record_many(const struct durable *d, const char *dir, const struct disk_fault *f,
		       unsigned int *writes)
{
	struct dep_process p = { .serial = 1, .pid = 100, .start_ns = 1 };
	struct dep_thread t = { .process = 1, .end = DEP_END_WHOLE };
	struct adept_chunk c = d->stream.chunk[0].c;
	static char text[16384];
	struct dep_writer *w;
	int err, i;

	disk_begin(dir, f);
	assert_int_equal(dep_writer_create(&w, dir, &durable_meta, 0), 0);
	assert_int_equal(dep_writer_process(w, &p), 0);
	assert_int_equal(dep_writer_descriptors(w, 1, d->stream.desc, d->stream.desc_size), 0);
	for (t.serial = 1; t.serial <= MANY_THREADS; t.serial++) {
		t.tid = t.serial;
		assert_int_equal(dep_writer_thread(w, &t), 0);
		assert_int_equal(dep_writer_segment(w, t.serial, &c, d->stream.chunk[0].body), 0);
	}
	*writes = disk_calls(DISK_WRITE);
	/* Free space other than the reserve is used up first. */
	memset(text, 'x', sizeof(text) - 1);
	for (i = 0; f && i < 64 && !dep_writer_message(w, text); i++)
		;
	assert_true(!f || (i && i < 64));
	err = close_writer(w, NULL, 0);
	disk_end();
	return err;
}

static void reserve_for_many_threads(void **state)
{
	struct disk_fault f = { .call = DISK_WRITE, .error = ENOSPC, .full = true };
	const struct dep_verdict *v;
	struct dep_store *s;
	char dir[128];

	scratch_name(dir, sizeof(dir));
	assert_int_equal(record_many(*state, dir, NULL, &f.n), 0);
	scratch_remove(dir);
	f.n++;
	assert_int_equal(record_many(*state, dir, &f, &f.n), 1);
	assert_int_equal(dep_store_open(&s, dir), 0);
	v = dep_store_verdict(s);
	assert_int_equal(v->cause, DEP_CLOSE_FAILED);
	assert_int_equal(v->error, ENOSPC);
	assert_int_equal(s->model.proofs.n, MANY_THREADS);
	dep_store_close(s);
	scratch_remove(dir);
}

/* What a file system says that went down must not be taken for one that has nothing to sync. */
static void read_only_after_errors(void **state)
{
	struct disk_fault f = { .error = EROFS };
	struct durable *d = *state;
	struct outcome o;
	struct held h;
	char dir[128];

	for (f.call = DISK_SYNC; f.call <= DISK_SYNC_DIR; f.call++) {
		for (f.n = 1; record_with(d, &f, false, &o, dir, sizeof(dir)); f.n++) {
			if (!o.created && !o.error && !o.closed) {
				assert_int_equal(durable_check(d, dir, NULL, &h), 0);
				assert_int_equal(h.cause, DEP_CLOSE_FAILED);
				assert_int_equal(h.error, EROFS);
			}
			expect_right(d, dir, &f, false, &o);
		}
		scratch_remove(dir);
		assert_true(f.n > 5);
	}
}

/* A file system without a sync of its own is no reason not to record. */
static void nothing_to_sync(void **state)
{
	struct disk_fault f = { .error = EINVAL };
	struct durable *d = *state;
	struct outcome o;
	char dir[128];

	for (f.call = DISK_SYNC; f.call <= DISK_SYNC_DIR; f.call++) {
		for (f.n = 1; record_with(d, &f, false, &o, dir, sizeof(dir)); f.n++) {
			assert_true(!o.created && !o.error && !o.closed);
			expect_right(d, dir, &f, false, &o);
		}
		scratch_remove(dir);
	}
}

static int setup(void **state)
{
	static struct durable d;

	durable_init(&d);
	*state = &d;
	return 0;
}

static int teardown(void **state)
{
	durable_free(*state);
	disk_free();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failing_writes),
		cmocka_unit_test(failing_syncs),
		cmocka_unit_test(failing_files),
		cmocka_unit_test(short_writes),
		cmocka_unit_test(failing_twice),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(reserve_is_kept),
		cmocka_unit_test(reserve_for_many_threads),
		cmocka_unit_test(read_only_after_errors),
		cmocka_unit_test(nothing_to_sync),
		cmocka_unit_test(power_cuts),
		cmocka_unit_test(power_cuts_after_failed_syncs),
		cmocka_unit_test(access_rights),
		cmocka_unit_test(group_rights),
		cmocka_unit_test(names_at_creation),
		cmocka_unit_test(name_at_removal),
		cmocka_unit_test(names_while_recording),
		cmocka_unit_test(names_at_close),
		cmocka_unit_test(names_at_resume),
		cmocka_unit_test(names_at_reading),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
