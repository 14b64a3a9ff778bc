// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: a store in one blob (blob.h), whose fragments are decoded and whose profile is
 * made, with all segments in one unit, and with one in each and few numbers for sequences, which
 * are used again and again: the rows must be the same.  Then its calling contexts are found, which
 * must have executed as many instructions as the profile has, and call stacks at some positions.
 * The profiles of intervals of time must add up to the whole.  Counters and contexts that the store
 * keeps must give the same rows, and are then changed.  Contexts must be the same with counts.
 * Paths must execute the same instructions.  Contexts are encoded and decoded.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "dep/contexts.h"
#include "dep/path_profile.h"
#include "dep/profile.h"
#include "dep/symbols.h"
#include "libdep/contexts/kept_check.h"
#include "libdep/fold/walk.h"
#include "libdep/profile/kept.h"
#include "blob.h"

static void check_rows(const struct dep_profile *p)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < p->ninsns; i++)
		sum += p->insn[i].count;
	if (sum != p->insns)
		abort();
}

static bool differ(const struct dep_profile *a, const struct dep_profile *b)
{
	return a->ninsns != b->ninsns || a->nedges != b->nedges || a->nthreads != b->nthreads ||
	       a->ntimes != b->ntimes || a->loss.segments != b->loss.segments ||
	       a->loss.gaps != b->loss.gaps ||
	       (a->ninsns && memcmp(a->insn, b->insn, a->ninsns * sizeof(*a->insn))) ||
	       (a->nedges && memcmp(a->edge, b->edge, a->nedges * sizeof(*a->edge))) ||
	       (a->nthreads && memcmp(a->thread, b->thread, a->nthreads * sizeof(*a->thread))) ||
	       (a->ntimes && memcmp(a->time, b->time, a->ntimes * sizeof(*a->time)));
}

/* Each row of a thread or a time belongs to a context, and all have the same instructions. */
static void check_contexts(const struct dep_contexts *c, bool has_times, uint64_t insns)
{
	uint64_t all = 0, shares = 0, times = 0, intervals = 0;
	size_t i;

	for (i = 0; i < c->ncontexts; i++) {
		if (i ? c->context[i].parent >= i : c->context[i].insns && !c->not_counted)
			abort();
		all += c->context[i].insns;
	}
	for (i = 0; i < c->nshares; i++) {
		if (c->share[i].context >= c->ncontexts)
			abort();
		shares += c->share[i].insns;
	}
	for (i = 0; i < c->ntimes; i++) {
		if (c->time[i].context >= c->ncontexts)
			abort();
		times += c->time[i].insns;
	}
	for (i = 0; i < c->nintervals; i++) {
		if (c->interval[i].context >= c->ncontexts)
			abort();
		intervals += c->interval[i].insns;
	}
	if (all != insns || shares != insns || times != (has_times ? insns : 0) ||
	    intervals != (c->nintervals ? insns : 0))
		abort();
}

/* Without enough memory for all contexts, too: then the tree is small, and stacks are cut off. */
static void find_contexts(struct dep_store *s, const struct dep_fragments *code, uint64_t insns)
{
	static const uint64_t memory[] = { 0, 4096 };
	/* dep_symbols_unwind() of any_unwind.c does not look at it. */
	struct dep_contexts_options options = {
		.fold.jobs = 1, .times = true, .symbols = (struct dep_symbols *)s,
		/* At most four intervals in any store. */
		.per_ns = UINT64_MAX / 4,
	};
	struct dep_contexts *c;
	size_t i;

	for (i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		options.memory = memory[i];
		if (dep_contexts_make(s, code, &options, &c))
			continue;
		check_contexts(c, true, insns);
		dep_contexts_free(c);
	}
}

/* At the beginning of segments and somewhat later, also of one that the store does not have. */
static void find_stacks(struct dep_store *s, const struct dep_fragments *code)
{
	const struct dep_contexts_at_options options = { .jobs = 1, .memory = 4096 };
	struct dep_position at[16];
	struct dep_call_stacks *stacks;
	size_t i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		at[i] = (struct dep_position){
			.segment = (uint32_t)i / 4, .branches = i % 4 * 3, .signals = i % 4 / 3,
		};
	if (dep_contexts_at(s, code, at, i, &options, &stacks))
		return;
	if (stacks->n != i)
		abort();
	for (i = 0; i < stacks->n; i++)
		if (stacks->stack[i].n && !stacks->stack[i].found)
			abort();
	dep_call_stacks_free(stacks);
}

static uint64_t sum_of_rows(const struct dep_profile *p)
{
	uint64_t sum = p->insns + p->refs;
	size_t i;

	for (i = 0; i < p->ninsns; i++)
		sum += p->insn[i].count;
	for (i = 0; i < p->nedges; i++)
		sum += p->edge[i].count;
	return sum;
}

