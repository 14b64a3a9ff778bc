// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Callgrind's format, version 1: instructions of each line, and calls with what they cost.
 *
 * A call's inclusive cost is what ran until it returned.  With recursion, an instruction would
 * count for each activation of the called function that is on the stack; it counts for the
 * outermost one only.  So the costs of all calls of a function add up to its inclusive cost, which
 * is how callgrind_annotate computes it.  Signal handlers and threads are not called by a line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "export.h"
#include "lines.h"
#include "tree.h"

/* What a line of a function executed. */
struct line_cost {
	uint32_t function, line;
	const char *file;		/* NULL: not known */
	uint64_t insns;
};

/* Calls of one function from one line of another. */
struct call_cost {
	uint32_t caller, callee, line;
	const char *file;
	uint64_t calls, insns;
};

struct callgrind {
	struct export *x;
	struct lines lines;
	struct line_cost *line;
	struct call_cost *call;
	size_t nlines, ncalls;
	bool *named;			/* functions whose number was defined */
};

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_line(const void *pa, const void *pb)
{
	const struct line_cost *a = pa, *b = pb;
	int order = ORDER(a->function, b->function);

	if (!order)
		order = compare_text(a->file, b->file);
	return order ? order : ORDER(a->line, b->line);
}

static int by_call(const void *pa, const void *pb)
{
	const struct call_cost *a = pa, *b = pb;
	int order = ORDER(a->caller, b->caller);

	if (!order)
		order = compare_text(a->file, b->file);
	if (!order)
		order = ORDER(a->line, b->line);
	return order ? order : ORDER(a->callee, b->callee);
}

/* ---- costs ---- */

static int count_lines(struct callgrind *c)
{
	const struct dep_profile *p = c->x->l.profile;
	const struct dep_file_line *at;
	struct line_cost *now, *last;
	size_t i, n = 0;
	uint32_t f;

	c->line = calloc(p->ninsns + 1, sizeof(*c->line));
	if (!c->line)
		return 1;
	for (i = 0; i < p->ninsns; i++) {
		f = functions_at(c->x->l.functions, p->insn[i].process, p->insn[i].image,
				 p->insn[i].pc);
		if (!export_chosen(c->x, f))
			continue;
		at = lines_at(&c->lines, p->insn[i].image, p->insn[i].pc);
		c->line[n++] = (struct line_cost){ f, at ? at->line : 0, at ? at->file : NULL,
						   p->insn[i].count };
	}
	qsort(c->line, n, sizeof(*c->line), by_line);
	for (i = 0; i < n; i++) {
		now = &c->line[i];
		last = c->nlines ? &c->line[c->nlines - 1] : NULL;
		if (last && !by_line(last, now))
			last->insns += now->insns;
		else
			c->line[c->nlines++] = *now;
	}
	return 0;
}

/*
 * Open activations while all contexts are walked.  A scope is what the program itself called from
 * its start, or from a signal handler or the start of a thread.
 */
struct activations {
	uint32_t *scope;	/* by context: 1 + the context in which its scope began */
	uint32_t *innermost;	/* by function: scope of its innermost activation; 0: none */
	uint32_t *before;	/* by context: what @innermost was before it was entered */
};

/* Return: true if the function @f of @context has no other activation in the scope. */
static bool enter(struct activations *a, const struct dep_contexts *c, uint32_t context, uint32_t f)
{
	const struct dep_context *at = &c->context[context];

	a->scope[context] = tree_is_call(at) ? a->scope[at->parent] : context + 1;
	a->before[context] = a->innermost[f];
	a->innermost[f] = a->scope[context];
	return a->before[context] != a->scope[context];
}

