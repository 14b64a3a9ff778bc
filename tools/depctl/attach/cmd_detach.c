// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl detach: end the recording of a process, which then runs natively. */
#include <stdlib.h>
#include <time.h>

#include "libdep/attach/session.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/record/record.h"

#define LOOK_NS	10000000	/* pause between two looks at threads that follow later */

struct detach {
	pid_t pid;
	bool quiet;
};

static const struct argp_option options[] = {
	{ "quiet", 'q', NULL, 0, "Print only errors", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct detach *d = state->input;

	if (key != 'q')
		return parse_pid(key, arg, state, &d->pid);
	d->quiet = true;
	return 0;
}

static const struct argp argp = {
	options, parse, "PID",
	"End the recording of a process.\v"
	"The process runs natively from then on, as if it had not been recorded.",
	NULL, NULL, NULL,
};

/* Threads in system calls that a stop would end leave the engine when these return. */
static void wait_for_late(const struct detach *d, const struct dep_found *f, uint32_t late)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	if (late && !d->quiet)
		warn("waiting for %u thread%s in system calls; Ctrl-C ends the waiting, and "
		     "changes nothing else", late, late == 1 ? "" : "s");
	while (!dep_session_left(f, d->pid))
		nanosleep(&pause, NULL);
}

int cmd_detach(int argc, char **argv)
{
	struct detach d = { 0 };
	struct dep_detached result;
	struct dep_found found;
	struct dep_why why;
	int err;

	parse_args(&argp, argc, argv, 0, &d);
	err = dep_session_find(&found, d.pid, &why);
	if (!err) {
		err = dep_detach(&found.target, found.slot, d.pid, &result, &why);
		if (!err) {
			report_detached(d.pid, &result, d.quiet);
			if (!result.mapped)
				wait_for_late(&d, &found, result.late);
		}
		dep_session_close(&found);
	}
	if (err)
		warn("%s", why.text);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
