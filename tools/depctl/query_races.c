// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query races: which accesses to memory does nothing order?
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "depctl.h"
#include "query.h"

struct query {
	const char *path;
	bool json, all;
	unsigned int jobs;
	int exit_code;
	struct out out;
	struct dep_store *store;
	struct dep_symbols *symbols;
	struct dep_races races;
	size_t count[RACE_RANKS];
};

enum { OPT_ALL = OPT_JSON + 1, OPT_ERROR };

static const struct argp_option options[] = {
	{ "all", OPT_ALL, NULL, 0,
	  "Also what is a race only under a condition, and what is inside of the C library", 1 },
	{ "error-exitcode", OPT_ERROR, "N", 0, "Exit with N if there are races", 1 },
	{ "jobs", 'j', "N", 0, "Threads that recover (default: one per processor)", 1 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct query *q = state->input;
	error_t err = parse_store(key, arg, state, &q->path, &q->json, &q->jobs);

	if (err != ARGP_ERR_UNKNOWN)
		return err;
	switch (key) {
	case OPT_ALL:
		q->all = true;
		break;
	case OPT_ERROR:
		q->exit_code = (int)parse_number(state, "--error-exitcode", arg, 0, 255);
		break;
	default:
		return err;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "STORE",
	"Find pairs of accesses to the same memory by different threads, one of them a write, "
	"that nothing orders.", NULL, NULL, NULL
};

static void show_progress(size_t done, size_t all)
{
	(void)all;
	progress(done);
}

static bool is_shown(const struct query *q, enum race_rank rank)
{
	return rank == RANK_RACE || q->all;
}

static void print_json(struct query *q)
{
	struct json j;
	size_t i;

	json_begin(&j, &q->out);
	json_object(&j, NULL);
	json_bool(&j, "complete", !q->races.gaps && !q->races.disorder);
	json_u64(&j, "lost_windows", q->races.gaps);
	json_u64(&j, "disorder", q->races.disorder);
	json_u64(&j, "references", q->races.references);
	json_array(&j, "races");
	for (i = 0; i < q->races.n; i++) {
		const struct dep_race *r = &q->races.race[i];
		enum race_rank rank = race_rank(q->symbols, r);

		q->count[rank]++;
		if (is_shown(q, rank))
			race_print_json(&j, q->symbols, r, rank);
	}
	json_close(&j, ']');
	json_u64(&j, "unless_atomic", q->count[RANK_UNLESS_ATOMIC]);
	json_u64(&j, "unless_behind", q->count[RANK_UNLESS_BEHIND]);
	json_u64(&j, "in_library", q->count[RANK_LIBRARY]);
	json_close(&j, '}');
	json_line(&j);
}

static void print_text(struct query *q)
{
	size_t i;

	for (i = 0; i < q->races.n; i++) {
		const struct dep_race *r = &q->races.race[i];
		enum race_rank rank = race_rank(q->symbols, r);

		q->count[rank]++;
		if (is_shown(q, rank))
			race_print_text(&q->out, q->symbols, r, rank);
	}
	out_printf(&q->out, "%zu race%s in %llu references", q->count[RANK_RACE],
		   q->count[RANK_RACE] == 1 ? "" : "s",
		   (unsigned long long)q->races.references);
	if (q->count[RANK_UNLESS_ATOMIC])
		out_printf(&q->out, "; %zu more unless a word is atomic",
			   q->count[RANK_UNLESS_ATOMIC]);
	if (q->count[RANK_UNLESS_BEHIND])
		out_printf(&q->out, "; %zu unless behind the end of a string",
			   q->count[RANK_UNLESS_BEHIND]);
	if (q->count[RANK_LIBRARY])
		out_printf(&q->out, "; %zu inside of the C library", q->count[RANK_LIBRARY]);
	out_printf(&q->out, "\ncomplete: ");
	if (q->races.gaps)
		out_printf(&q->out, "no, %llu windows lost\n", (unsigned long long)q->races.gaps);
	else if (q->races.disorder)
		out_printf(&q->out, "no, %llu times a clock ran backwards\n",
			   (unsigned long long)q->races.disorder);
	else
		out_printf(&q->out, "yes\n");
}

static void print_notes(struct query *q)
{
	const char *const *note;
	size_t i, n = dep_symbols_notes(q->symbols, &note);

	for (i = 0; i < n; i++)
		warn("%s", note[i]);
}

static int find(struct query *q)
{
	const struct dep_segment *segs;
	struct dep_races_options o = {
		.jobs = q->jobs, .progress = show_progress, .is_atomic = race_is_atomic,
		.code = race_code,
		.arg = q->symbols,
	};
	int err;

	progress_begin("looking for races", dep_store_segments(q->store, &segs));
	err = dep_races_find(q->store, &o, &q->races);
	progress_end();
	if (err)
		warn("%s: %s", q->path, *dep_error() ? dep_error() : strerror(-err));
	return err;
}

int query_races(int argc, char **argv)
{
	struct query q = { 0 };
	int status = EXIT_FAILURE;

	parse_args(&argp, argc, argv, 0, &q);
	q.store = open_store(q.path);
	if (!q.store)
		return EXIT_FAILURE;
	if (dep_symbols_open(&q.symbols, q.store)) {
		warn("out of memory");
		goto out_close;
	}
	if (find(&q))
		goto out_symbols;
	out_begin(&q.out);
	if (q.json)
		print_json(&q);
	else
		print_text(&q);
	status = out_end(&q.out);
	print_notes(&q);
	if (!status && q.count[RANK_RACE])
		status = q.exit_code;
	dep_races_free(&q.races);
out_symbols:
	dep_symbols_close(q.symbols);
out_close:
	dep_store_close(q.store);
	return status;
}
