// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chrome's trace events: functions of each thread that begin and end.
 *
 * Samples follow each other in the order of time, and functions that two of them have in common
 * stay open.  So the number of events depends on how the stacks differ, not on their depth.
 * Events have the thread's number of instructions until then, whatever the axis is.
 */
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/numbering.h"
#include "names.h"
#include "samples.h"
#include "tree.h"

struct chrome {
	struct export *x;
	struct samples samples;
	struct segment_samples b;
	struct tree tree;
	struct json j;
	uint64_t base_ns;	/* time 0 of the file */
	/* Threads are distinguished by ids; one that came later may have the same. */
	struct numbering threads;
	uint64_t *insns;	/* by number in @threads: executed until now */
	uint32_t thread;	/* the current one */
	uint32_t *depth;	/* by context */
	uint32_t *open, *path;	/* contexts, the outermost first */
	size_t nopen;
};

static int no_memory(void)
{
	warn("out of memory");
	return 1;
}

static int begin(struct chrome *c)
{
	const struct dep_thread *t;
	size_t i, n, threads;

	if (samples_begin(&c->samples, c->x) || tree_begin(&c->tree, c->x, true))
		return 1;
	threads = dep_store_threads(c->x->l.store, &t);
	n = c->tree.contexts->ncontexts + 1;
	/* Threads that the store does not have share one more pair of ids. */
	c->insns = calloc(threads + 1, sizeof(*c->insns));
	c->depth = calloc(n, sizeof(*c->depth));
	c->open = calloc(n, sizeof(*c->open));
	c->path = calloc(n, sizeof(*c->path));
	if (!c->insns || !c->depth || !c->open || !c->path)
		return no_memory();
	for (i = 1; i < c->tree.contexts->ncontexts; i++)
		c->depth[i] = c->depth[tree_parent(&c->tree, (uint32_t)i)] + 1;
	c->base_ns = dep_store_meta(c->x->l.store)->start_ns;
	json_begin(&c->j, &c->x->out);
	return 0;
}

static void end(struct chrome *c)
{
	samples_end(&c->samples);
	tree_end(&c->tree);
	numbering_free(&c->threads);
	free(c->insns);
	free(c->depth);
	free(c->open);
	free(c->path);
}

/* ---- events ---- */

/* Microseconds, with picoseconds behind the point; or instructions. */
static void put_time(struct chrome *c, uint64_t done)
{
	struct moment at;

	if (c->x->axis == AXIS_INSTRUCTIONS) {
		json_u64(&c->j, "ts", c->insns[c->thread]);
		return;
	}
	at = samples_time(&c->b, done);
	if (at.ns < c->base_ns)
		at = (struct moment){ .ns = c->base_ns };
	at.ns -= c->base_ns;
	json_fixed(&c->j, "ts", at.ns / 1000, (uint32_t)(at.ns % 1000) * 1000 + at.ps);
}

static void put_event(struct chrome *c, const char *type, const char *name)
{
	json_object(&c->j, NULL);
	json_str(&c->j, "ph", type);
	json_u64(&c->j, "pid", samples_pid(&c->b));
	json_u64(&c->j, "tid", samples_tid(&c->b));
	json_str(&c->j, "name", name);
}

/* What viewers show of an event that is selected; @f: NULL: not known. */
static void put_args(struct chrome *c, uint32_t context, const struct function *f)
{
	bool file = f && f->file, guess = c->tree.guess[context];

	if (!file && !guess)
		return;
	json_object(&c->j, "args");
	if (file)
		json_str(&c->j, "file", f->file);
	if (file && f->line)
		json_u64(&c->j, "line", f->line);
	if (guess)
		json_bool(&c->j, "guess", true);
	json_close(&c->j, '}');
}

