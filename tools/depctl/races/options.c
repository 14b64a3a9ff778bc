// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "races.h"

enum {
	OPT_ALL = OPT_JSON + 1, OPT_ERROR, OPT_SARIF, OPT_SUPPRESSIONS, OPT_PRINT, OPT_NEW_SINCE,
	OPT_BASELINE, OPT_REPORT, OPT_PREDICT, OPT_ALL_FRAMES,
};

static const struct argp_option options[] = {
	{ "all", OPT_ALL, NULL, 0,
	  "Also report uncertain races and races inside of the C library; see depctl-query(1)", 1 },
	{ "predict", OPT_PREDICT, NULL, 0,
	  "Also report races that did not happen, but can with another timing of locks", 1 },
	{ "error-exitcode", OPT_ERROR, "N", 0, "Exit with N if there are races", 1 },
	{ "jobs", 'j', "N", 0, "Recover with N threads (default: one per processor)", 1 },
	{ "suppressions", OPT_SUPPRESSIONS, "FILE", 0,
	  "Leave out races that match FILE, in the format of ThreadSanitizer or Valgrind; may be "
	  "repeated", 2 },
	{ "new-since", OPT_NEW_SINCE, "STORE", 0, "Leave out races that are also found in STORE",
	  2 },
	{ "baseline", OPT_BASELINE, "FILE", 0,
	  "Leave out races that are in FILE, saved output of --json", 2 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 3 },
	{ "sarif", OPT_SARIF, NULL, 0, "Print SARIF 2.1.0", 3 },
	{ "print-suppressions", OPT_PRINT, "FORMAT", 0,
	  "Print suppressions for the races instead of a report; FORMAT is tsan or valgrind", 3 },
	{ "report", OPT_REPORT, "FILE", 0, "Write the report to FILE", 3 },
	{ "all-frames", OPT_ALL_FRAMES, NULL, 0,
	  "Also print stack frames that are internal to the C library", 3 },
	{ "verbose", 'v', NULL, 0, "Also list suppressions that matched no race", 3 },
	{ 0 }
};

static void set_form(struct races_options *o, enum races_form form, struct argp_state *state)
{
	if (o->form != RACES_TEXT && o->form != form)
		argp_error(state, "only one of --json, --sarif and --print-suppressions can be "
			   "given");
	o->form = form;
}

static void add_file(struct races_options *o, const char *file, struct argp_state *state)
{
	const char **more = realloc(o->suppressions, (o->nsuppressions + 1) * sizeof(*more));

	if (!more)
		argp_failure(state, EXIT_FAILURE, 0, "out of memory");
	o->suppressions = more;
	o->suppressions[o->nsuppressions++] = file;
}

static const char *name_of(int key)
{
	const struct argp_option *opt;

	for (opt = options; opt->name; opt++)
		if (opt->key == key)
			return opt->name;
	return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct races_options *o = state->input;

	switch (key) {
	case OPT_ALL:
		o->all = true;
		break;
	case OPT_PREDICT:
		o->predict = true;
		break;
	case OPT_ERROR:
		o->exit_code = (int)parse_number(state, "--error-exitcode", arg, 0, 255);
		break;
	case 'j':
		o->jobs = (unsigned int)parse_number(state, "--jobs", arg, 1, 1024);
		break;
	case OPT_SUPPRESSIONS:
		add_file(o, arg, state);
		break;
	case OPT_NEW_SINCE:
		o->new_since = arg;
		break;
	case OPT_BASELINE:
		o->baseline = arg;
		break;
	case OPT_JSON:
		set_form(o, RACES_JSON, state);
		break;
	case OPT_SARIF:
		set_form(o, RACES_SARIF, state);
		break;
	case OPT_PRINT:
		if (!strcmp(arg, "tsan"))
			set_form(o, RACES_FOR_TSAN, state);
		else if (!strcmp(arg, "valgrind"))
			set_form(o, RACES_FOR_VALGRIND, state);
		else
			argp_error(state, "--print-suppressions must be tsan or valgrind, not '%s'",
				   arg);
		break;
	case OPT_REPORT:
		o->report = arg;
		break;
	case OPT_ALL_FRAMES:
		o->all_frames = true;
		break;
	case 'v':
		o->verbose = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (!o->first)
		o->first = name_of(key);
	return 0;
}

const struct argp races_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
