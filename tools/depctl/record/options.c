// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command line of depctl record.
 */
#include <string.h>

#include "libdep/collect/collect.h"
#include "tools/depctl/depctl.h"
#include "record.h"

enum {
	OPT_RING_SIZE = 256, OPT_MAX_SIZE, OPT_NULL, OPT_NO_RECORD, OPT_ON_FULL, OPT_SELF_CHECK,
	OPT_STRICT, OPT_NO_FOLLOW, OPT_NO_ASLR, OPT_LEVEL, OPT_TRANSPORT, OPT_ALONE, OPT_DEPD,
	OPT_NO_FUNCTIONS, OPT_KEEP_TRANSLATIONS, OPT_RACES, OPT_LIVE, OPT_SHARE,
	OPT_LAST, OPT_KEEP_IF, OPT_CHILDREN, OPT_ON_CALL, OPT_ON_SLOW, OPT_ON_PERF, OPT_SNAPSHOTS,
	OPT_REPORT, OPT_LAST_ON_DISK,
};

static const struct argp_option options[] = {
	{ "output", 'o', "DIR", 0, "Create the store in directory DIR (default: COMMAND.dep, or "
	  "the next free COMMAND.1.dep, ..)", 1 },
	{ "max-size", OPT_MAX_SIZE, "SIZE", 0, "Stop recording when the store has SIZE bytes; the "
	  "command continues", 1 },
	{ "last", OPT_LAST, "SIZE|TIME", 0, "Keep only the newest SIZE (such as 64M) or TIME (30s, "
	  "5m) of the recording, in memory, and store it at the end", 1 },
	{ "last-on-disk", OPT_LAST_ON_DISK, NULL, 0, "With --last, keep it in files of the store "
	  "instead: depctl snapshot can store it if the recorder is killed", 1 },
	{ "keep-if", OPT_KEEP_IF, "WHEN", 0, "Keep the store always (default), or remove it at the "
	  "end unless COMMAND is killed by a signal (crash), or also if its status is not 0 "
	  "(failure)", 1 },
	{ "on-call", OPT_ON_CALL, "GLOB", 0, "With --last, store a snapshot when a function with "
	  "such a name is called", 1 },
	{ "on-slow", OPT_ON_SLOW, "GLOB:TIME", 0, "With --last, store a snapshot when a call of "
	  "such a function returns after TIME (such as 20ms) or more", 1 },
	{ "on-perf", OPT_ON_PERF, "EVENT:N", 0, "With --last, store a snapshot after each N events "
	  "(such as page-faults:10000)", 1 },
	{ "snapshots", OPT_SNAPSHOTS, "N", 0, "Store at most N snapshots for these reasons "
	  "(default 10)", 1 },
	{ "level", OPT_LEVEL, "N", 0, "Compression level of zstd, 1 to 19", 1 },
	{ "share", OPT_SHARE, "GROUP", OPTION_ARG_OPTIONAL, "Allow GROUP to read the store, too "
	  "(without =GROUP: your primary group)", 1 },
	{ "ring-size", OPT_RING_SIZE, "SIZE", 0, "Size of each thread's ring buffer (default 4M)",
	  2 },
	{ "on-full", OPT_ON_FULL, "POLICY", 0, "When the ring is full: wait (default; nothing is "
	  "lost) or drop (losses are counted)", 2 },
	{ "transport", OPT_TRANSPORT, "HOW", 0, "Use rings of the kernel module (kmod), rings in "
	  "shared memory (shm), or auto (default): kmod if /dev/adept can be used", 2 },
	{ "no-follow", OPT_NO_FOLLOW, NULL, 0, "Run programs started by execve unrecorded", 3 },
	{ "children", OPT_CHILDREN, "yes|no", 0, "Record the processes that COMMAND creates, too "
	  "(default), or run them natively", 3 },
	{ "no-aslr", OPT_NO_ASLR, NULL, 0, "Run the command without address space randomisation",
	  3 },
	{ "no-functions", OPT_NO_FUNCTIONS, NULL, 0, "Do not record arguments and results of "
	  "malloc, pthread_mutex_lock and similar functions", 3 },
	{ "self-check", OPT_SELF_CHECK, NULL, 0, "Also store every address register; depctl "
	  "verify compares them with recovered values", 4 },
	{ "keep-translations", OPT_KEEP_TRANSLATIONS, NULL, 0, "Also store the translated code, "
	  "which depctl dump shows next to the recorded code", 4 },
	{ "strict", OPT_STRICT, NULL, 0, "Change no byte below the stack pointer (slower calls)",
	  4 },
	{ "null", OPT_NULL, NULL, 0, "Record and count the bytes, but store nothing", 4 },
	{ "no-record", OPT_NO_RECORD, NULL, 0, "Run under the engine without recording; makes no "
	  "store", 4 },
	{ "alone", OPT_ALONE, NULL, 0, "Do not use depd, even if it runs", 5 },
	{ "socket", OPT_DEPD, "PATH", 0, "Socket of depd", 5 },
	{ "quiet", 'q', NULL, 0, "No summary at the end", 5 },
	{ "races", OPT_RACES, NULL, 0, "Report data races on standard error when COMMAND has "
	  "ended; without -o the store is temporary", 6 },
	{ "live", OPT_LIVE, NULL, 0, "With --races, also report each suspected race as soon as it "
	  "is found", 6 },
	/* The last one: see record_options_parse(). */
	{ "report", OPT_REPORT, NULL, 0, "Print where COMMAND executed its instructions on "
	  "standard error when it has ended, as depctl report; not with --races", 6 },
	{ 0 }
};

