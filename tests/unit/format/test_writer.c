// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "libdep/format/write/pack.h"
#include "libdep/format/write/writer.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/store_util.h"

/* The disk is full at every size that a store goes through. */
static void disk_full(void **state)
{
	struct rlimit old, lim;
	struct dep_loss loss;
	struct dep_writer *w;
	struct stream s;
	char dir[128];
	int good, err;
	u64 max, lost;
	size_t i;

	(void)state;
	make_stream(&s);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	for (max = 600; max < 6000; max += 52) {
		scratch_name(dir, sizeof(dir));
		assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
		assert_int_equal(dep_writer_descriptors(w, 1, s.desc, s.desc_size), 0);
		lim = (struct rlimit){ max, old.rlim_max };
		setrlimit(RLIMIT_FSIZE, &lim);
		for (i = 0, good = 0, lost = 0; i < s.nchunks; i++) {
			err = dep_writer_segment(w, 1, &s.chunk[i].c, s.chunk[i].body);
			good += !err;
			lost += err ? s.chunk[i].c.fill : 0;
			assert_true(!err || err == -EFBIG);
		}
		setrlimit(RLIMIT_FSIZE, &old);
		assert_int_equal(recover_what_is_there(dir, &loss), good);
		assert_int_equal(loss.torn_segments, 0);
		assert_int_equal(close_writer(w, NULL, 0), 0);
		assert_int_equal(recover_what_is_there(dir, &loss), good);
		assert_int_equal(loss.discarded_bytes, lost);
		scratch_remove(dir);
	}
	stream_free(&s);
}

static void many_files(void **state)
{
	const struct dep_segment *g;
	struct dep_loss loss;
	struct dep_writer *w;
	struct dep_store *st;
	struct stream s;
	char dir[128];
	size_t i;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	w->roll = 16;
	assert_int_equal(dep_writer_descriptors(w, 1, s.desc, s.desc_size), 0);
	for (i = 0; i < s.nchunks; i++)
		assert_int_equal(dep_writer_segment(w, 1, &s.chunk[i].c, s.chunk[i].body), 0);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_int_equal(recover_what_is_there(dir, &loss), CHUNKS);
	assert_int_equal(loss.torn_segments, 0);
	assert_int_equal(dep_store_open(&st, dir), 0);
	dep_store_segments(st, &g);
	for (i = 0; i < CHUNKS; i++)
		assert_int_equal(g[i].file, i);
	dep_store_close(st);
	scratch_remove(dir);
	stream_free(&s);
}

static void bad_bodies(void **state)
{
	struct adept_chunk c;
	struct dep_loss loss;
	struct dep_writer *w;
	struct stream s;
	char dir[128];
	u32 fill, at, n;
	u8 *body;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	assert_int_equal(dep_writer_descriptors(w, 1, s.desc, s.desc_size), 0);
	c = s.chunk[0].c;
	fill = c.fill;
	body = calloc(1, fill + 64);
	memcpy(body, s.chunk[0].body, fill);
	assert_int_equal(dep_writer_scan(w, body, fill + 64), fill);
	for (at = 0; at <= fill; at++) {
		n = dep_writer_scan(w, body, at);
		assert_true(n <= at && n + ADEPT_MAX_RECORD > at);
	}
	/* Zeros after, and an id that nobody knows. */
	c.fill = c.tail_at = fill + 64;
	assert_int_equal(dep_writer_segment(w, 1, &c, body), 0);
	memset(body + fill, 0xff, 4);
	c.seq++;
	assert_int_equal(dep_writer_segment(w, 1, &c, body), 0);
	/* A tail that makes no sense. */
	c.seq++;
	c.tail_at = fill;
	c.tail.frag = 1u << 31;
	assert_int_equal(dep_writer_segment(w, 1, &c, body), 0);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_int_equal(recover_what_is_there(dir, &loss), 3);
	assert_int_equal(loss.discarded_bytes, 3 * 64);
	free(body);
	scratch_remove(dir);
	stream_free(&s);
}

