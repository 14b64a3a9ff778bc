// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define CONFIG_PATH "/etc/adept/depd.conf"

enum { OPT_CONFIG = 'c', OPT_KEYS = 256, OPT_RUNDIR = 300, OPT_SOCKET, OPT_METRICS, OPT_ATTACH,
       OPT_CHILDREN, OPT_TRANSPORT, OPT_LAST, OPT_LAST_ON_DISK, OPT_ON_CALL, OPT_ON_SLOW,
       OPT_ON_PERF, OPT_SNAPSHOTS };

/* libc finds this variable by its name, so it must be a dynamic symbol. */
__attribute__((visibility("default"))) const char *argp_program_version = "depd " ADEPT_VERSION;

/* Names of the keys, in the order of enum option_key. */
static const char *const key_name[OPTION_KEYS] = {
	"store", "max-store", "max-age", "workers", "give-up", "races",
};

static const struct argp_option options[] = {
	{ "config", OPT_CONFIG, "FILE", 0, "Read FILE instead of " CONFIG_PATH, 0 },
	{ "rundir", OPT_RUNDIR, "DIR", 0,
	  "Run directory, for sockets and the state of sessions (default: $ADEPT_RUNDIR if it is "
	  "set, else /run/adept for root and $XDG_RUNTIME_DIR/adept for other users)", 0 },
	{ "socket", OPT_SOCKET, "PATH", 0,
	  "Path of the control socket (default: depd.sock in the run directory)", 0 },
	{ "metrics", OPT_METRICS, "PATH", 0,
	  "Path of the metrics socket (default: metrics.sock in the run directory)", 0 },
	{ "store", OPT_KEYS + OPTION_STORE, "DIR", 0,
	  "Directory for the stores of programs recorded by rules", 1 },
	{ "max-store", OPT_KEYS + OPTION_MAX_STORE, "SIZE", 0,
	  "Remove the oldest stores when together they exceed SIZE", 1 },
	{ "max-age", OPT_KEYS + OPTION_MAX_AGE, "TIME", 0, "Remove stores older than TIME", 1 },
	{ "workers", OPT_KEYS + OPTION_WORKERS, "N", 0,
	  "Number of writer threads (default: one per processor, at most four)", 1 },
	{ "give-up", OPT_KEYS + OPTION_GIVE_UP, "TIME", 0,
	  "Time for which recorded programs wait for a new depd when depd has ended", 1 },
	{ "races", OPT_KEYS + OPTION_RACES, "N", 0,
	  "Search up to N sessions at a time for data races", 1 },
	{ "attach", OPT_ATTACH, "PID", 0,
	  "Record only the running process PID, until it ends or until Ctrl-C; it then runs on "
	  "natively.  Uses no other depd and no configuration", 2 },
	{ "output", 'o', "DIR", 0, "With --attach: create the store in directory DIR (default: "
	  "COMMAND.dep, or the next free COMMAND.1.dep, ..)", 2 },
	{ "children", OPT_CHILDREN, "yes|no", 0, "With --attach: record the processes that it "
	  "creates from now on, too (default), or run them natively", 2 },
	{ "transport", OPT_TRANSPORT, "HOW", 0, "With --attach: use rings of the kernel module "
	  "(kmod), rings in shared memory (shm), or auto (default): kmod if /dev/adept can be "
	  "used", 2 },
	{ "last", OPT_LAST, "SIZE|TIME", 0, "With --attach: keep only the newest SIZE (such as "
	  "64M) or TIME (30s, 5m) of the recording, in memory, and store it at the end", 2 },
	{ "last-on-disk", OPT_LAST_ON_DISK, NULL, 0, "With --last: keep it in files of the store "
	  "instead of memory", 2 },
	{ "on-call", OPT_ON_CALL, "GLOB", 0, "With --last: store a snapshot when a function with "
	  "such a name is called", 2 },
	{ "on-slow", OPT_ON_SLOW, "GLOB:TIME", 0, "With --last: store a snapshot when a call of "
	  "such a function returns after TIME (such as 20ms) or more", 2 },
	{ "on-perf", OPT_ON_PERF, "EVENT:N", 0, "With --last: store a snapshot after each N events "
	  "(such as page-faults:10000)", 2 },
	{ "snapshots", OPT_SNAPSHOTS, "N", 0, "Store at most N snapshots for these reasons "
	  "(default 10)", 2 },
	{ 0 },
};

static pid_t read_pid(struct argp_state *state, const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || end == text || *end || pid < 1 || pid > INT_MAX)
		argp_error(state, "--attach: PID must be a number, not '%s'", text);
	return (pid_t)pid;
}

static void check(const struct options *o, struct argp_state *state)
{
	int i;

	if (o->output && !o->attach)
		argp_error(state, "-o needs --attach");
	if (o->children && !o->attach)
		argp_error(state, "--children needs --attach");
	if (o->transport && !o->attach)
		argp_error(state, "--transport needs --attach");
	if (o->last && !o->attach)
		argp_error(state, "--last needs --attach");
	if (o->last_on_disk && !o->last)
		argp_error(state, "--last-on-disk needs --last");
	if (o->ntriggers && !o->last)
		argp_error(state, "%s needs --last", o->trigger[0].option);
	if (!o->attach)
		return;
	for (i = 0; i < OPTION_KEYS; i++)
		if (o->value[i] && i != OPTION_WORKERS)
			argp_error(state, "--attach excludes --%s", key_name[i]);
	if (o->config_given || o->rundir || o->socket || o->metrics)
		argp_error(state, "--attach excludes --config, --rundir, --socket and --metrics");
}

