// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of a closed store that are removed, doubled, exchanged, replaced, cut or changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/lib/random.h"
#include "tests/unit/lib/store_util.h"
#include "test_verdict.h"

#define CUTS	200		/* at random, for each file */

static void put_back(const struct victim *vi)
{
	parts_put(&vi->parts, vi->dir);
	assert_int_equal(judge(vi->dir), DEP_VERDICT_COMPLETE);
}

static void segment_file(char *name, size_t size, u32 number)
{
	snprintf(name, size, DEP_SEG_NAME, number);
}

/* ---- removed ---- */

/* Bit 0: the log, bit 1: the manifest, from bit 2 on: files of segments. */
static void remove_files(const struct victim *vi, u32 files)
{
	char name[32], path[256];
	u32 i;

	for (i = 0; i < vi->parts.nfiles + 2; i++) {
		if (!(files >> i & 1))
			continue;
		segment_file(name, sizeof(name), i - 2);
		snprintf(path, sizeof(path), "%s/%s", vi->dir,
			 i == 0 ? DEP_LOG_NAME : i == 1 ? "manifest.json" : name);
		assert_int_equal(unlink(path), 0);
	}
}

static void expect_files_named(const struct victim *vi, u32 files)
{
	char text[64];
	u32 i, set = 0;

	for (i = 0; i < PARTS_SEGMENTS; i++)
		set |= (files >> (2 + vi->parts.segment[i].file) & 1) << i;
	expect_missing(vi->dir, set, "files removed");
	for (i = 0; i < vi->parts.nfiles; i++) {
		snprintf(text, sizeof(text), DEP_SEG_NAME " is missing", i);
		if (files >> (2 + i) & 1)
			expect_defect(vi->dir, DEP_DEFECT_FILE, text);
	}
}

void files_removed(void **state)
{
	const struct victim *vi = *state;
	u32 files;

	for (files = 1; files < 1u << (vi->parts.nfiles + 2); files++) {
		remove_files(vi, files);
		if (files & 3)
			assert_true(judge(vi->dir) < 0 && *dep_error());
		else
			expect_files_named(vi, files);
		parts_put(&vi->parts, vi->dir);
	}
	put_back(vi);
}

void segments_cut_out(void **state)
{
	const struct victim *vi = *state;
	struct part left[PARTS_SEGMENTS];
	size_t i, n;
	u32 set;

	for (set = 1; set < 1u << PARTS_SEGMENTS; set++) {
		for (i = 0, n = 0; i < PARTS_SEGMENTS; i++)
			if (!(set >> i & 1))
				left[n++] = vi->parts.segment[i];
		parts_put_segments(&vi->parts, vi->dir, left, n);
		expect_missing(vi->dir, set, "cut out");
	}
	put_back(vi);
}

/* ---- doubled and exchanged ---- */

/* Once more after segment @at. */
static void put_double(const struct victim *vi, size_t which, size_t at)
{
	struct part part[PARTS_SEGMENTS + 1];
	const struct part *from = vi->parts.segment;

	memcpy(part, from, (at + 1) * sizeof(*part));
	part[at + 1] = from[which];
	part[at + 1].file = from[at].file;
	memcpy(part + at + 2, from + at + 1, (PARTS_SEGMENTS - at - 1) * sizeof(*part));
	parts_put_segments(&vi->parts, vi->dir, part, PARTS_SEGMENTS + 1);
}

void segments_doubled(void **state)
{
	const struct victim *vi = *state;
	char text[64];
	size_t i, at;

	for (i = 0; i < PARTS_SEGMENTS; i++)
		for (at = 0; at < PARTS_SEGMENTS; at++) {
			put_double(vi, i, at);
			snprintf(text, sizeof(text), "thread %u: segment %llu ",
				 100 + parts_thread(i), (unsigned long long)parts_index(i));
			expect_defect(vi->dir, DEP_DEFECT_ORDER, text);
		}
	put_back(vi);
}

/*
 * Whether each thread's segments still stand in their order, and each in its file: then the store
 * says the same as before.
 */
static bool is_same(const struct victim *vi, size_t i, size_t j)
{
	size_t k;

	if (vi->parts.segment[i].file != vi->parts.segment[j].file)
		return false;
	for (k = i; k <= j; k++)
		if ((k > i && parts_thread(k) == parts_thread(i)) ||
		    (k < j && parts_thread(k) == parts_thread(j)))
			return false;
	return true;
}

void segments_exchanged(void **state)
{
	const struct victim *vi = *state;
	struct part part[PARTS_SEGMENTS];
	const struct part *from = vi->parts.segment;
	size_t i, j;

	for (i = 0; i < PARTS_SEGMENTS; i++)
		for (j = i + 1; j < PARTS_SEGMENTS; j++) {
			memcpy(part, from, sizeof(part));
			part[i] = from[j];
			part[i].file = from[i].file;
			part[j] = from[i];
			part[j].file = from[j].file;
			parts_put_segments(&vi->parts, vi->dir, part, PARTS_SEGMENTS);
			if (is_same(vi, i, j))
				assert_int_equal(judge(vi->dir), DEP_VERDICT_COMPLETE);
			else
				expect_bad(vi->dir, "exchanged", i, j);
		}
	put_back(vi);
}

