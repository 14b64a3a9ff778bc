// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: a store in one blob (blob.h), whose fragments are decoded and whose profile is
 * made, with all segments in one unit and with one in each: the rows must be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "dep/profile.h"
#include "libdep/fold/walk.h"
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

static void fold(struct dep_store *s, const struct dep_fragments *code)
{
	const struct dep_fold_options options = { .jobs = 1 };
	const u64 unit = dep_fold_unit_bytes;
	struct dep_profile *whole, *parts;

	if (dep_profile_make(s, code, &options, &whole))
		return;
	check_rows(whole);
	dep_fold_unit_bytes = 1;
	if (!dep_profile_make(s, code, &options, &parts)) {
		if (differ(whole, parts))
			abort();
		dep_profile_free(parts);
	}
	dep_fold_unit_bytes = unit;
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
