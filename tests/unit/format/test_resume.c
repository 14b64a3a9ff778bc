// SPDX-License-Identifier: GPL-2.0-or-later
/* Going on with a store whose writer was killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "dep/verdict.h"
#include "tests/unit/lib/close_writer.h"
#include "test_resume.h"

#define EACH_BYTE 400		/* of the ends of the files */

static u64 size_of_all(const char *dir)
{
	u64 sum = size_of(dir, "fragments");
	char name[32];
	u32 i;

	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), DEP_SEG_NAME, i);
		sum += size_of(dir, name);
	}
	return sum;
}

static void after_each_step(void **state)
{
	struct session *s = *state;
	struct dep_resume r;
	char dir[128];
	size_t n;

	for (n = 0; n <= s->nsteps; n++) {
		killed_store(s, n, dir, sizeof(dir), 0);
		session_finish(s, dir, 0, &r);
		assert_true(!r.cut_log && !r.cut_segments && !r.bad_bytes && !r.torn);
		assert_false(r.ending);
		dep_resume_free(&r);
		assert_int_equal(session_check(s, dir, 1), 0);
		scratch_remove(dir);
	}
}

/* Go on with files that were cut so, and compare all. */
static void cut_at(const struct session *s, const struct files *f, size_t log_size,
		   size_t seg_size)
{
	struct dep_resume r;
	char dir[128];
	size_t notes;

	put_files(f, dir, sizeof(dir), log_size, seg_size);
	session_finish(s, dir, 0, &r);
	/* The zeros after a frame may be missing, then nothing is cut off. */
	assert_true(r.cut_log < f->log_size && r.cut_segments < f->seg_size);
	assert_true(!r.bad_bytes && !r.torn);
	notes = session_check(s, dir, 1);
	assert_int_equal(notes, !!r.cut_log + !!r.cut_segments);
	dep_resume_free(&r);
	scratch_remove(dir);
}

static void cut_at_every_byte(void **state)
{
	size_t each = is_long() ? 1u << 20 : EACH_BYTE, at;
	struct session *s = *state;
	struct files f;
	char dir[128];
	int i;

	killed_store(s, s->nsteps, dir, sizeof(dir), 0);
	load_files(&f, dir);
	scratch_remove(dir);
	for (at = f.log_size; at >= FILE_HEADER && at + each > f.log_size; at--)
		cut_at(s, &f, at, f.seg_size);
	for (at = f.seg_size + 1; at-- > 0 && at + each > f.seg_size;)
		cut_at(s, &f, f.log_size, at);
	for (at = 0; at < FILE_HEADER + 24; at++)
		cut_at(s, &f, f.log_size, at);
	for (i = 0; i < 200; i++) {
		cut_at(s, &f, FILE_HEADER + random_below(f.log_size - FILE_HEADER), f.seg_size);
		cut_at(s, &f, f.log_size, random_below(f.seg_size));
		cut_at(s, &f, FILE_HEADER + random_below(f.log_size - FILE_HEADER),
		       random_below(f.seg_size));
	}
	free_files(&f);
}

/* Around each frame's and each segment's begin: what follows is missing or torn. */
static void cut_at_every_begin(void **state)
{
	static const int around[] = { -9, -8, -1, 0, 1, 8, 23, 24, 25, 31, 32, 33, 40 };
	struct session *s = *state;
	const struct dep_frame *fr;
	struct files f;
	char dir[128];
	size_t at, i;

	killed_store(s, s->nsteps, dir, sizeof(dir), 0);
	load_files(&f, dir);
	scratch_remove(dir);
	for (at = FILE_HEADER; at < f.log_size; at += dep_align8(sizeof(*fr) + fr->size)) {
		fr = (void *)(f.log + at);
		for (i = 0; i < sizeof(around) / sizeof(around[0]); i++)
			if (at + around[i] >= FILE_HEADER)
				cut_at(s, &f, at + around[i], f.seg_size);
	}
	for (at = FILE_HEADER; at < f.seg_size; at += dep_seg_bytes((void *)(f.seg + at)))
		for (i = 0; i < sizeof(around) / sizeof(around[0]); i++)
			cut_at(s, &f, f.log_size, at + around[i]);
	free_files(&f);
}

