// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts that a store keeps: the same as without the file; one that does not fit is not used. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dep/contexts.h"
#include "dep/symbols.h"
#include "kept_bytes.h"
#include "libdep/contexts/kept.h"

/*
 * main calls HELPER at two sites, and OTHER, which HELPER calls too.  At its end it jumps to its
 * beginning.  HANDLER is for a signal.
 */
enum { MAIN, MAIN_2, MAIN_3, MAIN_4, HELPER, HELPER_2, OTHER, HANDLER, FRAGMENTS };

#define MAIN_PC		0x1000ull
#define HELPER_PC	0x2000ull
#define OTHER_PC	0x3000ull
#define HANDLER_PC	0x4000ull
#define RSP		0x8000ull

static const struct stream_code codes[FRAGMENTS] = {
	/* call HELPER; call HELPER; call OTHER; jmp MAIN */
	[MAIN] = FOLD_CODE(MAIN_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[MAIN_2] = FOLD_CODE(MAIN_PC + 5, 0xe8, 0xf6, 0x0f, 0, 0),
	[MAIN_3] = FOLD_CODE(MAIN_PC + 10, 0xe8, 0xf1, 0x1f, 0, 0),
	[MAIN_4] = FOLD_CODE(MAIN_PC + 15, 0xe9, 0xec, 0xff, 0xff, 0xff),
	/* call OTHER; nop; ret */
	[HELPER] = FOLD_CODE(HELPER_PC, 0xe8, 0xfb, 0x0f, 0, 0),
	[HELPER_2] = FOLD_CODE(HELPER_PC + 5, 0x90, 0xc3),
	/* push rax; pop rax; ret */
	[OTHER] = FOLD_CODE(OTHER_PC, 0x50, 0x58, 0xc3),
	/* nop; nop; jmp HANDLER */
	[HANDLER] = FOLD_CODE(HANDLER_PC, 0x90, 0x90, 0xeb, 0xfc),
};

/* A store, its file of contexts, and its contexts without that, with rows of time. */
struct store {
	struct fold_store f;
	struct kept_bytes file;
	struct dep_contexts *whole;
};

/* Stands for libdep/symbols: no caller is found. */
size_t dep_symbols_unwind(struct dep_symbols *symbols, uint32_t process, uint64_t time_ns,
			  const struct dep_stack *stack, struct dep_stack_frame *out, size_t max)
{
	(void)symbols;
	(void)process;
	(void)time_ns;
	(void)stack;
	(void)out;
	(void)max;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	fold_set_up(codes, FRAGMENTS);
	return 0;
}

/* ---- stores ---- */

static void run_main(struct fold_chunk *c)
{
	static const u32 run[] = { MAIN, HELPER, OTHER, HELPER_2, MAIN_2, HELPER, OTHER, HELPER_2,
				   MAIN_3, OTHER, MAIN_4 };
	size_t i;

	for (i = 0; i < sizeof(run) / sizeof(*run); i++)
		fold_run(c, run[i]);
}

static struct fold_chunk chunk(u64 seq)
{
	return (struct fold_chunk){ .seq = seq, .rsp = RSP };
}

/* Thread 1 forks thread 3 and handles a signal; of thread 2 the beginning is not known. */
static void write_threads(struct fold_store *f)
{
	struct fold_chunk c;
	u64 seq;

	for (seq = 0; seq < 3; seq++) {
		c = chunk(seq);
		if (!seq)
			fold_start(&c);
		run_main(&c);
		if (seq == 1) {
			fold_run(&c, MAIN);
			fold_run(&c, HELPER);
			fold_fork(&c, FOLD_CHILD);
			fold_run(&c, OTHER);
			fold_run(&c, HELPER_2);
			fold_run(&c, MAIN_2);
			fold_signal(&c, HELPER_PC);
			fold_registers(&c, HANDLER_PC, RSP - 0x1000);
			fold_run(&c, HANDLER);
		} else if (seq == 2) {
			fold_run(&c, HANDLER);
		}
		fold_store_segment(f, 1, &c);
		if (seq == 2)
			continue;
		c = chunk(seq);
		run_main(&c);
		fold_store_segment(f, 2, &c);
		c = chunk(seq);
		c.rsp = RSP - 16;
		if (!seq)
			fold_start(&c);
		fold_run(&c, OTHER);
		fold_run(&c, HELPER_2);
		fold_store_segment(f, 3, &c);
	}
}

static struct dep_contexts *contexts_of(struct store *s, const struct dep_contexts_options *o)
{
	struct dep_contexts *c;

	if (dep_contexts_make_kept(s->f.s, s->f.code, o, &c))
		fail_msg("%s", dep_error());
	return c;
}

static void open_store(struct store *s)
{
	const struct dep_contexts_options o = { .times = true };

	fold_store_open(&s->f);
	kept_bytes_begin(&s->file, &s->f, &dep_contexts_file);
	if (dep_contexts_make(s->f.s, s->f.code, &o, &s->whole))
		fail_msg("%s", dep_error());
}

/* @more: number of further segments */
static void begin_with(struct store *s, u64 more)
{
	struct fold_chunk c;
	u64 seq;

	memset(s, 0, sizeof(*s));
	fold_store_begin(&s->f, fold_stream.desc, fold_stream.desc_size);
	write_threads(&s->f);
	for (seq = 2; seq < 2 + more; seq++) {
		c = chunk(seq);
		run_main(&c);
		fold_store_segment(&s->f, 2, &c);
	}
	open_store(s);
}

static void begin(struct store *s)
{
	begin_with(s, 0);
}

static void end(struct store *s)
{
	dep_contexts_free(s->whole);
	kept_bytes_end(&s->file);
	fold_store_close(&s->f);
}

/* The contexts are right, whatever is in the file. */
static void check(struct store *s, bool times)
{
	const struct dep_contexts_options o = { .times = times };
	struct dep_contexts *c = contexts_of(s, &o);

	fold_same_rows(s->whole, c, context, ncontexts);
	fold_same_rows(s->whole, c, share, nshares);
	if (times)
		fold_same_rows(s->whole, c, time, ntimes);
	else
		assert_true(!c->ntimes && !c->time);
	assert_int_equal(c->unknown_returns, s->whole->unknown_returns);
	assert_int_equal(c->recovered, s->whole->recovered);
	assert_int_equal(c->not_counted, 0);
	assert_int_equal(c->loss.segments, 0);
	assert_int_equal(c->loss.gaps, s->whole->loss.gaps);
	dep_contexts_free(c);
}

/* ---- tests ---- */

/* The store has what the other tests need: several kinds of contexts, and siblings. */
static void same_contexts(void **state)
{
	u32 kinds = 0, siblings = 0;
	struct store s;
	size_t i, k;

	(void)state;
	begin(&s);
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
			check(&s, i);
			assert_true(kept_is_there(&s.file));
		}
		assert_int_equal(unlink(s.file.file), 0);
	}
	end(&s);
}

