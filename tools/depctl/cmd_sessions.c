// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl sessions: what depd records.
 */
#include <stdlib.h>

#include "client.h"
#include "depctl.h"

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print depd's answer, a line of JSON", 1 },
	CLIENT_OPTION_SOCKET,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct client_args *a = state->input;

	if (key == OPT_JSON)
		a->json = true;
	else if (key == OPT_SOCKET)
		a->socket = arg;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp argp = {
	options, parse, NULL,
	"List the sessions of depd.\v"
	"Sessions of other users are shown to root only.",
	NULL, NULL, NULL,
};

int cmd_sessions(int argc, char **argv)
{
	struct client c = { .fd = -1 };
	struct client_args a = { 0 };
	struct out out;

	parse_args(&argp, argc, argv, 0, &a);
	if (ask_depd(&c, &a, client_request("sessions", 0))) {
		client_close(&c);
		return EXIT_FAILURE;
	}
	out_begin(&out);
	if (a.json) {
		out_text(&out, c.line);
		out_text(&out, "\n");
	} else {
		put_sessions(&out, cJSON_GetObjectItemCaseSensitive(c.answer, "sessions"));
	}
	client_close(&c);
	return out_end(&out);
}
