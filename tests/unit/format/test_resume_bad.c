// SPDX-License-Identifier: GPL-2.0-or-later
/* Stores that are damaged, are none, or are in use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "dep/verdict.h"
#include "libdep/format/file/error.h"
#include "tests/unit/lib/close_writer.h"
#include "test_resume.h"

/* The thread of the segment at byte @at. */
static u32 thread_at(const struct files *f, size_t at)
{
	const struct dep_seg_header *h;
	size_t begin = FILE_HEADER;

	for (;; begin += dep_seg_bytes(h)) {
		h = (void *)(f->seg + begin);
		if (at < begin + dep_seg_bytes(h))
			return h->thread;
	}
}

/* Whether a verdict names segments of @thread that are missing. */
static bool is_named(const struct dep_verdict *v, u32 thread)
{
	size_t i;

	for (i = 0; i < v->ndefects; i++)
		if (v->defect[i].kind == DEP_DEFECT_SEGMENTS && v->defect[i].thread == thread)
			return true;
	return false;
}

/* One segment is missing, or none if it was one that could be written again. */
static void expect_incomplete(const char *dir, u32 thread, bool missing)
{
	const struct dep_verdict *v;
	struct dep_store *st;

	assert_int_equal(dep_store_open(&st, dir), 0);
	v = dep_store_verdict(st);
	assert_int_equal(v->state, DEP_VERDICT_INCOMPLETE);
	assert_int_equal(is_named(v, thread), missing);
	assert_false(is_named(v, 3 - thread));
	dep_store_close(st);
}

/* Damage that good frames or segments follow: all stays, and is gone on after. */
void damage_in_the_middle(void **state)
{
	struct session *s = *state;
	size_t n = s->nsteps - 5, at;
	const char *const *note;
	struct dep_writer *w;
	struct dep_store *st;
	struct dep_loss loss;
	struct dep_resume r;
	struct files f;
	char dir[128];
	int total = 2 * s->stream[0].nchunks, i, good, lost = 0;
	u32 thread;

	killed_store(s, n, dir, sizeof(dir), 0);
	load_files(&f, dir);
	scratch_remove(dir);
	for (i = 0; i < 100; i++) {
		at = FILE_HEADER + random_below(f.seg_size - FILE_HEADER - 1000);
		thread = thread_at(&f, at);
		f.seg[at] ^= 0x41;
		put_files(&f, dir, sizeof(dir), f.log_size, f.seg_size);
		session_finish(s, dir, 0, &r);
		assert_true(!r.cut_segments && r.torn <= 1);
		assert_true(size_of(dir, "segments.000") > f.seg_size);
		good = recover_what_is_there(dir, &loss);
		/* A byte of the padding is none of a segment. */
		assert_true(good == total - 1 || good == total);
		if (good < total || r.torn)
			expect_incomplete(dir, thread, good < total);
		lost += good < total;
		dep_resume_free(&r);
		scratch_remove(dir);
		f.seg[at] ^= 0x41;
		at = FILE_HEADER + random_below(f.log_size - FILE_HEADER - 300);
		f.log[at] ^= 0x41;
		put_files(&f, dir, sizeof(dir), f.log_size, f.seg_size);
		assert_int_equal(dep_writer_resume(&w, dir, 0, NULL, NULL, &r), 0);
		assert_true(!r.cut_log && !r.cut_segments);
		assert_int_equal(size_of(dir, "fragments"), f.log_size);
		assert_int_equal(dep_writer_message(w, "after"), 0);
		assert_int_equal(dep_store_open(&st, dir), 0);
		assert_int_equal(dep_store_messages(st, &note), 1);
		assert_string_equal(note[0], "after");
		dep_store_close(st);
		dep_writer_free(w);
		dep_resume_free(&r);
		scratch_remove(dir);
		f.log[at] ^= 0x41;
	}
	assert_true(lost > 50);
	free_files(&f);
}

/* ---- refusals ---- */

