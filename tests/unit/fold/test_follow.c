// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles of stores that grow.  A store is written in random steps and looked at in between.  At
 * each look the rows must be those of a pass over the store as it is then.
 */
#include <errno.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fold_store.h"

#define STEPS	60
#define THREADS	3
#define PAGE	4096ull

/* A store that is written: what remains of it, and its reader. */
struct growing {
	struct fold_store f;
	struct stream s;
	size_t desc_at;			/* offset in s.desc of what is not yet written */
	u32 frags;			/* number of fragments written */
	size_t next[THREADS + 1];	/* by thread: its next chunk */
	u32 maps;			/* number of files mapped */
	struct dep_store *reader;
	struct dep_profile_follow *follow;
	struct dep_fold_options options;
};

/* ---- writing ---- */

static void write_fragment(struct growing *g)
{
	const struct adept_desc *d = (const void *)(g->s.desc + g->desc_at);

	assert_true(g->desc_at < g->s.desc_size);
	assert_int_equal(dep_writer_descriptors(g->f.w, 1, d, d->size), 0);
	g->desc_at += d->size;
	g->frags++;
}

/* Map a file over some of the code: later files cover earlier ones, and give all others numbers. */
static void write_map(struct growing *g)
{
	const u64 pc = g->s.frag[stream_random(&g->s) % g->s.nfrags].pc[0];
	struct {
		struct adept_desc_map m;
		char path[24];
	} d = { .m = {
		.h = { sizeof(d), ADEPT_DESC_MAP }, .prot = 5, .inode = g->maps,
		.start = pc & -PAGE, .end = (pc & -PAGE) + PAGE, .time_ns = 10 + g->maps,
	} };

	if (stream_random(&g->s) % 2)
		d.m.end += 4 * PAGE;
	snprintf(d.path, sizeof(d.path), "/lib/%u", g->maps++);
	assert_int_equal(dep_writer_descriptors(g->f.w, 1, &d, sizeof(d)), 0);
}

static bool uses(const struct stream_chunk *c, const struct stream_frag *f)
{
	const u32 *word = (const u32 *)c->body;
	u32 i;

	if (c->c.head.frag == f->id || c->c.tail.frag == f->id)
		return true;
	for (i = 0; i < c->c.fill / 4; i++)
		if (word[i] - f->id < f->nexits)
			return true;
	return false;
}

/* Write the next chunk of @thread, behind the fragments that it uses. */
static void write_chunk(struct growing *g, u32 thread)
{
	struct stream_chunk *c = &g->s.chunk[g->next[thread]++];
	u32 last = g->s.nfrags;

	while (last > g->frags && !uses(c, &g->s.frag[last - 1]))
		last--;
	while (g->frags < last)
		write_fragment(g);
	if (dep_writer_segment(g->f.w, thread, &c->c, c->body))
		fail_msg("%s", dep_error());
}

/* One step: a file, a fragment, or a chunk, which @lose can leave out.  False: all is written. */
static bool write_step(struct growing *g, bool lose)
{
	u32 t, what = (u32)stream_random(&g->s) % 8, left = 0;

	for (t = 1; t <= THREADS; t++)
		left += g->next[t] < g->s.nchunks;
	if (!left)
		return false;
	if (!what && g->maps < 20)
		write_map(g);
	else if (what == 1 && g->frags < g->s.nfrags)
		write_fragment(g);
	t = 1 + (u32)stream_random(&g->s) % THREADS;
	if (g->next[t] == g->s.nchunks)
		return true;
	if (lose && stream_random(&g->s) % 16 == 0)
		g->next[t]++;
	else
		write_chunk(g, t);
	return true;
}

