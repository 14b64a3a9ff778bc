// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl report: where a recorded program executed its instructions, on one screen. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "report.h"
#include "report_parts.h"

static int run(const struct profile_options *o, int fd)
{
	struct report *r = calloc(1, sizeof(*r));
	int status;

	if (!r) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	status = profile_open(&r->v, o, VIEW_CONTEXTS);
	if (!status && report_collect(r)) {
		warn("out of memory");
		status = EXIT_FAILURE;
	}
	if (!status) {
		out_begin(&r->out);
		r->out.fd = fd;
		if (o->form == PROFILE_TEXT)
			out_layout(&r->out);
		if (o->form == PROFILE_JSON)
			report_json(r);
		else
			report_text(r);
		status = profile_status(&r->v) | out_end(&r->out);
	}
	report_free(r);
	free(r);
	return status;
}

int profile_report(const char *path, int fd)
{
	const struct profile_options o = { .path = path };

	return run(&o, fd);
}

static const struct argp_child children[] = { { &profile_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	NULL, profile_parse, "STORE",
	"Print where a recorded program executed its instructions: functions, loops, processes, "
	"threads and the course of time.", children, NULL, NULL
};

int cmd_report(int argc, char **argv)
{
	struct profile_options o = { 0 };

	parse_args(&argp, argc, argv, 0, &o);
	return run(&o, STDOUT_FILENO);
}
