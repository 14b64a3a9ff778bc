// SPDX-License-Identifier: LGPL-2.1-or-later
/* Keep the counters of a pass. */
#include <stdlib.h>

#include "kept.h"
#include "kept_check.h"

_Static_assert(sizeof(struct dep_exit_total) == 24 && sizeof(struct dep_counter) == 40 &&
	       sizeof(struct dep_thread_count) == 64 && sizeof(struct dep_time_count) == 32,
	       "rows that are kept: increase DEP_COUNTS_VERSION");

const struct dep_kept_kind dep_counts_file = {
	.name = DEP_COUNTS_NAME, .magic = "DEPCNT\r\n", .version = DEP_COUNTS_VERSION,
	.tables = DEP_KEPT_KINDS,
	.row_bytes = {
		[DEP_KEPT_EXITS] = sizeof(struct dep_exit_total),
		[DEP_KEPT_PIECES] = sizeof(struct dep_counter),
		[DEP_KEPT_PAIRS] = sizeof(struct dep_counter),
		[DEP_KEPT_INTERRUPTIONS] = sizeof(struct dep_counter),
		[DEP_KEPT_THREADS] = sizeof(struct dep_thread_count),
		[DEP_KEPT_TIMES] = sizeof(struct dep_time_count),
	},
};

static struct dep_table table_of(void *row, u32 n)
{
	return (struct dep_table){ .row = row, .n = n, .room = n };
}

static void give(struct dep_kept_counts *out, const struct dep_wire_kept *h, void *const *row)
{
	*out = (struct dep_kept_counts){
		.counted = {
			.exit = row[DEP_KEPT_EXITS], .nexits = h->n[DEP_KEPT_EXITS],
			.piece = row[DEP_KEPT_PIECES], .npieces = h->n[DEP_KEPT_PIECES],
			.pair = row[DEP_KEPT_PAIRS], .npairs = h->n[DEP_KEPT_PAIRS],
			.interruption = row[DEP_KEPT_INTERRUPTIONS],
			.ninterruptions = h->n[DEP_KEPT_INTERRUPTIONS],
		},
		.threads = table_of(row[DEP_KEPT_THREADS], h->n[DEP_KEPT_THREADS]),
		.times = table_of(row[DEP_KEPT_TIMES], h->n[DEP_KEPT_TIMES]),
		.gaps = h->word[DEP_KEPT_GAPS],
	};
}

bool dep_kept_counts_read(struct dep_kept_counts *out, struct dep_store *store,
			  const struct dep_fragments *code, const struct dep_kept_key *key)
{
	void *row[DEP_KEPT_KINDS] = { 0 };
	struct dep_kept_file f;
	bool ok = true;
	u32 i;

	if (!dep_kept_open(&f, &dep_counts_file, store, key))
		return false;
	for (i = 0; ok && i < DEP_KEPT_KINDS; i++) {
		row[i] = dep_kept_rows(&f, i);
		ok = row[i];
	}
	dep_kept_close(&f);
	if (ok) {
		give(out, &f.h, row);
		ok = dep_kept_counts_fit(out, store, code);
	}
	for (i = 0; !ok && i < DEP_KEPT_KINDS; i++)
		free(row[i]);
	return ok;
}

void dep_kept_counts_write(const struct dep_kept_counts *k, struct dep_store *store,
			   const struct dep_fragments *code, const struct dep_kept_key *key)
{
	const struct dep_counted *c = &k->counted;
	const struct dep_kept_tables t = {
		.row = { c->exit, c->piece, c->pair, c->interruption, k->threads.row,
			 k->times.row },
		.n = { c->nexits, c->npieces, c->npairs, c->ninterruptions, k->threads.n,
		       k->times.n },
		.word = { [DEP_KEPT_GAPS] = k->gaps },
	};

	if (dep_kept_counts_fit(k, store, code))
		dep_kept_write(&dep_counts_file, store, key, &t);
}
