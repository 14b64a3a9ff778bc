// SPDX-License-Identifier: LGPL-2.1-or-later
/* Keep the contexts of a pass. */
#include <stdlib.h>

#include "kept.h"
#include "kept_check.h"

_Static_assert(sizeof(struct dep_context) == 64 && sizeof(struct dep_context_share) == 32 &&
	       sizeof(struct dep_context_time) == 24,
	       "rows that are kept: increase DEP_CONTEXTS_VERSION");

const struct dep_kept_kind dep_contexts_file = {
	.name = DEP_CONTEXTS_NAME, .magic = "DEPCTX\r\n", .version = DEP_CONTEXTS_VERSION,
	.tables = DEP_KEPT_CONTEXTS_TABLES,
	.row_bytes = {
		[DEP_KEPT_CONTEXTS] = sizeof(struct dep_context),
		[DEP_KEPT_SHARES] = sizeof(struct dep_context_share),
		[DEP_KEPT_CONTEXT_TIMES] = sizeof(struct dep_context_time),
	},
};

u64 dep_kept_times_min = 1 << 20;

/* Does the file have what is wanted?  Without rows of time it must say so. */
static bool has_rows(const struct dep_wire_kept *h, bool times)
{
	if (h->word[DEP_KEPT_HAS_TIMES] > 1)
		return false;
	return h->word[DEP_KEPT_HAS_TIMES] || (!times && !h->n[DEP_KEPT_CONTEXT_TIMES]);
}

static bool read_tables(const struct dep_kept_file *f, struct dep_contexts *c, bool times)
{
	c->context = dep_kept_rows(f, DEP_KEPT_CONTEXTS);
	c->ncontexts = f->h.n[DEP_KEPT_CONTEXTS];
	c->share = c->context ? dep_kept_rows(f, DEP_KEPT_SHARES) : NULL;
	c->nshares = f->h.n[DEP_KEPT_SHARES];
	if (times) {
		c->time = c->share ? dep_kept_rows(f, DEP_KEPT_CONTEXT_TIMES) : NULL;
		c->ntimes = f->h.n[DEP_KEPT_CONTEXT_TIMES];
	}
	c->unknown_returns = f->h.word[DEP_KEPT_UNKNOWN_RETURNS];
	c->recovered = f->h.word[DEP_KEPT_RECOVERED];
	c->loss.gaps = f->h.word[DEP_KEPT_CONTEXTS_GAPS];
	return c->context && c->share && (c->time || !times);
}

bool dep_kept_contexts_read(struct dep_contexts **out, struct dep_store *store,
			    const struct dep_kept_key *key, bool times)
{
	struct dep_contexts *c;
	struct dep_kept_file f;
	bool ok;

	if (!dep_kept_open(&f, &dep_contexts_file, store, key))
		return false;
	c = calloc(1, sizeof(*c));
	ok = c && has_rows(&f.h, times) && read_tables(&f, c, times);
	dep_kept_close(&f);
	if (ok && dep_kept_contexts_fit(c, store, times)) {
		*out = c;
		return true;
	}
	dep_contexts_free(c);
	return false;
}

static bool few_times(const struct dep_contexts *c, const struct dep_store *store)
{
	const u64 size = c->ntimes * sizeof(*c->time);

	return size <= dep_kept_times_min || size <= dep_store_input(store, 4 * size) / 4;
}

void dep_kept_contexts_write(const struct dep_contexts *c, struct dep_store *store,
			     const struct dep_kept_key *key, bool times)
{
	const bool with_times = times && few_times(c, store);
	const struct dep_kept_tables t = {
		.row = { c->context, c->share, c->time },
		.n = { c->ncontexts, c->nshares, with_times ? c->ntimes : 0 },
		.word = {
			[DEP_KEPT_UNKNOWN_RETURNS] = c->unknown_returns,
			[DEP_KEPT_RECOVERED] = c->recovered,
			[DEP_KEPT_CONTEXTS_GAPS] = c->loss.gaps,
			[DEP_KEPT_HAS_TIMES] = with_times,
		},
	};

	if (dep_kept_contexts_fit(c, store, times))
		dep_kept_write(&dep_contexts_file, store, key, &t);
}
