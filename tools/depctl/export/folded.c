// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks: PROGRAM;FUNCTION;FUNCTION.. WEIGHT, one stack a line.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "names.h"
#include "tree.h"

/* Put a name without the separator of frames. */
static void put_name(struct out *o, const char *name)
{
	const char *part;

	while ((part = strchr(name, ';'))) {
		out_plain_part(o, name, part);
		out_text(o, ":");
		name = part + 1;
	}
	out_plain(o, name);
}

static void put_frame(struct export *x, uint32_t context)
{
	const char *stub, *name = export_name(x, functions_of(x->l.functions, context), &stub);

	out_text(&x->out, ";");
	put_name(&x->out, name);
	out_text(&x->out, stub);
}

static void put_stack(struct export *x, const uint32_t *path, size_t depth, uint64_t weight)
{
	size_t i;

	put_name(&x->out, export_program(x, x->l.contexts->context[path[depth - 1]].process));
	for (i = 0; i < depth; i++) {
		if (depth > EXPORT_FRAMES && i == EXPORT_FRAMES / 2) {
			out_text(&x->out, ";" EXPORT_LEFT_OUT);
			i = depth - EXPORT_FRAMES / 2;
		}
		put_frame(x, path[i]);
	}
	out_printf(&x->out, " %" PRIu64 "\n", weight);
}

int export_folded(struct export *x)
{
	struct tree_walk w = { 0 };
	uint32_t *path = calloc(x->l.contexts->ncontexts + 1, sizeof(*path));
	struct tree t = { 0 };
	size_t depth = 0;

	if (!path) {
		warn("out of memory");
		return 1;
	}
	if (tree_begin(&t, x, true)) {
		free(path);
		return 1;
	}
	tree_select(&t, 0, t.contexts->nshares);
	while (tree_walk(&t, &w)) {
		if (w.leave) {
			depth--;
			continue;
		}
		/* Context 0 is no function. */
		path[depth] = w.context;
		depth++;
		if (w.context && t.node[w.context].weight)
			put_stack(x, path + 1, depth - 1, t.node[w.context].weight);
	}
	tree_end(&t);
	free(path);
	return 0;
}