static void refused(const char *dir, int want, const char *text)
{
	struct dep_writer *w = (void *)1;
	struct dep_resume r;
	int err;

	dep_fail(0, "nothing");
	err = dep_writer_resume(&w, dir, 0, NULL, NULL, &r);
	if (err != want || !strstr(dep_error(), text))
		print_error("%d: %s\n", err, dep_error());
	assert_int_equal(err, want);
	assert_non_null(strstr(dep_error(), text));
	assert_null(w);
	assert_true(!r.process && !r.thread && !r.nprocesses);
}

/* Refused as @text says with file @name being so, and not changed. */
static void refused_with(const struct files *f, const char *name, const void *data, size_t size,
			 int want, const char *text)
{
	char dir[128];
	size_t n;
	u8 *is;

	put_files(f, dir, sizeof(dir), f->log_size, f->seg_size - 5);
	spew(dir, name, data, size);
	refused(dir, want, text);
	is = slurp(dir, name, &n);
	assert_int_equal(n, size);
	assert_memory_equal(is, data, n);
	free(is);
	if (strcmp(name, "segments.000"))
		assert_int_equal(size_of(dir, "segments.000"), f->seg_size - 5);
	scratch_remove(dir);
}

void refusals(void **state)
{
	static const char unchecked[] = "{\"format\":\"DEP\",\"version\":4}";
	static const char older[] = "{\"format\":\"DEP\",\"version\":3}";
	static const char newer[] = "{\"format\":\"DEP\",\"version\":5}";
	struct session *s = *state;
	char dir[128], path[160], other[160];
	struct files f;
	u8 *noise, *none;
	size_t i;

	refused(s->reference, -EALREADY, "was closed");
	refused("/nonexistent/x.dep", -ENOENT, "cannot open");
	refused("/dev/null", -ENOTDIR, "cannot open");
	killed_store(s, s->nsteps, dir, sizeof(dir), 0);
	load_files(&f, dir);
	noise = malloc(400000);
	none = calloc(1, 400000);
	for (i = 0; i < 400000; i++)
		noise[i] = random_below(256);
	refused_with(&f, "manifest.json", noise, 1000, -EBADMSG, "manifest.json");
	refused_with(&f, "manifest.json", "", 0, -EBADMSG, "manifest.json");
	refused_with(&f, "manifest.json", unchecked, sizeof(unchecked) - 1, -EBADMSG,
		     "its checksum is wrong");
	refused_with(&f, "manifest.json", older, sizeof(older) - 1, -EBADMSG, "has format 3");
	refused_with(&f, "manifest.json", newer, sizeof(newer) - 1, -EPROTONOSUPPORT,
		     "format version 5");
	f.manifest[f.manifest_size / 2] ^= 1;
	refused_with(&f, "manifest.json", f.manifest, f.manifest_size, -EBADMSG, "manifest.json");
	f.manifest[f.manifest_size / 2] ^= 1;
	refused_with(&f, "fragments", noise, 1000, -EBADMSG, "not a log");
	refused_with(&f, "fragments", f.log, FILE_HEADER - 1, -EBADMSG, "not a log");
	refused_with(&f, "fragments", "", 0, -EBADMSG, "not a log");
	refused_with(&f, "segments.000", noise, 1000, -EBADMSG, "000 is not a segment file");
	refused_with(&f, "segments.000", noise, 7, -EBADMSG, "000 is not a segment file");
	refused_with(&f, "segments.000", none, 4096, -EBADMSG, "000 is not a segment file");
	refused_with(&f, "segments.002", f.seg, f.seg_size, -EBADMSG, "1 of 3 segment files");
	refused_with(&f, "segments.999999", f.seg, f.seg_size, -EBADMSG, "are missing");
	refused_with(&f, "segments.001", noise, FILE_HEADER + 1, -EBADMSG,
		     "segments.001 is not a segment file");
	/* So much damage that good frames after it are not looked for. */
	memcpy(noise, f.log, FILE_HEADER);
	for (i = FILE_HEADER; i < 300000; i += 24)
		memcpy(noise + i, "DEPF", 4);
	refused_with(&f, "fragments", noise, 400000, -EBADMSG, "too many places");
	free(noise);
	free(none);

	/* Neither files nor the directory may be somewhere else. */
	snprintf(path, sizeof(path), "%s/segments.000", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	rename(path, other);
	assert_int_equal(symlink("other", path), 0);
	refused(dir, -ELOOP, "segments.000");
	unlink(path);
	mkdir(path, 0777);
	refused(dir, -EISDIR, "segments.000");
	rmdir(path);
	assert_int_equal(mkfifo(path, 0666), 0);
	refused(dir, -EBADMSG, "segments.000 is not a regular file");
	unlink(path);
	rename(other, path);
	snprintf(other, sizeof(other), "%s.link", dir);
	assert_int_equal(symlink(dir, other), 0);
	refused(other, -ENOTDIR, "cannot open");
	unlink(other);
	session_finish(s, dir, 0, NULL);
	assert_int_equal(session_check(s, dir, 1), 0);
	scratch_remove(dir);
	free_files(&f);
}

/* Any bytes wrong: refused with a message, or what comes out is a store. */
void random_damage(void **state)
{
	const size_t at_version = offsetof(struct dep_file_header, version);
	struct session *s = *state;
	int i, k, err, gone_on = 0;
	struct dep_writer *w;
	struct dep_resume r;
	struct dep_loss loss;
	struct files f;
	char dir[128];
	u8 *log, *seg;

	killed_store(s, s->nsteps - 2, dir, sizeof(dir), 0);
	load_files(&f, dir);
	scratch_remove(dir);
	log = f.log;
	seg = f.seg;
	f.log = malloc(f.log_size);
	f.seg = malloc(f.seg_size);
	for (i = 0; i < (is_long() ? 20000 : 1000); i++) {
		memcpy(f.log, log, f.log_size);
		memcpy(f.seg, seg, f.seg_size);
		for (k = random_below(20); k >= 0; k--) {
			f.log[random_below(random_below(4) ? f.log_size : 200)] ^=
				1u << random_below(8);
			f.seg[random_below(random_below(4) ? f.seg_size : 400)] ^=
				1u << random_below(8);
		}
		put_files(&f, dir, sizeof(dir), f.log_size - random_below(20),
			  f.seg_size - random_below(20));
		err = dep_writer_resume(&w, dir, 0, NULL, NULL, &r);
		if (memcmp(f.log + at_version, log + at_version, sizeof(u32)))
			assert_true(err == -EPROTONOSUPPORT || err == -EBADMSG);
		else
			assert_true(err == 0 || err == -EBADMSG);
		if (!err) {
			dep_writer_message(w, "on");
			dep_writer_segment(w, 1, &s->stream[0].chunk[0].c,
					   s->stream[0].chunk[0].body);
			assert_int_equal(close_writer(w, NULL, 0), 0);
			assert_true(recover_what_is_there(dir, &loss) >= 0);
			gone_on++;
		} else {
			assert_true(*dep_error());
		}
		dep_resume_free(&r);
		scratch_remove(dir);
	}
	assert_true(gone_on > i / 4);
	free(log);
	free(seg);
	free_files(&f);
}

/* ---- one writer ---- */

void one_writer(void **state)
{
	struct session *s = *state;
	struct dep_writer *w;
	struct dep_resume r;
	char dir[128];
	int fds[2], status;
	pid_t pid;
	char c;

	scratch_name(dir, sizeof(dir));
	assert_false(dep_store_in_use(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	assert_true(dep_store_in_use(dir));
	refused(dir, -EBUSY, "is in use");
	dep_writer_free(w);
	assert_false(dep_store_in_use(dir));
	assert_int_equal(dep_writer_resume(&w, dir, 0, NULL, NULL, &r), 0);
	dep_resume_free(&r);
	assert_true(dep_store_in_use(dir));
	refused(dir, -EBUSY, "is in use");
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_false(dep_store_in_use(dir));
	scratch_remove(dir);

	/* A killed process's lock is gone with it. */
	scratch_name(dir, sizeof(dir));
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		fixed_random_reset();
		if (!dep_writer_create(&w, dir, &meta, 0) && write(fds[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	assert_true(dep_store_in_use(dir));
	refused(dir, -EBUSY, "is in use");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_false(dep_store_in_use(dir));
	session_finish(s, dir, 0, NULL);
	assert_int_equal(session_check(s, dir, 1), 0);
	close(fds[0]);
	close(fds[1]);
	scratch_remove(dir);
}
