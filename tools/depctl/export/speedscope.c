// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Speedscope's own format: for each thread a profile whose stacks open and close.
 *
 * The time axis is the weight, and the order of functions is that of the tree, not of time: all
 * calls of a function from one context stand together.  So the size of the file is that of the
 * tree, whatever the depth of the stacks.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tools/depctl/depctl.h"
#include "names.h"
#include "tree.h"

static void put_frames(struct export *x, struct json *j)
{
	const struct function *f;
	char room[EXPORT_TITLE];
	const char *name;
	size_t i;

	json_object(j, "shared");
	json_array(j, "frames");
	for (i = 0; i <= x->l.nfunctions; i++) {
		f = i < x->l.nfunctions ? &x->l.function[i] : NULL;
		name = export_title(x, f ? (uint32_t)i : NO_FUNCTION, room, sizeof(room));
		json_object(j, NULL);
		json_str(j, "name", name);
		if (f && f->file) {
			json_str(j, "file", f->file);
			if (f->line)
				json_u64(j, "line", f->line);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void put_event(struct json *j, const char *type, uint32_t frame, uint64_t at)
{
	json_object(j, NULL);
	json_str(j, "type", type);
	json_u64(j, "frame", frame);
	json_u64(j, "at", at);
	json_close(j, '}');
}

static void put_events(struct export *x, struct json *j, const struct tree *t)
{
	struct tree_walk w = { 0 };
	uint64_t at = 0;
	uint32_t f;

	json_array(j, "events");
	while (tree_walk(t, &w)) {
		if (!w.context || !t->node[w.context].inclusive)
			continue;
		f = functions_of(x->l.functions, w.context);
		if (f == NO_FUNCTION)
			f = (uint32_t)x->l.nfunctions;
		put_event(j, w.leave ? "C" : "O", f, at);
		if (!w.leave)
			at += t->node[w.context].weight;
	}
	json_close(j, ']');
}

static void put_thread(struct export *x, struct json *j, const struct tree *t, uint32_t thread)
{
	const struct dep_thread *at = thread_of(x->l.store, thread);
	char name[512];

	snprintf(name, sizeof(name), "%s, thread %u",
		 at && at->name && *at->name ? at->name :
		 export_program(x, at ? at->process : 0), at ? at->tid : 0);
	json_object(j, NULL);
	json_str(j, "type", "evented");
	json_str(j, "name", name);
	json_str(j, "unit", "none");
	json_u64(j, "startValue", 0);
	json_u64(j, "endValue", t->node[0].inclusive);
	put_events(x, j, t);
	json_close(j, '}');
}

static void put_threads(struct export *x, struct json *j, struct tree *t)
{
	const struct dep_contexts *c = t->contexts;
	size_t i, n;

	json_array(j, "profiles");
	for (i = 0; i < c->nshares; i += n) {
		n = tree_thread(t, i);
		tree_select(t, i, n);
		if (t->nused && t->node[0].inclusive)
			put_thread(x, j, t, c->share[i].thread);
	}
	json_close(j, ']');
}

int export_speedscope(struct export *x)
{
	struct tree t;
	struct json j;

	if (tree_begin(&t, x, true))
		return 1;
	json_begin(&j, &x->out);
	json_object(&j, NULL);
	json_str(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_str(&j, "exporter", "depctl " ADEPT_VERSION);
	json_str(&j, "name", x->weight == WEIGHT_CALLS ? "calls" : "instructions");
	put_frames(x, &j);
	put_threads(x, &j, &t);
	json_close(&j, '}');
	json_line(&j);
	tree_end(&t);
	return 0;
}
