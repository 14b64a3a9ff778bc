// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl query streams: data that the program refers to again and again in the same order. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dep/streams.h>

#include "tools/depctl/depctl.h"
#include "query.h"

#define NAMES		3u	/* references and functions that a row of text has */
#define STREAM_TEXT	1024u
#define LENGTH_MAX	1000000u

enum { OPT_THRESHOLD = 740, OPT_MIN_LENGTH, OPT_MAX_LENGTH, OPT_SYMBOL };

/** struct streams_query - @o is first: profile_parse() gets this struct, too */
struct streams_query {
	struct profile_options o;
	struct dep_streams_options streams;
	struct profile_view v;
	struct dep_streams *s;
	struct out out;
	struct rows rows;
	bool table;
};

/* ---- options ---- */

static const struct argp_option options[] = {
	{ "threshold", OPT_THRESHOLD, "SHARE", 0, "Only streams that cover this share of all "
	  "references (default: 1%)", 1 },
	{ "min-length", OPT_MIN_LENGTH, "N", 0, "Only streams of at least N references "
	  "(default: 2)", 1 },
	{ "max-length", OPT_MAX_LENGTH, "N", 0, "Only streams of at most N references "
	  "(default: 100)", 1 },
	{ "symbol", OPT_SYMBOL, "WHAT", 0, "What makes two references equal: 'address' (the "
	  "default) or 'pc', the address and the instruction", 1 },
	{ "memory", OPT_MEMORY, "SIZE", 0, "Use at most SIZE for a grammar and the streams found "
	  "(default: 256M)", 1 },
	{ "table", OPT_TABLE, "hps", 0, "Print the table of the paper on HPS instead: functions, "
	  "calls, branches, references, instructions and distinct addresses", 1 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma-separated values", 3 },
	{ 0 }
};

static double take_threshold(struct argp_state *state, const char *arg)
{
	char *end;
	double share = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%")) || !(share > 0 && share <= 100))
		argp_error(state, "--threshold must be a share such as 0.5%%, not '%s'", arg);
	return share / 100;
}

static uint32_t take_length(struct argp_state *state, const char *name, const char *arg)
{
	return (uint32_t)parse_number(state, name, arg, 1, LENGTH_MAX);
}

static bool take_symbol(struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "pc") && strcmp(arg, "address"))
		argp_error(state, "--symbol must be 'address' or 'pc', not '%s'", arg);
	return !strcmp(arg, "pc");
}

static void check_lengths(struct argp_state *state, const struct dep_streams_options *s)
{
	if ((s->min_length ? s->min_length : 2) > (s->max_length ? s->max_length : 100))
		argp_error(state, "--min-length must not exceed --max-length");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct streams_query *q = state->input;

	switch (key) {
	case OPT_THRESHOLD:
		q->streams.threshold = take_threshold(state, arg);
		return 0;
	case OPT_MIN_LENGTH:
		q->streams.min_length = take_length(state, "--min-length", arg);
		return 0;
	case OPT_MAX_LENGTH:
		q->streams.max_length = take_length(state, "--max-length", arg);
		return 0;
	case OPT_SYMBOL:
		q->streams.pc = take_symbol(state, arg);
		return 0;
	case OPT_MEMORY:
		if (!parse_size(arg, &q->streams.memory) ||
		    q->streams.memory < DEP_STREAMS_MEMORY_MIN)
			argp_error(state, "--memory must be a size of at least 1M, not '%s'", arg);
		return 0;
	case OPT_TABLE:
		if (strcmp(arg, "hps"))
			argp_error(state, "--table must be 'hps', not '%s'", arg);
		q->table = true;
		return 0;
	case ARGP_KEY_END:
		check_lengths(state, &q->streams);
	}
	return profile_parse(key, arg, state);
}

/* ---- names ---- */

/* Append a name to a list; after NAMES of them, dots. */
static void append(char *list, uint32_t i, const char *name)
{
	size_t n = strlen(list);

	if (i < NAMES)
		snprintf(list + n, STREAM_TEXT - n, "%s%s", i ? " " : "", name);
	else if (i == NAMES)
		snprintf(list + n, STREAM_TEXT - n, " ..");
}

static bool find_object(struct streams_query *q, const struct dep_stream *s, uint64_t address,
			struct dep_object *o)
{
	return dep_symbols_object(q->v.symbols, s->process, address, 0, s->time_ns, o) == 1;
}