static void add_call(struct callgrind *c, const struct tree *t, uint32_t context, bool outermost)
{
	const struct dep_context *at = &t->contexts->context[context];
	uint32_t caller = functions_of(c->x->l.functions, at->parent);
	const struct dep_file_line *line;

	if (!tree_is_call(at) || !export_chosen(c->x, caller))
		return;
	line = lines_at(&c->lines, at->site_image, at->site);
	c->call[c->ncalls++] = (struct call_cost){
		.caller = caller, .callee = functions_of(c->x->l.functions, context),
		.line = line ? line->line : 0, .file = line ? line->file : NULL,
		.calls = t->node[context].calls,
		.insns = outermost ? t->node[context].called : 0,
	};
}

static void collect_calls(struct callgrind *c, const struct tree *t, struct activations *a)
{
	struct tree_walk w = { 0 };
	uint32_t f;

	while (tree_walk(t, &w)) {
		f = functions_of(c->x->l.functions, w.context);
		if (f == NO_FUNCTION)
			f = (uint32_t)c->x->l.nfunctions;
		if (w.leave)
			a->innermost[f] = a->before[w.context];
		else
			add_call(c, t, w.context, enter(a, t->contexts, w.context, f));
	}
}

/* Sort the calls and add up those that differ in their contexts only. */
static void merge_calls(struct callgrind *c)
{
	struct call_cost *now, *last;
	size_t i, n = c->ncalls;

	c->ncalls = 0;
	qsort(c->call, n, sizeof(*c->call), by_call);
	for (i = 0; i < n; i++) {
		now = &c->call[i];
		last = c->ncalls ? &c->call[c->ncalls - 1] : NULL;
		if (last && !by_call(last, now)) {
			last->calls += now->calls;
			last->insns += now->insns;
		} else {
			c->call[c->ncalls++] = *now;
		}
	}
}

static int count_calls(struct callgrind *c)
{
	size_t n = c->x->l.contexts->ncontexts + 1;
	struct activations a = {
		calloc(n, sizeof(*a.scope)), calloc(c->x->l.nfunctions + 1, sizeof(*a.innermost)),
		calloc(n, sizeof(*a.before)),
	};
	struct tree t = { 0 };
	int ret = 1;

	c->call = calloc(n, sizeof(*c->call));
	if (!a.scope || !a.innermost || !a.before || !c->call) {
		warn("out of memory");
		goto out;
	}
	if (tree_begin(&t, c->x, false))
		goto out;
	tree_select(&t, 0, t.contexts->nshares);
	collect_calls(c, &t, &a);
	merge_calls(c);
	ret = 0;
out:
	tree_end(&t);
	free(a.scope);
	free(a.innermost);
	free(a.before);
	return ret;
}

/* ---- output ---- */

static void put_file(struct callgrind *c, const char *key, const char *file)
{
	out_printf(&c->x->out, "%s=", key);
	/* "(1) NAME" would define a number. */
	if (file && *file == '(')
		out_text(&c->x->out, "./");
	out_plain(&c->x->out, file ? file : "???");
	out_text(&c->x->out, "\n");
}

static const char *object_of(const struct callgrind *c, uint32_t f)
{
	const struct function *fn = f == NO_FUNCTION ? NULL : &c->x->l.function[f];

	return !fn ? NULL : *fn->path ? fn->path : fn->module;
}

static const char *file_of(const struct callgrind *c, uint32_t f)
{
	return f == NO_FUNCTION ? NULL : c->x->l.function[f].file;
}

static void put_function(struct callgrind *c, const char *key, uint32_t f)
{
	struct out *o = &c->x->out;

	if (f == NO_FUNCTION) {
		out_printf(o, "%s=(%zu) [unknown]\n", key, c->x->l.nfunctions + 1);
		return;
	}
	out_printf(o, "%s=(%u)", key, f + 1);
	if (!c->named[f]) {
		out_text(o, " ");
		out_plain(o, c->x->l.function[f].name);
		if (c->x->l.function[f].stub)
			out_text(o, "@plt");
		c->named[f] = true;
	}
	out_text(o, "\n");
}

