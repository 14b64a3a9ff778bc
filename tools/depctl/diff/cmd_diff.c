// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl diff: functions and contexts whose counts differ between two stores, and how much of their
 * profiles is the same.
 *
 * The exit status is that of diff(1), so that a script can tell a change from an error.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "overlap.h"

#define EXIT_TROUBLE	2	/* as EXIT_USAGE */
#define TOP		40u	/* rows of text by default */

enum { OPT_CONTEXTS = 512, OPT_THRESHOLD, OPT_TOP, OPT_OVERLAP, OPT_CSV };

struct arguments {
	struct diff *d;
	struct diff_options o;
	unsigned int jobs, stores;
	bool top_given;
};

static const struct argp_option options[] = {
	{ "contexts", OPT_CONTEXTS, NULL, 0, "Compare calling contexts instead of functions", 1 },
	{ "threshold", OPT_THRESHOLD, "N[%]", 0, "Ignore changes of at most N instructions, or N % "
	  "of all instructions of the first store", 1 },
	{ "top", OPT_TOP, "N", 0, "Print the N largest changes (default: 40; 0: all)", 1 },
	{ "overlap", OPT_OVERLAP, "PROFILES", OPTION_ARG_OPTIONAL, "Print how much of both stores' "
	  "profiles is the same: functions, pairs, edges, contexts, streams, or some of them, with "
	  "commas between them (default: all)", 1 },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object per line", 2 },
	{ "csv", OPT_CSV, NULL, 0, "With --overlap, print comma-separated values", 2 },
	{ "jobs", 'j', "N", 0, "Count with N threads (default: one per processor)", 2 },
	{ 0 }
};

static void parse_threshold(struct argp_state *state, struct diff_options *o, const char *s)
{
	char *end;
	double share;

	if (s[strspn(s, "0123456789.")] != '%') {
		o->threshold = parse_number(state, "--threshold", s, 0, UINT64_MAX - 1);
		return;
	}
	share = strtod(s, &end);
	if (!isdigit((unsigned char)*s) || end[0] != '%' || end[1] || share < 0 || share > 100)
		argp_error(state, "--threshold must be a number, or one from 0 to 100 with %%, not "
			   "'%s'", s);
	o->threshold_share = share / 100;
}

static unsigned int parse_profile(struct argp_state *state, const char *s, size_t size)
{
	unsigned int kind;

	for (kind = 0; kind < OVERLAP_KINDS; kind++)
		if (strlen(overlap_names[kind]) == size && !memcmp(overlap_names[kind], s, size))
			return 1u << kind;
	argp_error(state, "--overlap: there is no profile '%.*s'", (int)size, s);
	return 0;
}

static unsigned int parse_profiles(struct argp_state *state, const char *s)
{
	unsigned int profiles = 0;
	size_t size;

	if (!s)
		return OVERLAP_ALL;
	do {
		size = strcspn(s, ",");
		profiles |= parse_profile(state, s, size);
		s += size;
	} while (*s++);
	return profiles;
}

static void check(struct argp_state *state, const struct arguments *a)
{
	if (a->stores < SIDES)
		argp_error(state, "which two stores?");
	if (a->o.overlap && (a->o.contexts || a->o.threshold || a->o.threshold_share > 0 ||
			     a->top_given))
		argp_error(state, "--overlap cannot be combined with %s",
			   a->o.contexts ? "--contexts" : a->top_given ? "--top" : "--threshold");
	if (a->o.csv && (a->o.json || !a->o.overlap))
		argp_error(state, a->o.json ? "only one of --json and --csv can be given" :
			   "--csv needs --overlap");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPT_JSON:
		a->o.json = true;
		return 0;
	case OPT_CSV:
		a->o.csv = true;
		return 0;
	case OPT_OVERLAP:
		a->o.overlap |= parse_profiles(state, arg);
		return 0;
	case OPT_CONTEXTS:
		a->o.contexts = true;
		return 0;
	case OPT_THRESHOLD:
		parse_threshold(state, &a->o, arg);
		return 0;
	case OPT_TOP:
		a->o.top = parse_number(state, "--top", arg, 0, UINT32_MAX);
		a->top_given = true;
		return 0;
	case 'j':
		a->jobs = parse_number(state, "--jobs", arg, 1, 1024);
		return 0;
	case ARGP_KEY_ARG:
		if (a->stores == SIDES)
			argp_error(state, "two stores at a time");
		a->d->path[a->stores++] = arg;
		return 0;
	case ARGP_KEY_END:
		check(state, a);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "STORE STORE",
	"Print the functions whose exact counts differ between two stores, and their change of "
	"instructions and calls.\v"
	"Exit status: 0: nothing differs, or with --overlap, all was compared; 1: something "
	"differs; 2: an error, or nothing differs in what was recorded, but data is missing.",
	NULL, NULL, NULL
};

int cmd_diff(int argc, char **argv)
{
	struct diff d = { 0 };
	struct arguments a = { .d = &d, .o.top = TOP };
	unsigned int side, needs;
	int status = EXIT_TROUBLE;
	bool contexts;

	parse_args(&argp, argc, argv, 0, &a);
	contexts = a.o.contexts || a.o.overlap & 1u << OVERLAP_CONTEXTS;
	needs = LOAD_PROFILE | (contexts ? LOAD_CONTEXTS : 0);
	for (side = 0; side < SIDES; side++)
		if (load_open(&d.l[side], d.path[side]) ||
		    load_profiles(&d.l[side], d.path[side], needs, a.jobs, 0, 0))
			goto out;
	if (diff_functions(&d) || (contexts && diff_contexts(&d)))
		goto out;
	status = a.o.overlap ? overlap_print(&d, &a.o, a.jobs) : diff_print(&d, &a.o);
	for (side = 0; side < SIDES; side++)
		load_messages(&d.l[side]);
	for (side = 0; side < SIDES; side++)
		if (!load_complete(&d.l[side], d.path[side]) && !status)
			status = EXIT_TROUBLE;
out:
	diff_free(&d);
	return status;
}