/* Intervals add up to the whole, however short they are. */
static void find_intervals(struct dep_store *s, const struct dep_fragments *code,
			   const struct dep_profile *whole)
{
	static const uint64_t pers[] = { 1, 1000000, UINT64_MAX / 3, UINT64_MAX };
	const struct dep_fold_options options = { .jobs = 1 };
	struct dep_intervals *iv;
	struct dep_interval in;
	uint64_t sum;
	size_t i;
	int ret;

	for (i = 0; i < sizeof(pers) / sizeof(pers[0]); i++) {
		if (dep_intervals_make(s, code, &options, pers[i], &iv)) {
			/* One interval is the whole, which could be made. */
			if (pers[i] == UINT64_MAX)
				abort();
			continue;
		}
		if (sum_of_rows(dep_intervals_whole(iv)) != sum_of_rows(whole))
			abort();
		for (sum = 0; (ret = dep_intervals_next(iv, &in)) > 0;)
			sum += sum_of_rows(in.profile);
		if (!ret && sum != sum_of_rows(whole))
			abort();
		dep_intervals_free(iv);
	}
}

/* Correct the checksums of a file of @size bytes. */
static void seal(const struct dep_kept_kind *kind, struct dep_wire_kept *h, size_t size,
		 uint64_t seed)
{
	const uint8_t *at = (uint8_t *)(h + 1), *end = (uint8_t *)h + size;
	uint64_t bytes;
	uint32_t i;

	for (i = 0; i < kind->tables; i++, at += bytes) {
		bytes = (uint64_t)h->n[i] * kind->row_bytes[i];
		if (bytes > (uint64_t)(end - at))
			break;
		h->rows[i] = XXH3_64bits_withSeed(at, bytes, seed);
	}
	h->check = XXH3_64bits_withSeed(h, offsetof(struct dep_wire_kept, check), seed);
}

/* Change some words of the file of @kind, and correct its checksums. */
static void change_kept(struct dep_store *s, const struct dep_kept_kind *kind, uint64_t seed)
{
	static uint64_t words[1 << 16];
	int fd = openat(s->dirfd, kind->name, O_RDWR | O_CLOEXEC), i;
	ssize_t size = fd < 0 ? 0 : pread(fd, words, sizeof(words), 0);

	for (i = 0; i < 3 && size > (ssize_t)sizeof(struct dep_wire_kept); i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		/* Often a small change: it is found only by what it means. */
		words[(seed >> 33) % ((size_t)size / 8)] ^= 1ull << (seed & (seed & 64 ? 63 : 7));
		seal(kind, (struct dep_wire_kept *)words, (size_t)size, s->fmt.seed);
		if (pwrite(fd, words, (size_t)size, 0) != size)
			abort();
	}
	if (fd >= 0)
		close(fd);
}

/* Kept counters give the same rows; changed ones give rows, or are made again. */
static void find_kept(struct dep_store *s, const struct dep_fragments *code,
		      const struct dep_profile *whole)
{
	const struct dep_fold_options options = { .jobs = 1 };
	struct dep_profile *p;
	int i;

	for (i = 0; i < 6; i++) {
		if (dep_profile_make_kept(s, code, &options, &p))
			/* A change can make more rows than a store may have. */
			continue;
		if (i < 2 && differ(whole, p))
			abort();
		check_rows(p);
		dep_profile_free(p);
		if (i)
			change_kept(s, &dep_counts_file,
				    whole->insns * 31 + whole->nedges * 7 + (uint64_t)i);
	}
	unlinkat(s->dirfd, DEP_COUNTS_NAME, 0);
}

/* Rows of time are compared only if both have them. */
static bool contexts_differ(const struct dep_contexts *a, const struct dep_contexts *b)
{
	return a->ncontexts != b->ncontexts || a->nshares != b->nshares ||
	       a->unknown_returns != b->unknown_returns || a->recovered != b->recovered ||
	       a->not_counted != b->not_counted || a->loss.segments != b->loss.segments ||
	       a->loss.gaps != b->loss.gaps ||
	       memcmp(a->context, b->context, a->ncontexts * sizeof(*a->context)) ||
	       (a->nshares && memcmp(a->share, b->share, a->nshares * sizeof(*a->share))) ||
	       (b->time && a->ntimes != b->ntimes) ||
	       (b->ntimes && memcmp(a->time, b->time, b->ntimes * sizeof(*b->time)));
}

static uint64_t insns_of(const struct dep_contexts *c)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < c->ncontexts; i++)
		sum += c->context[i].insns;
	return sum;
}

/* Contexts of a process that is not in the log are not kept. */
static bool processes_are_known(struct dep_store *s, const struct dep_contexts *c)
{
	size_t i;

	for (i = 1; i < c->ncontexts; i++)
		if (!dep_model_process(&s->model, c->context[i].process))
			return false;
	return true;
}