/* Make one number of the file larger, which no other one contradicts. */
static void mark(struct store *s)
{
	kept_read(&s->file);
	kept_header(&s->file)->word[DEP_KEPT_UNKNOWN_RETURNS] += 1000;
	kept_seal(&s->file);
}

static bool is_marked(struct store *s, bool times)
{
	const struct dep_contexts_options o = { .times = times };
	struct dep_contexts *c = contexts_of(s, &o);
	bool marked = c->unknown_returns == s->whole->unknown_returns + 1000;

	assert_true(marked || c->unknown_returns == s->whole->unknown_returns);
	dep_contexts_free(c);
	return marked;
}

/* The file is really read.  One with rows of time serves all; one without them is replaced. */
static void file_is_used(void **state)
{
	struct store s;

	(void)state;
	begin(&s);
	check(&s, false);
	kept_read(&s.file);
	assert_int_equal(kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES], 0);
	mark(&s);
	assert_true(is_marked(&s, false));
	assert_false(is_marked(&s, true));
	kept_read(&s.file);
	assert_int_equal(kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES], 1);
	check(&s, false);
	check(&s, true);
	mark(&s);
	assert_true(is_marked(&s, false));
	assert_true(is_marked(&s, true));
	end(&s);
}

/* Many rows of time are not kept, but the contexts are. */
static void many_times(void **state)
{
	const u64 before = dep_kept_times_min;
	struct store s;

	(void)state;
	begin_with(&s, 200);
	dep_kept_times_min = 0;
	check(&s, true);
	kept_read(&s.file);
	assert_true(s.whole->ntimes > 1000);
	assert_int_equal(kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES], 0);
	assert_int_equal(kept_header(&s.file)->n[DEP_KEPT_CONTEXT_TIMES], 0);
	mark(&s);
	assert_true(is_marked(&s, false));
	assert_false(is_marked(&s, true));
	dep_kept_times_min = before;
	check(&s, true);
	kept_read(&s.file);
	assert_int_equal(kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES], 1);
	end(&s);
}

