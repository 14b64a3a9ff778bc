// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LLVM's text format of sample profiles.
 *
 * A function has a line "NAME:TOTAL:CALLS".  Below it, indented by a space, stands for each source
 * line "OFFSET: COUNT", or "OFFSET.DISCRIMINATOR: COUNT", and the functions that it called.  Then
 * come inlined functions as "OFFSET: NAME:TOTAL", with lines that are indented further.
 */
#include <inttypes.h>

#include "tools/depctl/depctl.h"
#include "source_profile.h"

static void put_place(struct export *x, unsigned int depth, const struct source_at *at)
{
	while (depth--)
		out_text(&x->out, " ");
	out_printf(&x->out, "%" PRIu32, at->offset);
	if (at->discriminator)
		out_printf(&x->out, ".%" PRIu32, at->discriminator);
	out_text(&x->out, ": ");
}

static void put_line(struct export *x, const struct source_profile *s, unsigned int depth,
		     const struct source_line *line)
{
	const struct source_target *t;
	size_t i;

	put_place(x, depth, &line->at);
	out_printf(&x->out, "%" PRIu64, line->count);
	for (i = 0; i < line->ntargets; i++) {
		t = &line->target[i];
		out_text(&x->out, " ");
		out_plain(&x->out, source_name(s, t->name));
		out_printf(&x->out, ":%" PRIu64, t->count);
	}
	out_text(&x->out, "\n");
}

/* Functions are inlined 130 deep at most, see source_locate(). */
static void put_function(struct export *x, const struct source_profile *s, uint32_t i,
			 unsigned int depth)
{
	const struct source_function *f = &s->function[i];
	size_t k;

	if (depth)
		put_place(x, depth, &f->at);
	out_plain(&x->out, source_name(s, f->name));
	out_printf(&x->out, ":%" PRIu64, f->total);
	if (!depth)
		out_printf(&x->out, ":%" PRIu64, f->head);
	out_text(&x->out, "\n");
	for (k = 0; k < f->nlines; k++)
		put_line(x, s, depth + 1, &f->line[k]);
	for (k = 0; k < f->ninlined; k++)
		put_function(x, s, f->inlined[k], depth + 1);
}

int export_llvm_sample(struct export *x)
{
	struct source_profile s;
	size_t i;

	if (source_profile_make(&s, x, SOURCE_LLVM))
		return 1;
	for (i = 0; i < s.nouter; i++)
		put_function(x, &s, s.outer[i], 0);
	source_profile_free(&s);
	return 0;
}