/* Note an option that depctl checks. */
static void add_trigger(struct options *o, int key, const char *value, struct argp_state *state)
{
	static const char *const names[] = {
		[OPT_ON_CALL - OPT_ON_CALL] = "--on-call",
		[OPT_ON_SLOW - OPT_ON_CALL] = "--on-slow",
		[OPT_ON_PERF - OPT_ON_CALL] = "--on-perf",
		[OPT_SNAPSHOTS - OPT_ON_CALL] = "--snapshots",
	};

	if (o->ntriggers == OPTIONS_TRIGGERS)
		argp_error(state, "at most %u of --on-call, --on-slow, --on-perf and --snapshots "
			   "can be given", OPTIONS_TRIGGERS);
	o->trigger[o->ntriggers].option = names[key - OPT_ON_CALL];
	o->trigger[o->ntriggers++].value = value;
}

/* Set one key: parse a configuration text that has only this key. */
static int read_key(struct depd_config *c, enum option_key key, const char *value,
		    struct policy_error *e)
{
	char *text;
	FILE *f;
	int n, ret;

	n = asprintf(&text, "[depd]\n%s = %s\n", key_name[key], value);
	if (n < 0)
		return -ENOMEM;
	f = fmemopen(text, (size_t)n, "r");
	ret = f ? policy_read(c, f, e) : -ENOMEM;
	if (f)
		fclose(f);
	free(text);
	return ret;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct depd_config c = { 0 };
	struct policy_error e = { 0 };

	switch (key) {
	case OPT_CONFIG:
		o->config_path = arg;
		o->config_given = true;
		return 0;
	case OPT_RUNDIR:
		o->rundir = arg;
		return 0;
	case OPT_SOCKET:
		o->socket = arg;
		return 0;
	case OPT_METRICS:
		o->metrics = arg;
		return 0;
	case OPT_ATTACH:
		o->attach = read_pid(state, arg);
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o needs the name of a directory to create");
		o->output = arg;
		return 0;
	case OPT_CHILDREN:
		if (strcmp(arg, "yes") && strcmp(arg, "no"))
			argp_error(state, "--children must be yes or no, not '%s'", arg);
		o->children = arg;
		return 0;
	case OPT_TRANSPORT:
		if (strcmp(arg, "auto") && strcmp(arg, "kmod") && strcmp(arg, "shm"))
			argp_error(state, "--transport must be auto, kmod or shm, not '%s'", arg);
		o->transport = arg;
		return 0;
	case OPT_LAST:
		o->last = arg;
		return 0;
	case OPT_LAST_ON_DISK:
		o->last_on_disk = true;
		return 0;
	case OPT_ON_CALL:
	case OPT_ON_SLOW:
	case OPT_ON_PERF:
	case OPT_SNAPSHOTS:
		add_trigger(o, key, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(o, state);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	}
	if (key < OPT_KEYS || key >= OPT_KEYS + OPTION_KEYS)
		return ARGP_ERR_UNKNOWN;
	key -= OPT_KEYS;
	if (read_key(&c, key, arg, &e))
		argp_error(state, "--%s: %s", key_name[key], *e.text ? e.text : "out of memory");
	policy_free(&c);
	o->value[key] = arg;
	return 0;
}

void options_parse(struct options *o, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Record many programs at once, on request or by rules, and remove old "
		       "stores.\vSee depd(8) for configuration, sockets and limits.",
	};

	argp_err_exit_status = 2;
	*o = (struct options){ .config_path = CONFIG_PATH };
	argp_parse(&argp, argc, argv, 0, NULL, o);
	if (o->attach)
		o->config_path = "/dev/null";
}

static int override(struct depd_config *c, const struct options *o)
{
	struct policy_error e;
	struct depd_config k;
	int i, ret = 0;

	for (i = 0; i < OPTION_KEYS && !ret; i++) {
		if (!o->value[i])
			continue;
		memset(&k, 0, sizeof(k));
		ret = read_key(&k, i, o->value[i], &e);
		if (ret)
			break;
		switch ((enum option_key)i) {
		case OPTION_STORE:
			free(c->store);
			c->store = k.store;
			k.store = NULL;
			break;
		case OPTION_MAX_STORE:
			c->max_store = k.max_store;
			break;
		case OPTION_MAX_AGE:
			c->max_age_s = k.max_age_s;
			break;
		case OPTION_WORKERS:
			c->workers = k.workers;
			break;
		case OPTION_GIVE_UP:
			c->give_up_ms = k.give_up_ms;
			break;
		case OPTION_RACES:
			c->races = k.races;
			break;
		case OPTION_KEYS:
			break;
		}
		policy_free(&k);
	}
	return ret;
}

int options_load(struct depd_config *c, const struct options *o, char *why, size_t size)
{
	struct policy_error e = { 0 };
	int ret = policy_load(c, o->config_path, o->config_given, &e);

	if (!ret) {
		ret = override(c, o);
		if (!ret)
			return 0;
		policy_free(c);
	}
	if (e.line)
		snprintf(why, size, "%s:%u:%u: %s", o->config_path, e.line, e.column, e.text);
	else
		snprintf(why, size, "%s: %s", o->config_path,
			 *e.text ? e.text : strerror(-ret));
	return ret;
}
