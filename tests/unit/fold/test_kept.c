// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters that a store keeps: the rows are the same, and a file that does not fit is not used. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kept_bytes.h"
#include "libdep/profile/kept.h"

/* A store with random chunks, its file of counters, and its rows without that. */
struct kept_store {
	struct fold_store f;
	struct stream r;
	struct kept_bytes file;
};

static struct dep_profile *make(struct kept_store *k, const struct dep_fold_options *o)
{
	struct dep_profile *p;

	if (dep_profile_make_kept(k->f.s, k->f.code, o, &p))
		fail_msg("%s", dep_error());
	return p;
}

/* The rows are right, whatever is in the file. */
static void check(struct kept_store *k)
{
	struct dep_profile *p = make(k, NULL);

	fold_check_same(k->f.p, p);
	fold_same_rows(k->f.p, p, thread, nthreads);
	dep_profile_free(p);
}

static void begin(struct kept_store *k, u64 seed)
{
	struct stream *r = &k->r;
	size_t n;
	u32 t, i;

	memset(k, 0, sizeof(*k));
	stream_init(r, seed);
	r->no_room = seed & 1;
	stream_standard(r);
	for (i = 0; i < 40; i++) {
		r->split_at = r->stores + (long)(stream_random(r) % 8);
		stream_random_run(r, 4);
		if (stream_random(r) % 4 == 0)
			stream_close(r);
	}
	stream_close(r);
	fold_store_begin(&k->f, r->desc, r->desc_size);
	for (t = 1; t <= 3; t++)
		for (n = 0; n < r->nchunks; n++)
			if (dep_writer_segment(k->f.w, t, &r->chunk[n].c, r->chunk[n].body))
				fail_msg("%s", dep_error());
	fold_store_open(&k->f);
	kept_bytes_begin(&k->file, &k->f, &dep_counts_file);
	fold_profile(&k->f, 1 << 20, NULL);
}

static void end(struct kept_store *k)
{
	kept_bytes_end(&k->file);
	fold_store_close(&k->f);
	stream_free(&k->r);
}

/* ---- tests ---- */

static void same_rows(void **state)
{
	struct kept_store k;
	u64 seed;

	(void)state;
	for (seed = 1; seed <= 12; seed++) {
		begin(&k, seed);
		assert_false(kept_is_there(&k.file));
		check(&k);
		assert_true(kept_is_there(&k.file));
		check(&k);
		end(&k);
	}
}

/* The counters are really read: one that is changed, but could be right, is shown. */
static void counters_are_used(void **state)
{
	struct dep_counter *c;
	struct dep_profile *p;
	struct kept_store k;
	u64 before = 0, after = 0;
	size_t i;

	(void)state;
	begin(&k, 5);
	check(&k);
	kept_read(&k.file);
	c = kept_rows(&k.file, DEP_KEPT_INTERRUPTIONS);
	c->count += 1000;
	kept_seal(&k.file);
	p = make(&k, NULL);
	for (i = 0; i < p->nedges; i++)
		after += p->edge[i].count;
	for (i = 0; i < k.f.p->nedges; i++)
		before += k.f.p->edge[i].count;
	assert_int_equal(after, before + 1000);
	dep_profile_free(p);
	end(&k);
}

static bool select_none(void *arg, const struct dep_segment *seg)
{
	(void)arg;
	(void)seg;
	return false;
}

/* A part of the recording is neither kept nor taken from what is kept of the whole. */
static void parts_are_not_kept(void **state)
{
	const struct dep_fold_options part[] = {
		{ .process = 1 }, { .thread = 2 }, { .from_ns = 1, .to_ns = 1005 },
		{ .to_ns = 1005 }, { .select = select_none },
	};
	struct dep_profile *p;
	struct kept_store k;
	size_t i, pass;

	(void)state;
	begin(&k, 7);
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < sizeof(part) / sizeof(*part); i++) {
			p = make(&k, &part[i]);
			assert_int_equal(kept_is_there(&k.file), pass);
			assert_true(p->insns < k.f.p->insns);
			dep_profile_free(p);
		}
		check(&k);
	}
	end(&k);
}

/* Without the right checksum no byte is believed; nor is a file of another length. */
static void damaged_files(void **state)
{
	struct kept_store k;
	size_t i;

	(void)state;
	begin(&k, 3);
	check(&k);
	kept_read(&k.file);
	for (i = 0; i < k.file.size; i += i < sizeof(struct dep_wire_kept) ? 1 : 37) {
		k.file.bytes[i] ^= 0x41;
		kept_write(&k.file, k.file.size);
		check(&k);
		k.file.bytes[i] ^= 0x41;
		kept_write(&k.file, i);
		check(&k);
	}
	kept_write(&k.file, k.file.size);
	assert_int_equal(truncate(k.file.file, 1ll << 40), 0);
	check(&k);
	end(&k);
}

/* Set one field to @value in a file with right checksums, and check that the rows are right. */
#define FORGED(k, good, kind, type, field, value) \
	do { \
		type *row_; \
		memcpy((k)->file.bytes, good, (k)->file.size); \
		row_ = kept_rows(&(k)->file, kind); \
		assert_true(row_->field != (value)); \
		row_->field = (value); \
		kept_seal(&(k)->file); \
		check(k); \
	} while (0)

