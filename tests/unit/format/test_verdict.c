// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The verdict on stores: each way a recording ends, and each way a store can lose a part.
 *
 * A store that is not byte for byte what was written is never complete, with two exceptions that
 * change nothing that is read: the zeros after a frame or a segment (up to 7), which belong to no
 * structure, and the order in one file of segments of different threads.  What is inside the
 * columns of a segment is found by dep_segment_check().
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <xxhash.h>

#include <cmocka.h>

#include "libdep/format/read/store.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/store_util.h"
#include "test_verdict.h"

/* ---- what a store must be ---- */

static void print_verdict(const struct dep_verdict *v)
{
	size_t i;

	print_error("%s\n", dep_verdict_name(v->state));
	for (i = 0; i < v->ndefects; i++)
		print_error("  %s: %s\n", dep_defect_name(v->defect[i].kind), v->defect[i].text);
}

int judge(const char *dir)
{
	struct dep_store *s;
	int ret = dep_store_open(&s, dir);

	if (ret)
		return ret;
	ret = dep_store_verdict(s)->state;
	dep_store_close(s);
	return ret;
}

void expect_bad(const char *dir, const char *what, size_t i, size_t j)
{
	int ret = judge(dir);

	if (ret == DEP_VERDICT_INCOMPLETE || (ret < 0 && *dep_error()))
		return;
	print_error("%s %zu %zu: %d\n", what, i, j, ret);
	fail();
}

static bool is_named(const struct dep_verdict *v, u32 thread, u64 index)
{
	const struct dep_defect *d = v->defect;
	size_t i;

	for (i = 0; i < v->ndefects; i++, d++)
		if (d->kind == DEP_DEFECT_SEGMENTS && d->thread == thread && d->first <= index &&
		    index - d->first < d->count)
			return true;
	return false;
}

/* Segments that are there must not be said to be missing. */
void expect_missing(const char *dir, u32 set, const char *what)
{
	const struct dep_verdict *v;
	struct dep_store *s;
	size_t i;

	assert_int_equal(dep_store_open(&s, dir), 0);
	v = dep_store_verdict(s);
	assert_int_equal(v->state, DEP_VERDICT_INCOMPLETE);
	for (i = 0; i < PARTS_SEGMENTS; i++)
		if (is_named(v, parts_thread(i), parts_index(i)) != (set >> i & 1)) {
			print_error("%s: set %#x, segment %zu\n", what, set, i);
			print_verdict(v);
			fail();
		}
	dep_store_close(s);
}

void expect_defect(const char *dir, enum dep_defect_kind kind, const char *text)
{
	const struct dep_verdict *v;
	struct dep_store *s;
	size_t i;

	assert_int_equal(dep_store_open(&s, dir), 0);
	v = dep_store_verdict(s);
	assert_int_equal(v->state, DEP_VERDICT_INCOMPLETE);
	for (i = 0; i < v->ndefects; i++)
		if (v->defect[i].kind == kind && strstr(v->defect[i].text, text))
			break;
	if (i == v->ndefects) {
		print_error("no defect \"%s: %s\"\n", dep_defect_name(kind), text);
		print_verdict(v);
		fail();
	}
	dep_store_close(s);
}

/* ---- ways to end ---- */