static u8 *copy_of(const struct part *part)
{
	u8 *p = malloc(part->size);

	memcpy(p, part->data, part->size);
	return p;
}

/* Segment @i says that it is segment @j; @chain: even the values of its chain are those. */
static u8 *forge(const struct parts *p, size_t i, size_t j, bool chain)
{
	const struct dep_seg_header *to = (const void *)p->segment[j].data;
	u8 *data = copy_of(&p->segment[i]);
	struct dep_seg_header *h = (void *)data;

	h->thread = to->thread;
	h->seq = to->seq;
	h->index = to->index;
	if (chain) {
		h->prev = to->prev;
		h->chain = to->chain;
	}
	parts_seal(p, data);
	return data;
}

/* Headers with right checksums, of a forger who does not compute the chain anew. */
void threads_forged(void **state)
{
	const struct victim *vi = *state;
	struct part part[PARTS_SEGMENTS];
	const struct parts *p = &vi->parts;
	size_t i, j;
	u8 *a, *b;
	int chain;

	for (i = 0; i < PARTS_SEGMENTS; i++)
		for (j = 0; j < i; j++)
			for (chain = 0; chain < 2; chain++) {
				a = forge(p, i, j, chain);
				b = forge(p, j, i, chain);
				memcpy(part, p->segment, sizeof(part));
				part[i].data = a;
				part[j].data = b;
				parts_put_segments(p, vi->dir, part, PARTS_SEGMENTS);
				expect_bad(vi->dir, "forged", i, j);
				free(a);
				free(b);
			}
	put_back(vi);
}

void parts_of_another_store(void **state)
{
	const struct victim *vi = *state;
	const struct parts *o = &vi->other;
	struct part part[PARTS_SEGMENTS];
	char name[32];
	size_t i;

	for (i = 0; i < PARTS_SEGMENTS; i++) {
		memcpy(part, vi->parts.segment, sizeof(part));
		part[i].data = o->segment[i].data;
		assert_int_equal(part[i].size, o->segment[i].size);
		parts_put_segments(&vi->parts, vi->dir, part, PARTS_SEGMENTS);
		expect_missing(vi->dir, 1u << i, "segment of another store");
	}
	for (i = 0; i < o->nfiles; i++) {
		parts_put(&vi->parts, vi->dir);
		segment_file(name, sizeof(name), i);
		spew(vi->dir, name, o->file[i], o->file_size[i]);
		expect_bad(vi->dir, "file of another store", i, 0);
	}
	parts_put(&vi->parts, vi->dir);
	spew(vi->dir, DEP_LOG_NAME, o->log, o->log_size);
	assert_true(judge(vi->dir) < 0 && *dep_error());
	put_back(vi);
}

/* ---- the log ---- */

void frames_damaged(void **state)
{
	const struct victim *vi = *state;
	const struct parts *p = &vi->parts;
	struct part part[PARTS_FRAMES + 1];
	size_t n = p->nframes, i, j;

	for (i = 0; i < n; i++) {
		memcpy(part, p->frame, i * sizeof(*part));
		memcpy(part + i, p->frame + i + 1, (n - i - 1) * sizeof(*part));
		parts_put_frames(p, vi->dir, part, n - 1);
		expect_bad(vi->dir, "frame removed", i, 0);
		for (j = i; j < n; j++) {
			memcpy(part, p->frame, (j + 1) * sizeof(*part));
			part[j + 1] = p->frame[i];
			memcpy(part + j + 2, p->frame + j + 1, (n - j - 1) * sizeof(*part));
			parts_put_frames(p, vi->dir, part, n + 1);
			expect_bad(vi->dir, "frame doubled", i, j);
			if (i == j)
				continue;
			memcpy(part, p->frame, n * sizeof(*part));
			part[i] = p->frame[j];
			part[j] = p->frame[i];
			parts_put_frames(p, vi->dir, part, n);
			expect_bad(vi->dir, "frames exchanged", i, j);
		}
	}
	put_back(vi);
}

/* ---- cut, longer, changed ---- */

static void cut(const struct victim *vi, const char *name, const u8 *data, size_t size,
		const struct part *part, size_t n, u32 file)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (part[i].file == file && part[i].at < size) {
			spew(vi->dir, name, data, part[i].at);
			expect_bad(vi->dir, name, part[i].at, 0);
		}
	for (i = 0; i < CUTS; i++) {
		n = i < 64 ? i : rnd() % size;
		spew(vi->dir, name, data, n);
		expect_bad(vi->dir, name, n, 0);
	}
	spew(vi->dir, name, data, size - 1);
	expect_bad(vi->dir, name, size - 1, 0);
	spew(vi->dir, name, data, size);
}