static bool select_none(void *arg, const struct dep_segment *seg)
{
	(void)arg;
	(void)seg;
	return false;
}

/* A part, or what had a limit of memory, is neither kept nor taken from what is kept. */
static void parts_are_not_kept(void **state)
{
	const struct dep_contexts_options part[] = {
		{ .fold.process = 1 }, { .fold.thread = 2 }, { .fold.from_ns = 1001 },
		{ .fold.to_ns = 1001 }, { .fold.select = select_none }, { .memory = 1 << 20 },
		{ .memory = 1 },
	};
	struct dep_contexts *c;
	struct store s;
	size_t i, pass;

	(void)state;
	begin(&s);
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < sizeof(part) / sizeof(*part); i++) {
			c = contexts_of(&s, &part[i]);
			assert_int_equal(c->unknown_returns > 999, 0);
			assert_int_equal(kept_is_there(&s.file), pass);
			dep_contexts_free(c);
		}
		if (!pass) {
			check(&s, true);
			mark(&s);
		}
	}
	assert_true(is_marked(&s, true));
	end(&s);
}

/* What is found at an attach depends on files outside of the store. */
static void attach_is_not_kept(void **state)
{
	struct dep_contexts_options o = { .symbols = NULL };
	struct fold_chunk c = chunk(0);
	struct store s = { 0 };
	size_t i;

	(void)state;
	fold_attach(&c);
	fold_stack(&c, RSP, 64);
	fold_registers(&c, MAIN_PC, RSP);
	run_main(&c);
	fold_store_begin(&s.f, fold_stream.desc, fold_stream.desc_size);
	fold_store_segment(&s.f, 1, &c);
	open_store(&s);
	for (i = 0; i < 2; i++) {
		dep_contexts_free(contexts_of(&s, &o));
		assert_false(kept_is_there(&s.file));
		o.symbols = (struct dep_symbols *)&fold_stream;
	}
	end(&s);
}

/* A segment that cannot be read. */
static void losses_are_not_kept(void **state)
{
	struct dep_contexts *c;
	const struct dep_segment *seg;
	struct store s;
	char path[176];
	int fd;

	(void)state;
	begin(&s);
	assert_true(dep_store_segments(s.f.s, &seg) > 3);
	snprintf(path, sizeof(path), "%s/segments.000", s.f.dir);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "damaged", 7, (off_t)(seg[1].offset + seg[1].stored_bytes - 7)),
			 7);
	close(fd);
	c = contexts_of(&s, NULL);
	assert_true(c->loss.segments);
	assert_false(kept_is_there(&s.file));
	dep_contexts_free(c);
	end(&s);
}