static void name_data(struct streams_query *q, const struct dep_stream *s, char *list)
{
	char name[sizeof(((struct dep_object *)0)->name) + 32];
	struct dep_object o;
	uint32_t i;

	*list = 0;
	for (i = 0; i < s->length && i <= NAMES; i++) {
		if (!find_object(q, s, s->ref[i].address, &o))
			snprintf(name, sizeof(name), "%llx",
				 (unsigned long long)s->ref[i].address);
		else if (o.offset)
			snprintf(name, sizeof(name), "%s+%llx", o.name,
				 (unsigned long long)o.offset);
		else
			snprintf(name, sizeof(name), "%s", o.name);
		append(list, i, name);
	}
}

static void find_code(struct streams_query *q, const struct dep_stream *s, uint64_t pc,
		      struct dep_place *p)
{
	struct dep_place place[DEP_PLACES];
	size_t n = dep_symbols_frames(q->v.symbols, s->process, pc, s->time_ns, place, DEP_PLACES);

	/* The function that was executed, and the line, which can be of an inlined function. */
	*p = place[n < DEP_PLACES ? n - 1 : DEP_PLACES - 1];
	p->file = place[0].file;
	p->line = place[0].line;
}

/*
 * The functions of the first occurrence, each once, in the order of their first references; a file
 * for those without a name.
 */
static void name_code_of(struct streams_query *q, const struct dep_stream *s, char *list)
{
	const char *name[NAMES + 1];
	uint32_t i, k, n = 0;
	struct dep_place p;

	*list = 0;
	for (i = 0; i < s->length && n <= NAMES; i++) {
		find_code(q, s, s->ref[i].pc, &p);
		name[n] = p.function ? p.function : base_name(p.module);
		for (k = 0; k < n && strcmp(name[k], name[n]); k++)
			;
		if (k < n)
			continue;
		append(list, n, name[n]);
		n++;
	}
}

/* ---- rows ---- */

static const struct row_column columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "times", "times", ROW_COUNT },
	{ "length", "length", ROW_COUNT },
	{ "words", "words", ROW_COUNT },
	{ "code", "functions", ROW_TEXT },
	{ "data", "data", ROW_TEXT },
};

static uint32_t tid_of(const struct streams_query *q, const struct dep_stream *s)
{
	const struct dep_thread *t = thread_of(q->v.store, s->thread);

	return t ? t->tid : 0;
}

static double share_of(uint64_t refs, uint64_t all)
{
	return all ? (double)refs / (double)all : 0;
}

static void put_row(struct streams_query *q, const struct dep_stream *s)
{
	char list[STREAM_TEXT];

	row_share(&q->rows, s->times * s->length, q->s->refs);
	row_count(&q->rows, s->times);
	row_count(&q->rows, s->length);
	row_count(&q->rows, s->words);
	name_code_of(q, s, list);
	row_text(&q->rows, list);
	name_data(q, s, list);
	row_text(&q->rows, list);
}

static void json_code(struct json *j, const struct dep_place *p)
{
	json_object(j, "at");
	json_str(j, "module", p->module);
	json_str(j, "build_id", p->build_id);
	json_hex(j, "module_offset", p->offset);
	json_hex(j, "linked_address", p->linked);
	json_str(j, "function", p->function);
	json_str(j, "file", p->file);
	json_u64(j, "line", p->line);
	json_close(j, '}');
}