void files_cut(void **state)
{
	const struct victim *vi = *state;
	const struct parts *p = &vi->parts;
	char name[32];
	u32 i;

	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	cut(vi, DEP_LOG_NAME, p->log, p->log_size, p->frame, p->nframes, 0);
	for (i = 0; i < p->nfiles; i++) {
		segment_file(name, sizeof(name), i);
		cut(vi, name, p->file[i], p->file_size[i], p->segment, p->nsegments, i);
	}
	put_back(vi);
}

static void extend(const struct victim *vi, const char *name, const u8 *data, size_t size)
{
	u8 *more = malloc(size + 1000);
	size_t n, i;
	int random;

	memcpy(more, data, size);
	for (random = 0; random < 2; random++) {
		for (i = 0; i < 1000; i++)
			more[size + i] = random ? (u8)rnd() : 0;
		for (n = 1; n <= 1000; n += n < 32 ? 1 : 97) {
			spew(vi->dir, name, more, size + n);
			expect_bad(vi->dir, name, n, random);
		}
	}
	free(more);
	spew(vi->dir, name, data, size);
}

void files_extended(void **state)
{
	const struct victim *vi = *state;
	const struct parts *p = &vi->parts;
	char name[32], path[256];
	u32 i;

	extend(vi, DEP_LOG_NAME, p->log, p->log_size);
	for (i = 0; i < p->nfiles; i++) {
		segment_file(name, sizeof(name), i);
		extend(vi, name, p->file[i], p->file_size[i]);
	}
	/* A file more. */
	segment_file(name, sizeof(name), i);
	spew(vi->dir, name, p->file[0], p->file_size[0]);
	expect_bad(vi->dir, "another file", i, 0);
	snprintf(path, sizeof(path), "%s/%s", vi->dir, name);
	assert_int_equal(unlink(path), 0);
	put_back(vi);
}

/* What byte @at of a file belongs to. */
enum where { HEADER, COLUMNS, PADDING };

static enum where where_is(const struct part *part, size_t n, u32 file, size_t at, size_t header)
{
	size_t i;

	for (i = 0; i < n; i++, part++)
		if (part->file == file && at >= part->at && at < part->at + part->size)
			return at < part->at + header ? HEADER :
			       at < part->at + part->used ? COLUMNS : PADDING;
	return HEADER;
}

/* Exactly the segment at byte @at of file @file must be found to be bad. */
static void expect_found(const char *dir, u32 file, size_t at)
{
	const struct dep_segment *g;
	struct dep_store *s;
	size_t i, n;
	bool hit;

	assert_int_equal(dep_store_open(&s, dir), 0);
	n = dep_store_segments(s, &g);
	assert_int_equal(n, PARTS_SEGMENTS);
	for (i = 0; i < n; i++, g++) {
		hit = g->file == file && at >= g->offset && at < g->offset + g->stored_bytes;
		if (!dep_segment_check(s, g) == hit)
			fail_msg("file %u, byte %zu", file, at);
	}
	dep_store_close(s);
}

static void change_log(const struct victim *vi)
{
	const struct parts *p = &vi->parts;
	size_t at;
	u8 was;

	for (at = 0; at < p->log_size; at++) {
		was = p->log[at];
		p->log[at] ^= 1 << rnd() % 8;
		spew(vi->dir, DEP_LOG_NAME, p->log, p->log_size);
		if (where_is(p->frame, p->nframes, 0, at, sizeof(struct dep_frame)) == PADDING)
			assert_int_equal(judge(vi->dir), DEP_VERDICT_COMPLETE);
		else
			expect_bad(vi->dir, DEP_LOG_NAME, at, 0);
		p->log[at] = was;
	}
	spew(vi->dir, DEP_LOG_NAME, p->log, p->log_size);
}

static void change_segments(const struct victim *vi, u32 file)
{
	const struct parts *p = &vi->parts;
	u8 *data = p->file[file], was;
	char name[32];
	size_t at;

	segment_file(name, sizeof(name), file);
	for (at = 0; at < p->file_size[file]; at++) {
		was = data[at];
		data[at] ^= 1 << rnd() % 8;
		spew(vi->dir, name, data, p->file_size[file]);
		switch (where_is(p->segment, p->nsegments, file, at,
				 sizeof(struct dep_seg_header))) {
		case HEADER:
			expect_bad(vi->dir, name, at, 0);
			break;
		case COLUMNS:
			expect_found(vi->dir, file, at);
			break;
		case PADDING:
			assert_int_equal(judge(vi->dir), DEP_VERDICT_COMPLETE);
		}
		data[at] = was;
	}
	spew(vi->dir, name, data, p->file_size[file]);
}

void bytes_changed(void **state)
{
	const struct victim *vi = *state;
	u32 i;

	change_log(vi);
	for (i = 0; i < vi->parts.nfiles; i++)
		change_segments(vi, i);
	put_back(vi);
}