#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static uint64_t size_arg(struct argp_state *state, const char *what, const char *arg, uint64_t min,
			 uint64_t max)
{
	char lo[16], hi[16];
	uint64_t n;

	if (!parse_size(arg, &n))
		argp_error(state, "%s must be a size such as 4M or 500K, not '%s'", what, arg);
	else if (n < min || n > max)
		argp_error(state, "%s must be from %s to %s", what, human_size(min, lo),
			   human_size(max, hi));
	return n;
}

static void check_options(struct record_options *o, struct argp_state *state)
{
	const uint32_t engine = ADEPT_S_KEEP_TRANSLATIONS | ADEPT_S_LOG_ALL;

	o->flags |= engine_log_flags(state) | engine_chaos_flags(state, &o->chaos_seed);
	/* depd knows no chaos modes. */
	o->alone |= !!(o->flags & ADEPT_S_CHAOS_ALL);
	if (!o->argc || !*o->argv[0])
		argp_error(state, "no COMMAND to record was given");
	if (o->flags & ADEPT_S_NO_RECORD && (o->dir || o->max_size || o->shared ||
					     o->flags & (ADEPT_S_NULL | engine)))
		argp_error(state, "--no-record makes no store: it excludes -o, --max-size, "
			   "--share, --null, --keep-translations and DEP_LOG");
	if (o->races && o->shared && !o->dir)
		argp_error(state, "--share needs -o if --races is given: a temporary store is not "
			   "shared");
	if (o->races && o->flags & engine && !o->dir)
		argp_error(state, "--keep-translations and DEP_LOG need -o if --races is given: a "
			   "temporary store is removed");
	if (o->races && o->flags & (ADEPT_S_NO_RECORD | ADEPT_S_NULL))
		argp_error(state, "--races needs records: it cannot be combined with --null or "
			   "--no-record");
	if (o->report && o->flags & (ADEPT_S_NO_RECORD | ADEPT_S_NULL))
		argp_error(state, "--report needs records: it cannot be combined with --null or "
			   "--no-record");
	if (o->live && !o->races)
		argp_error(state, "--live needs --races");
	if (o->last_bytes && (o->races || o->max_size || o->transport == TRANSPORT_KMOD ||
			      o->flags & (ADEPT_S_NO_RECORD | ADEPT_S_NULL)))
		argp_error(state, "--last keeps the records of shared memory in the collector: it "
			   "excludes --races, --max-size, --transport=kmod, --null and "
			   "--no-record");
	last_check(o, state);
	triggers_check(o, state);
	if (o->keep_if && (o->races || o->flags & ADEPT_S_NO_RECORD))
		argp_error(state, "--keep-if is for a store that nothing else needs: it excludes "
			   "--races and --no-record");
	if (!o->races && o->how.first)
		argp_error(state, "--%s needs --races", o->how.first);
}

void children_parse(struct record_options *o, const char *arg, struct argp_state *state)
{
	if (!strcmp(arg, "no"))
		o->flags |= ADEPT_S_NO_CHILDREN;
	else if (!strcmp(arg, "yes"))
		o->flags &= ~ADEPT_S_NO_CHILDREN;
	else
		argp_error(state, "--children must be yes or no, not '%s'", arg);
}