static void put_call(struct callgrind *c, const struct call_cost *call)
{
	uint32_t f = call->callee;

	put_file(c, "cob", object_of(c, f));
	put_file(c, "cfi", file_of(c, f));
	put_function(c, "cfn", f);
	out_printf(&c->x->out, "calls=%" PRIu64 " %u\n%u %" PRIu64 "\n", call->calls,
		   f == NO_FUNCTION ? 0 : c->x->l.function[f].line, call->line, call->insns);
}

/* Put the lines and calls of function @f, which begin at @line and @call. */
static void put_costs(struct callgrind *c, uint32_t f, size_t *line, size_t *call)
{
	const char *file = file_of(c, f), *at;
	const struct call_cost *next_call;
	const struct line_cost *next_line;

	put_file(c, "ob", object_of(c, f));
	put_file(c, "fl", file);
	put_function(c, "fn", f);
	for (;;) {
		next_line = *line < c->nlines && c->line[*line].function == f ? &c->line[*line] :
			    NULL;
		next_call = *call < c->ncalls && c->call[*call].caller == f ? &c->call[*call] :
			    NULL;
		if (!next_line && !next_call)
			break;
		if (next_line && next_call &&
		    compare_text(next_call->file, next_line->file) < 0)
			next_line = NULL;
		at = next_line ? next_line->file : next_call->file;
		if (compare_text(at, file))
			put_file(c, compare_text(at, file_of(c, f)) ? "fi" : "fe", at);
		file = at;
		if (next_line) {
			out_printf(&c->x->out, "%u %" PRIu64 "\n", next_line->line,
				   next_line->insns);
			++*line;
		} else {
			put_call(c, next_call);
			++*call;
		}
	}
	out_text(&c->x->out, "\n");
}

static void put_header(struct callgrind *c)
{
	const struct dep_meta *meta = dep_store_meta(c->x->l.store);
	const struct dep_process *p;
	struct out *o = &c->x->out;
	char *command = quote_command(meta->argc, meta->argv);
	uint64_t insns = 0;
	size_t i;

	for (i = 0; i < c->nlines; i++)
		insns += c->line[i].insns;
	out_text(o, "# callgrind format\nversion: 1\ncreator: depctl " ADEPT_VERSION "\n");
	if (c->x->process || dep_store_processes(c->x->l.store, &p) == 1) {
		if (c->x->process)
			p = process_of(c->x->l.store, c->x->process);
		out_printf(o, "pid: %u\n", p->pid);
	}
	out_text(o, "cmd: ");
	out_plain(o, command ? command : "?");
	if (c->x->guesses.insns)
		out_printf(o, "\ndesc: Guessed callers: %" PRIu64 " instructions were executed "
			   "below callers at an attach that may be wrong", c->x->guesses.insns);
	out_printf(o, "\npositions: line\nevent: Ir : Instructions executed\nevents: Ir\n"
		   "summary: %" PRIu64 "\n\n", insns);
	free(command);
}

static void put_all(struct callgrind *c)
{
	size_t line = 0, call = 0;
	uint32_t f;

	put_header(c);
	while (line < c->nlines || call < c->ncalls) {
		f = line < c->nlines ? c->line[line].function : NO_FUNCTION;
		if (call < c->ncalls && c->call[call].caller < f)
			f = c->call[call].caller;
		put_costs(c, f, &line, &call);
	}
}

int export_callgrind(struct export *x)
{
	struct callgrind c = { .x = x };
	int ret = 1;

	c.named = calloc(x->l.nfunctions + 1, sizeof(*c.named));
	if (!c.named || lines_begin(&c.lines, x->l.store, x->l.symbols) || count_lines(&c)) {
		warn("out of memory");
		goto out;
	}
	if (count_calls(&c))
		goto out;
	put_all(&c);
	ret = 0;
out:
	lines_end(&c.lines);
	free(c.line);
	free(c.call);
	free(c.named);
	return ret;
}