/* Without the right checksum no byte is believed; nor is a file of another length. */
static void damaged_files(void **state)
{
	struct store s;
	size_t i;

	(void)state;
	begin(&s);
	check(&s, true);
	kept_read(&s.file);
	for (i = 0; i < s.file.size; i += i < sizeof(struct dep_wire_kept) ? 1 : 37) {
		s.file.bytes[i] ^= 0x41;
		kept_write(&s.file, s.file.size);
		check(&s, true);
		s.file.bytes[i] ^= 0x41;
		kept_write(&s.file, i);
		check(&s, true);
	}
	kept_write(&s.file, s.file.size);
	assert_int_equal(truncate(s.file.file, 1ll << 40), 0);
	check(&s, true);
	end(&s);
}

/* ---- forged files ---- */

/* Write the file with other bytes and right checksums: the contexts must be made again. */
static void refused(struct store *s, const u8 *good)
{
	struct dep_wire_kept *h = kept_header(&s->file);

	assert_memory_not_equal(s->file.bytes, good, s->file.size);
	h->word[DEP_KEPT_UNKNOWN_RETURNS] += 1000;
	kept_seal(&s->file);
	assert_false(is_marked(s, h->word[DEP_KEPT_HAS_TIMES]));
	memcpy(s->file.bytes, good, s->file.size);
}

/* Set one field of a row to @value. */
#define FORGED(s, good, table, type, i, field, value) \
	do { \
		type *row_ = (type *)kept_rows(&(s)->file, table) + (i); \
		if (row_->field == (value)) \
			break; \
		row_->field = (value); \
		refused(s, good); \
	} while (0)

#define CONTEXT(field, value)	\
	FORGED(s, good, DEP_KEPT_CONTEXTS, struct dep_context, i, field, value)
#define SHARE(field, value)	\
	FORGED(s, good, DEP_KEPT_SHARES, struct dep_context_share, i, field, value)
#define TIME(field, value)	\
	FORGED(s, good, DEP_KEPT_CONTEXT_TIMES, struct dep_context_time, i, field, value)

static const u64 wrong[] = { 1000000, UINT32_MAX - 1, 1ull << 31, UINT64_MAX };

static void forge_context(struct store *s, const u8 *good, size_t i)
{
	size_t k;

	for (k = 0; k < sizeof(wrong) / sizeof(*wrong); k++) {
		CONTEXT(parent, (u32)wrong[k]);
		CONTEXT(process, (u32)wrong[k]);
		CONTEXT(image, (u32)wrong[k]);
		CONTEXT(site_image, (u32)wrong[k]);
		CONTEXT(calls, wrong[k]);
		CONTEXT(insns, wrong[k]);
		CONTEXT(refs, wrong[k]);
	}
	CONTEXT(parent, (u32)i);
	CONTEXT(parent, (u32)i + 1);
	CONTEXT(kind, i ? DEP_CONTEXT_ROOT : DEP_CONTEXT_START);
	CONTEXT(kind, DEP_CONTEXT_KINDS);
	CONTEXT(kind, 255);
	CONTEXT(incomplete, 2);
	CONTEXT(guess, 1);
	CONTEXT(pad, 1);
	CONTEXT(pad2, 1);
	CONTEXT(process, i ? 0 : 1);
	CONTEXT(insns, s->whole->context[i].insns + 1);
	/* With a thread of another process; what no thread has executed says nothing. */
	if (s->whole->context[i].insns)
		CONTEXT(process, 3 - s->whole->context[i].process);
	if (i)
		return;
	CONTEXT(incomplete, 1);
	CONTEXT(image, 1);
	CONTEXT(pc, 1);
	CONTEXT(site, 1);
}

static void forge_share(struct store *s, const u8 *good, size_t i)
{
	size_t k;

	for (k = 0; k < sizeof(wrong) / sizeof(*wrong); k++) {
		SHARE(thread, (u32)wrong[k]);
		SHARE(context, (u32)wrong[k]);
		SHARE(calls, wrong[k]);
		SHARE(insns, wrong[k]);
		SHARE(refs, wrong[k]);
	}
	SHARE(thread, 0);
	SHARE(context, 0);
	SHARE(insns, 0);
	SHARE(insns, s->whole->share[i].insns + 1);
}

