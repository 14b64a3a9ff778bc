// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of contexts that are damaged, or forged with right checksums, are not used. */
#include <unistd.h>

#include "contexts_store.h"

/* Without the right checksum no byte is believed; nor is a file of another length. */
static void damaged_files(void **state)
{
	struct contexts_store s;
	size_t i;

	(void)state;
	contexts_store_begin(&s, 0);
	contexts_store_check(&s, true);
	kept_read(&s.file);
	for (i = 0; i < s.file.size; i += i < sizeof(struct dep_wire_kept) ? 1 : 37) {
		s.file.bytes[i] ^= 0x41;
		kept_write(&s.file, s.file.size);
		contexts_store_check(&s, true);
		s.file.bytes[i] ^= 0x41;
		kept_write(&s.file, i);
		contexts_store_check(&s, true);
	}
	kept_write(&s.file, s.file.size);
	assert_int_equal(truncate(s.file.file, 1ll << 40), 0);
	contexts_store_check(&s, true);
	contexts_store_end(&s);
}

/* Write the file with other bytes and right checksums: the contexts must be made again. */
static void refused(struct contexts_store *s, const u8 *good)
{
	struct dep_wire_kept *h = kept_header(&s->file);

	assert_memory_not_equal(s->file.bytes, good, s->file.size);
	h->word[DEP_KEPT_UNKNOWN_RETURNS] += 1000;
	kept_seal(&s->file);
	assert_false(contexts_store_is_marked(s, h->word[DEP_KEPT_HAS_TIMES]));
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

static void forge_context(struct contexts_store *s, const u8 *good, size_t i)
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

static void forge_share(struct contexts_store *s, const u8 *good, size_t i)
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

static void forge_time(struct contexts_store *s, const u8 *good, size_t i)
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
static u8 *good_file(struct contexts_store *s, bool times)
{
	u8 *good;

	contexts_store_check(s, times);
	kept_read(&s->file);
	good = malloc(s->file.size);
	assert_non_null(good);
	memcpy(good, s->file.bytes, s->file.size);
	return good;
}

static void forged_fields(void **state)
{
	struct contexts_store s;
	size_t i;
	u8 *good;

	(void)state;
	contexts_store_begin(&s, 0);
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
	contexts_store_end(&s);
}

/* The instructions of one segment are said to be those of another one. */
static void forged_sums(void **state)
{
	struct dep_context_time *t;
	struct contexts_store s;
	size_t i, k, n = 0;
	u8 *good;

	(void)state;
	contexts_store_begin(&s, 0);
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
	contexts_store_end(&s);
}

/* The row of the only thread that was in context @i; NULL: there are none, or several. */
static struct dep_context_share *only_share(struct contexts_store *s, size_t i)
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
	struct contexts_store s;
	size_t i, n;
	u32 field;
	u8 *good;

	(void)state;
	contexts_store_begin(&s, 0);
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
	contexts_store_end(&s);
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
	struct contexts_store s;
	u32 table, size;
	size_t i;
	u8 *good, *row;

	(void)state;
	contexts_store_begin(&s, 0);
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
	contexts_store_end(&s);
}

#define TEST(f)	cmocka_unit_test_setup_teardown(f, contexts_store_set_up, fold_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(damaged_files),
		TEST(forged_fields),
		TEST(forged_sums),
		TEST(forged_overflow),
		TEST(forged_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
