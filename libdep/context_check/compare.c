// SPDX-License-Identifier: LGPL-2.1-or-later
/* Compare decoded contexts with plain stacks, and these with the frames of the walk. */
#include "check.h"

/* ---- mismatches ---- */

static const u8 kinds[DEP_CC_KINDS] = {
	[DEP_CC_CALL] = DEP_CONTEXT_CALL, [DEP_CC_INDIRECT] = DEP_CONTEXT_CALL,
	[DEP_CC_TAIL] = DEP_CONTEXT_TAIL, [DEP_CC_START] = DEP_CONTEXT_START,
	[DEP_CC_HANDLER] = DEP_CONTEXT_SIGNAL,
};

static struct dep_call_frame *frames_of_chain(const struct dep_cc_graph *g,
					      const struct dep_cc_chain *chain)
{
	struct dep_call_frame *to = calloc(chain->n + 1, sizeof(*to));
	const struct dep_cc_frame *f = chain->frame;
	size_t i;

	for (i = 0; to && i < chain->n; i++)
		to[i] = (struct dep_call_frame){
			.site = f[i].site, .kind = kinds[f[i].kind],
			.pc = f[i].function < g->nnodes ? g->node[f[i].function].key : 0,
		};
	return to;
}

static struct dep_call_frame *frames_of_stack(const struct dep_cc_graph *g,
					      const struct check_stack *s)
{
	struct dep_call_frame *to = calloc(s->n + 1, sizeof(*to));
	const struct check_function *f;
	size_t i;

	for (i = 0; to && i < s->n; i++) {
		f = s->function + s->n - 1 - i;
		to[i] = (struct dep_call_frame){
			.site = f->site, .pc = g->node[f->node].key, .kind = kinds[f->kind],
		};
	}
	return to;
}

void check_failed(struct check *c, const char *why, const struct dep_cc_chain *decoded,
		  const struct check_stack *s)
{
	struct dep_context_mismatch m = {
		.why = why, .call = c->out->calls, .tid = c->walk->thread->tid,
	};
	struct dep_call_frame *is = NULL, *should;

	if (c->out->mismatches++ >= CHECK_SHOWN || !c->options->mismatch)
		return;
	if (decoded)
		is = frames_of_chain(&c->encoder.graph, decoded);
	should = frames_of_stack(&c->encoder.graph, s);
	m.decoded.frame = is;
	m.decoded.n = is ? decoded->n : 0;
	m.stack.frame = should;
	m.stack.n = should ? s->n : 0;
	m.decoded.found = is;
	m.stack.found = should;
	c->options->mismatch(c->options->arg, &m);
	free(is);
	free(should);
}

/* ---- decoded contexts ---- */

const char *check_same_function(const struct dep_cc_frame *f, const struct check_function *is)
{
	if (f->function != is->node)
		return "the decoded context has another function";
	if (f->kind != is->kind)
		return "the decoded context has another kind of call";
	return f->site == is->site ? NULL : "the decoded context has another call site";
}

const char *check_same(const struct dep_cc_chain *chain, const struct check_stack *s)
{
	const char *why;
	size_t i;

	for (i = 0; i < chain->n && i < s->n; i++) {
		why = check_same_function(chain->frame + i, s->function + s->n - 1 - i);
		if (why)
			return why;
	}
	return chain->n == s->n ? NULL : "the decoded context has another number of functions";
}

/* Unless each call is to be checked, the checks of deep stacks must not take most of the time. */
void check_next(struct check *c, const struct check_stack *s)
{
	u64 every = c->options->every, least = s->n / 4;

	if (!c->out->compared && !c->compared && !c->walk->tree.not_counted)
		every = 1;
	else if (every > 1 && least > every)
		every = least;
	c->next = c->out->calls + every;
}

void check_context(struct check *c, struct check_stack *s)
{
	const struct dep_cc_dictionary *d = s->encoded.state.dictionary;
	struct dep_cc_record r;
	const char *why;
	int err;

	if (dep_cc_state_record(&s->encoded.state, true, &r)) {
		c->err = -ENOMEM;
		return;
	}
	err = dep_cc_decode(d, &r, &c->chain);
	if (err == -ENOMEM) {
		c->err = err;
	} else {
		c->out->checked++;
		c->out->compared += c->compared;
		c->out->not_compared += !c->compared;
		why = err ? "the context cannot be decoded" :
			    check_same(&c->chain, s);
		if (!why) {
			check_keep(c, &r, &c->chain);
			why = check_origin_same(c, s);
			if (why) {
				check_failed(c, why, NULL, s);
				check_forget(c, s);
				/* One error is one mismatch. */
				check_origin_put(c, c->origin);
				c->origin = NULL;
			}
			return;
		}
		check_failed(c, why, &c->chain, s);
		check_forget(c, s);
	}
	dep_cc_record_free(&r);
}

/* ---- frames of the walk ---- */

/* The frame's context is that of the activation's last function; @before: of the frame below. */
static bool is_frame(const struct check *c, const struct check_stack *s, size_t activation,
		     const struct dep_activation *frame, u32 before)
{
	const struct dep_node *node = c->walk->tree.node;
	const struct dep_cc_node *graph = c->encoder.graph.node;
	size_t end = activation + 1 < s->nactivations ? s->activation[activation + 1].first : s->n;
	const struct check_function *last = s->function + end - 1;
	const struct check_function *first = s->function + s->activation[activation].first;
	u32 at = frame->ctx;

	if (node[at].pc != graph[last->node].key || node[at].image != check_image(c, last->node))
		return false;
	/* The call of the next instruction has no context of its own. */
	if (at == before)
		return true;
	while (node[at].kind == DEP_CONTEXT_TAIL)
		at = node[at].parent;
	return at == before || !node[at].site || node[at].site == first->site;
}

bool check_frames(struct check *c, struct check_level *l)
{
	const struct dep_strand *strand = l->strand;
	struct check_stack *s = l->stack;
	size_t i, at = l->first;
	u32 before = 0;

	/* Contexts that did not fit have the number of their parents. */
	if (c->walk->tree.not_counted)
		return true;
	for (i = 1; i < strand->n; i++) {
		if (!is_frame(c, s, at + i - !l->split, strand->frame + i, before))
			break;
		before = strand->frame[i].ctx;
	}
	if (i >= strand->n) {
		c->compared = true;
		return true;
	}
	check_failed(c, "the calls do not lead to the frames", NULL, s);
	check_forget(c, s);
	return false;
}