static void forged_rows(void **state)
{
	static const u64 wrong[] = { 1000000, UINT32_MAX - 1, 1ull << 31 };
	struct kept_store k;
	u8 *good;
	size_t i;

	(void)state;
	begin(&k, 9);
	check(&k);
	kept_read(&k.file);
	good = malloc(k.file.size);
	assert_non_null(good);
	memcpy(good, k.file.bytes, k.file.size);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const u32 w = (u32)wrong[i];

		FORGED(&k, good, DEP_KEPT_EXITS, struct dep_exit_total, exit, w);
		FORGED(&k, good, DEP_KEPT_EXITS, struct dep_exit_total, process, w);
		FORGED(&k, good, DEP_KEPT_EXITS, struct dep_exit_total, interval, w);
		FORGED(&k, good, DEP_KEPT_EXITS, struct dep_exit_total, count, ~(u64)w);
		FORGED(&k, good, DEP_KEPT_PIECES, struct dep_counter, a, w);
		FORGED(&k, good, DEP_KEPT_PIECES, struct dep_counter, b, w);
		FORGED(&k, good, DEP_KEPT_PIECES, struct dep_counter, c, w);
		FORGED(&k, good, DEP_KEPT_PIECES, struct dep_counter, count, ~(u64)w);
		FORGED(&k, good, DEP_KEPT_INTERRUPTIONS, struct dep_counter, b, w);
		FORGED(&k, good, DEP_KEPT_INTERRUPTIONS, struct dep_counter, c, w);
		FORGED(&k, good, DEP_KEPT_INTERRUPTIONS, struct dep_counter, d, w);
		FORGED(&k, good, DEP_KEPT_THREADS, struct dep_thread_count, thread, w);
		FORGED(&k, good, DEP_KEPT_THREADS, struct dep_thread_count, insns, ~(u64)w);
		FORGED(&k, good, DEP_KEPT_TIMES, struct dep_time_count, thread, w);
		FORGED(&k, good, DEP_KEPT_TIMES, struct dep_time_count, insns, ~(u64)w);
	}
	FORGED(&k, good, DEP_KEPT_EXITS, struct dep_exit_total, exit, 0);
	FORGED(&k, good, DEP_KEPT_EXITS, struct dep_exit_total, process, 0);
	FORGED(&k, good, DEP_KEPT_EXITS, struct dep_exit_total, count, 0);
	FORGED(&k, good, DEP_KEPT_PIECES, struct dep_counter, count, 0);
	FORGED(&k, good, DEP_KEPT_INTERRUPTIONS, struct dep_counter, count, 0);
	free(good);
	end(&k);
}

/* Files of somebody else, links, and files that others may write are not read. */
static void foreign_files(void **state)
{
	struct kept_store k;
	char other[176];
	struct stat st;

	(void)state;
	begin(&k, 5);
	check(&k);
	kept_read(&k.file);
	((struct dep_counter *)kept_rows(&k.file, DEP_KEPT_INTERRUPTIONS))->count += 1000;
	kept_seal(&k.file);
	assert_int_equal(chmod(k.file.file, 0620), 0);
	check(&k);
	kept_write(&k.file, k.file.size);
	if (!geteuid()) {
		assert_int_equal(chown(k.file.file, 12345, 0), 0);
		check(&k);
	}
	kept_write(&k.file, k.file.size);
	snprintf(other, sizeof(other), "%s.other", k.file.file);
	assert_int_equal(rename(k.file.file, other), 0);
	assert_int_equal(symlink(other, k.file.file), 0);
	check(&k);
	/* The link was replaced, its target was not. */
	assert_true(!lstat(k.file.file, &st) && S_ISREG(st.st_mode));
	assert_true(!lstat(other, &st) && (size_t)st.st_size == k.file.size);
	assert_int_equal(unlink(other), 0);
	end(&k);
}

/* A store that has changed, or is somebody else's. */
static void changed_stores(void **state)
{
	struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct dep_wire_kept h;
	struct kept_store k;
	char segments[176];

	(void)state;
	begin(&k, 5);
	check(&k);
	kept_read(&k.file);
	memcpy(&h, k.file.bytes, sizeof(h));
	((struct dep_counter *)kept_rows(&k.file, DEP_KEPT_INTERRUPTIONS))->count += 1000;
	kept_seal(&k.file);
	snprintf(segments, sizeof(segments), "%s/segments.000", k.f.dir);
	assert_int_equal(utimensat(AT_FDCWD, segments, t, 0), 0);
	check(&k);
	kept_read(&k.file);
	assert_true(((struct dep_wire_kept *)k.file.bytes)->files != h.files);
	assert_int_equal(unlink(k.file.file), 0);
	if (!geteuid()) {
		assert_int_equal(chown(k.f.dir, 12345, 0), 0);
		check(&k);
		assert_false(kept_is_there(&k.file));
		assert_int_equal(chown(k.f.dir, 0, 0), 0);
	}
	check(&k);
	assert_true(kept_is_there(&k.file));
	assert_int_equal(dep_store_rebuild(k.f.dir), 0);
	assert_false(kept_is_there(&k.file));
	end(&k);
}

/* If the store is removed while it is read, no file is left behind. */
static void removed_store(void **state)
{
	struct kept_store k;
	char log[176];

	(void)state;
	begin(&k, 5);
	snprintf(log, sizeof(log), "%s/fragments", k.f.dir);
	assert_int_equal(unlink(log), 0);
	check(&k);
	assert_false(kept_is_there(&k.file));
	end(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_rows),
		cmocka_unit_test(counters_are_used),
		cmocka_unit_test(parts_are_not_kept),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(forged_rows),
		cmocka_unit_test(foreign_files),
		cmocka_unit_test(changed_stores),
		cmocka_unit_test(removed_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
