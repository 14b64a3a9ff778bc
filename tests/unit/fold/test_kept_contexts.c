// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts that a store keeps: the same as without the file; what is kept, and for which stores. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contexts_store.h"

/* The store has what the other tests need: several kinds of contexts, and siblings. */
static void same_contexts(void **state)
{
	u32 kinds = 0, siblings = 0;
	struct contexts_store s;
	size_t i, k;

	(void)state;
	contexts_store_begin(&s, 0);
	for (i = 1; i < s.whole->ncontexts; i++) {
		kinds |= 1u << s.whole->context[i].kind;
		for (k = i + 1; k < s.whole->ncontexts; k++)
			siblings += s.whole->context[k].parent == s.whole->context[i].parent;
	}
	assert_int_equal(kinds, 1u << DEP_CONTEXT_START | 1u << DEP_CONTEXT_CALL |
				1u << DEP_CONTEXT_TAIL | 1u << DEP_CONTEXT_SIGNAL);
	assert_true(siblings > 3 && s.whole->ncontexts > 10);
	assert_true(s.whole->nshares > 10 && s.whole->ntimes > s.whole->nshares);
	for (i = 0; i < 2; i++) {
		assert_false(kept_is_there(&s.file));
		for (k = 0; k < 3; k++) {
			contexts_store_check(&s, i);
			assert_true(kept_is_there(&s.file));
		}
		assert_int_equal(unlink(s.file.file), 0);
	}
	contexts_store_end(&s);
}

/* The file is really read.  One with rows of time serves all; one without them is replaced. */
static void file_is_used(void **state)
{
	struct contexts_store s;

	(void)state;
	contexts_store_begin(&s, 0);
	contexts_store_check(&s, false);
	kept_read(&s.file);
	assert_int_equal(kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES], 0);
	contexts_store_mark(&s);
	assert_true(contexts_store_is_marked(&s, false));
	assert_false(contexts_store_is_marked(&s, true));
	kept_read(&s.file);
	assert_int_equal(kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES], 1);
	contexts_store_check(&s, false);
	contexts_store_check(&s, true);
	contexts_store_mark(&s);
	assert_true(contexts_store_is_marked(&s, false));
	assert_true(contexts_store_is_marked(&s, true));
	contexts_store_end(&s);
}

/* Many rows of time are not kept, but the contexts are. */
static void many_times(void **state)
{
	const u64 before = dep_kept_times_min;
	struct contexts_store s;

	(void)state;
	contexts_store_begin(&s, 200);
	dep_kept_times_min = 0;
	contexts_store_check(&s, true);
	kept_read(&s.file);
	assert_true(s.whole->ntimes > 1000);
	assert_int_equal(kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES], 0);
	assert_int_equal(kept_header(&s.file)->n[DEP_KEPT_CONTEXT_TIMES], 0);
	contexts_store_mark(&s);
	assert_true(contexts_store_is_marked(&s, false));
	assert_false(contexts_store_is_marked(&s, true));
	dep_kept_times_min = before;
	contexts_store_check(&s, true);
	kept_read(&s.file);
	assert_int_equal(kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES], 1);
	contexts_store_end(&s);
}

static bool select_none(void *arg, const struct dep_segment *seg)
{
	(void)arg;
	(void)seg;
	return false;
}

/* A part is neither kept nor taken from what is kept. */
static void parts_are_not_kept(void **state)
{
	const struct dep_contexts_options part[] = {
		{ .fold.process = 1 }, { .fold.thread = 2 }, { .fold.from_ns = 1001 },
		{ .fold.to_ns = 1001 }, { .fold.select = select_none },
	};
	struct dep_contexts *c;
	struct contexts_store s;
	size_t i, pass;

	(void)state;
	contexts_store_begin(&s, 0);
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < sizeof(part) / sizeof(*part); i++) {
			c = contexts_store_make(&s, &part[i]);
			assert_int_equal(c->unknown_returns > 999, 0);
			assert_int_equal(kept_is_there(&s.file), pass);
			dep_contexts_free(c);
		}
		if (!pass) {
			contexts_store_check(&s, true);
			contexts_store_mark(&s);
		}
	}
	assert_true(contexts_store_is_marked(&s, true));
	contexts_store_end(&s);
}