void transport_parse(struct record_options *o, const char *arg, struct argp_state *state)
{
	if (!strcmp(arg, "auto"))
		o->transport = TRANSPORT_AUTO;
	else if (!strcmp(arg, "kmod"))
		o->transport = TRANSPORT_KMOD;
	else if (!strcmp(arg, "shm"))
		o->transport = TRANSPORT_SHM;
	else
		argp_error(state, "--transport must be auto, kmod or shm, not '%s'", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case 'o':
		if (!*arg)
			argp_error(state, "-o needs the name of a directory to create");
		o->dir = arg;
		break;
	case OPT_RING_SIZE:
		o->ring_size = size_arg(state, "--ring-size", arg, DEP_RING_MIN, DEP_RING_MAX);
		break;
	case OPT_MAX_SIZE:
		o->max_size = size_arg(state, "--max-size", arg, 1, UINT64_MAX);
		break;
	case OPT_KEEP_IF:
		if (!strcmp(arg, "always"))
			o->keep_if = DEP_KEEP_IF_ALWAYS;
		else if (!strcmp(arg, "failure"))
			o->keep_if = DEP_KEEP_IF_FAILURE;
		else if (!strcmp(arg, "crash"))
			o->keep_if = DEP_KEEP_IF_CRASH;
		else
			argp_error(state, "--keep-if must be always, failure or crash, not '%s'",
				   arg);
		break;
	case OPT_LAST:
		last_parse(o, arg, state);
		break;
	case OPT_LAST_ON_DISK:
		o->last_on_disk = true;
		break;
	case OPT_ON_CALL:
	case OPT_ON_SLOW:
		trigger_parse(o, key == OPT_ON_SLOW, arg, state);
		break;
	case OPT_ON_PERF:
		perf_parse(o, arg, state);
		break;
	case OPT_SNAPSHOTS:
		o->snapshots = (uint32_t)parse_number(state, "--snapshots", arg, 1, 1000000);
		break;
	case OPT_LEVEL:
		o->level = parse_number(state, "--level", arg, 1, 19);
		break;
	case OPT_ON_FULL:
		if (!strcmp(arg, "drop"))
			o->flags |= ADEPT_S_DROP;
		else if (!strcmp(arg, "wait"))
			o->flags &= ~ADEPT_S_DROP;
		else
			argp_error(state, "--on-full must be wait or drop, not '%s'", arg);
		break;
	case OPT_TRANSPORT:
		transport_parse(o, arg, state);
		break;
	case OPT_NULL:
		o->flags |= ADEPT_S_NULL;
		break;
	case OPT_NO_RECORD:
		o->flags |= ADEPT_S_NO_RECORD;
		break;
	case OPT_SELF_CHECK:
		o->flags |= ADEPT_S_SELF_CHECK;
		break;
	case OPT_KEEP_TRANSLATIONS:
		o->flags |= ADEPT_S_KEEP_TRANSLATIONS;
		break;
	case OPT_STRICT:
		o->flags |= ADEPT_S_STRICT;
		break;
	case OPT_NO_FOLLOW:
		o->flags |= ADEPT_S_NO_FOLLOW;
		break;
	case OPT_CHILDREN:
		children_parse(o, arg, state);
		break;
	case OPT_NO_FUNCTIONS:
		o->flags |= ADEPT_S_NO_FUNCTIONS;
		break;
	case OPT_NO_ASLR:
		o->no_aslr = true;
		break;
	case OPT_ALONE:
		o->alone = true;
		break;
	case OPT_DEPD:
		o->socket = arg;
		break;
	case 'q':
		o->quiet = true;
		break;
	case OPT_SHARE:
		o->shared = true;
		o->group = share_group(arg, state);
		break;
	case OPT_RACES:
		o->races = true;
		break;
	case OPT_REPORT:
		o->report = true;
		break;
	case OPT_LIVE:
		o->live = true;
		break;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->how;
		break;
	case ARGP_KEY_ARGS:
		o->argv = state->argv + state->next;
		o->argc = state->argc - state->next;
		break;
	case ARGP_KEY_END:
		check_options(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = {
	{ &races_argp, 0, "Options for --races, as of depctl query races:", 7 }, { 0 }
};

static struct argp argp = {
	options, parse, "[--] COMMAND [ARGUMENT...]",
	"Run COMMAND and record its whole execution and that of its children.\v"
	"The exit status is that of COMMAND; 127 if it is not found, 126 if it cannot be executed "
	"or recorded, 1 if recording failed, 2 for wrong usage.",
	children, NULL, NULL
};

/* Is --races among the options?  What stands behind "--" belongs to the command. */
static bool has_races(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--races"))
			return true;
	return false;
}

void record_options_parse(struct record_options *o, int argc, char **argv)
{
	static struct argp_option with_races[NOPTIONS];

	/* With --races, --report=FILE is the option of depctl query races. */
	if (has_races(argc, argv)) {
		memcpy(with_races, options, sizeof(options));
		memset(&with_races[NOPTIONS - 2], 0, sizeof(*with_races));
		argp.options = with_races;
	}
	parse_args(&argp, argc, argv, ARGP_IN_ORDER, o);
}