static void whole(void **state)
{
	struct victim *vi = *state;
	const struct dep_verdict *v;
	struct dep_store *s;
	char path[160];

	assert_int_equal(dep_store_open(&s, vi->dir), 0);
	v = dep_store_verdict(s);
	if (v->state != DEP_VERDICT_COMPLETE)
		print_verdict(v);
	assert_int_equal(v->state, DEP_VERDICT_COMPLETE);
	assert_true(v->proof && !v->ndefects && !v->more && !v->sure_ns);
	assert_int_equal(v->cause, DEP_CLOSE_ENDED);
	dep_store_close(s);
	/* The catalog is made of the rest, and is for others. */
	snprintf(path, sizeof(path), "%s/catalog.db", vi->dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(judge(vi->dir), DEP_VERDICT_COMPLETE);
}

/* A store with this ending; the caller removes it. */
static void ended_store(struct victim *vi, char *dir, size_t size, const struct dep_meta *m,
			enum dep_thread_end end, const struct dep_ending *e)
{
	scratch_name(dir, size);
	assert_int_equal(dep_writer_close(parts_write(dir, m, &vi->stream, end), e), 0);
}

static void causes(void **state)
{
	static const struct {
		enum dep_close_cause cause;
		enum dep_thread_end end;
		enum dep_verdict_state state;
		int error;
		const char *text;
	} way[] = {
		{ DEP_CLOSE_ENDED, DEP_END_WHOLE, DEP_VERDICT_COMPLETE, 0, "" },
		{ DEP_CLOSE_STOPPED, DEP_END_LEFT, DEP_VERDICT_COMPLETE, 0, "" },
		{ DEP_CLOSE_SHUTDOWN, DEP_END_LEFT, DEP_VERDICT_COMPLETE, 0, "" },
		{ DEP_CLOSE_MAX_SIZE, DEP_END_STOPPED, DEP_VERDICT_COMPLETE, 0, "" },
		{ DEP_CLOSE_FAILED, DEP_END_STOPPED, DEP_VERDICT_INCOMPLETE, EIO,
		  "Input/output error" },
		{ DEP_CLOSE_CORRUPT, DEP_END_WHOLE, DEP_VERDICT_INCOMPLETE, 0, "invalid data" },
		{ DEP_CLOSE_LOST, DEP_END_WHOLE, DEP_VERDICT_INCOMPLETE, 0, "was killed" },
		{ DEP_CLOSE_UNKNOWN, DEP_END_WHOLE, DEP_VERDICT_INCOMPLETE, 0, "not known" },
	};
	struct dep_ending e = { .exit_status = 0, .live = 2 };
	struct dep_store *s;
	char dir[128];
	size_t i;

	for (i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		e.cause = way[i].cause;
		e.error = way[i].error;
		ended_store(*state, dir, sizeof(dir), &parts_meta, way[i].end, &e);
		assert_int_equal(judge(dir), way[i].state);
		if (*way[i].text)
			expect_defect(dir, DEP_DEFECT_UNCLOSED, way[i].text);
		assert_int_equal(dep_store_open(&s, dir), 0);
		assert_int_equal(dep_store_verdict(s)->cause, e.cause);
		assert_int_equal(dep_store_verdict(s)->live, 2);
		assert_int_equal(dep_store_verdict(s)->error, e.error);
		dep_store_close(s);
		scratch_remove(dir);
	}
}

static void thread_ends(void **state)
{
	struct dep_ending e = { .cause = DEP_CLOSE_STOPPED };
	struct dep_thread t = { .serial = 9, .tid = 9, .process = 1 };
	struct victim *vi = *state;
	struct dep_writer *w;
	char dir[128];

	ended_store(vi, dir, sizeof(dir), &parts_meta, DEP_END_UNTAKEN, &e);
	expect_defect(dir, DEP_DEFECT_THREAD, "could not be read");
	scratch_remove(dir);
	ended_store(vi, dir, sizeof(dir), &parts_meta, DEP_END_CORRUPT, &e);
	expect_defect(dir, DEP_DEFECT_THREAD, "thread 101 is not recorded from some moment on");
	scratch_remove(dir);
	ended_store(vi, dir, sizeof(dir), &parts_meta, DEP_END_UNKNOWN, &e);
	expect_defect(dir, DEP_DEFECT_THREAD, "thread 102: its end was not recorded");
	scratch_remove(dir);
	/* No THREAD_END at all. */
	scratch_name(dir, sizeof(dir));
	w = parts_write(dir, &parts_meta, &vi->stream, DEP_END_WHOLE);
	assert_int_equal(dep_writer_thread(w, &t), 0);
	assert_int_equal(dep_writer_close(w, &e), 0);
	expect_defect(dir, DEP_DEFECT_THREAD, "thread 9: its end was not recorded");
	scratch_remove(dir);
}

/* Each number of struct dep_loss by itself, and with what was asked for. */
static void losses(void **state)
{
	struct dep_ending e = { .cause = DEP_CLOSE_ENDED };
	struct dep_meta asked = parts_meta;
	static const struct {
		size_t off;
		bool bad, bad_if_asked;
	} loss[] = {
		{ offsetof(struct dep_loss, dropped_bytes), true, false },
		{ offsetof(struct dep_loss, discarded_bytes), true, false },
		{ offsetof(struct dep_loss, lost_threads), true, true },
		{ offsetof(struct dep_loss, lost_processes), true, true },
		{ offsetof(struct dep_loss, native_images), false, false },
		{ offsetof(struct dep_loss, native_privileged), false, false },
		{ offsetof(struct dep_loss, unwanted_children), false, false },
		{ offsetof(struct dep_loss, absent_chunks), true, true },
		{ offsetof(struct dep_loss, unfinished_threads), true, true },
		{ offsetof(struct dep_loss, untaken_threads), true, true },
		{ offsetof(struct dep_loss, lost_descriptors), true, true },
		{ offsetof(struct dep_loss, corrupt), true, true },
	};
	char dir[128];
	size_t i, k;

	asked.session_flags = ADEPT_S_DROP;
	asked.max_size = 1 << 20;
	for (i = 0; i < sizeof(loss) / sizeof(loss[0]); i++) {
		e.loss = (struct dep_loss){ 0 };
		*(uint64_t *)((char *)&e.loss + loss[i].off) = 3;
		for (k = 0; k < 2; k++) {
			ended_store(*state, dir, sizeof(dir), k ? &asked : &parts_meta,
				    DEP_END_WHOLE, &e);
			if (k ? loss[i].bad_if_asked : loss[i].bad)
				expect_defect(dir, DEP_DEFECT_LOSS, "3 ");
			else
				assert_int_equal(judge(dir), DEP_VERDICT_COMPLETE);
			scratch_remove(dir);
		}
	}
}

/* Write the log of @p into @dir with an END of @fixed bytes, as older recorders did. */
static void put_short_end(const struct parts *p, const char *dir, u32 fixed)
{
	const struct part *last = &p->frame[p->nframes - 1];
	const size_t head = sizeof(struct dep_frame), cut = sizeof(struct dep_wire_end) - fixed;
	struct dep_frame *fr;
	u8 *log = malloc(p->log_size);
	u64 seed;

	memcpy(log, p->log, p->log_size);
	fr = (void *)(log + last->at);
	assert_int_equal(fr->type, DEP_F_END);
	memmove(log + last->at + head + fixed, log + last->at + head + fixed + cut,
		fr->size - fixed - cut);
	fr->size -= cut;
	memcpy(log + last->at + head + offsetof(struct dep_wire_end, fixed), &fixed,
	       sizeof(fixed));
	seed = XXH3_64bits_withSeed(fr, offsetof(struct dep_frame, check), p->fmt.seed);
	fr->check = XXH3_64bits_withSeed(fr + 1, fr->size, seed);
	spew(dir, DEP_LOG_NAME, log, last->at + head + fr->size);
	free(log);
}

/* The tables of an END that has fewer numbers begin where the newer ones are. */
static void short_end(void **state)
{
	struct dep_ending e = { .cause = DEP_CLOSE_ENDED, .loss.corrupt = 3 };
	struct victim *vi = *state;
	struct dep_store *s;
	struct dep_writer *w;
	size_t size;
	struct parts p;
	u8 *manifest;
	char dir[128];

	e.loss.lost_descriptors = 7;
	scratch_name(dir, sizeof(dir));
	w = parts_write(dir, &parts_meta, &vi->stream, DEP_END_WHOLE);
	manifest = slurp(dir, "manifest.json", &size);
	assert_int_equal(dep_writer_close(w, &e), 0);
	parts_load(&p, dir);
	/* A recorder that was killed before it wrote the final manifest. */
	spew(dir, "manifest.json", manifest, size);
	put_short_end(&p, dir, sizeof(struct dep_wire_end));
	assert_int_equal(dep_store_open(&s, dir), 0);
	assert_int_equal(dep_store_loss(s)->lost_descriptors, 7);
	dep_store_close(s);
	put_short_end(&p, dir, DEP_END_FIXED);
	assert_int_equal(dep_store_open(&s, dir), 0);
	assert_int_equal(dep_store_loss(s)->corrupt, 3);
	assert_int_equal(dep_store_loss(s)->lost_descriptors, 0);
	assert_int_equal(s->model.end.files, p.nfiles);
	assert_int_equal(s->model.file_size[0], p.file_size[0]);
	dep_store_close(s);
	/* Less than there was ever. */
	put_short_end(&p, dir, DEP_END_FIXED - 8);
	assert_int_equal(dep_store_open(&s, dir), 0);
	assert_int_equal(dep_store_loss(s)->corrupt, 0);
	dep_store_close(s);
	parts_free(&p);
	free(manifest);
	scratch_remove(dir);
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

/* While it is written; left behind with a MARK, and without one. */
static void not_closed(void **state)
{
	struct dep_meta m = parts_meta;
	struct victim *vi = *state;
	struct dep_store *s;
	struct dep_writer *w;
	u64 sure, begin;
	char dir[128];

	begin = m.start_ns = now_ns();
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &m, 0), 0);
	assert_int_equal(judge(dir), DEP_VERDICT_RECORDING);
	dep_writer_discard(w);
	expect_defect(dir, DEP_DEFECT_UNCLOSED, "the data recorded last is missing");
	scratch_remove(dir);

	w = parts_write(dir, &m, &vi->stream, DEP_END_WHOLE);
	assert_int_equal(judge(dir), DEP_VERDICT_RECORDING);
	assert_true(dep_store_in_use(dir));
	dep_writer_discard(w);
	assert_false(dep_store_in_use(dir));
	expect_defect(dir, DEP_DEFECT_UNCLOSED, "all data was on the disk up to 0.");
	assert_int_equal(dep_store_open(&s, dir), 0);
	sure = dep_store_verdict(s)->sure_ns;
	assert_true(sure >= begin && sure <= now_ns());
	dep_store_close(s);
	scratch_remove(dir);
}

