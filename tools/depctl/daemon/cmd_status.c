// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl status: show the state of depd on one screen.
 */
#include <stdlib.h>

#include "client_all.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/common/table.h"

enum { OPT_USERS = 258 };

static bool users;

static const struct argp_option options[] = {
	{ "users", OPT_USERS, NULL, 0, "Show each user's sessions and use of resources (root only)",
	  1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = state->input;
	else if (key == OPT_USERS)
		users = true;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp client_argp = {
	client_options, client_parse, NULL, NULL, NULL, NULL, NULL,
};
static const struct argp_child children[] = { { &client_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	options, parse, NULL,
	"Show the state of depd: sessions, data not stored yet, and losses.\v"
	"Sessions of other users are counted, but listed for root only.",
	children, NULL, NULL,
};

static const cJSON *member(const cJSON *o, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(o, name);
}

static const char *size_of(const cJSON *o, const char *name, char *buf)
{
	return human_size(client_number(o, name), buf);
}

static void put_head(struct out *o, const cJSON *d, const char *path)
{
	unsigned long long s = client_number(d, "uptime_ns") / 1e9;
	char size[16];

	out_text(o, "depd ");
	out_plain(o, client_string(d, "version"));
	out_printf(o, ", pid %.0f, up ", client_number(d, "pid"));
	if (s >= 86400)
		out_printf(o, "%llu d ", s / 86400);
	out_printf(o, "%02llu:%02llu:%02llu, at ", s / 3600 % 24, s / 60 % 60, s % 60);
	out_plain(o, path);
	out_printf(o, "\n  itself    %.2f s of processor time, %s of memory\n",
		   client_number(d, "cpu_ns") / 1e9, size_of(d, "memory_bytes", size));
	out_printf(o, "  clients   %.0f; %.0f requests, %.0f refused\n",
		   client_number(d, "clients"), client_number(d, "requests"),
		   client_number(d, "requests_refused"));
}

static void put_counts(struct out *o, const cJSON *d)
{
	const cJSON *s = member(d, "session_counts"), *cause;
	const char *sep = "; ended: ";

	out_printf(o, "  sessions  %.0f open, %.0f started, %.0f adopted", client_number(s, "open"),
		   client_number(s, "started"), client_number(s, "adopted"));
	cJSON_ArrayForEach(cause, member(s, "ended")) {
		if (cause->valuedouble <= 0)
			continue;
		out_printf(o, "%s%.0f ", sep, cause->valuedouble);
		out_plain(o, cause->string);
		sep = ", ";
	}
	out_text(o, "\n");
}

static void put_flow(struct out *o, const cJSON *d)
{
	const cJSON *lag = member(d, "lag"), *stage;
	const char *sep = "";
	char a[16], b[16], lost[LOSS_TEXT];

	out_printf(o, "  recorded  %s in %.0f chunks, %s stored\n", size_of(d, "raw_bytes", a),
		   client_number(d, "chunks"), size_of(d, "stored_bytes", b));
	out_printf(o, "  lag       %s in %.0f chunks; %.0f jobs, %.0f of %.0f workers are "
		   "busy\n", size_of(lag, "bytes", a), client_number(lag, "chunks"),
		   client_number(d, "queue_jobs"),
		   client_number(d, "writer_threads_busy"), client_number(d, "writer_threads"));
	out_text(o, "  time      ");
	cJSON_ArrayForEach(stage, member(d, "stages")) {
		out_text(o, sep);
		out_plain(o, stage->string);
		out_printf(o, " %.3f s", client_number(stage, "ns") / 1e9);
		sep = ", ";
	}
	loss_text(member(d, "loss"), lost, sizeof(lost));
	out_printf(o, "\n  lost      %s\n", lost);
}

static void put_policy(struct out *o, const cJSON *d)
{
	const cJSON *p = member(d, "policy");

	out_printf(o, "  rules     %.0f, %s; %.0f processes recorded, %.0f unrecorded\n",
		   client_number(p, "rule_count"), cJSON_IsTrue(member(p, "active")) ? "active" :
		   "not active", client_number(p, "matches"), client_number(p, "unrecorded"));
	if (*client_string(p, "policy_error")) {
		out_text(o, "            ");
		out_plain(o, client_string(p, "policy_error"));
		out_text(o, "\n");
	}
	if (client_number(d, "stores_removed") > 0)
		out_printf(o, "  removed   %.0f stores\n", client_number(d, "stores_removed"));
}

static int show_status(struct client *c, const struct client_args *a, struct out *o)
{
	const cJSON *d = member(c->answer, "depd"), *sessions;

	put_head(o, d, c->path);
	put_counts(o, d);
	put_flow(o, d);
	put_policy(o, d);
	if (ask_depd(c, a, client_request("sessions", 0)))
		return EXIT_FAILURE;
	if (client_add_others(c))
		warn("out of memory");
	sessions = member(c->answer, "sessions");
	if (cJSON_GetArraySize(sessions)) {
		out_text(o, "\n");
		return put_sessions(o, sessions);
	}
	return 0;
}

static const struct table_column user_columns[] = {
	{ "uid", TABLE_RIGHT },
	{ "instances", TABLE_RIGHT },
	{ "sessions", TABLE_RIGHT },
	{ "clients", TABLE_RIGHT },
	{ "memory", TABLE_RIGHT },
	{ "fds", TABLE_RIGHT },
	{ "queued", TABLE_RIGHT },
	{ "stored", TABLE_RIGHT },
	{ "cpu", TABLE_RIGHT },
	{ "refused", TABLE_RIGHT },
};

static void put_user(struct table *t, const cJSON *u)
{
	char size[16];

	table_cell(t, "%.0f", client_number(u, "uid"));
	table_cell(t, "%.0f", client_number(u, "instances"));
	table_cell(t, "%.0f", client_number(u, "session_count"));
	table_cell(t, "%.0f", client_number(u, "clients"));
	table_cell(t, "%s", size_of(u, "memory_bytes", size));
	table_cell(t, "%.0f", client_number(u, "descriptors"));
	table_cell(t, "%s", size_of(u, "queued_bytes", size));
	table_cell(t, "%s", size_of(u, "stored_bytes", size));
	table_cell(t, "%.1f s", client_number(u, "cpu_ns") / 1e9);
	table_cell(t, "%.0f", client_number(u, "refused"));
}

static int show_users(struct client *c, const struct client_args *a, struct out *o)
{
	const cJSON *u;
	struct table t;

	(void)a;
	if (table_begin(&t, user_columns, sizeof(user_columns) / sizeof(user_columns[0])))
		return EXIT_FAILURE;
	cJSON_ArrayForEach(u, member(c->answer, "users"))
		put_user(&t, u);
	return table_end(&t, o);
}

static int show(struct client *c, const struct client_args *a, struct out *o)
{
	return users ? show_users(c, a, o) : show_status(c, a, o);
}

/* Return the name of the request to send, which depends on --users. */
static const char *which(void)
{
	return users ? "users" : "status";
}

int cmd_status(int argc, char **argv)
{
	return client_command_of(argc, argv, &argp, which, show);
}