static void forge_time(struct store *s, const u8 *good, size_t i)
{
	size_t k;

	for (k = 0; k < sizeof(wrong) / sizeof(*wrong); k++) {
		TIME(thread, (u32)wrong[k]);
		TIME(context, (u32)wrong[k]);
		TIME(insns, wrong[k]);
	}
	/* Out of order. */
	TIME(start_ns, i ? 0 : UINT64_MAX);
	TIME(thread, 0);
	TIME(context, 0);
	TIME(insns, 0);
	TIME(insns, s->whole->time[i].insns + 1);
	TIME(insns, s->whole->time[i].insns - 1);
}

/* The file in memory, and a copy of it, which the caller frees. */
static u8 *good_file(struct store *s, bool times)
{
	u8 *good;

	check(s, times);
	kept_read(&s->file);
	good = malloc(s->file.size);
	assert_non_null(good);
	memcpy(good, s->file.bytes, s->file.size);
	return good;
}

static void forged_fields(void **state)
{
	struct store s;
	size_t i;
	u8 *good;

	(void)state;
	begin(&s);
	good = good_file(&s, true);
	for (i = 0; i < s.whole->ncontexts; i++)
		forge_context(&s, good, i);
	for (i = 0; i < s.whole->nshares; i++)
		forge_share(&s, good, i);
	for (i = 0; i < s.whole->ntimes; i++)
		forge_time(&s, good, i);
	kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES] = 2;
	refused(&s, good);
	kept_header(&s.file)->word[DEP_KEPT_HAS_TIMES] = 0;
	refused(&s, good);
	free(good);
	end(&s);
}

/* The instructions of one segment are said to be those of another one. */
static void forged_sums(void **state)
{
	struct dep_context_time *t;
	struct store s;
	size_t i, k, n = 0;
	u8 *good;

	(void)state;
	begin(&s);
	good = good_file(&s, true);
	t = kept_rows(&s.file, DEP_KEPT_CONTEXT_TIMES);
	for (i = 0; i < s.whole->ntimes; i++)
		for (k = 0; k < i; k++) {
			if (t[i].thread != t[k].thread || t[i].context != t[k].context)
				continue;
			t[k].insns += t[i].insns;
			t[i].insns = 0;
			refused(&s, good);
			n++;
		}
	assert_true(n);
	free(good);
	end(&s);
}

/* The row of the only thread that was in context @i; NULL: there are none, or several. */
static struct dep_context_share *only_share(struct store *s, size_t i)
{
	struct dep_context_share *share = kept_rows(&s->file, DEP_KEPT_SHARES), *found = NULL;
	size_t k, n = 0;

	for (k = 0; k < s->whole->nshares; k++)
		if (share[k].context == i) {
			found = &share[k];
			n++;
		}
	return n == 1 ? found : NULL;
}

/* Threads and contexts agree, but nothing could execute that many. */
static void forged_overflow(void **state)
{
	const u64 half = 1ull << 63;
	struct dep_context_share *share;
	struct dep_context *x;
	struct store s;
	size_t i, n;
	u32 field;
	u8 *good;

	(void)state;
	begin(&s);
	good = good_file(&s, false);
	x = kept_rows(&s.file, DEP_KEPT_CONTEXTS);
	for (field = 0; field < 3; field++) {
		for (i = 1, n = 0; i < s.whole->ncontexts && n < 2; i++) {
			share = only_share(&s, i);
			if (!share)
				continue;
			n++;
			if (field == 0)
				x[i].calls = share->calls = half;
			else if (field == 1)
				x[i].insns = share->insns = half;
			else
				x[i].refs = share->refs = half;
		}
		assert_int_equal(n, 2);
		refused(&s, good);
	}
	free(good);
	end(&s);
}

/* Exchange two rows of @size bytes. */
static void swap(u8 *a, u8 *b, size_t size)
{
	u8 kept[64];

	memcpy(kept, a, size);
	memcpy(a, b, size);
	memcpy(b, kept, size);
}