/* ---- removed on purpose ---- */

/* Log that the files in front of number @first were removed, as far as @n segments go. */
static void trim(struct dep_writer *w, const struct parts *p, u32 first)
{
	struct {
		struct dep_wire_trim t;
		struct dep_wire_thread_sum sum[PARTS_THREADS];
	} f = { .t = { .first_file = first } };
	const struct dep_seg_header *h;
	size_t i, k;

	for (i = 0; i < PARTS_SEGMENTS && p->segment[i].file < first; i++) {
		h = (const void *)p->segment[i].data;
		for (k = 0; k < f.t.rows && f.sum[k].serial != h->thread; k++)
			;
		f.t.rows += k == f.t.rows;
		f.sum[k] = (struct dep_wire_thread_sum){
			.serial = h->thread, .segments = h->index + 1, .chain = h->chain,
		};
	}
	assert_int_equal(dep_log_append(&w->log, &(struct dep_new_frame){
		.type = DEP_F_TRIM, .data = &f,
		.size = sizeof(f.t) + f.t.rows * sizeof(f.sum[0]),
	}), 0);
	w->first_file = first;
}

static void remove_file(const char *dir, u32 number)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" DEP_SEG_NAME, dir, number);
	assert_int_equal(unlink(path), 0);
}

static void trimmed(void **state)
{
	struct victim *vi = *state;
	struct dep_writer *w;
	struct parts own;
	char dir[128];
	u32 first, i;

	for (first = 1; first < vi->parts.nfiles; first++) {
		scratch_name(dir, sizeof(dir));
		w = parts_write(dir, &parts_meta, &vi->stream, DEP_END_WHOLE);
		parts_load(&own, dir);
		trim(w, &own, first);
		assert_int_equal(close_writer(w, NULL, 0), 0);
		/* The recorder was killed before it removed them. */
		assert_int_equal(judge(dir), DEP_VERDICT_COMPLETE);
		for (i = 0; i < first; i++)
			remove_file(dir, i);
		assert_int_equal(judge(dir), DEP_VERDICT_COMPLETE);
		remove_file(dir, first);
		expect_bad(dir, "one more than was trimmed", first, 0);
		parts_free(&own);
		scratch_remove(dir);
	}
}