/* One byte of a descriptor changed: refused, or still one that recovery can stand. */
static void bad_descriptors(void **state)
{
	struct adept_desc_frag d;
	struct dep_loss loss;
	struct dep_writer *w;
	struct stream s;
	size_t at, size, i;
	int err, refused = 0;
	char dir[128];
	u8 *bad;
	u32 x;

	(void)state;
	make_stream(&s);
	bad = malloc(s.desc_size);
	memcpy(&d, s.desc, sizeof(d));
	size = d.h.size;
	for (at = 0; at < size; at++) {
		memcpy(bad, s.desc, s.desc_size);
		bad[at] ^= 1u << at % 8;
		scratch_name(dir, sizeof(dir));
		assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
		err = dep_writer_descriptors(w, 1, bad, s.desc_size);
		assert_true(!err || err == -EBADMSG);
		refused += !!err;
		for (i = 0; i < s.nchunks; i++)
			dep_writer_segment(w, 1, &s.chunk[i].c, s.chunk[i].body);
		assert_true(close_writer(w, NULL, 0) == 0);
		recover_what_is_there(dir, &loss);
		scratch_remove(dir);
	}
	assert_true(refused > (int)size / 4);
	/* The same again: ids seen before.  What is in front of a bad one stays. */
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	memcpy(bad, s.desc, s.desc_size);
	bad[size + 4] = 77;
	assert_int_equal(dep_writer_descriptors(w, 1, bad, s.desc_size), -EBADMSG);
	assert_int_equal(dep_writer_descriptors(w, 1, s.desc, size), -EBADMSG);
	assert_int_equal(dep_writer_descriptors(w, 1, s.desc + size, s.desc_size - size), 0);
	for (x = 1; x < 8; x++)
		assert_int_equal(dep_writer_descriptors(w, 1, s.desc, x), -EBADMSG);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	scratch_remove(dir);
	free(bad);
	stream_free(&s);
}

static struct dep_forgotten *all_fragments(const struct stream *s)
{
	struct dep_forgotten *f = malloc(sizeof(*f) + s->desc_size);
	const struct adept_desc_frag *d;
	size_t at;

	f->n = 0;
	for (at = 0; at < s->desc_size; at += d->h.size) {
		d = (const void *)(s->desc + at);
		if (d->h.type != ADEPT_DESC_FRAGMENT)
			continue;
		f->frag[f->n].first_exit = d->first_exit;
		f->frag[f->n++].nexits = d->nexits;
	}
	return f;
}

/* Fragments are taken out of the index at the next admission; their memory counts until freed. */
static void forgotten(void **state)
{
	struct dep_forgotten *f;
	struct dep_writer *w;
	u32 first, number;
	struct stream s;
	char dir[128];
	size_t good;
	u64 bytes;

	(void)state;
	make_stream(&s);
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	assert_int_equal(dep_writer_admit(w, s.desc, s.desc_size, &good), 0);
	bytes = dep_writer_index_bytes(w);
	assert_int_equal(dep_writer_admit(w, s.desc, s.desc_size, &good), -EBADMSG);
	f = all_fragments(&s);
	assert_true(f->n > 1);
	first = f->frag[0].first_exit;
	dep_writer_forget(w, f);
	assert_true(dep_writer_frag(w, first, &number));
	assert_int_equal(dep_writer_admit(w, NULL, 0, &good), 0);
	assert_false(dep_writer_frag(w, first, &number));
	assert_int_equal(dep_writer_index_bytes(w), bytes);
	dep_writer_reclaim(w);
	assert_int_equal(dep_writer_index_bytes(w), 0);
	assert_int_equal(dep_writer_admit(w, s.desc, s.desc_size, &good), 0);
	assert_int_equal(dep_writer_index_bytes(w), bytes);
	dep_writer_discard(w);
	scratch_remove(dir);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disk_full),
		cmocka_unit_test(many_files),
		cmocka_unit_test(bad_bodies),
		cmocka_unit_test(bad_descriptors),
		cmocka_unit_test(forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