/* Rows in another order, and trees in which the parent of each context is smaller. */
static void forged_order(void **state)
{
	struct dep_context *x;
	struct store s;
	u32 table, size;
	size_t i;
	u8 *good, *row;

	(void)state;
	begin(&s);
	/* Rows of time are looked up among those of threads, so these are tested alone, too. */
	good = good_file(&s, false);
	row = kept_rows(&s.file, DEP_KEPT_SHARES);
	size = dep_contexts_file.row_bytes[DEP_KEPT_SHARES];
	for (i = 1; i < s.whole->nshares; i++) {
		swap(row + (i - 1) * size, row + i * size, size);
		refused(&s, good);
	}
	free(good);
	good = good_file(&s, true);
	for (table = DEP_KEPT_SHARES; table < DEP_KEPT_CONTEXTS_TABLES; table++) {
		row = kept_rows(&s.file, table);
		size = dep_contexts_file.row_bytes[table];
		for (i = 1; i < kept_header(&s.file)->n[table]; i++) {
			swap(row + (i - 1) * size, row + i * size, size);
			refused(&s, good);
		}
	}
	x = kept_rows(&s.file, DEP_KEPT_CONTEXTS);
	for (i = 2; i < s.whole->ncontexts; i++) {
		/* The same key as that of the context in front of it, which is made its sibling. */
		x[i].parent = x[i - 1].parent;
		x[i].process = x[i - 1].process;
		x[i].site = x[i - 1].site;
		x[i].pc = x[i - 1].pc;
		x[i].kind = x[i - 1].kind;
		x[i].image = x[i - 1].image;
		refused(&s, good);
		/* Not in preorder: a child of a context whose children are all in front. */
		if (x[i].parent >= i - 1 || x[i - 1].parent == x[i].parent)
			continue;
		x[i + 1 < s.whole->ncontexts ? i + 1 : i].parent = (u32)i - 1;
		if (i + 1 < s.whole->ncontexts)
			refused(&s, good);
		else
			memcpy(s.file.bytes, good, s.file.size);
	}
	free(good);
	end(&s);
}

/* ---- other stores ---- */

static void changed_stores(void **state)
{
	struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char segments[176];
	struct store s;

	(void)state;
	begin(&s);
	check(&s, false);
	mark(&s);
	snprintf(segments, sizeof(segments), "%s/segments.000", s.f.dir);
	assert_int_equal(utimensat(AT_FDCWD, segments, t, 0), 0);
	assert_false(is_marked(&s, false));
	mark(&s);
	assert_true(is_marked(&s, false));
	assert_int_equal(chmod(s.file.file, 0602), 0);
	assert_false(is_marked(&s, false));
	assert_int_equal(dep_store_rebuild(s.f.dir), 0);
	assert_false(kept_is_there(&s.file));
	end(&s);
}

/* Nothing is written to the store of somebody else, nor read from a file of a third one. */
static void foreign_stores(void **state)
{
	struct store s;

	(void)state;
	if (geteuid())
		skip();
	begin(&s);
	assert_int_equal(chown(s.f.dir, 12345, 0), 0);
	check(&s, false);
	assert_false(kept_is_there(&s.file));
	assert_int_equal(chown(s.f.dir, 0, 0), 0);
	check(&s, false);
	mark(&s);
	assert_int_equal(chown(s.file.file, 12345, 0), 0);
	assert_false(is_marked(&s, false));
	end(&s);
}

#define TEST(f)	cmocka_unit_test_setup_teardown(f, set_up, fold_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(same_contexts),
		TEST(file_is_used),
		TEST(many_times),
		TEST(parts_are_not_kept),
		TEST(attach_is_not_kept),
		TEST(losses_are_not_kept),
		TEST(damaged_files),
		TEST(forged_fields),
		TEST(forged_sums),
		TEST(forged_overflow),
		TEST(forged_order),
		TEST(changed_stores),
		TEST(foreign_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