static void put_json(struct streams_query *q, const struct dep_stream *s, struct json *j)
{
	struct dep_object o;
	struct dep_place p;
	uint32_t i;

	json_object(j, NULL);
	json_double(j, "share", share_of(s->times * s->length, q->s->refs));
	json_u64(j, "times", s->times);
	json_u64(j, "length", s->length);
	json_u64(j, "words", s->words);
	json_u64(j, "process", s->process);
	json_u64(j, "tid", tid_of(q, s));
	json_array(j, "stream");
	for (i = 0; i < s->length; i++) {
		json_object(j, NULL);
		json_hex(j, "address", s->ref[i].address);
		json_str(j, "variable", find_object(q, s, s->ref[i].address, &o) ? o.name : "");
		json_hex(j, "pc", s->ref[i].pc);
		find_code(q, s, s->ref[i].pc, &p);
		json_code(j, &p);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
	json_line(j);
}

static void find_reasons(const struct streams_query *q, struct reasons *r)
{
	struct missing m;

	r->n = 0;
	missing_find(&m, q->v.store);
	m.gaps = q->s->loss.gaps;
	reasons_add(r, q->s->loss.segments, "segment cannot be read", "segments cannot be read");
	reasons_add_missing(r, &m);
}

static void end_json(struct streams_query *q, struct json *j, const struct reasons *why)
{
	json_object(j, NULL);
	json_u64(j, "references", q->s->refs);
	json_u64(j, "covered", q->s->covered);
	json_u64(j, "streams", q->s->n);
	json_u64(j, "grammars", q->s->grammars);
	json_u64(j, "grammar_rules", q->s->rules);
	json_u64(j, "grammar_symbols", q->s->symbols);
	reasons_json(j, why);
	json_close(j, '}');
	json_line(j);
}

static void end_rows(struct streams_query *q, const struct reasons *why)
{
	const struct dep_streams *s = q->s;
	size_t i;

	if (q->o.form == PROFILE_CSV) {
		for (i = 0; i < why->n; i++)
			warn("%s: incomplete: %s", q->o.path, why->text[i]);
		return;
	}
	out_printf(&q->out, "covered: %.1f%% of %llu references, by %zu stream%s of %llu "
		   "grammar%s\n", 100 * share_of(s->covered, s->refs), (unsigned long long)s->refs,
		   s->n, s->n == 1 ? "" : "s", (unsigned long long)s->grammars,
		   s->grammars == 1 ? "" : "s");
	reasons_text(&q->out, why, ": ");
}

static int print(struct streams_query *q)
{
	size_t n = q->o.top && q->o.top < q->s->n ? q->o.top : q->s->n, i;
	bool json = q->o.form == PROFILE_JSON;
	struct reasons why;
	struct json j;
	int err = 0;

	find_reasons(q, &why);
	json_begin(&j, &q->out);
	if (!json)
		err = rows_begin(&q->rows, &q->v, &q->out, columns,
				 sizeof(columns) / sizeof(*columns));
	for (i = 0; i < n && !err; i++) {
		if (json)
			put_json(q, &q->s->stream[i], &j);
		else
			put_row(q, &q->s->stream[i]);
	}
	if (!err && !json)
		err = rows_end(&q->rows);
	if (err)
		return profile_failed(&q->v, err);
	if (json)
		end_json(q, &j, &why);
	else
		end_rows(q, &why);
	return 0;
}

/* ---- the query ---- */

static int failed(const struct streams_query *q, int err)
{
	switch (err) {
	case -ENOSPC:
		warn("%s: the streams do not fit in memory; use a larger --memory or --threshold",
		     q->o.path);
		return EXIT_FAILURE;
	case -ERANGE:
		warn("%s: --symbol=pc: %s", q->o.path, dep_error());
		return EXIT_FAILURE;
	default:
		return profile_failed(&q->v, err);
	}
}

static int run(struct streams_query *q)
{
	int status, err;

	q->v = (struct profile_view){ .o = &q->o, .store = open_store(q->o.path) };
	if (!q->v.store)
		return EXIT_FAILURE;
	status = profile_select(&q->v, true);
	if (status)
		return status;
	q->streams.fold = q->v.fold;
	err = dep_symbols_open(&q->v.symbols, q->v.store);
	if (!err)
		err = dep_streams_make(q->v.store, &q->streams, &q->s);
	if (err)
		return failed(q, err);
	status = print(q);
	if (q->s->loss.segments || q->s->loss.gaps)
		status = EXIT_FAILURE;
	return status ? status : profile_status(&q->v);
}

int query_streams(int argc, char **argv)
{
	static const struct argp_child children[] = { { &profile_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		options, parse, "STORE", "Print hot data streams: sequences of addresses to which "
		"the program refers again and again.", children, NULL, NULL
	};
	struct streams_query *q = calloc(1, sizeof(*q));
	int status;

	if (!q) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	parse_args(&argp, argc, argv, 0, q);
	out_begin(&q->out);
	if (q->o.form == PROFILE_TEXT)
		out_layout(&q->out);
	status = q->table ? streams_table(&q->o, &q->streams, &q->out) : run(q);
	status |= out_end(&q->out);
	dep_streams_free(q->s);
	profile_close(&q->v);
	free(q);
	return status;
}
