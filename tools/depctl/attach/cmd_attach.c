// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl attach: record a running process.  With --dry, only report what an attach would do to each
 * thread of the process, and for how long it would stop them.
 */
#include <stdlib.h>

#include "libdep/attach/attach.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"
#include "tools/depctl/common/table.h"
#include "tools/depctl/record/burst.h"
#include "tools/depctl/record/record.h"
#include "attach_record.h"

enum {
	OPT_DRY = OPT_JSON + 1, OPT_FOR, OPT_LAST, OPT_BURST, OPT_ALONE, OPT_DEPD, OPT_BACKGROUND,
	OPT_CHILDREN, OPT_ON_CALL, OPT_ON_SLOW, OPT_ON_PERF, OPT_SNAPSHOTS, OPT_LAST_ON_DISK,
	OPT_TRANSPORT,
};

struct attach {
	pid_t pid;
	bool dry, json;
	struct record_options record;
	struct burst burst;
};

static const struct argp_option options[] = {
	{ "output", 'o', "DIR", 0, "Create the store in directory DIR (default: COMMAND.dep, or "
	  "the next free COMMAND.1.dep, ..)", 1 },
	{ "for", OPT_FOR, "SECONDS", 0, "Stop recording after this time; the process runs on "
	  "natively", 1 },
	{ "last", OPT_LAST, "SIZE|TIME", 0, "Keep only the newest SIZE (such as 64M) or TIME (30s, "
	  "5m) of the recording, in memory, and store it at the end", 1 },
	{ "last-on-disk", OPT_LAST_ON_DISK, NULL, 0, "With --last, keep it in files of the store "
	  "instead: depctl snapshot can store it if the recorder is killed", 1 },
	{ "on-call", OPT_ON_CALL, "GLOB", 0, "With --last, store a snapshot when a function with "
	  "such a name is called", 1 },
	{ "on-slow", OPT_ON_SLOW, "GLOB:TIME", 0, "With --last, store a snapshot when a call of "
	  "such a function returns after TIME (such as 20ms) or more", 1 },
	{ "on-perf", OPT_ON_PERF, "EVENT:N", 0, "With --last, store a snapshot after each N events "
	  "(such as page-faults:10000)", 1 },
	{ "snapshots", OPT_SNAPSHOTS, "N", 0, "Store at most N snapshots for these reasons "
	  "(default 10)", 1 },
	{ "burst", OPT_BURST, "ON/OFF", 0, "Record for the time ON, let the process run natively "
	  "for the time OFF, and so on; such as 100ms/2s", 1 },
	{ "children", OPT_CHILDREN, "yes|no", 0, "Record the processes that it creates from now "
	  "on, too (default), or run them natively", 1 },
	{ "transport", OPT_TRANSPORT, "HOW", 0, "Use rings of the kernel module (kmod), rings in "
	  "shared memory (shm), or auto (default): kmod if /dev/adept can be used", 1 },
	{ "background", OPT_BACKGROUND, NULL, 0, "Return when depd records the process, and print "
	  "session and store; `depctl detach' ends the recording", 1 },
	{ "alone", OPT_ALONE, NULL, 0, "Do not use depd, even if it runs", 1 },
	{ "socket", OPT_DEPD, "PATH", 0, "Socket of depd", 1 },
	{ "quiet", 'q', NULL, 0, "No summary at the end", 1 },
	{ "dry", OPT_DRY, NULL, 0, "Record nothing: stop the threads, resume them at once, and "
	  "print what was found", 2 },
	{ "json", OPT_JSON, NULL, 0, "With --dry, print JSON", 2 },
	{ 0 }
};