/* ---- all of it ---- */

/* The first two chunks of a thread were dropped by --last; the store says so, or not. */
static void last_part(void **state)
{
	const struct dep_process p = { .serial = 1, .pid = 100 };
	const struct dep_thread t = { .serial = 7, .tid = 7, .process = 1, .end = DEP_END_WHOLE };
	const u64 first[] = { 2, 1, 3, 0, UINT64_MAX };
	struct dep_last_thread row = { .thread = 7, .chunks = 2, .bytes = 9 };
	struct dep_last last = { .max_bytes = 5, .from_ns = 6, .thread = &row, .nthreads = 1 };
	struct victim *vi = *state;
	struct dep_writer *w;
	struct dep_store *s;
	char dir[128];
	size_t i, j;

	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		scratch_name(dir, sizeof(dir));
		assert_int_equal(dep_writer_create(&w, dir, &parts_meta, 0), 0);
		assert_int_equal(dep_writer_last(w, &(struct dep_last){ .max_bytes = 5 }), 0);
		if (!i) {
			/* Its recorder is killed. */
			dep_writer_discard(w);
			expect_defect(dir, DEP_DEFECT_UNCLOSED, "with --last");
			scratch_remove(dir);
			assert_int_equal(dep_writer_create(&w, dir, &parts_meta, 0), 0);
		}
		assert_int_equal(dep_writer_process(w, &p), 0);
		assert_int_equal(dep_writer_thread(w, &t), 0);
		assert_int_equal(dep_writer_descriptors(w, 1, vi->stream.desc,
							vi->stream.desc_size), 0);
		row.first = first[i];
		assert_int_equal(dep_writer_last(w, &last), 0);
		for (j = 2; j < vi->stream.nchunks; j++)
			assert_int_equal(dep_writer_segment(w, 7, &vi->stream.chunk[j].c,
							    vi->stream.chunk[j].body), 0);
		assert_int_equal(dep_writer_thread_end(w, &t), 0);
		assert_int_equal(close_writer(w, NULL, 0), 0);
		assert_int_equal(judge(dir), i ? DEP_VERDICT_INCOMPLETE : DEP_VERDICT_COMPLETE);
		assert_int_equal(dep_store_open(&s, dir), 0);
		assert_true(dep_store_last(s, &last));
		assert_int_equal(last.max_bytes, 5);
		assert_int_equal(last.from_ns, 6);
		assert_int_equal(last.nthreads, 1);
		assert_int_equal(last.thread[0].first, first[i]);
		assert_int_equal(last.thread[0].bytes, 9);
		last.thread = &row;
		dep_store_close(s);
		scratch_remove(dir);
	}
}