static void begin(struct growing *g, u64 seed)
{
	u32 i;

	memset(g, 0, sizeof(*g));
	stream_init(&g->s, seed);
	g->s.no_room = seed & 1;
	stream_standard(&g->s);
	for (i = 0; i < STEPS; i++) {
		if (stream_random(&g->s) % 4 == 0)
			g->s.split_at = g->s.stores + (long)(stream_random(&g->s) % 4);
		stream_random_run(&g->s, 3);
		if (stream_random(&g->s) % 8 == 0)
			stream_close(&g->s);
	}
	stream_close(&g->s);
	fold_store_begin(&g->f, g->s.desc, 0);
	assert_int_equal(dep_store_open_growing(&g->reader, g->f.dir), 0);
	g->options.jobs = 1 + (unsigned int)(seed % 3);
	if (dep_profile_follow_new(g->reader, &g->options, &g->follow))
		fail_msg("%s", dep_error());
}

static void end(struct growing *g)
{
	dep_profile_follow_free(g->follow);
	dep_store_close(g->reader);
	fold_store_close(&g->f);
	stream_free(&g->s);
}

/* ---- looking ---- */

static struct dep_profile *look(struct growing *g, bool over)
{
	struct dep_profile *p;

	if (dep_profile_follow_more(g->follow, over) || dep_profile_follow_rows(g->follow, &p))
		fail_msg("%s", dep_error());
	return p;
}

/* Compare a look with a pass over the store, opened anew. */
static void compare(struct growing *g, bool over)
{
	struct dep_profile *p = look(g, over), *want;
	struct dep_fragments *code;
	struct dep_store *s;

	assert_int_equal(dep_store_open(&s, g->f.dir), 0);
	assert_int_equal(dep_code_make(s, &code), 0);
	assert_int_equal(dep_profile_make(s, code, &g->options, &want), 0);
	fold_check_same(want, p);
	fold_same_rows(want, p, thread, nthreads);
	assert_int_equal(dep_profile_follow_code(g->follow)->nexits, code->nexits);
	dep_profile_free(want);
	dep_profile_free(p);
	dep_code_free(code);
	dep_store_close(s);
}

static void stop_writing(struct growing *g, bool killed)
{
	if (killed)
		dep_writer_discard(g->f.w);
	else
		assert_int_equal(close_writer(g->f.w, NULL, 0), 0);
}

/* Each look in @every steps, on average; with gaps, a killed writer, and parts of the store. */
static void rows_do_not_depend_on_looks(void **state)
{
	static const u32 every[] = { 1, 3, 10, 1000 };
	struct growing g;
	u64 before = dep_fold_unit_bytes;
	u64 seed;
	u32 looks;

	(void)state;
	for (seed = 1; seed <= 40; seed++) {
		begin(&g, seed);
		dep_fold_unit_bytes = seed % 5 ? 300 : before;
		dep_profile_follow_free(g.follow);
		if (seed % 7 == 0)
			g.options.process = 1;
		if (seed % 11 == 0)
			g.options.from_ns = g.s.chunk[g.s.nchunks / 2].c.start_ns;
		assert_int_equal(dep_profile_follow_new(g.reader, &g.options, &g.follow), 0);
		looks = 0;
		while (write_step(&g, seed % 3 == 0)) {
			if (stream_random(&g.s) % every[seed % 4])
				continue;
			compare(&g, false);
			looks++;
		}
		assert_true(looks > 2 || seed % 4 > 1);
		stop_writing(&g, seed % 2);
		compare(&g, true);
		/* Nothing comes after the end. */
		compare(&g, false);
		end(&g);
	}
	dep_fold_unit_bytes = before;
}

/* ---- what makes it begin anew ---- */

/* Damage the first segment of the store. */
static void flip(const struct growing *g)
{
	const struct dep_segment *seg;
	char path[256];
	FILE *file;
	int byte;

	assert_true(dep_store_segments(g->reader, &seg) > 0);
	snprintf(path, sizeof(path), "%s/" DEP_SEG_NAME, g->f.dir, seg->file);
	file = fopen(path, "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, (long)(seg->offset + dep_seg_header_bytes(&g->reader->fmt)),
			       SEEK_SET), 0);
	byte = fgetc(file) ^ 1;
	assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
	fputc(byte, file);
	fclose(file);
}

