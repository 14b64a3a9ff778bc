// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl export: write the profile of a store in a format of another tool.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/save.h"
#include "export.h"

static const struct export_format formats[] = {
	{ "callgrind", "functions, lines and calls: callgrind_annotate, kcachegrind",
	  LOAD_PROFILE | LOAD_CONTEXTS, 0, export_callgrind },
	{ "folded", "stacks, one a line: flamegraph.pl, inferno",
	  LOAD_CONTEXTS, FORMAT_WEIGHTS, export_folded },
	{ "speedscope", "stacks by thread: speedscope.app",
	  LOAD_CONTEXTS, FORMAT_WEIGHTS, export_speedscope },
	{ "pprof", "stacks, compressed: go tool pprof",
	  LOAD_CONTEXTS, FORMAT_BINARY | FORMAT_GUESSES, export_pprof },
	{ "chrome", "functions by thread and time: Chrome's trace viewer",
	  LOAD_CONTEXTS | LOAD_TIMES, FORMAT_AXES | FORMAT_GUESSES, export_chrome },
	{ "firefox", "stacks by thread and time: profiler.firefox.com",
	  LOAD_CONTEXTS | LOAD_TIMES, FORMAT_GUESSES, export_firefox },
	{ "perfetto", "stacks by thread and time: ui.perfetto.dev",
	  LOAD_CONTEXTS | LOAD_TIMES, FORMAT_BINARY, export_perfetto },
	{ "perf-script", "stacks by thread and time: what reads `perf script'",
	  LOAD_CONTEXTS | LOAD_TIMES, 0, export_perf_script },
	{ "lcov", "counts of source lines: lcov, genhtml",
	  LOAD_PROFILE, 0, export_lcov },
	{ "drcov", "executed basic blocks: Lighthouse, Cutter",
	  LOAD_PROFILE, FORMAT_BINARY, export_drcov },
	{ "bolt", "branches of one program: perf2bolt -pa",
	  LOAD_PROFILE, 0, export_bolt },
	{ "autofdo", "ranges and branches of one program: create_llvm_prof, create_gcov",
	  LOAD_PROFILE, 0, export_autofdo },
	{ "llvm-sample", "counts by lines of one program: clang -fprofile-sample-use",
	  LOAD_PROFILE, 0, export_llvm_sample },
	{ "llvm-profgen", "ranges and branches of one program: llvm-profgen",
	  LOAD_PROFILE, 0, export_llvm_profgen },
	{ "gcc-afdo", "counts by lines of one program: gcc -fauto-profile",
	  LOAD_PROFILE, FORMAT_BINARY, export_gcc_afdo },
};

#define NFORMATS (sizeof(formats) / sizeof(formats[0]))

enum { OPT_WEIGHT = 512, OPT_AXIS, OPT_PROCESS, OPT_THREAD, OPT_FUNCTION, OPT_MODULE };

struct arguments {
	const struct export_format *format;
	struct export *x;
	const char *path, *output;
	uint64_t process, tid;
	unsigned int jobs;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write to FILE instead of standard output", 1 },
	{ "weight", OPT_WEIGHT, "WHAT", 0, "What the numbers of stacks count: instructions "
	  "(default) or calls", 1 },
	{ "axis", OPT_AXIS, "WHAT", 0, "The horizontal axis of chrome: time (default) or "
	  "instructions", 1 },
	{ "process", OPT_PROCESS, "SERIAL", 0, "Only this process (serial: see `depctl ls --json')",
	  2 },
	{ "thread", OPT_THREAD, "TID", 0, "Only the thread with this id", 2 },
	{ "function", OPT_FUNCTION, "GLOB", 0, "Only what functions with such a name executed", 2 },
	{ "module", OPT_MODULE, "GLOB", 0, "Only code of files with such a name or path", 2 },
	{ "jobs", 'j', "N", 0, "Count with N threads (default: one per processor)", 3 },
	{ 0 }
};

