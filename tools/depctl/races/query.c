// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query races: report accesses to memory that no synchronisation orders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "races.h"

enum { OPT_LIVE = 600, OPT_DEPD, OPT_TAIL_FDS };

struct query {
	const char *path;
	bool live;
	uint32_t session;		/* with @live: number of depd's session */
	const char *socket;
	bool tail;
	int ring, over;			/* with @tail: descriptors of session file and socket */
	struct races_options how;
};

static error_t take_session(struct query *q, const char *arg, struct argp_state *state)
{
	if (q->session)
		argp_error(state, "only one session can be analysed at a time");
	q->session = (uint32_t)parse_number(state, "SESSION", arg, 1, UINT32_MAX);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct query *q = state->input;
	char more;

	switch (key) {
	case OPT_LIVE:
		q->live = true;
		return 0;
	case OPT_DEPD:
		q->socket = arg;
		return 0;
	case OPT_TAIL_FDS:
		q->tail = sscanf(arg, "%d,%d%c", &q->ring, &q->over, &more) == 2;
		if (!q->tail)
			argp_error(state, "--tail-fds needs two descriptors, not '%s'", arg);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &q->how;
		return 0;
	case ARGP_KEY_ARG:
		if (q->live)
			return take_session(q, arg, state);
		break;
	case ARGP_KEY_END:
		if (q->live && !q->session)
			argp_error(state, "which session? `depctl sessions' lists them");
		if (q->live)
			return 0;
		if (q->socket)
			argp_error(state, "--socket needs --live");
		break;
	}
	return parse_store(key, arg, state, &q->path, NULL, NULL);
}

static const struct argp_option options[] = {
	{ "live", OPT_LIVE, NULL, 0, "Analyse SESSION while depd records it: report each suspected "
	  "race at once, and all races at the end; must precede SESSION", 1 },
	{ "socket", OPT_DEPD, "PATH", 0, "Socket of depd", 9 },
	{ "tail-fds", OPT_TAIL_FDS, "FD,FD", OPTION_HIDDEN, NULL, 9 },	/* used by depd */
	{ 0 }
};

static const struct argp_child children[] = { { &races_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	options, parse, "STORE\n--live SESSION",
	"Find pairs of accesses to the same memory by different threads, at least one of them a "
	"write, that no synchronisation orders.", children, NULL, NULL
};

int query_races(int argc, char **argv)
{
	struct query q = { 0 };
	struct races_report *report;
	struct dep_store *store = NULL;
	int status = EXIT_FAILURE;
	size_t found = 0;

	parse_args(&argp, argc, argv, 0, &q);
	if (!q.live && !q.tail)
		store = open_store(q.path);
	report = store || q.live || q.tail ? races_report_begin(&q.how) : NULL;
	if (report && q.live)
		status = races_live(report, q.session, q.socket, &found);
	else if (report && q.tail)
		status = races_tail(report, q.path, q.ring, q.over, &found);
	else if (report)
		status = races_report(report, store, q.path, STDOUT_FILENO, &found);
	if (!status && found)
		status = q.how.exit_code;
	races_report_end(report);
	dep_store_close(store);
	free(q.how.suppressions);
	return status;
}
