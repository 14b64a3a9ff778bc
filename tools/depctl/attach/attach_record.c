// SPDX-License-Identifier: GPL-2.0-or-later
/* Record a running process, by the means of depctl record. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/record/burst.h"
#include "attach_record.h"

#define COMMAND_MAX	(128u << 10)
#define ARGUMENTS_MAX	4096

/* Set the command in @o to the command line of process @pid.  Its memory is never freed. */
static int read_command(struct record_options *o, pid_t pid)
{
	char path[32], *text = malloc(COMMAND_MAX + 1), *p;
	char **argv = calloc(ARGUMENTS_MAX + 1, sizeof(*argv));
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f && text)
		n = fread(text, 1, COMMAND_MAX, f);
	if (f)
		fclose(f);
	if (!text || !argv) {
		free(text);
		free(argv);
		return -ENOMEM;
	}
	text[n] = '\0';
	for (p = text; p < text + n && o->argc < ARGUMENTS_MAX; p += strlen(p) + 1)
		argv[o->argc++] = p;
	if (!o->argc)
		argv[o->argc++] = text;
	if (!*argv[0])
		argv[0] = (char *)"process";
	o->argv = argv;
	return 0;
}

int attach_record(struct record_options *o, pid_t pid)
{
	struct recorded r = { 0 };
	int ret;

	o->pid = pid;
	ret = read_command(o, pid);
	if (ret) {
		warn("the command line of process %d cannot be read: %s", pid, strerror(-ret));
		return EXIT_FAILURE;
	}
	if (triggers_find(o))
		return EXIT_FAILURE;
	ret = record_anywhere(o, NULL, &r);
	signals_end();
	if (o->burst && !o->quiet && !ret)
		burst_report(o->burst);
	return ret || r.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
