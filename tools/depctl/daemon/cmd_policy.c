// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl policy check: check a depd.conf and explain its rules.
 */
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/policy/policy.h"
#include "libdep/abi/session_file.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"

#define CONF "/etc/adept/depd.conf"

struct policy {
	const char *what, *file;
	bool json;
	struct out out;
	struct depd_config c;
};

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct policy *p = state->input;

	switch (key) {
	case OPT_JSON:
		p->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!p->what)
			p->what = arg;
		else if (!p->file)
			p->file = arg;
		else
			argp_error(state, "one file at a time");
		return 0;
	case ARGP_KEY_END:
		if (!p->what || strcmp(p->what, "check"))
			argp_error(state, "the only command is: check");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "check [FILE]",
	"Check a configuration of depd and explain its rules.\v"
	"The default of FILE is " CONF ".",
	NULL, NULL, NULL,
};

static void say_condition(struct policy *p, const char *what, const char *pattern, bool *more)
{
	if (!pattern)
		return;
	out_text(&p->out, *more ? " and " : " ");
	out_text(&p->out, what);
	out_text(&p->out, " matches ");
	out_text(&p->out, pattern);
	*more = true;
}

static void say_who(struct policy *p, const struct policy_rule *r)
{
	struct passwd *pw = r->has_uid ? getpwuid(r->uid) : NULL;
	bool more = false;

	out_text(&p->out, r->name);
	if (r->every > 1)
		out_printf(&p->out, ": one of every %u processes", r->every);
	else
		out_text(&p->out, ": processes");
	if (r->has_uid && pw)
		out_printf(&p->out, " of %s", pw->pw_name);
	else if (r->has_uid)
		out_printf(&p->out, " of user %u", r->uid);
	if (r->comm || r->path || r->cgroup || r->argv)
		out_text(&p->out, " whose");
	say_condition(p, "name", r->comm, &more);
	say_condition(p, "file", r->path, &more);
	say_condition(p, "cgroup", r->cgroup, &more);
	say_condition(p, "command line", r->argv, &more);
	out_text(&p->out, r->terminal ? "" : ", not in the foreground of a terminal");
	if (r->at_once)
		out_printf(&p->out, ", at most %u at a time", r->at_once);
	out_text(&p->out, "\n");
}

static void say_how(struct policy *p, const struct policy_rule *r)
{
	static const char *const transport[] = { "", ", by the kernel module only",
						 ", by shared memory" };
	struct group *g = r->shared ? getgrgid(r->group) : NULL;
	char size[16];

	out_text(&p->out, r->flags & ADEPT_S_NULL ? "    are recorded, but nothing is stored" :
			  "    are recorded");
	if (r->store) {
		out_text(&p->out, " to ");
		out_text(&p->out, r->store);
	}
	if (r->shared && g)
		out_printf(&p->out, ", readable by the group %s", g->gr_name);
	else if (r->shared)
		out_printf(&p->out, ", readable by group %u", r->group);
	if (r->max_size)
		out_printf(&p->out, ", up to %s", human_size(r->max_size, size));
	if (r->last_bytes)
		out_printf(&p->out, ", of which the last %s are kept",
			   human_size(r->last_bytes, size));
	if (r->last_ns)
		out_printf(&p->out, ", and of that the last %llu s",
			   (unsigned long long)(r->last_ns / 1000000000));
	out_text(&p->out, r->last_on_disk ? ", in files" : "");
	if (r->keep_if != DEP_KEEP_IF_ALWAYS)
		out_printf(&p->out, ", if the process %s", r->keep_if == DEP_KEEP_IF_CRASH ?
			   "is killed by a signal" : "fails");
	if (r->ring_size)
		out_printf(&p->out, ", with rings of %s", human_size(r->ring_size, size));
	out_text(&p->out, r->flags & ADEPT_S_DROP ? ", dropping data when a ring is full" : "");
	out_text(&p->out, transport[r->transport]);
	if (r->level)
		out_printf(&p->out, ", at level %d", r->level);
	out_text(&p->out, r->flags & ADEPT_S_NO_FOLLOW ? ", without programs they execute" : "");
	out_text(&p->out, r->flags & ADEPT_S_SELF_CHECK ? ", with address registers" : "");
	out_text(&p->out, "\n");
}

static void say_all(struct policy *p)
{
	const struct depd_config *c = &p->c;
	char size[16];

	out_text(&p->out, "stores: in ");
	out_text(&p->out, c->store);
	if (c->max_store)
		out_printf(&p->out, ", up to %s", human_size(c->max_store, size));
	if (c->max_age_s)
		out_printf(&p->out, ", for %" PRIu64 " hours", c->max_age_s / 3600);
	out_printf(&p->out, "\nrules: %u\n", c->nrules);
	for (uint32_t i = 0; i < c->nrules; i++) {
		say_who(p, &c->rule[i]);
		say_how(p, &c->rule[i]);
	}
}

static int put_json(struct policy *p)
{
	char *rules = policy_describe(&p->c);
	struct json j;

	if (!rules) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	json_begin(&j, &p->out);
	json_object(&j, NULL);
	json_str(&j, "store", p->c.store);
	json_u64(&j, "max_store", p->c.max_store);
	json_u64(&j, "max_age_s", p->c.max_age_s);
	json_u64(&j, "give_up_ms", p->c.give_up_ms);
	json_u64(&j, "writer_threads", p->c.workers);
	json_u64(&j, "max_sessions", p->c.max_sessions);
	json_u64(&j, "max_races", p->c.races);
	out_text(&p->out, ",\"rules\":");
	out_text(&p->out, rules);
	json_close(&j, '}');
	json_line(&j);
	free(rules);
	return 0;
}

int cmd_policy(int argc, char **argv)
{
	struct policy p = { 0 };
	struct policy_error e;
	int status = 0;
	FILE *f;

	parse_args(&argp, argc, argv, 0, &p);
	p.file = p.file ? p.file : CONF;
	/* depd runs without a configuration file, but this command needs one to check. */
	f = fopen(p.file, "re");
	if (!f) {
		warn("%s cannot be opened: %m", p.file);
		return EXIT_FAILURE;
	}
	if (policy_read(&p.c, f, &e)) {
		if (e.line)
			fprintf(stderr, "%s:%u:%u: %s\n", p.file, e.line, e.column, e.text);
		else
			fprintf(stderr, "%s: %s\n", p.file, e.text);
		fclose(f);
		return EXIT_FAILURE;
	}
	fclose(f);
	out_begin(&p.out);
	if (!p.json)
		out_layout(&p.out);
	if (p.json)
		status = put_json(&p);
	else
		say_all(&p);
	policy_free(&p.c);
	return out_end(&p.out) | status;
}
