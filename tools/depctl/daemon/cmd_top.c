// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl top: what each session of depd records and costs, once a second.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client_all.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/common/table.h"

enum { OPT_ONCE = 258 };

struct top {
	struct client_args args;
	unsigned long count;	/* number of tables to print; 0: no limit */
};

/** struct seen - counters of a session at the time of a sample */
struct seen {
	double id, bytes, cpu_s;
};

struct sample {
	uint64_t ms;
	double depd_s;		/* processor time of depd */
	struct seen *session;
	int n;
};

static const struct argp_option options[] = {
	{ "number", 'n', "N", 0, "Print N tables, then exit", 1 },
	{ "once", OPT_ONCE, NULL, 0, "As -n 1", 1 },
	CLIENT_OPTION_SOCKET,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top *t = state->input;

	switch (key) {
	case 'n':
		t->count = parse_number(state, "-n", arg, 1, UINT32_MAX);
		return 0;
	case OPT_ONCE:
		t->count = 1;
		return 0;
	case OPT_SOCKET:
		t->args.socket = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, NULL,
	"Show what the sessions of depd record, once a second.\v"
	"Sessions of other users are shown for root only.",
	NULL, NULL, NULL,
};

/* Processor time of a process in seconds; 0 if it has ended. */
static double cpu_of(pid_t pid)
{
	unsigned long long user = 0, system = 0;
	char path[40], text[512], *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = pid > 0 ? fopen(path, "re") : NULL;
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	p = strrchr(text, ')');
	if (!p || sscanf(p, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
			 &system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* Ask depd, and remember the counters.  The sessions are in @c->answer then. */
static int take_sample(struct client *c, const struct client_args *a, struct sample *s)
{
	const cJSON *list, *e;

	if (ask_depd(c, a, client_request("status", 0)))
		return -1;
	s->depd_s = client_number(cJSON_GetObjectItemCaseSensitive(c->answer, "depd"),
				  "cpu_ns") / 1e9;
	s->ms = client_now_ms();
	if (ask_depd(c, a, client_request("sessions", 0)))
		return -1;
	if (client_add_others(c))
		warn("out of memory");
	list = cJSON_GetObjectItemCaseSensitive(c->answer, "sessions");
	s->session = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*s->session));
	if (!s->session) {
		warn("out of memory");
		return -1;
	}
	s->n = 0;
	cJSON_ArrayForEach(e, list)
		s->session[s->n++] = (struct seen){
			.id = client_number(e, "id"), .bytes = client_number(e, "raw_bytes"),
			.cpu_s = cpu_of((pid_t)client_number(e, "pid")),
		};
	return 0;
}

/* The counters of a session in an earlier sample; all 0 if it did not exist. */
static struct seen find(const struct sample *s, double id)
{
	int i;

	for (i = 0; i < s->n; i++)
		if (s->session[i].id == id)
			return s->session[i];
	return (struct seen){ .id = id };
}

/* Growth of a counter in a second.  A counter that begins anew has not grown. */
static double rate(double before, double now, double seconds)
{
	return now > before && seconds > 0 ? (now - before) / seconds : 0;
}

static const struct table_column columns[] = {
	{ "session", TABLE_RIGHT },
	{ "pid", TABLE_RIGHT },
	{ "threads", TABLE_RIGHT },
	{ "recorded/s", TABLE_RIGHT },
	{ "lost chunks", TABLE_RIGHT },
	{ "cpu", TABLE_RIGHT },
	{ "name", TABLE_TEXT },
};

static void put_session(struct table *t, const cJSON *s, const struct sample *before,
			const struct seen *now, double seconds)
{
	const cJSON *loss = cJSON_GetObjectItemCaseSensitive(s, "loss");
	struct seen then = find(before, now->id);
	char size[16];

	table_cell(t, "%.0f", now->id);
	table_cell(t, "%.0f", client_number(s, "pid"));
	table_cell(t, "%.0f", client_number(s, "thread_count"));
	table_cell(t, "%s", human_size((uint64_t)rate(then.bytes, now->bytes, seconds), size));
	table_cell(t, "%.0f", client_number(loss, "dropped_chunks") +
		   client_number(loss, "absent_chunks"));
	if (then.cpu_s > 0)
		table_cell(t, "%.0f %%", 100 * rate(then.cpu_s, now->cpu_s, seconds));
	else
		table_cell(t, "%s", "-");
	table_cell(t, "%s", client_string(s, "command"));
}

static int show(const struct client *c, const struct sample *before, const struct sample *now)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(c->answer, "sessions"), *s;
	double seconds = (double)(now->ms - before->ms) / 1e3;
	struct table t;
	struct out o;
	int i = 0, status;

	out_begin(&o);
	out_layout(&o);
	if (isatty(STDOUT_FILENO))
		out_text(&o, "\033[H\033[2J");
	out_printf(&o, "depd: %.0f %% of a processor, %d session%s\n",
		   100 * rate(before->depd_s, now->depd_s, seconds), now->n,
		   now->n == 1 ? "" : "s");
	status = table_begin(&t, columns, sizeof(columns) / sizeof(columns[0]));
	if (!status) {
		cJSON_ArrayForEach(s, list) {
			put_session(&t, s, before, &now->session[i], seconds);
			i++;
		}
		status = table_end(&t, &o);
	}
	return out_end(&o) || status ? -1 : 0;
}

int cmd_top(int argc, char **argv)
{
	const struct timespec pause = { .tv_sec = 1 };
	struct sample before = { 0 }, now = { 0 };
	struct client c = { .fd = -1 };
	struct top t = { 0 };
	unsigned long i;
	int ret;

	parse_args(&argp, argc, argv, 0, &t);
	ret = take_sample(&c, &t.args, &before);
	for (i = 0; !ret && (!t.count || i < t.count); i++) {
		nanosleep(&pause, NULL);
		ret = take_sample(&c, &t.args, &now);
		if (!ret)
			ret = show(&c, &before, &now);
		free(before.session);
		before = now;
		now.session = NULL;
	}
	free(before.session);
	client_close(&c);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