static int setup(void **state)
{
	static struct victim vi;
	char other[128];

	parts_stream(&vi.stream);
	scratch_name(vi.dir, sizeof(vi.dir));
	assert_int_equal(close_writer(parts_write(vi.dir, &parts_meta, &vi.stream, DEP_END_WHOLE),
				      NULL, 0), 0);
	parts_load(&vi.parts, vi.dir);
	scratch_name(other, sizeof(other));
	assert_int_equal(close_writer(parts_write(other, &parts_meta, &vi.stream, DEP_END_WHOLE),
				      NULL, 0), 0);
	parts_load(&vi.other, other);
	scratch_remove(other);
	*state = &vi;
	return 0;
}

static int teardown(void **state)
{
	struct victim *vi = *state;

	parts_free(&vi->parts);
	parts_free(&vi->other);
	stream_free(&vi->stream);
	scratch_remove(vi->dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(causes),
		cmocka_unit_test(thread_ends),
		cmocka_unit_test(losses),
		cmocka_unit_test(short_end),
		cmocka_unit_test(not_closed),
		cmocka_unit_test(trimmed),
		cmocka_unit_test(last_part),
		cmocka_unit_test(files_removed),
		cmocka_unit_test(segments_cut_out),
		cmocka_unit_test(segments_doubled),
		cmocka_unit_test(segments_exchanged),
		cmocka_unit_test(threads_forged),
		cmocka_unit_test(parts_of_another_store),
		cmocka_unit_test(frames_damaged),
		cmocka_unit_test(files_cut),
		cmocka_unit_test(files_extended),
		cmocka_unit_test(bytes_changed),
		cmocka_unit_test(manifest_refused),
		cmocka_unit_test(manifest_bytes_changed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
