// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl sessions: list depd's sessions.
 */
#include "client.h"
#include "tools/depctl/depctl.h"

static const struct argp argp = {
	client_options, client_parse, NULL,
	"List the sessions of depd.\v"
	"Sessions of other users are listed for root only.",
	NULL, NULL, NULL,
};

static int show(struct client *c, const struct client_args *a, struct out *o)
{
	(void)a;
	return put_sessions(o, cJSON_GetObjectItemCaseSensitive(c->answer, "sessions"));
}

int cmd_sessions(int argc, char **argv)
{
	return client_command(argc, argv, &argp, "sessions", show);
}