/* Kept contexts are the same; changed ones fit together.  What a pass finds must pass the check. */
static void find_kept_contexts(struct dep_store *s, const struct dep_fragments *code,
			       uint64_t insns)
{
	struct dep_contexts_options options = { .fold.jobs = 1, .times = true };
	struct dep_contexts *whole, *c;
	int i;

	if (dep_contexts_make_kept(s, code, &options, &whole))
		return;
	if (!whole->not_counted && !whole->loss.segments && processes_are_known(s, whole) &&
	    !dep_kept_contexts_fit(whole, s, true))
		abort();
	for (i = 0; i < 4; i++) {
		options.times = i != 1;
		if (i > 1)
			change_kept(s, &dep_contexts_file, insns * 17 + (uint64_t)i);
		if (dep_contexts_make_kept(s, code, &options, &c))
			abort();
		if (i < 2 && contexts_differ(whole, c))
			abort();
		check_contexts(c, options.times, insns_of(c));
		dep_contexts_free(c);
	}
	dep_contexts_free(whole);
	unlinkat(s->dirfd, DEP_CONTEXTS_NAME, 0);
}

/* Counts save a pass, and change nothing else. */
static void find_counted_contexts(struct dep_store *s, const struct dep_fragments *code,
				  const struct dep_profile *counts)
{
	struct dep_contexts_options options = { .fold.jobs = 1 };
	struct dep_contexts *a, *b;

	if (dep_contexts_make(s, code, &options, &a))
		return;
	options.counts = counts;
	if (dep_contexts_make(s, code, &options, &b) || contexts_differ(a, b))
		abort();
	dep_contexts_free(a);
	dep_contexts_free(b);
}

/* Potential paths of a function with all short paths of the store, and @code as its file. */
static void find_potential(const struct dep_path_profile *p, const void *code, size_t size)
{
	struct dep_path_code block[8];
	struct dep_path_flow *f;
	uint64_t paths;
	bool more;
	size_t k;

	if (!p->nrows || dep_path_flow_new(p->row->pc, &f))
		return;
	if (dep_path_flow_code(f, p->row->pc, code, size < 4096 ? size : 4096))
		goto out;
	for (k = 0; k < p->nrows; k++)
		if (dep_path_profile_blocks(p, k, block, 8) <= 8 &&
		    dep_path_flow_path(f, p->row + k, block, 0))
			goto out;
	if (!dep_path_flow_potential(f, &paths, &more) && !paths)
		abort();
out:
	dep_path_flow_free(f);
}

/* What paths execute is what the profile has, unless some were not counted. */
static void find_paths(struct dep_store *s, const struct dep_fragments *code,
		       const struct dep_profile *whole)
{
	static const uint64_t memory[] = { 0, 1 << 17 };
	static const uint32_t iterations[] = { 1, 3 };
	struct dep_path_profile_options options = { .fold.jobs = 1 };
	uint64_t number[2];
	struct dep_path_code block[8];
	struct dep_path_profile *p;
	struct dep_path_table t;
	size_t i, k;

	for (i = 0; i < 4; i++) {
		options.memory = memory[i / 2];
		options.iterations = iterations[i % 2];
		if (dep_path_profile_make(s, code, &options, &p))
			continue;
		if (!p->not_counted && p->insns != whole->insns)
			abort();
		for (k = 0; k < p->nrows; k++)
			if (dep_path_profile_blocks(p, k, block, 8) != p->row[k].blocks)
				abort();
		for (k = 0; k < p->nrows; k++)
			if (dep_path_profile_before(p, k, number, 2) != p->row[k].before ||
			    (p->row[k].before && !dep_path_profile_path(p, p->row[k].function,
									number[0], NULL, 0)))
				abort();
		if (!dep_path_profile_table(p, &t) && t.predicted.edges > t.executed.edges)
			abort();
		find_potential(p, p->row, p->nrows * sizeof(*p->row));
		dep_path_profile_free(p);
	}
}

/* Each context is encoded and decoded.  A stack of a damaged store can be any. */
static void check_encoding(struct dep_store *s, const struct dep_fragments *code)
{
	const struct dep_context_check_options options = { .every = 1, .jobs = 1 };
	struct dep_context_check check;

	if (!dep_contexts_check(s, code, &options, &check) && check.checked > check.calls)
		abort();
}

static void fold(struct dep_store *s, const struct dep_fragments *code)
{
	const struct dep_fold_options options = { .jobs = 1 };
	const u64 unit = dep_fold_unit_bytes;
	struct dep_profile *whole, *parts;

	if (dep_profile_make(s, code, &options, &whole))
		return;
	check_rows(whole);
	dep_fold_unit_bytes = 1;
	dep_fold_sequences = 9;
	if (!dep_profile_make(s, code, &options, &parts)) {
		if (differ(whole, parts))
			abort();
		dep_profile_free(parts);
	}
	dep_fold_unit_bytes = unit;
	dep_fold_sequences = DEP_FOLD_SEQUENCES;
	find_kept(s, code, whole);
	find_intervals(s, code, whole);
	find_contexts(s, code, whole->insns);
	find_kept_contexts(s, code, whole->insns);
	find_stacks(s, code);
	find_counted_contexts(s, code, whole);
	find_paths(s, code, whole);
	check_encoding(s, code);
	dep_profile_free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dep_store *s;
	struct dep_fragments *code;

	blob_put(data, size);
	if (dep_store_open(&s, blob_dir()))
		return 0;
	if (!dep_code_make(s, &code)) {
		fold(s, code);
		dep_code_free(code);
	}
	dep_store_close(s);
	return 0;
}
