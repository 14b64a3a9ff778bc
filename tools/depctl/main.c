// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl: record programs and analyse recordings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "depctl.h"
#include "common/terminal.h"

static const struct command commands[] = {
	{ "record", cmd_record, "run a command and record its whole execution" },
	{ "attach", cmd_attach, "record a running process" },
	{ "detach", cmd_detach, "end the recording of a process, which runs on natively" },
	{ "pause", cmd_pause, "let a recorded process run natively until it is resumed" },
	{ "resume", cmd_resume, "record a paused process again" },
	{ "snapshot", cmd_snapshot, "store the newest part of a recording, which goes on" },
	{ "ls", cmd_ls, "list stores, or the processes and threads of one store" },
	{ "info", cmd_info, "summarise a store: instructions, references, bytes, losses" },
	{ "dump", cmd_dump, "print references, blocks, events, segments, code or the log" },
	{ "report", cmd_report, "show where a recorded program executed its instructions" },
	{ "query", cmd_query, "ask a question about a store: data races, calls, counts" },
	{ "export", cmd_export, "write a profile for callgrind_annotate, pprof, lcov and others" },
	{ "diff", cmd_diff, "compare what two recordings executed, function by function" },
	{ "where", cmd_where, "name the function and line, or the variable, at an address" },
	{ "verify", cmd_verify, "check that a store is complete and intact" },
	{ "module", cmd_module, "show the kernel module and its sessions" },
	{ "status", cmd_status, "show depd, what it records, its lag and its losses" },
	{ "sessions", cmd_sessions, "list the sessions of depd" },
	{ "top", cmd_top, "show what the sessions of depd record, once a second" },
	{ "stop", cmd_stop, "stop recording sessions of depd" },
	{ "metrics", cmd_metrics, "print the metrics of depd" },
	{ "policy", cmd_policy, "check the rules by which depd records" },
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *f)
{
	fprintf(f, "Usage: depctl [--color=WHEN] COMMAND [OPTION...] [ARGUMENT...]\n\n"
		   "Record the whole execution of a program, exactly, and read it back.\n\n");
	print_commands(f, commands, NCOMMANDS);
	fprintf(f, "\n"
		   "  --color=WHEN  use color in text: auto (on terminals; default), always or "
		   "never\n"
		   "  --version     print the versions of depctl and of the store format\n"
		   "\n`depctl help COMMAND' lists the options of COMMAND; see also depctl(1).\n");
}

/* Handle `depctl help COMMAND...' like `depctl COMMAND... --help'. */
static int help(int argc, char **argv)
{
	char *words[8] = { argv[0] };
	int i, n = argc - 2;

	if (n <= 0 || argv[2][0] == '-') {
		usage(stdout);
		return 0;
	}
	if (n > 4)
		n = 4;
	for (i = 1; i <= n; i++)
		words[i] = argv[i + 1];
	words[i] = "--help";
	return run_command(commands, NCOMMANDS, "depctl", n + 2, words);
}

/*
 * Parse --color=WHEN or --color WHEN before the command.  Return: the number of arguments used; -1
 * if WHEN is invalid, after a message.
 */
static int parse_color(int argc, char **argv)
{
	static const char option[] = "--color";
	const size_t n = sizeof(option) - 1;
	const char *when;

	if (argc < 2 || strncmp(argv[1], option, n) || (argv[1][n] && argv[1][n] != '='))
		return 0;
	when = argv[1][n] ? argv[1] + n + 1 : argv[2];
	if (when && color_when(when))
		return argv[1][n] ? 1 : 2;
	warn("--color must be auto, always or never%s%s%s", when ? ", not '" : "", when ? when : "",
	     when ? "'" : "");
	return -1;
}

int main(int argc, char **argv)
{
	int status, taken = parse_color(argc, argv);

	if (taken < 0)
		return EXIT_USAGE;
	argv[taken] = argv[0];
	argv += taken;
	argc -= taken;
	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help"))
		return help(argc, argv);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("depctl %s, store format %d\n", ADEPT_VERSION, DEP_FORMAT_VERSION);
		return 0;
	}
	status = run_command(commands, NCOMMANDS, "depctl", argc, argv);
	if (status >= 0)
		return status;
	warn("depctl has no option '%s'; `depctl --help' lists its commands", argv[1]);
	return EXIT_USAGE;
}