static void check_options(struct attach *a, struct argp_state *state)
{
	struct record_options *o = &a->record;

	if (a->json && !a->dry)
		argp_error(state, "--json needs --dry");
	if (a->dry && (o->dir || o->for_ns || o->quiet || o->background || o->alone || o->socket ||
		       o->last_bytes || o->burst || o->transport || o->flags))
		argp_error(state, "--dry records nothing: it excludes -o, --for, --last, --burst, "
			   "-q, --background, --alone, --socket, --transport and "
			   "--children=no");
	if (o->background && (o->for_ns || o->alone || o->burst))
		argp_error(state, "--background needs depd, which does not detach: it excludes "
			   "--for, --burst and --alone");
	last_check(o, state);
	triggers_check(o, state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct attach *a = state->input;

	switch (key) {
	case 'o':
		if (!*arg)
			argp_error(state, "-o needs the name of a directory to create");
		a->record.dir = arg;
		break;
	case 'q':
		a->record.quiet = true;
		break;
	case OPT_FOR:
		a->record.for_ns = 1000000000ull *
				   parse_number(state, "--for", arg, 1, 1000000);
		break;
	case OPT_LAST:
		last_parse(&a->record, arg, state);
		break;
	case OPT_LAST_ON_DISK:
		a->record.last_on_disk = true;
		break;
	case OPT_BURST:
		burst_parse(&a->burst, arg, state);
		a->record.burst = &a->burst;
		break;
	case OPT_CHILDREN:
		children_parse(&a->record, arg, state);
		break;
	case OPT_ON_CALL:
	case OPT_ON_SLOW:
		trigger_parse(&a->record, key == OPT_ON_SLOW, arg, state);
		break;
	case OPT_ON_PERF:
		perf_parse(&a->record, arg, state);
		break;
	case OPT_SNAPSHOTS:
		a->record.snapshots = (uint32_t)parse_number(state, "--snapshots", arg, 1, 1000000);
		break;
	case OPT_TRANSPORT:
		transport_parse(&a->record, arg, state);
		break;
	case OPT_BACKGROUND:
		a->record.background = true;
		break;
	case OPT_ALONE:
		a->record.alone = true;
		break;
	case OPT_DEPD:
		a->record.socket = arg;
		break;
	case OPT_DRY:
		a->dry = true;
		break;
	case OPT_JSON:
		a->json = true;
		break;
	case ARGP_KEY_END:
		check_options(a, state);
		/* fall through */
	default:
		return parse_pid(key, arg, state, &a->pid);
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "PID",
	"Record a running process until it ends or until Ctrl-C.\v"
	"When the recording ends, the process runs on natively.",
	NULL, NULL, NULL,
};

/* For each kind of thread: what an attach would do to it, in JSON (@key) and in text. */
static const struct { const char *key, *text; } actions[DEP_ATTACH_KINDS] = {
	[DEP_ATTACH_RUNNING] = { "stop", "is stopped" },
	[DEP_ATTACH_RESTARTS] = { "stop-call", "is stopped; its call resumes" },
	[DEP_ATTACH_RETURNS] = { "catch", "is caught when its call returns" },
	[DEP_ATTACH_STOPPED] = { "keep", "stays stopped" },
	[DEP_ATTACH_VFORKS] = { "wait", "waits for its vfork child" },
	[DEP_ATTACH_BLOCKED] = { "wait", "cannot be interrupted" },
};

static const char *call_of(const struct dep_attach_thread *t)
{
	const char *name = t->call < 0 ? NULL : syscall_name((uint64_t)t->call);

	return name ? name : t->call < 0 ? NULL : "?";
}

static int print_json(struct out *o, const struct attach *a, const struct dep_attach_probe *p)
{
	const struct dep_attach_thread *t;
	struct json j;

	json_begin(&j, o);
	json_object(&j, NULL);
	json_u64(&j, "pid", (uint64_t)a->pid);
	json_u64(&j, "stop_ns", p->stop_ns);
	json_u64(&j, "stopped_threads", p->nstopped);
	json_array(&j, "threads");
	for (t = p->thread; t < p->thread + p->n; t++) {
		json_object(&j, NULL);
		json_u64(&j, "tid", (uint64_t)t->tid);
		json_str(&j, "thread_name", t->name);
		json_str(&j, "call", call_of(t));
		json_str(&j, "action", actions[t->kind].key);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	json_line(&j);
	return 0;
}

static int print_text(struct out *o, const struct attach *a, const struct dep_attach_probe *p)
{
	static const struct table_column columns[] = {
		{ "thread", TABLE_RIGHT }, { "name", TABLE_LEFT }, { "in", TABLE_LEFT },
		{ "", TABLE_TEXT },
	};
	const struct dep_attach_thread *t;
	struct table table;
	const char *call;

	out_layout(o);
	if (table_begin(&table, columns, sizeof(columns) / sizeof(columns[0])))
		return EXIT_FAILURE;
	for (t = p->thread; t < p->thread + p->n; t++) {
		call = call_of(t);
		table_cell(&table, "%d", t->tid);
		table_cell(&table, "%s", t->name);
		table_cell(&table, "%s", call ? call : "");
		table_cell(&table, "%s", actions[t->kind].text);
	}
	if (table_end(&table, o))
		return EXIT_FAILURE;
	out_printf(o, "process %d can be attached to: %u of %u threads were stopped, for %.3f ms "
		   "in total\n", a->pid, p->nstopped, p->n, (double)p->stop_ns / 1e6);
	return 0;
}

int cmd_attach(int argc, char **argv)
{
	struct attach a = { 0 };
	struct dep_attach_probe p;
	struct dep_why why;
	struct out out;
	int status;

	parse_args(&argp, argc, argv, 0, &a);
	if (!a.dry)
		return attach_record(&a.record, a.pid);
	if (dep_attach_probe(&p, a.pid, &why)) {
		warn("%s", why.text);
		return EXIT_FAILURE;
	}
	out_begin(&out);
	status = a.json ? print_json(&out, &a, &p) : print_text(&out, &a, &p);
	dep_attach_probe_free(&p);
	return out_end(&out) || status ? EXIT_FAILURE : 0;
}
