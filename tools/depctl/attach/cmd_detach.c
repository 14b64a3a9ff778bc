// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl detach: end the recording of a process, or of all processes of a session of depd.  They
 * then run natively.
 *
 * depctl moves the threads itself, by its own right to trace them.  If it cannot open the session
 * file through the process, it asks depd for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "find_session.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/record/record.h"

#define LOOK_NS	10000000	/* pause between two looks at threads that follow later */

enum { OPT_SESSION = OPT_JSON + 1, OPT_DEPD };

struct detach {
	pid_t pid;
	uint32_t session;	/* session of depd; 0: detach from @pid only */
	const char *socket;
	bool quiet;
	struct dep_found found;
};

/** struct late - a process with threads that follow later */
struct late {
	uint32_t slot;
	pid_t pid;
};

static const struct argp_option options[] = {
	{ "session", OPT_SESSION, "ID", 0, "Detach from all processes of this session of depd", 1 },
	{ "socket", OPT_DEPD, "PATH", 0, "Socket of depd", 1 },
	{ "quiet", 'q', NULL, 0, "Print only errors", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct detach *d = state->input;

	switch (key) {
	case OPT_SESSION:
		d->session = (uint32_t)parse_number(state, "--session", arg, 1, UINT32_MAX);
		return 0;
	case OPT_DEPD:
		d->socket = arg;
		return 0;
	case 'q':
		d->quiet = true;
		return 0;
	case ARGP_KEY_END:
		if (!d->session)
			return parse_pid(key, arg, state, &d->pid);
		if (d->pid)
			argp_error(state, "--session excludes a PID");
		return 0;
	default:
		return parse_pid(key, arg, state, &d->pid);
	}
}

static const struct argp argp = {
	options, parse, "PID\n--session=ID",
	"End the recording of a process, or of all processes of a session.\v"
	"They run natively from then on, as if they had not been recorded.",
	NULL, NULL, NULL,
};

/* ---- detaching ---- */

/* Threads in system calls that a stop would end leave the engine when these return. */
static void wait_for_late(const struct detach *d, pid_t pid)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	while (!dep_session_left(&d->found, pid))
		nanosleep(&pause, NULL);
}

/* Detach from a process in @d->found.  *@late: number of threads that follow later. */
static int detach(const struct detach *d, pid_t pid, uint32_t *late, struct dep_why *why)
{
	struct dep_detached result;
	int err;

	err = dep_detach(&d->found.target, d->found.slot, pid, &result, why);
	if (err)
		return err;
	report_detached(pid, &result, d->quiet);
	*late = result.mapped ? 0 : result.late;
	if (*late && !d->quiet)
		warn("waiting for %u thread%s in system calls; Ctrl-C ends the waiting, and "
		     "changes nothing else", *late, *late == 1 ? "" : "s");
	return 0;
}

static int detach_process(struct detach *d)
{
	struct dep_why why;
	uint32_t late;
	int err;

	err = session_of_process(&d->found, d->pid, d->socket, &why);
	if (!err) {
		err = detach(d, d->pid, &late, &why);
		if (!err && late)
			wait_for_late(d, d->pid);
		dep_session_close(&d->found);
	}
	if (err)
		warn("%s", why.text);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Detach from the processes that are in the session now.  Return: their number. */
static int detach_all(struct detach *d, struct late *wait, uint32_t *nwait, int *failed)
{
	struct dep_why why;
	uint32_t i, late;
	int done = 0, err;
	pid_t pid;

	for (i = 0; (pid = dep_session_each(&d->found, i)) >= 0; i++) {
		if (!pid)
			continue;
		err = dep_session_process(&d->found, pid, &why);
		if (!err)
			err = detach(d, pid, &late, &why);
		if (!err && late && *nwait < d->found.target.layout.nprocs)
			wait[(*nwait)++] = (struct late){ d->found.slot, pid };
		done += !err;
		if (err && err != -ESRCH && dep_session_each(&d->found, i) == pid) {
			warn("%s", why.text);
			++*failed;
		}
	}
	return done;
}

static int detach_session(struct detach *d)
{
	uint32_t nwait = 0, i;
	int failed = 0, n = 0, all = 0;
	struct late *wait;
	struct dep_why why;

	if (session_by_depd(&d->found, 0, d->session, d->socket, &why)) {
		warn("%s", why.text);
		return EXIT_FAILURE;
	}
	wait = calloc(d->found.target.layout.nprocs, sizeof(*wait));
	if (!wait) {
		warn("out of memory");
		dep_session_close(&d->found);
		return EXIT_FAILURE;
	}
	/* A process can have forked before it was detached from. */
	do {
		n = detach_all(d, wait, &nwait, &failed);
		all += n;
	} while (n && !failed);
	if (!all && !failed)
		warn("session %u records no process", d->session);
	for (i = 0; i < nwait; i++) {
		d->found.slot = wait[i].slot;
		wait_for_late(d, wait[i].pid);
	}
	free(wait);
	dep_session_close(&d->found);
	return failed || !all ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cmd_detach(int argc, char **argv)
{
	struct detach d = { 0 };

	parse_args(&argp, argc, argv, 0, &d);
	return d.session ? detach_session(&d) : detach_process(&d);
}