/* With less memory than by default, callers of children could be missing without a count. */
static void memory_is_limited(void **state)
{
	struct dep_contexts_options o = { .memory = 1 << 20 };
	struct dep_contexts *c;
	struct contexts_store s;

	(void)state;
	contexts_store_begin(&s, 0);
	c = contexts_store_make(&s, &o);
	assert_int_equal(c->not_counted, 0);
	assert_false(kept_is_there(&s.file));
	dep_contexts_free(c);
	o.memory = 1 << 30;
	c = contexts_store_make(&s, &o);
	assert_true(kept_is_there(&s.file));
	dep_contexts_free(c);
	contexts_store_mark(&s);
	c = contexts_store_make(&s, &o);
	assert_true(c->unknown_returns > 999);
	dep_contexts_free(c);
	contexts_store_end(&s);
}

/* What is found at an attach depends on files outside of the store. */
static void attach_is_not_kept(void **state)
{
	struct dep_contexts_options o = { .symbols = NULL };
	struct contexts_store s;
	size_t i;

	(void)state;
	contexts_store_begin_attached(&s);
	for (i = 0; i < 2; i++) {
		dep_contexts_free(contexts_store_make(&s, &o));
		assert_false(kept_is_there(&s.file));
		o.symbols = (struct dep_symbols *)&fold_stream;
	}
	contexts_store_end(&s);
}

/* A segment that cannot be read. */
static void losses_are_not_kept(void **state)
{
	struct dep_contexts *c;
	const struct dep_segment *seg;
	struct contexts_store s;
	char path[176];
	int fd;

	(void)state;
	contexts_store_begin(&s, 0);
	assert_true(dep_store_segments(s.f.s, &seg) > 3);
	snprintf(path, sizeof(path), "%s/segments.000", s.f.dir);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "damaged", 7, (off_t)(seg[1].offset + seg[1].stored_bytes - 7)),
			 7);
	close(fd);
	c = contexts_store_make(&s, NULL);
	assert_true(c->loss.segments);
	assert_false(kept_is_there(&s.file));
	dep_contexts_free(c);
	contexts_store_end(&s);
}

static void changed_stores(void **state)
{
	struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char segments[176];
	struct contexts_store s;

	(void)state;
	contexts_store_begin(&s, 0);
	contexts_store_check(&s, false);
	contexts_store_mark(&s);
	snprintf(segments, sizeof(segments), "%s/segments.000", s.f.dir);
	assert_int_equal(utimensat(AT_FDCWD, segments, t, 0), 0);
	assert_false(contexts_store_is_marked(&s, false));
	contexts_store_mark(&s);
	assert_true(contexts_store_is_marked(&s, false));
	assert_int_equal(chmod(s.file.file, 0602), 0);
	assert_false(contexts_store_is_marked(&s, false));
	assert_int_equal(dep_store_rebuild(s.f.dir), 0);
	assert_false(kept_is_there(&s.file));
	contexts_store_end(&s);
}

/* Another version of the library may find other contexts, also if no version was increased. */
static void other_library(void **state)
{
	const char *before = dep_kept_library;
	struct contexts_store s;

	(void)state;
	contexts_store_begin(&s, 0);
	contexts_store_check(&s, false);
	contexts_store_mark(&s);
	dep_kept_library = "another";
	assert_false(contexts_store_is_marked(&s, false));
	contexts_store_mark(&s);
	assert_true(contexts_store_is_marked(&s, false));
	dep_kept_library = before;
	assert_false(contexts_store_is_marked(&s, false));
	contexts_store_end(&s);
}

/* Nothing is written to the store of somebody else, nor read from a file of a third one. */
static void foreign_stores(void **state)
{
	struct contexts_store s;

	(void)state;
	if (geteuid())
		skip();
	contexts_store_begin(&s, 0);
	assert_int_equal(chown(s.f.dir, 12345, 0), 0);
	contexts_store_check(&s, false);
	assert_false(kept_is_there(&s.file));
	assert_int_equal(chown(s.f.dir, 0, 0), 0);
	contexts_store_check(&s, false);
	contexts_store_mark(&s);
	assert_int_equal(chown(s.file.file, 12345, 0), 0);
	assert_false(contexts_store_is_marked(&s, false));
	contexts_store_end(&s);
}

#define TEST(f)	cmocka_unit_test_setup_teardown(f, contexts_store_set_up, fold_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(same_contexts),
		TEST(file_is_used),
		TEST(many_times),
		TEST(parts_are_not_kept),
		TEST(memory_is_limited),
		TEST(attach_is_not_kept),
		TEST(losses_are_not_kept),
		TEST(changed_stores),
		TEST(other_library),
		TEST(foreign_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
