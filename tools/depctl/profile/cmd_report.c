// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl report: where a recorded program executed its instructions, on one screen. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "report.h"
#include "report_html.h"
#include "report_parts.h"

static int print(struct report *r)
{
	return r->v.o->form == PROFILE_JSON ? report_json(r) : report_text(r);
}

static int run(const struct profile_options *o, int fd, bool paths)
{
	struct report *r = calloc(1, sizeof(*r));
	int status, failed;

	if (!r) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	status = profile_open(&r->v, o, VIEW_CONTEXTS);
	if (!status && paths)
		status = profile_paths(&r->v, &r->paths);
	if (!status && report_collect(r)) {
		warn("out of memory");
		status = EXIT_FAILURE;
	}
	if (!status) {
		out_begin(&r->out);
		r->out.fd = fd;
		if (o->form == PROFILE_TEXT)
			out_layout(&r->out);
		failed = print(r);
		status = profile_status(&r->v) | out_end(&r->out);
		if (failed) {
			warn("out of memory");
			status = EXIT_FAILURE;
		}
	}
	report_free(r);
	free(r);
	return status;
}

int profile_report(const char *path, int fd)
{
	const struct profile_options o = { .path = path };

	return run(&o, fd, false);
}

static const struct argp_child children[] = { { &profile_argp, 0, NULL, 0 }, { 0 } };

/** struct options - @o must be the first member: profile_parse() gets its address */
struct options {
	struct profile_options o;
	const char *html;
	bool no_source;
	bool paths;
};

enum { OPT_HTML = 760, OPT_NO_SOURCE, OPT_PATHS };

static const struct argp_option options[] = {
	{ "html", OPT_HTML, "FILE", 0, "Write a page for a browser instead, with graphs and "
	  "source", 3 },
	{ "no-source", OPT_NO_SOURCE, NULL, 0, "With --html, leave out the text of source files",
	  3 },
	{ "paths", OPT_PATHS, NULL, 0, "Also count the paths through functions, which follows the "
	  "calls of each thread twice more", 2 },
	PROFILE_MEMORY("calling contexts, and as much for paths"),
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPT_HTML:
		options->html = arg;
		return 0;
	case OPT_NO_SOURCE:
		options->no_source = true;
		return 0;
	case OPT_PATHS:
		options->paths = true;
		return 0;
	case ARGP_KEY_END:
		if (options->html && options->o.form != PROFILE_TEXT)
			argp_error(state, "only one of --html and --json can be given");
		if (options->html && options->o.top)
			argp_error(state, "only one of --html and --top can be given");
		if (options->no_source && !options->html)
			argp_error(state, "--no-source needs --html");
	}
	return profile_parse(key, arg, state);
}

static const struct argp argp = {
	options, parse, "STORE",
	"Print where a recorded program executed its instructions: functions, loops, processes, "
	"threads and the course of time.", children, NULL, NULL
};

int cmd_report(int argc, char **argv)
{
	struct options options = { 0 };

	parse_args(&argp, argc, argv, 0, &options);
	if (options.html)
		return report_html(&options.o, options.html, !options.no_source, options.paths);
	return run(&options.o, STDOUT_FILENO, options.paths);
}