/* The function of @context begins or ends when @done instructions of the segment are executed. */
static void put_function(struct chrome *c, bool begins, uint32_t context, uint64_t done)
{
	uint32_t f = functions_of(c->x->l.functions, context);
	char room[EXPORT_TITLE];

	put_event(c, begins ? "B" : "E", export_title(c->x, f, room, sizeof(room)));
	json_str(&c->j, "cat", "function");
	put_time(c, done);
	json_u64(&c->j, "ticount", c->insns[c->thread]);
	if (begins)
		put_args(c, context, f == NO_FUNCTION ? NULL : &c->x->l.function[f]);
	json_close(&c->j, '}');
}

static void put_name(struct chrome *c, const char *event, const char *name)
{
	put_event(c, "M", event);
	json_u64(&c->j, "ts", 0);
	json_object(&c->j, "args");
	json_str(&c->j, "name", name);
	json_close(&c->j, '}');
	json_close(&c->j, '}');
}

/* ---- stacks ---- */

static void close_to(struct chrome *c, size_t depth, uint64_t done)
{
	while (c->nopen > depth)
		put_function(c, false, c->open[--c->nopen], done);
}

/* Find the path to @context; return how much of it is open already. */
static size_t find_path(struct chrome *c, uint32_t context)
{
	size_t d = c->depth[context];

	while (d && (d > c->nopen || c->open[d - 1] != context)) {
		c->path[--d] = context;
		context = tree_parent(&c->tree, context);
	}
	return d;
}

static void open_path(struct chrome *c, size_t depth, uint64_t done)
{
	while (c->nopen < depth) {
		c->open[c->nopen] = c->path[c->nopen];
		put_function(c, true, c->open[c->nopen++], done);
	}
}

static int begin_thread(struct chrome *c)
{
	uint32_t ids[2] = { samples_pid(&c->b), samples_tid(&c->b) };
	uint32_t n = number_of(&c->threads, ids, sizeof(ids));

	if (n == NUMBERING_FULL)
		return no_memory();
	c->thread = n;
	put_name(c, "process_name",
		 export_program(c->x, c->b.process ? c->b.process->serial : 0));
	put_name(c, "thread_name", samples_name(&c->samples, &c->b));
	return 0;
}

/* Functions that are open end with their last segment, whatever comes before the next one. */
static void put_segment(struct chrome *c, const struct segment_samples *next)
{
	const struct dep_context_time *row;
	uint64_t done = 0;
	uint32_t context;
	size_t i, common;

	for (i = next->first; i < next->first + next->n; i++) {
		row = samples_row(&c->samples, i);
		context = c->tree.same[row->context];
		common = find_path(c, context);
		/* c->b is the segment before, until its functions have ended. */
		close_to(c, common, i == next->first ? c->b.insns : done);
		c->b = *next;
		open_path(c, c->depth[context], done);
		done += row->insns;
		c->insns[c->thread] += row->insns;
	}
}

static int put_threads(struct chrome *c)
{
	struct segment_samples next = { 0 };

	while (samples_next(&c->samples, &next)) {
		if (next.new_thread) {
			close_to(c, 0, c->b.insns);
			c->b = next;
			if (begin_thread(c))
				return 1;
		}
		put_segment(c, &next);
	}
	close_to(c, 0, c->b.insns);
	return 0;
}

int export_chrome(struct export *x)
{
	const struct dep_meta *meta = dep_store_meta(x->l.store);
	char *command = quote_command(meta->argc, meta->argv);
	struct chrome c = { .x = x };
	int status = begin(&c);

	if (!status) {
		json_object(&c.j, NULL);
		json_array(&c.j, "traceEvents");
		status = put_threads(&c);
		json_close(&c.j, ']');
		json_str(&c.j, "displayTimeUnit", "ns");
		json_object(&c.j, "otherData");
		json_str(&c.j, "exporter", "depctl " ADEPT_VERSION);
		json_str(&c.j, "command", command);
		json_str(&c.j, "axis", x->axis == AXIS_INSTRUCTIONS ? "instructions" : "time");
		json_close(&c.j, '}');
		json_close(&c.j, '}');
		json_line(&c.j);
	}
	end(&c);
	free(command);
	return status;
}
