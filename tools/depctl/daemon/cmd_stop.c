// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl stop: end recordings of depd; the recorded programs continue.
 */
#include <errno.h>
#include <stdlib.h>

#include "client_all.h"
#include "tools/depctl/depctl.h"

enum { OPT_ALL = 258 };

struct stop {
	struct client_args args;
	bool all;
	uint32_t *id;
	size_t n;
};

static const struct argp_option options[] = {
	{ "all", OPT_ALL, NULL, 0, "Stop all sessions that `depctl sessions' lists", 1 },
	CLIENT_OPTION_SOCKET,
	{ 0 }
};

static void add_id(struct argp_state *state, struct stop *s, const char *arg)
{
	uint32_t *id = realloc(s->id, (s->n + 1) * sizeof(*id));

	if (!id)
		argp_failure(state, EXIT_FAILURE, ENOMEM, "%s", arg);
	s->id = id;
	s->id[s->n++] = parse_number(state, "ID", arg, 1, UINT32_MAX);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stop *s = state->input;

	switch (key) {
	case OPT_ALL:
		s->all = true;
		break;
	case OPT_SOCKET:
		s->args.socket = arg;
		break;
	case ARGP_KEY_ARG:
		add_id(state, s, arg);
		break;
	case ARGP_KEY_END:
		if (!s->n && !s->all)
			argp_error(state, "which session? `depctl sessions' lists them");
		if (s->n && s->all)
			argp_error(state, "--all cannot be combined with an ID");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "ID...",
	"Stop recording sessions of depd.\v"
	"The recorded programs continue unrecorded; data recorded so far is stored.",
	NULL, NULL, NULL,
};

static int stop_one(struct client *c, uint32_t id)
{
	int ret = client_ask(c, client_request("stop", id));

	if (!ret || (ret == -ENOENT && !client_stop_others(c, id)))
		return 0;
	warn("session %u: %s", id, c->why);
	return EXIT_FAILURE;
}

/* Fill @s->id with the numbers of all sessions that have not ended. */
static int list_all(struct stop *s, struct client *c)
{
	const cJSON *list, *e;
	int n;

	if (ask_depd(c, &s->args, client_request("sessions", 0)))
		return EXIT_FAILURE;
	if (client_add_others(c))
		warn("out of memory");
	list = cJSON_GetObjectItemCaseSensitive(c->answer, "sessions");
	n = cJSON_GetArraySize(list);
	s->id = calloc(n + 1, sizeof(*s->id));
	if (!s->id) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	cJSON_ArrayForEach(e, list)
		if (strcmp(client_string(e, "state"), "ended"))
			s->id[s->n++] = client_number(e, "id");
	return 0;
}

static int connect_depd(struct stop *s, struct client *c)
{
	if (s->all)
		return list_all(s, c);
	if (!client_open(c, s->args.socket))
		return 0;
	warn("%s", c->why);
	return EXIT_FAILURE;
}

int cmd_stop(int argc, char **argv)
{
	struct client c = { .fd = -1 };
	struct stop s = { 0 };
	int status;
	size_t i;

	parse_args(&argp, argc, argv, 0, &s);
	status = connect_depd(&s, &c);
	for (i = 0; i < s.n && c.fd >= 0; i++)
		status |= stop_one(&c, s.id[i]);
	client_close(&c);
	free(s.id);
	return status;
}