/* A segment that could not be read at a look, and can be read at the end. */
static void damage_that_goes_away(void **state)
{
	struct dep_profile *p;
	struct growing g;

	(void)state;
	begin(&g, 3);
	write_chunk(&g, 1);
	write_chunk(&g, 1);
	/* Only the list of segments is read here. */
	assert_int_equal(dep_store_grow(g.reader), 0);
	flip(&g);
	p = look(&g, false);
	assert_int_equal(p->loss.segments, 1);
	dep_profile_free(p);
	flip(&g);
	while (write_step(&g, false))
		;
	stop_writing(&g, false);
	compare(&g, true);
	p = look(&g, true);
	assert_int_equal(p->loss.segments, 0);
	dep_profile_free(p);
	end(&g);
}

/* A recording whose oldest parts are dropped is refused. */
static void parts_that_are_dropped(void **state)
{
	struct growing g;
	struct dep_last last = { .max_ns = 1 };

	(void)state;
	begin(&g, 4);
	while (write_step(&g, false))
		;
	compare(&g, false);
	assert_int_equal(dep_writer_last(g.f.w, &last), 0);
	assert_int_equal(dep_profile_follow_more(g.follow, false), -EOPNOTSUPP);
	stop_writing(&g, false);
	end(&g);
}

/* Each segment is read once, however often the store is looked at. */
static void each_segment_is_read_once(void **state)
{
	struct dep_profile *p;
	struct growing g;
	u64 insns;

	(void)state;
	begin(&g, 6);
	while (write_step(&g, false))
		;
	p = look(&g, false);
	insns = p->insns;
	dep_profile_free(p);
	/* What was folded for good is not read again. */
	flip(&g);
	p = look(&g, false);
	assert_int_equal(p->insns, insns);
	assert_int_equal(p->loss.segments, 0);
	dep_profile_free(p);
	stop_writing(&g, false);
	p = look(&g, true);
	assert_int_equal(p->insns, insns);
	dep_profile_free(p);
	end(&g);
}

/* Cut off the segment file at @part of 16 parts of it. */
static void cut(const struct growing *g, u32 part)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/" DEP_SEG_NAME, g->f.dir, 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size * part / 16), 0);
}

/*
 * The segment file is cut off while it is followed: what was folded for good stays counted, and
 * what cannot be read any more is a loss at each look.  At the end all is read again.
 */
static void file_that_is_cut_off(void **state)
{
	struct dep_profile *p;
	struct growing g;
	u64 insns;
	u32 part;

	(void)state;
	for (part = 0; part < 16; part++) {
		begin(&g, 10 + part);
		while (g.next[1] < g.s.nchunks / 2)
			write_step(&g, false);
		p = look(&g, false);
		insns = p->insns;
		assert_int_equal(p->loss.segments, 0);
		dep_profile_free(p);
		cut(&g, part);
		p = look(&g, false);
		assert_true(p->loss.segments && p->insns < insns);
		dep_profile_free(p);
		while (write_step(&g, false))
			;
		p = look(&g, false);
		assert_true(p->loss.segments);
		dep_profile_free(p);
		stop_writing(&g, part % 2);
		p = look(&g, true);
		assert_true(p->loss.segments);
		dep_profile_free(p);
		end(&g);
	}
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void memory_does_not_grow_with_looks(void **state)
{
	struct growing g;
	size_t first = 0;
	u32 i;

	(void)state;
	begin(&g, 8);
	while (write_step(&g, false))
		;
	for (i = 0; i < 200; i++) {
		dep_profile_free(look(&g, false));
		if (i == 1)
			first = allocated();
	}
	assert_in_range(allocated(), 0, first + 4096);
	stop_writing(&g, false);
	compare(&g, true);
	end(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_do_not_depend_on_looks),
		cmocka_unit_test(damage_that_goes_away),
		cmocka_unit_test(parts_that_are_dropped),
		cmocka_unit_test(each_segment_is_read_once),
		cmocka_unit_test(file_that_is_cut_off),
		cmocka_unit_test(memory_does_not_grow_with_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