/* A file's size was written before its data: zeros at the end. */
static void zeros_at_the_end(void **state)
{
	struct session *s = *state;
	struct dep_resume r;
	struct files f;
	char dir[128];
	int i;

	killed_store(s, s->nsteps, dir, sizeof(dir), 0);
	load_files(&f, dir);
	scratch_remove(dir);
	memset(f.log + f.log_size - 40, 0, 40);
	memset(f.seg + f.seg_size - 100, 0, 100);
	for (i = 0; i < 2; i++) {
		put_files(&f, dir, sizeof(dir), f.log_size, f.seg_size);
		session_finish(s, dir, 0, &r);
		assert_true(r.cut_log >= 40 && r.cut_segments > sizeof(struct dep_seg_header));
		assert_true(!r.bad_bytes && !r.torn);
		assert_int_equal(session_check(s, dir, 1), 2);
		dep_resume_free(&r);
		scratch_remove(dir);
		/* The same, but all of the last segment. */
		memset(f.seg + f.seg_size - sizeof(struct dep_seg_header), 0,
		       sizeof(struct dep_seg_header));
	}
	free_files(&f);
}

static void many_in_a_row(void **state)
{
	static const u64 rolls[] = { 0, 16, 1200, 3000 };
	struct session *s = *state;
	char dir[128], name[32];
	struct dep_resume r;
	size_t n, size, k;
	u64 roll;
	u8 *data;
	u32 i;

	for (k = 0; k < (is_long() ? 400 : 40); k++) {
		roll = rolls[k % 4];
		killed_store(s, 0, dir, sizeof(dir), roll);
		for (n = 0; n < s->nsteps; n += random_below(4)) {
			session_go_on(s, dir, n, roll);
			for (i = 0; i < 100; i++) {
				snprintf(name, sizeof(name), DEP_SEG_NAME, i + 1);
				if (!size_of(dir, name))
					break;
			}
			snprintf(name, sizeof(name), DEP_SEG_NAME, i);
			if (random_below(2))
				strcpy(name, "fragments");
			data = slurp(dir, name, &size);
			if (size > FILE_HEADER + 60)
				spew(dir, name, data, size - random_below(60));
			free(data);
		}
		session_finish(s, dir, roll, &r);
		dep_resume_free(&r);
		session_check(s, dir, 0);
		scratch_remove(dir);
	}
}

/* Let the file of segments be that of another number. */
static void renumber(struct files *f, u32 number)
{
	struct dep_format fmt;

	assert_int_equal(dep_format_read(&fmt, f->log, f->log_size, DEP_LOG_MAGIC), 0);
	dep_file_header((void *)f->seg, &fmt, DEP_SEG_MAGIC, number);
}

/* Files of segments are numbered and filled as if nothing had happened. */
static void rolling(void **state)
{
	struct session *s = *state;
	struct dep_writer *w;
	struct dep_resume r;
	struct files f;
	char dir[128], name[32];
	size_t n;
	u32 i;

	for (n = 0; n <= s->nsteps; n += 3) {
		killed_store(s, n, dir, sizeof(dir), 16);
		assert_int_equal(dep_writer_resume(&w, dir, 0, NULL, NULL, &r), 0);
		assert_true(dep_writer_bytes(w) == size_of_all(dir));
		w->roll = 16;
		session_write(s, w, &r, s->nsteps);
		assert_true(dep_writer_bytes(w) == size_of_all(dir));
		assert_int_equal(w->seg_number, 2 * s->stream[0].nchunks - 1);
		assert_int_equal(close_writer(w, NULL, 3 << 8), 0);
		dep_resume_free(&r);
		assert_int_equal(session_check(s, dir, 0), 0);
		scratch_remove(dir);
	}
	/* Killed while a file was made, at each of its bytes. */
	for (i = 0; i <= FILE_HEADER; i++) {
		killed_store(s, s->nsteps, dir, sizeof(dir), 0);
		load_files(&f, dir);
		renumber(&f, 1);
		spew(dir, "segments.001", f.seg, i);
		session_finish(s, dir, 0, NULL);
		assert_int_equal(session_check(s, dir, 1), 0);
		assert_int_equal(size_of(dir, "segments.001"), FILE_HEADER);
		free_files(&f);
		scratch_remove(dir);
	}
	/* More than three digits. */
	killed_store(s, 0, dir, sizeof(dir), 0);
	load_files(&f, dir);
	for (i = 1; i < 1003; i++) {
		snprintf(name, sizeof(name), DEP_SEG_NAME, i);
		renumber(&f, i);
		spew(dir, name, f.seg, f.seg_size);
	}
	free_files(&f);
	session_finish(s, dir, 16, NULL);
	assert_int_equal(session_check(s, dir, 0), 0);
	snprintf(name, sizeof(name), "segments.%u", 1001 + 2 * (u32)s->stream[0].nchunks);
	assert_true(size_of(dir, name) > FILE_HEADER);
	scratch_remove(dir);
}

