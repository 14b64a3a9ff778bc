// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of the queries of profiles and of depctl report. */
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "profile.h"

#define MEMORY_MIN	(1u << 20)	/* of --memory */

enum { OPT_FROM = 720, OPT_TO, OPT_TOP };

static const struct argp_option options[] = {
	{ "process", 'p', "SERIAL", 0, "Only this process (serial: see `depctl report' or "
	  "`depctl ls --json')", 2 },
	{ "thread", 't', "TID", 0, "Only the thread with this id", 2 },
	{ "from", OPT_FROM, "TIME", 0, "Only segments that begin at least TIME after the start, "
	  "such as 20ms or 1s", 2 },
	{ "to", OPT_TO, "TIME", 0, "Only segments that begin less than TIME after the start", 2 },
	{ "top", OPT_TOP, "N", 0, "Print only the first N rows", 3 },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object per line", 3 },
	{ "jobs", 'j', "N", 0, "Read with N threads (default: one per processor)", 3 },
	{ 0 }
};

static uint64_t take_time(struct argp_state *state, const char *name, const char *arg)
{
	uint64_t ns;

	if (!parse_time(arg, NULL, &ns))
		argp_error(state, "%s must be a time such as 20ms or 1s, not '%s'", name, arg);
	return ns;
}

static void set_form(struct argp_state *state, enum profile_form form)
{
	struct profile_options *o = state->input;

	if (o->form != PROFILE_TEXT && o->form != form)
		argp_error(state, "only one of --json and --csv can be given");
	o->form = form;
}

static double take_share(struct argp_state *state, const char *arg)
{
	char *end;
	double share = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%")) || !(share >= 0 && share <= 100))
		argp_error(state, "--min must be a share such as 0.5%%, not '%s'", arg);
	return share / 100;
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct profile_options *o = state->input;

	switch (key) {
	case 'p':
		o->process = (uint32_t)parse_number(state, "--process", arg, 1, UINT32_MAX);
		return 0;
	case 't':
		o->tid = (uint32_t)parse_number(state, "--thread", arg, 1, UINT32_MAX);
		return 0;
	case OPT_FROM:
		o->from_ns = take_time(state, "--from", arg);
		return 0;
	case OPT_TO:
		o->to_ns = take_time(state, "--to", arg);
		return 0;
	case OPT_TOP:
		o->top = parse_number(state, "--top", arg, 1, UINT32_MAX);
		return 0;
	case OPT_JSON:
		set_form(state, PROFILE_JSON);
		return 0;
	case 'j':
		o->jobs = (unsigned int)parse_number(state, "--jobs", arg, 1, 1024);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp profile_argp = { options, parse_common, NULL, NULL, NULL, NULL, NULL };

static void check_live(struct argp_state *state)
{
	const struct profile_options *o = state->input;

	if (!o->live && (o->every_ns || o->socket))
		argp_error(state, "%s needs --live", o->every_ns ? "--every" : "--socket");
	if (o->live && (o->per_ns || o->inclusive || o->tid))
		argp_error(state, "--live cannot be combined with %s", o->per_ns ? "--per" :
			   o->inclusive ? "--inclusive" : "--thread");
	if (o->every_ns && o->form == PROFILE_CSV)
		argp_error(state, "--every cannot be combined with --csv");
}

static bool is_table(const struct profile_options *o, const char *name)
{
	return o->table && !strcmp(o->table, name);
}

/* The encoding, and what is common, is that of the whole recording. */
static void check_table(struct argp_state *state)
{
	const struct profile_options *o = state->input;
	const char *rows = o->function ? "--function" : o->top ? "--top" : NULL;
	const char *part = o->process ? "--process" : o->tid ? "--thread" : o->from_ns ? "--from" :
			   o->to_ns ? "--to" : o->per_ns ? "--per" : NULL;
	const char *other;

	if (o->nmore && !is_table(o, "coverage"))
		argp_error(state, "one store at a time, unless with --table=coverage");
	if (!o->against != !is_table(o, "common"))
		argp_error(state, o->against ? "--against needs --table=common" :
			   "--table=common needs --against");
	if (!o->table)
		return;
	if (o->iterations)
		other = "--iterations";
	else if (o->has_min)
		other = "--min";
	else if (is_table(o, "coverage"))
		other = o->nmore ? part : NULL;
	else if (is_table(o, "paths"))
		other = rows;
	else
		other = part ? part : rows;
	if (other)
		argp_error(state, "--table=%s cannot be combined with %s%s", o->table, other,
			   o->nmore ? " and several stores" : "");
}

/* Is @name one of those in o->tables? */
static void set_table(struct argp_state *state, const char *name)
{
	struct profile_options *o = state->input;
	const char *s = o->tables;
	size_t n;

	for (; *s; s += n + (s[n] == ' ')) {
		n = strcspn(s, " ");
		if (strlen(name) != n || strncmp(s, name, n) != 0)
			continue;
		o->table = name;
		return;
	}
	argp_error(state, strchr(o->tables, ' ') ? "--table must be one of '%s', not '%s'" :
		   "--table must be '%s', not '%s'", o->tables, name);
}

static void add_store(struct argp_state *state, const char *path)
{
	struct profile_options *o = state->input;
	const char **more = reallocarray(o->more, o->nmore + 1, sizeof(*more));

	if (!more)
		argp_failure(state, EXIT_FAILURE, 0, "out of memory");
	o->more = more;
	o->more[o->nmore++] = path;
}

error_t profile_parse(int key, char *arg, struct argp_state *state)
{
	struct profile_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		return 0;
	case OPT_CSV:
		set_form(state, PROFILE_CSV);
		return 0;
	case OPT_FUNCTION:
		o->function = arg;
		return 0;
	case OPT_ALL:
		o->all = true;
		return 0;
	case OPT_FILES:
		o->files = true;
		return 0;
	case OPT_INCLUSIVE:
		o->inclusive = true;
		return 0;
	case OPT_MIN:
		o->min = take_share(state, arg);
		o->has_min = true;
		return 0;
	case OPT_ANNOTATE:
		o->annotate = arg;
		return 0;
	case OPT_PER:
		o->per_ns = take_time(state, "--per", arg);
		return 0;
	case OPT_TABLE:
		set_table(state, arg);
		return 0;
	case OPT_AGAINST:
		o->against = arg;
		return 0;
	case OPT_ITERATIONS:
		o->iterations = (uint32_t)parse_number(state, "--iterations", arg, 1,
						       DEP_PATH_ITERATIONS);
		return 0;
	case OPT_MEMORY:
		if (!parse_size(arg, &o->memory) || o->memory < MEMORY_MIN)
			argp_error(state, "--memory must be a size of at least 1M, not '%s'", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (!o->path || !o->many)
			break;
		add_store(state, arg);
		return 0;
	case OPT_LIVE:
		o->live = true;
		return 0;
	case OPT_EVERY:
		o->every_ns = take_time(state, "--every", arg);
		return 0;
	case OPT_DEPD:
		o->socket = arg;
		return 0;
	case ARGP_KEY_END:
		check_live(state);
		check_table(state);
		if (o->from_ns && o->to_ns && o->from_ns >= o->to_ns)
			argp_error(state, "--from must be less than --to");
		if (o->per_ns && (o->inclusive || o->annotate || o->all))
			argp_error(state, "--per cannot be combined with %s", o->inclusive ?
				   "--inclusive" : o->annotate ? "--annotate" : "--all");
	}
	return key == OPT_JSON || key == 'j' ? ARGP_ERR_UNKNOWN :
	       parse_store(key, arg, state, &o->path, NULL, NULL);
}
