// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl pause, depctl resume: let a recorded process run natively for some time, with the engine
 * still in its memory, and record it again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "find_session.h"
#include "tools/depctl/depctl.h"

enum { OPT_DEPD = OPT_JSON + 1 };

struct pause {
	pid_t pid;
	const char *socket;
	bool quiet;
};

static const struct argp_option options[] = {
	{ "socket", OPT_DEPD, "PATH", 0, "Socket of depd", 1 },
	{ "quiet", 'q', NULL, 0, "Print only errors", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct pause *p = state->input;

	switch (key) {
	case OPT_DEPD:
		p->socket = arg;
		return 0;
	case 'q':
		p->quiet = true;
		return 0;
	default:
		return parse_pid(key, arg, state, &p->pid);
	}
}

static const struct argp pause_argp = {
	options, parse, "PID",
	"Let a recorded process run natively until it is resumed.\v"
	"The engine stays in its memory. Children and programs that it starts meanwhile are not "
	"recorded.",
	NULL, NULL, NULL,
};

static const struct argp resume_argp = {
	options, parse, "PID", "Record a paused process again.", NULL, NULL, NULL,
};

static int do_pause(const struct pause *p, const struct dep_found *f, struct dep_why *why)
{
	struct dep_detached d;
	int err = dep_pause(&f->target, f->slot, p->pid, &d, why);

	if (!err && !p->quiet)
		warn("process %d is paused: %u thread%s stopped for %.3f ms", p->pid, d.threads,
		     d.threads == 1 ? "" : "s", (double)d.stop_ns / 1e6);
	if (!err && !p->quiet && d.late)
		warn("%u of its threads follow when their system calls return", d.late);
	return err;
}

static int do_resume(const struct pause *p, const struct dep_found *f, struct dep_why *why)
{
	struct dep_attach_cost cost;
	int err = dep_resume(&f->target, f->slot, p->pid, &cost, why);

	if (!err && !p->quiet)
		warn("process %d is recorded again: %u thread%s stopped for %.3f ms", p->pid,
		     cost.threads, cost.threads == 1 ? "" : "s", (double)cost.stop_ns / 1e6);
	return err;
}

static int run(const struct argp *argp, int argc, char **argv,
	       int (*f)(const struct pause *p, const struct dep_found *f, struct dep_why *why))
{
	struct pause p = { 0 };
	struct dep_found found;
	struct dep_why why;
	int err;

	parse_args(argp, argc, argv, 0, &p);
	err = session_of_process(&found, p.pid, p.socket, &why);
	if (!err) {
		err = f(&p, &found, &why);
		dep_session_close(&found);
	}
	if (err)
		warn("%s", why.text);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cmd_pause(int argc, char **argv)
{
	return run(&pause_argp, argc, argv, do_pause);
}

int cmd_resume(int argc, char **argv)
{
	return run(&resume_argp, argc, argv, do_resume);
}