static void empty_store(void **state)
{
	struct session *s = *state;
	struct dep_writer *w;
	struct dep_resume r;
	char dir[128], path[160];
	int i;

	killed_store(s, 0, dir, sizeof(dir), 0);
	for (i = 0; i < 4; i++) {
		/* Without any file of segments it is an empty store, too. */
		snprintf(path, sizeof(path), "%s/segments.000", dir);
		if (i == 2)
			unlink(path);
		assert_int_equal(dep_writer_resume(&w, dir, 0, NULL, NULL, &r), 0);
		assert_int_equal(r.nprocesses + r.nthreads, 0);
		assert_int_equal(dep_writer_bytes(w), 2 * FILE_HEADER);
		dep_writer_free(w);
		dep_resume_free(&r);
	}
	session_finish(s, dir, 0, NULL);
	assert_int_equal(session_check(s, dir, 1), 0);
	scratch_remove(dir);
}

/* What is known is exact, and the descriptors come back as they were. */
struct heard {
	u8 *data;
	size_t size;
	int stop;
};

static int hear(void *arg, const void *data, size_t size)
{
	struct heard *h = arg;

	h->data = realloc(h->data, h->size + size);
	memcpy(h->data + h->size, data, size);
	h->size += size;
	return h->stop;
}

static void what_is_known(void **state)
{
	struct session *s = *state;
	struct heard h = { 0 };
	struct dep_writer *w;
	struct dep_resume r;
	size_t n, k, i, at;
	const struct step *st;
	u64 desc[2], next[2];
	int ended[2];
	char dir[128];

	for (n = 0; n <= s->nsteps; n++) {
		killed_store(s, n, dir, sizeof(dir), 0);
		assert_int_equal(dep_writer_resume(&w, dir, 0, hear, &h, &r), 0);
		memset(desc, 0, sizeof(desc));
		memset(next, 0, sizeof(next));
		memset(ended, 0, sizeof(ended));
		for (i = 0, at = 0; i < n; i++) {
			st = &s->step[i];
			k = st->serial - 1;
			if (st->kind == STEP_DESC) {
				desc[k] = st->to;
				assert_memory_equal(h.data + at, s->desc[k] + st->from,
						    st->to - st->from);
				at += st->to - st->from;
			}
			if (st->kind == STEP_SEGMENT)
				next[k] = st->seq + 1;
			ended[k] += st->kind == STEP_THREAD_END;
			ended[k] += 2 * (st->kind == STEP_PROCESS_END);
		}
		assert_int_equal(at, h.size);
		for (k = 0; k < r.nprocesses; k++) {
			assert_int_equal(r.process[k].serial, k + 1);
			assert_int_equal(r.process[k].pid, 100 + k);
			assert_true(r.process[k].desc_bytes == desc[k]);
			assert_int_equal(r.process[k].ended, ended[k] >> 1);
		}
		for (k = 0; k < r.nthreads; k++) {
			assert_int_equal(r.thread[k].serial, k + 1);
			assert_int_equal(r.thread[k].tid, 100 + k);
			assert_int_equal(r.thread[k].process, k + 1);
			assert_true(r.thread[k].next_seq == next[k]);
			assert_int_equal(r.thread[k].ended, ended[k] & 1);
		}
		dep_writer_free(w);
		dep_resume_free(&r);
		free(h.data);
		memset(&h, 0, sizeof(h));
		/* What the callback returns is passed on. */
		h.stop = 42;
		i = dep_writer_resume(&w, dir, 0, hear, &h, &r);
		assert_int_equal(i, h.size ? 42 : 0);
		assert_true(!i == !!w);
		dep_writer_free(w);
		dep_resume_free(&r);
		free(h.data);
		memset(&h, 0, sizeof(h));
		scratch_remove(dir);
	}
}