static const struct export_format *format_of(struct argp_state *state, const char *name)
{
	size_t i;

	for (i = 0; i < NFORMATS; i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	argp_error(state, "there is no format '%s'; `depctl export --help' lists them", name);
	return NULL;
}

static enum export_weight weight_of(struct argp_state *state, const char *name)
{
	if (!strcmp(name, "calls"))
		return WEIGHT_CALLS;
	if (strcmp(name, "instructions"))
		argp_error(state, "--weight must be instructions or calls, not '%s'", name);
	return WEIGHT_INSTRUCTIONS;
}

static enum export_axis axis_of(struct argp_state *state, const char *name)
{
	if (!strcmp(name, "instructions"))
		return AXIS_INSTRUCTIONS;
	if (strcmp(name, "time"))
		argp_error(state, "--axis must be time or instructions, not '%s'", name);
	return AXIS_TIME;
}

static void check_arguments(struct argp_state *state, const struct arguments *a)
{
	if (!a->format)
		argp_error(state, "which format?");
	if (!a->path)
		argp_error(state, "which store?");
	if (a->x->weight != WEIGHT_INSTRUCTIONS && !(a->format->flags & FORMAT_WEIGHTS))
		argp_error(state, "%s has no --weight", a->format->name);
	if (a->x->axis != AXIS_TIME && !(a->format->flags & FORMAT_AXES))
		argp_error(state, "%s has no --axis", a->format->name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case 'j':
		a->jobs = parse_number(state, "--jobs", arg, 1, 1024);
		return 0;
	case OPT_WEIGHT:
		a->x->weight = weight_of(state, arg);
		return 0;
	case OPT_AXIS:
		a->x->axis = axis_of(state, arg);
		return 0;
	case OPT_PROCESS:
		a->process = parse_number(state, "--process", arg, 1, UINT32_MAX);
		return 0;
	case OPT_THREAD:
		a->tid = parse_number(state, "--thread", arg, 1, UINT32_MAX);
		return 0;
	case OPT_FUNCTION:
		a->x->function_glob = arg;
		return 0;
	case OPT_MODULE:
		a->x->module_glob = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->path)
			argp_error(state, "one store at a time");
		if (a->format)
			a->path = arg;
		else
			a->format = format_of(state, arg);
		return 0;
	case ARGP_KEY_END:
		check_arguments(state, a);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Add the list of formats to the help. */
static char *help(int key, const char *text, void *input)
{
	char *all = NULL;
	size_t i, size;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	f = open_memstream(&all, &size);
	if (!f)
		return NULL;
	fprintf(f, "Formats:\n");
	for (i = 0; i < NFORMATS; i++)
		fprintf(f, "  %-12s %s\n", formats[i].name, formats[i].summary);
	fclose(f);
	return all;
}

static const struct argp argp = {
	options, parse, "FORMAT STORE",
	"Write the profile of a store in a format of another tool.\v", NULL, help, NULL
};

/* ---- what is exported ---- */

static int find_process(struct export *x, const struct arguments *a)
{
	if (a->process && !process_of(x->l.store, (uint32_t)a->process)) {
		warn("%s has no process %u; `depctl ls --json %s' lists them", a->path,
		     (unsigned int)a->process, a->path);
		return 1;
	}
	x->process = (uint32_t)a->process;
	return 0;
}

static int find_thread(struct export *x, const struct arguments *a)
{
	const struct dep_thread *t;
	size_t i, found = 0, n = dep_store_threads(x->l.store, &t);

	if (!a->tid)
		return 0;
	for (i = 0; i < n; i++) {
		if (t[i].tid != a->tid || (x->process && t[i].process != x->process))
			continue;
		x->thread = t[i].serial;
		found++;
	}
	if (found == 1)
		return 0;
	if (found)
		warn("%s has %zu threads with the id %u: choose one by --process", a->path, found,
		     (unsigned int)a->tid);
	else
		warn("%s has no thread %u; `depctl ls %s' lists them", a->path,
		     (unsigned int)a->tid, a->path);
	return 1;
}

static int count_guesses(struct export *x)
{
	if (!x->l.contexts || !guesses_count(&x->guesses, x->l.contexts, export_share, x))
		return 0;
	warn("out of memory");
	return 1;
}

/* Say how much is below callers that may be wrong, if the format cannot mark them. */
static void warn_of_guesses(const struct export *x, const struct export_format *format)
{
	const struct guesses *g = &x->guesses;

	if (!g->insns || (format->flags & FORMAT_GUESSES))
		return;
	warn("%s: %u thread%s executed %llu instruction%s below callers at the attach that are "
	     "guesses, which %s does not mark; see `depctl query contexts'", x->path, g->threads,
	     g->threads == 1 ? "" : "s", (unsigned long long)g->insns, g->insns == 1 ? "" : "s",
	     format->name);
}

static int write_format(struct export *x, const struct arguments *a)
{
	struct save save;
	int status;

	if (!a->output && (a->format->flags & FORMAT_BINARY) && isatty(STDOUT_FILENO)) {
		warn("%s is not text: give a file by -o", a->format->name);
		return 1;
	}
	if (save_begin(&save, a->output))
		return 1;
	out_begin(&x->out);
	x->out.fd = save.fd;
	status = a->format->write(x);
	if (!status)
		status = out_end(&x->out);
	return save_end(&save, status);
}

int cmd_export(int argc, char **argv)
{
	struct export x = { 0 };
	struct arguments a = { .x = &x };
	int status = 1;

	parse_args(&argp, argc, argv, 0, &a);
	x.path = a.path;
	if (load_open(&x.l, a.path))
		return EXIT_FAILURE;
	if (find_process(&x, &a) || find_thread(&x, &a) ||
	    load_profiles(&x.l, a.path, a.format->needs, a.jobs, x.process, x.thread) ||
	    export_choose(&x) || count_guesses(&x))
		goto out;
	status = write_format(&x, &a);
	warn_of_guesses(&x, a.format);
	load_messages(&x.l);
	if (!load_complete(&x.l, a.path))
		status = EXIT_FAILURE;

out:
	free(x.chosen);
	load_close(&x.l);
	return status;
}
