// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the walk reports of its stacks. */
#include "check.h"

/* A level whose frames are those of the walk; NULL: there is none, or an error. */
static struct check_level *at_work(struct check *c)
{
	struct check_level *l;

	c->compared = false;
	check_code_now(c);
	l = check_level(c);
	/* If the call that comes will be checked. */
	if (l && c->out->calls + 1 >= c->next && !check_frames(c, l))
		return NULL;
	return l;
}

static int call(void *arg, const struct dep_branch_at *b)
{
	struct check *c = arg;
	struct check_level *l = at_work(c);
	struct check_entered f = { .site = b->step->pc, .kind = DEP_CC_CALL };
	bool is_next = !b->to || b->to == b->step->next;
	const struct check_function *top;

	if (!l)
		return c->err;
	if (b->step->branch == DEP_BRANCH_CALL_INDIRECT)
		f.kind = DEP_CC_INDIRECT;
	f.pc = b->to;
	f.image = dep_image_of(c->walk, b->to_fragment);
	f.generation = check_generation(c, f.image, b->to_fragment, b->to);
	if (is_next) {
		/* A call of the next instruction: the function at work goes on. */
		top = l->stack->function + l->stack->n - 1;
		f.pc = c->encoder.graph.node[top->node].key;
		f.image = check_image(c, top->node);
		f.generation = c->encoder.graph.node[top->node].generation;
	}
	return check_enter(c, l->stack, &f, is_next ? NULL : b);
}

static int tail(void *arg, const struct dep_branch_at *b)
{
	struct check *c = arg;
	struct check_level *l = at_work(c);
	struct check_entered f = {
		.site = b->step->pc, .pc = b->to, .image = dep_image_of(c->walk, b->to_fragment),
		.kind = DEP_CC_TAIL,
	};

	f.generation = check_generation(c, f.image, b->to_fragment, f.pc);
	return l ? check_enter(c, l->stack, &f, b) : c->err;
}

static void returns(void *arg)
{
	struct check *c = arg;
	struct check_level *l = check_level(c);
	size_t n;

	if (!l)
		return;
	/* The last frame that remains is that of the first function. */
	n = l->first + (l->split ? l->strand->n - 1 : l->strand->n - 2);
	if (n > l->first && n < l->stack->nactivations)
		check_leave(c, l->stack, n, (u32)l->stack->nlevels - 1, true);
}

static int handler(void *arg, struct dep_strand *interrupted)
{
	struct check *c = arg;
	struct dep_strand *now = c->walk->at;
	const struct dep_node *node = c->walk->tree.node + c->walk->ctx;
	struct check_entered f = {
		.site = c->walk->signal_pc, .pc = node->pc, .image = node->image,
		.kind = DEP_CC_HANDLER,
	};
	struct check_level *l;

	c->walk->at = interrupted;
	l = at_work(c);
	c->walk->at = now;
	if (!l)
		return c->err;
	if (!check_add_level(c, l->stack, now))
		return c->err;
	f.generation = check_generation(c, f.image, -1, f.pc);
	return check_enter(c, l->stack, &f, NULL);
}

static void sigreturn(void *arg)
{
	struct check *c = arg;
	struct dep_strand *strand = c->walk->at;
	struct check_level *l = strand->hooked, *below = strand->below->hooked;
	struct check_stack *s;

	if (c->err || !l || !below || below->stack != l->stack)
		return;
	s = l->stack;
	/* Handlers that interrupted this one were left: check_level() finds that. */
	if (s->nlevels < 2 || s->level[s->nlevels - 1] != l || s->level[s->nlevels - 2] != below)
		return;
	check_cut(c, s, l->first);
	check_drop_level(s);
	if (!dep_cc_state_sigreturn(&s->encoded.state) &&
	    s->encoded.state.function == s->function[s->n - 1].node)
		return;
	check_failed(c, "the encoder returned from a handler to another function", NULL, s);
	check_forget(c, s);
}

static void *forked(void *arg)
{
	struct check *c = arg;
	struct check_level *l;

	c->compared = false;
	l = check_level(c);
	return l && check_frames(c, l) ? check_origin_new(c, l->stack) : NULL;
}

static void begins(void *arg, void *from, bool copied)
{
	struct check *c = arg;
	struct check_origin *o = from;

	check_origin_put(c, c->origin);
	/* Copied frames begin with the creator's first function. */
	c->origin = o && copied ? check_origin_get(o->parent) : o;
	if (o && copied)
		check_origin_put(c, o);
}

static void unforked(void *arg, void *from)
{
	check_origin_put(arg, from);
}

static void changed(void *arg, struct dep_strand *strand)
{
	struct check_level *l = strand->hooked;

	if (l)
		check_forget(arg, l->stack);
}

static void gone(void *arg, struct dep_strand *strand)
{
	struct check_level *l = strand->hooked;

	if (!l)
		return;
	l->strand = NULL;
	if (!--l->stack->strands)
		check_forget(arg, l->stack);
}

const struct dep_walk_hooks check_hooks = {
	.run = check_run, .call = call, .tail = tail, .returns = returns, .handler = handler,
	.sigreturn = sigreturn, .forked = forked, .begins = begins, .unforked = unforked,
	.changed = changed, .gone = gone,
};
