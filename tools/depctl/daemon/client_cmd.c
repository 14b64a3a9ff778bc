// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commands that send one request to depd and print the answer.
 */
#include <stdlib.h>
#include <string.h>

#include "client_all.h"
#include "tools/depctl/depctl.h"

const struct argp_option client_options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print the answer of depd as one line of JSON", 1 },
	CLIENT_OPTION_SOCKET,
	{ 0 }
};

error_t client_parse(int key, char *arg, struct argp_state *state)
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

static int run(const struct client_args *a, const char *op, client_show_fn *show)
{
	struct client c = { .fd = -1 };
	struct out out;
	int status = 0;

	if (ask_depd(&c, a, client_request(op, 0))) {
		client_close(&c);
		return EXIT_FAILURE;
	}
	if (!strcmp(op, "sessions") && client_add_others(&c))
		warn("out of memory");
	out_begin(&out);
	if (a->json) {
		out_text(&out, c.line);
		out_text(&out, "\n");
	} else {
		out_layout(&out);
		status = show(&c, a, &out);
	}
	client_close(&c);
	return out_end(&out) | status;
}

int client_command(int argc, char **argv, const struct argp *argp, const char *op,
		   client_show_fn *show)
{
	struct client_args a = { 0 };

	parse_args(argp, argc, argv, 0, &a);
	return run(&a, op, show);
}

int client_command_of(int argc, char **argv, const struct argp *argp, const char *(*op)(void),
		      client_show_fn *show)
{
	struct client_args a = { 0 };

	parse_args(argp, argc, argv, 0, &a);
	return run(&a, op(), show);
}
