// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of `perf script`: events with a stack, as perf prints those of its own recordings.
 *
 * A sample is an event whose period is the number of instructions.  Readers find where a field ends
 * by spaces and brackets, so those within names of threads and files are replaced.
 */
#include <inttypes.h>

#include "tools/depctl/depctl.h"
#include "names.h"
#include "samples.h"
#include "stacks.h"

#define NS_PER_S	1000000000u

/* Put a name without the characters that separate fields. */
static void put_word(struct out *o, const char *s)
{
	const char *part = s;

	for (; *s; s++) {
		if (!strchr(" \t()", *s))
			continue;
		out_plain_part(o, part, s);
		out_text(o, "_");
		part = s + 1;
	}
	out_plain_part(o, part, s);
}

/* A line that begins with # would be a comment. */
static void put_command(struct out *o, const char *name)
{
	if (*name == '#') {
		out_text(o, "_");
		name++;
	}
	put_word(o, *name ? name : "_");
}

static void put_event(const struct samples *s, const struct segment_samples *b, uint64_t done,
		      uint64_t insns, struct out *o)
{
	struct moment at = samples_time(b, done);

	put_command(o, samples_name(s, b));
	out_printf(o, "  %" PRIu32 "/%" PRIu32 " %5" PRIu64 ".%09" PRIu64 ": %10" PRIu64
		   " instructions:u: \n", samples_pid(b), samples_tid(b), at.ns / NS_PER_S,
		   at.ns % NS_PER_S, insns);
}

/* perf script ends a name with its offset in the function; readers leave out names in brackets. */
static void put_function(struct export *x, const struct stack_frame *f)
{
	const struct function *of = f->function == NO_FUNCTION ? NULL :
				    &x->l.function[f->function];
	char room[EXPORT_TITLE];
	const char *name = export_title(x, f->function, room, sizeof(room));
	struct site site;

	if (*name == '(')
		out_text(&x->out, "::");
	out_plain(&x->out, name);
	if (!of)
		return;
	site = functions_site(x->l.functions, x->l.contexts->context[f->context].process,
			      f->image, f->pc);
	if (site.addr >= of->start && site.addr < of->end)
		out_printf(&x->out, "+0x%" PRIx64, site.addr - of->start);
}

static void put_file(struct export *x, const struct stack_frame *f)
{
	const struct function *of;

	if (f->function == NO_FUNCTION) {
		out_text(&x->out, "[unknown]");
		return;
	}
	of = &x->l.function[f->function];
	put_word(&x->out, *of->path ? of->path : of->module);
}

static void put_stack(struct export *x, const struct stacks *s, uint32_t context)
{
	struct stack_frame frame[STACK_ROOM];
	size_t i, n = stacks_of(s, context, frame);

	for (i = 0; i < n; i++) {
		out_printf(&x->out, "\t%16" PRIx64 " ", frame[i].pc);
		if (frame[i].pc)
			put_function(x, &frame[i]);
		else
			out_text(&x->out, EXPORT_LEFT_OUT);
		out_text(&x->out, " (");
		put_file(x, &frame[i]);
		out_text(&x->out, ")\n");
	}
	out_text(&x->out, "\n");
}

static void put_segment(struct export *x, const struct samples *s, const struct stacks *stacks,
			const struct segment_samples *b)
{
	const struct dep_context_time *row;
	uint64_t done = 0;
	size_t i;

	for (i = b->first; i < b->first + b->n; i++) {
		row = samples_row(s, i);
		put_event(s, b, done, row->insns, &x->out);
		put_stack(x, stacks, row->context);
		done += row->insns;
	}
}

int export_perf_script(struct export *x)
{
	struct segment_samples b = { 0 };
	struct stacks stacks = { 0 };
	struct samples s;
	int status = samples_begin(&s, x);

	if (!status && stacks_begin(&stacks, x)) {
		warn("out of memory");
		status = 1;
	}
	while (!status && samples_next(&s, &b))
		put_segment(x, &s, &stacks, &b);
	stacks_end(&stacks);
	samples_end(&s);
	return status;
}