/* What was not kept of a chunk is still counted. */
static void discarded(void **state)
{
	struct session *s = *state;
	struct adept_chunk c = s->stream[1].chunk[0].c;
	const struct dep_verdict *v;
	struct dep_store *st;
	struct dep_writer *w;
	struct dep_resume r;
	char dir[128];
	u8 *body;
	int i;

	killed_store(s, s->nsteps, dir, sizeof(dir), 0);
	body = calloc(1, c.fill + 64);
	memcpy(body, s->stream[1].chunk[0].body, c.fill);
	c.fill += 64;
	c.tail_at = c.fill;
	for (i = 0; i < 3; i++) {
		assert_int_equal(dep_writer_resume(&w, dir, 0, NULL, NULL, &r), 0);
		c.seq = r.thread[1].next_seq;
		assert_int_equal(c.seq, s->stream[1].nchunks + i);
		assert_int_equal(dep_writer_segment(w, 2, &c, body), 0);
		dep_resume_free(&r);
		if (i < 2)
			dep_writer_free(w);
	}
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_int_equal(dep_store_open(&st, dir), 0);
	assert_int_equal(dep_store_loss(st)->discarded_bytes, 3 * 64);
	/* --max-size, which the session has, is no excuse for it. */
	v = dep_store_verdict(st);
	assert_int_equal(v->state, DEP_VERDICT_INCOMPLETE);
	assert_int_equal(v->ndefects, 1);
	assert_int_equal(v->defect[0].kind, DEP_DEFECT_LOSS);
	assert_string_equal(v->defect[0].text, "192 bytes were not stored");
	dep_store_close(st);
	free(body);
	scratch_remove(dir);
}

/* The writer was killed within its close. */
static void killed_in_close(void **state)
{
	struct session *s = *state;
	struct dep_store *st;
	struct dep_resume r;
	struct files f;
	char dir[128];
	u8 *log;
	size_t size;

	killed_store(s, s->nsteps, dir, sizeof(dir), 0);
	load_files(&f, dir);
	session_finish(s, dir, 0, NULL);
	log = slurp(dir, "fragments", &size);
	spew(dir, "manifest.json", f.manifest, f.manifest_size);
	assert_int_equal(dep_store_open(&st, dir), 0);
	assert_int_equal(dep_store_loss(st)->unclean, 0);
	dep_store_close(st);
	session_go_on(s, dir, s->nsteps, 0);
	/* It is unfinished again. */
	assert_int_equal(dep_store_open(&st, dir), 0);
	assert_int_equal(dep_store_loss(st)->unclean, 1);
	assert_int_equal(dep_store_exit_status(st), -1);
	dep_store_close(st);
	spew(dir, "fragments", log, size);
	session_finish(s, dir, 0, &r);
	assert_true(r.ending);
	dep_resume_free(&r);
	assert_int_equal(session_check(s, dir, 1), 1);
	free(log);
	free_files(&f);
	scratch_remove(dir);
}

/* ---- the real thing ---- */

static void write_in_child(const struct session *s, const char *dir, u64 roll)
{
	struct dep_writer *w;
	struct dep_resume r;

	int err = dep_writer_resume(&w, dir, 0, NULL, NULL, &r);

	/* Killed between the last manifest and the catalog, it is closed already. */
	if (err)
		_exit(err == -EALREADY ? 0 : 1);
	w->roll = roll;
	session_write(s, w, &r, s->nsteps);
	_exit(close_writer(w, NULL, 3 << 8) ? 1 : 0);
}

/* SIGKILL at any time, again and again, until there is nothing left to write. */
static void sigkill(void **state)
{
	int i, k, status, rounds = is_long() ? 100 : 8, kills = 0;
	struct session big;
	char dir[128];
	pid_t pid;

	(void)state;
	session_init(&big, 400);
	for (i = 0; i < rounds; i++) {
		killed_store(&big, 0, dir, sizeof(dir), 0);
		for (k = 0; k < 2000; k++) {
			pid = fork();
			if (!pid)
				write_in_child(&big, dir, i % 2 ? 16384 : DEP_SEG_ROLL);
			usleep(300 + random_below(4000) + k * 20);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			if (WIFEXITED(status))
				break;
			kills++;
		}
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
		session_check(&big, dir, 0);
		scratch_remove(dir);
	}
	print_message("%d kills\n", kills);
	session_free(&big);
}

static int setup(void **state)
{
	static struct session s;

	session_init(&s, CHUNKS);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	session_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_each_step),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(cut_at_every_begin),
		cmocka_unit_test(zeros_at_the_end),
		cmocka_unit_test(many_in_a_row),
		cmocka_unit_test(rolling),
		cmocka_unit_test(empty_store),
		cmocka_unit_test(what_is_known),
		cmocka_unit_test(damage_in_the_middle),
		cmocka_unit_test(discarded),
		cmocka_unit_test(killed_in_close),
		cmocka_unit_test(refusals),
		cmocka_unit_test(random_damage),
		cmocka_unit_test(one_writer),
		cmocka_unit_test(sigkill),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
