// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks of calling contexts, frame by frame.
 *
 * A stack begins with the entry of its function, for all instructions that the function executed
 * there; then come call sites.
 */
#include <errno.h>
#include <stdlib.h>

#include "stacks.h"

int stacks_begin(struct stacks *s, const struct export *x)
{
	const struct dep_contexts *c = x->l.contexts;
	uint32_t i, above;

	s->x = x;
	s->depth = calloc(c->ncontexts + 1, sizeof(*s->depth));
	s->outer = calloc(c->ncontexts + 1, sizeof(*s->outer));
	if (!s->depth || !s->outer)
		return -ENOMEM;
	for (i = 1; i < c->ncontexts; i++) {
		above = c->context[i].parent;
		s->depth[i] = s->depth[above] + 1;
		s->outer[i] = s->depth[i] <= EXPORT_FRAMES / 2 ? i : s->outer[above];
	}
	return 0;
}

struct stack_frame stacks_inner(const struct export *x, uint32_t context)
{
	const struct dep_context *at = &x->l.contexts->context[context];

	return (struct stack_frame){ .pc = at->pc, .image = at->image, .context = context,
				     .function = functions_of(x->l.functions, context) };
}

struct stack_frame stacks_caller(const struct export *x, uint32_t context)
{
	const struct dep_context *at = &x->l.contexts->context[context];
	struct stack_frame f = stacks_inner(x, at->parent);

	if (at->site) {
		f.pc = at->site;
		f.image = at->site_image;
	}
	return f;
}

size_t stacks_of(const struct stacks *s, uint32_t context, struct stack_frame *frame)
{
	const struct dep_context *c = s->x->l.contexts->context;
	uint32_t cut = s->depth[context] > EXPORT_FRAMES ? EXPORT_FRAMES / 2 : UINT32_MAX;
	uint32_t outer = s->outer[context];
	size_t n = 0;

	frame[n++] = stacks_inner(s->x, context);
	for (; c[context].parent; context = c[context].parent, cut--) {
		if (!cut) {
			frame[n++] = (struct stack_frame){ .function = NO_FUNCTION };
			context = outer;
		}
		frame[n++] = stacks_caller(s->x, context);
	}
	return n;
}

void stacks_end(struct stacks *s)
{
	free(s->depth);
	free(s->outer);
}
