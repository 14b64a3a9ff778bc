// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of a recorded process. */
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "cmdline.h"

static char *quote_arguments(const struct dep_process *p)
{
	const char *s = p->cmdline, *end = s + p->cmdline_size;
	char **argv = calloc(p->cmdline_size + 1, sizeof(*argv)), *text;
	int argc = 0;

	if (!argv)
		return NULL;
	for (; s < end; s += strlen(s) + 1)
		argv[argc++] = (char *)s;
	text = quote_command(argc, argv);
	free(argv);
	return text;
}

void cmdline_text(struct out *o, const struct dep_process *p)
{
	char *text = p->cmdline ? quote_arguments(p) : NULL;

	if (!text) {
		out_plain(o, p->exe ? p->exe : "?");
		return;
	}
	out_text(o, text);
	free(text);
	/* argv[0] may name another file than the executable: sh and /usr/bin/dash, for example. */
	if (p->exe && strcmp(base_name(p->exe), base_name(p->cmdline))) {
		out_text(o, " (");
		out_plain(o, p->exe);
		out_text(o, ")");
	}
}

void cmdline_json(struct json *j, const struct dep_process *p)
{
	const char *s = p->cmdline, *end;

	if (!s) {
		json_str(j, "argv", NULL);
		return;
	}
	json_array(j, "argv");
	for (end = s + p->cmdline_size; s < end; s += strlen(s) + 1)
		json_str(j, NULL, s);
	json_close(j, ']');
}
