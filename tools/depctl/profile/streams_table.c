// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query streams --table=hps: what figure 6 of the paper on HPS says of its benchmarks, for a
 * store (Mousa and Krintz, "HPS: Hybrid Profiling Support", 2005).
 *
 * The counts are exact, from the control flow.  Distinct addresses need all references.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "query.h"

static const struct row_column columns[] = {
	{ "methods", "methods", ROW_COUNT },
	{ "call_sites", "sites", ROW_COUNT },
	{ "call_pairs", "pairs", ROW_COUNT },
	{ "calls", "calls", ROW_COUNT },
	{ "branches", "branches", ROW_COUNT },
	{ "references", "refs", ROW_COUNT },
	{ "instructions", "insns", ROW_COUNT },
	{ "addresses", "addresses", ROW_COUNT },
	{ "program", "program", ROW_TEXT },
};

struct hps {
	struct profile_view v;
	struct merged m;
	struct dep_addresses addresses;
	struct rows rows;
	uint64_t methods, sites, pairs, calls, branches;
};

static bool is_call(const struct edge_row *e)
{
	return e->kind == DEP_BRANCH_CALL || e->kind == DEP_BRANCH_CALL_INDIRECT;
}

static bool is_jump(uint8_t branch)
{
	return branch == DEP_BRANCH_COND || branch == DEP_BRANCH_JUMP ||
	       branch == DEP_BRANCH_JUMP_INDIRECT;
}

/* Edges are sorted by call site, so equal sites are neighbours. */
static void count_calls(struct hps *h)
{
	const struct edge_row *e = h->m.edge, *before = NULL;
	size_t i;

	for (i = 0; i < h->m.nedges; i++) {
		if (!is_call(&e[i]))
			continue;
		h->pairs++;
		h->calls += e[i].count;
		h->sites += !before || site_compare(before->from, e[i].from);
		before = &e[i];
	}
}

static void count(struct hps *h)
{
	const struct function *f;
	size_t i, n = functions_all(h->v.f, &f);

	for (i = 0; i < n; i++)
		h->methods += f[i].insns && !f[i].stub;
	for (i = 0; i < h->m.ninsns; i++)
		if (is_jump(h->m.insn[i].branch))
			h->branches += h->m.insn[i].count;
	count_calls(h);
}

/* Name of the program that was selected, or of the first one. */
static const char *program(const struct hps *h)
{
	const struct dep_process *p;
	size_t i, n = dep_store_processes(h->v.store, &p);

	for (i = 0; i < n; i++)
		if ((!h->v.o->process || h->v.o->process == p[i].serial) && p[i].exe)
			return base_name(p[i].exe);
	return "";
}

static int print(struct hps *h, struct out *out)
{
	int err = rows_begin(&h->rows, &h->v, out, columns, sizeof(columns) / sizeof(*columns));

	if (err)
		return err;
	row_count(&h->rows, h->methods);
	row_count(&h->rows, h->sites);
	row_count(&h->rows, h->pairs);
	row_count(&h->rows, h->calls);
	row_count(&h->rows, h->branches);
	row_count(&h->rows, h->addresses.refs);
	row_count(&h->rows, h->v.p->insns);
	row_count(&h->rows, h->addresses.addresses);
	row_text(&h->rows, program(h));
	return rows_end(&h->rows);
}

/* Recovery reads all columns of a segment, so it misses what the counts miss, too. */
static void find_reasons(struct hps *h, struct reasons *why)
{
	struct missing m;

	why->n = 0;
	missing_find(&m, h->v.store);
	m.gaps = h->addresses.loss.gaps;
	reasons_add(why, h->addresses.loss.segments, "segment cannot be read",
		    "segments cannot be read");
	reasons_add_missing(why, &m);
}

static void print_missing(struct hps *h, struct out *out)
{
	struct reasons why;
	struct json j;
	size_t i;

	find_reasons(h, &why);
	if (h->v.o->form == PROFILE_TEXT) {
		reasons_text(out, &why, ": ");
	} else if (h->v.o->form == PROFILE_JSON) {
		json_begin(&j, out);
		json_object(&j, NULL);
		reasons_json(&j, &why);
		json_close(&j, '}');
		json_line(&j);
	} else {
		for (i = 0; i < why.n; i++)
			warn("%s: incomplete: %s", h->v.o->path, why.text[i]);
	}
}

static int failed(const struct hps *h, int err)
{
	if (err != -ENOSPC)
		return profile_failed(&h->v, err);
	warn("%s: the addresses do not fit in memory; use a larger --memory", h->v.o->path);
	return EXIT_FAILURE;
}

int streams_table(const struct profile_options *o, const struct dep_streams_options *streams,
		  struct out *out)
{
	struct dep_streams_options options = *streams;
	struct hps *h = calloc(1, sizeof(*h));
	int status = EXIT_FAILURE, err;

	if (!h) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	if (profile_open(&h->v, o, 0))
		goto out;
	options.fold = h->v.fold;
	err = merged_make(&h->m, &h->v, h->v.p);
	if (!err)
		err = dep_addresses_count(h->v.store, &options, &h->addresses);
	if (err) {
		status = failed(h, err);
		goto out;
	}
	count(h);
	status = print(h, out);
	if (!status) {
		print_missing(h, out);
		status = profile_status(&h->v);
	}
	if (h->addresses.loss.segments || h->addresses.loss.gaps)
		status = EXIT_FAILURE;
out:
	merged_free(&h->m);
	profile_close(&h->v);
	free(h);
	return status;
}
