// SPDX-License-Identifier: LGPL-2.1-or-later
/* The plain stack, and the encoder's stack next to it. */
#include "libdep/context/array.h"
#include "libdep/format/file/error.h"
#include "check.h"

/* See dep_cc_slot_fn. */
static u64 slot(void *arg, size_t n)
{
	const struct check_stack *s = arg;

	return n < s->nactivations ? check_slot(s->nactivations - 1 - n) : 0;
}

static int fail(struct check *c, int err, const char *what)
{
	if (!c->err)
		c->err = dep_fail(err, what);
	return c->err;
}

/* ---- the plain stack ---- */

/* A tail call: a function that the chain has already is the last one again. */
static bool cut_loop(struct check *c, struct check_stack *s, u32 node)
{
	size_t i;

	for (i = s->activation[s->nactivations - 1].first; i < s->n; i++) {
		if (s->function[i].node != node)
			continue;
		c->functions -= s->n - (i + 1);
		s->n = i + 1;
		return true;
	}
	return false;
}

static int push(struct check *c, struct check_stack *s, const struct check_function *f, u32 edge)
{
	struct check_function *to;

	if (f->kind == DEP_CC_TAIL && cut_loop(c, s, f->node))
		return 0;
	if (c->functions >= 2 * c->walk->max_frames + 1024 || s->n >= UINT32_MAX)
		return fail(c, -E2BIG, "the functions at work do not fit the memory allowed");
	/* There is room for as many activations: hot.c asks for functions only. */
	if (dep_cc_room_for(&s->function, s->n, &s->room, sizeof(*f)) ||
	    dep_cc_room_for(&s->activation, s->n, &s->activations_room, sizeof(*s->activation)))
		return fail(c, -ENOMEM, "contexts");
	if (f->kind != DEP_CC_TAIL)
		s->activation[s->nactivations++] = (struct check_activation){ (u32)s->n, edge };
	to = s->function + s->n++;
	/* Not as a whole: see dep_walk.insns. */
	to->site = f->site;
	to->node = f->node;
	to->kind = f->kind;
	c->functions++;
	return 0;
}

void check_cut(struct check *c, struct check_stack *s, size_t n)
{
	if (n >= s->nactivations)
		return;
	c->functions -= s->n - s->activation[n].first;
	s->n = s->activation[n].first;
	s->nactivations = n;
}

/* ---- levels ---- */

struct check_level *check_add_level(struct check *c, struct check_stack *s,
				    struct dep_strand *strand)
{
	struct check_level *l = calloc(1, sizeof(*l));

	if (!l || dep_cc_room_for(&s->level, s->nlevels, &s->levels_room, sizeof(*s->level))) {
		free(l);
		fail(c, -ENOMEM, "contexts");
		return NULL;
	}
	*l = (struct check_level){
		.stack = s, .strand = strand, .first = s->nactivations, .split = strand->n < 2,
	};
	s->level[s->nlevels++] = l;
	s->strands++;
	strand->hooked = l;
	return l;
}

void check_drop_level(struct check_stack *s)
{
	struct check_level *l = s->level[--s->nlevels];

	if (l->strand) {
		l->strand->hooked = NULL;
		s->strands--;
	}
	free(l);
}

void check_forget(struct check *c, struct check_stack *s)
{
	while (s->nlevels)
		check_drop_level(s);
	check_cut(c, s, 0);
	dep_cc_encoder_end(&s->encoded);
	check_origin_put(c, s->origin);
	free(s->function);
	free(s->activation);
	free(s->level);
	free(s);
}

/* ---- calls and returns ---- */

int check_encode(struct check *c)
{
	int err = dep_cc_encoder_encode(&c->encoder);

	if (err == -ENOMEM)
		return fail(c, err, "contexts");
	if (err)
		return fail(c, err, "a context could not be translated to a new encoding");
	check_calls_forget(c);
	check_encoded(c);
	return c->err;
}

/* Remember the edge of a call from @caller.  Others can be in its place. */
static void remember(struct check *c, struct check_call *k, const struct dep_branch_at *b,
		     u32 caller, u32 edge)
{
	struct dep_cc_code code = dep_cc_code_of(&c->encoder.encoding, edge);
	struct dep_cc_edge *e = c->encoder.graph.edge;

	e[k->edge].calls += k->calls;
	e += edge;
	*k = (struct check_call){
		.step = b->step_number, .fragment = (u32)b->to_fragment, .caller = caller,
		.add = code.add, .site = e->site, .edge = edge, .node = e->callee, .kind = e->kind,
		.how = code.how, .known = true, .saves = code.saves,
	};
}

static u32 find_node(struct check *c, const struct check_entered *f)
{
	u32 before = c->encoder.graph.nnodes;
	u32 node = dep_cc_graph_node(&c->encoder.graph, f->pc, f->generation);

	if (node != DEP_CC_NONE && check_code_called(c, node, node == before))
		return DEP_CC_NONE;
	return node;
}

/* The encoder's part of a call; 0, 1: a new encoding must be made, or an error. */
static int encode_call(struct check *c, struct check_stack *s, const struct check_entered *f,
		       const struct dep_branch_at *b, u32 *node, u32 *edge)
{
	size_t n = f->kind == DEP_CC_TAIL ? s->nactivations - 1 : s->nactivations;
	struct dep_cc_call call = { .site = f->site, .rsp = check_slot(n), .kind = f->kind };
	u32 from = s->encoded.state.function, caller = check_caller(c, from);
	struct check_call *k = NULL;
	int ret;

	*edge = DEP_CC_NONE;
	if (b && b->to_fragment >= 0)
		k = check_call_at(c, b->step_number, (u32)b->to_fragment, caller);
	if (k && check_is_call(k, b->step_number, (u32)b->to_fragment, caller)) {
		call.known = 1 + k->edge;
		call.callee = k->node;
	} else {
		call.callee = find_node(c, f);
	}
	*node = call.callee;
	if (*node == DEP_CC_NONE)
		return c->encoder.graph.nnodes < c->encoder.graph.max ? -ENOMEM : -E2BIG;
	if (f->kind == DEP_CC_HANDLER)
		return dep_cc_state_handler(&s->encoded.state, f->site, *node);
	ret = dep_cc_encoder_call(&c->encoder, &s->encoded, &call, edge);
	/* The epoch can have changed when the function was looked up. */
	if (k && ret >= 0 && !call.known && *edge != DEP_CC_NONE) {
		caller = check_caller(c, from);
		remember(c, check_call_at(c, b->step_number, (u32)b->to_fragment, caller), b,
			 caller, *edge);
	}
	return ret;
}

int check_enter(struct check *c, struct check_stack *s, const struct check_entered *f,
		const struct dep_branch_at *b)
{
	struct check_function to = { .site = f->site, .kind = f->kind };
	u32 edge;
	int ret;

	ret = encode_call(c, s, f, b, &to.node, &edge);
	if (ret == -ENOMEM)
		return fail(c, ret, "contexts");
	if (ret == -E2BIG)
		return fail(c, ret, "the functions or contexts do not fit the memory allowed");
	if (ret < 0) {
		check_failed(c, "the encoder refused a call", NULL, s);
		check_forget(c, s);
		return 0;
	}
	c->out->calls++;
	if (push(c, s, &to, edge) || (ret == 1 && check_encode(c)))
		return c->err;
	if (check_is_due(c)) {
		check_next(c, s);
		check_context(c, s);
	}
	return c->err;
}

void check_leave(struct check *c, struct check_stack *s, size_t n, u32 handlers, bool returns)
{
	struct dep_cc_state *st = &s->encoded.state;
	u32 edge = s->activation[n].edge;
	int err;

	check_cut(c, s, n);
	if (returns)
		err = dep_cc_state_return(st, &c->encoder.graph, edge, check_slot(n));
	else
		err = dep_cc_state_unwind(st, s->function[s->n - 1].node, check_slot(n - 1),
					  handlers);
	if (!err && st->function == s->function[s->n - 1].node)
		return;
	check_failed(c, returns ? "the encoder returned to another function" :
				  "the encoder did not find the function that goes on", NULL, s);
	check_forget(c, s);
}

/* ---- stacks that begin, with frames that the walk has already ---- */

#define TAILS_MAX	64u

/* The functions of a frame with context @ctx, called by one with context @before. */
static int adopt_frame(struct check *c, struct check_stack *s, const struct dep_activation *f,
		       u32 before, bool first)
{
	const struct dep_node *node = c->walk->tree.node;
	u32 tail[TAILS_MAX] = { 0 }, n = 0, at = f->ctx;
	struct check_entered to = { .kind = first ? DEP_CC_START : DEP_CC_CALL };

	while ((first || at != before) && node[at].kind == DEP_CONTEXT_TAIL && n < TAILS_MAX) {
		tail[n++] = at;
		at = node[at].parent;
	}
	to.pc = node[at].pc;
	to.image = node[at].image;
	to.generation = check_generation(c, to.image, -1, to.pc);
	to.site = !first && (f->ctx == before || !node[at].site) ? f->ret : node[at].site;
	while (!check_enter(c, s, &to, NULL) && n) {
		n--;
		to = (struct check_entered){
			.site = node[tail[n]].site, .pc = node[tail[n]].pc,
			.image = node[tail[n]].image, .kind = DEP_CC_TAIL,
		};
		to.generation = check_generation(c, to.image, -1, to.pc);
		if (!c->walk->at->hooked)
			return 0;
	}
	return c->err;
}

/* The context by which the stack's first function was entered. */
static const struct dep_node *entered_by(const struct check *c, const struct dep_strand *strand)
{
	const struct dep_node *node = c->walk->tree.node;
	u32 at = strand->frame[strand->n > 1].ctx;

	while (node[at].kind == DEP_CONTEXT_TAIL)
		at = node[at].parent;
	return node + at;
}

/* A stack with the first function of a thread or process goes on from its creator. */
static void find_origin(struct check *c, struct check_stack *s, const struct dep_strand *strand)
{
	const struct dep_node *first = entered_by(c, strand);

	/* It was entered before the recording began, or where a part is missing. */
	c->out->unknown_callers += first->incomplete;
	if (first->kind != DEP_CONTEXT_THREAD || !c->origin)
		return;
	c->out->created++;
	s->origin = check_origin_get(c->origin);
	s->encoded.state.origin = dep_cc_origin_get(c->origin->record);
}

static struct check_level *adopt(struct check *c, struct dep_strand *strand)
{
	struct check_stack *s = calloc(1, sizeof(*s));
	u32 before = 0;
	size_t i;

	c->encoder.graph.max = c->walk->max_frames < DEP_CC_MAX ? (u32)c->walk->max_frames + 64 :
								  DEP_CC_MAX;
	if (!s || dep_cc_encoder_begin(&c->encoder, &s->encoded, NULL, slot, s)) {
		free(s);
		fail(c, -ENOMEM, "contexts");
		return NULL;
	}
	c->out->stacks++;
	find_origin(c, s, strand);
	if (!check_add_level(c, s, strand)) {
		check_forget(c, s);
		return NULL;
	}
	for (i = strand->n > 1; i < strand->n && !c->err && strand->hooked; i++) {
		adopt_frame(c, s, strand->frame + i, before, !s->n);
		before = strand->frame[i].ctx;
	}
	return c->err ? NULL : strand->hooked;
}

/* Number of the level's activations that are still at work. */
static size_t at_work(struct check_level *l)
{
	l->split |= l->strand->n < 2;
	return l->split ? l->strand->n : l->strand->n - 1;
}

struct check_level *check_find_level(struct check *c)
{
	struct dep_strand *strand = c->walk->at;
	struct check_level *l = strand->hooked;
	struct check_stack *s;
	size_t n;

	if (c->err)
		return NULL;
	if (!l) {
		/* Calls that were made before are those of this thread from here on. */
		check_code_now(c);
		return adopt(c, strand);
	}
	s = l->stack;
	n = l->first + at_work(l);
	if (n > s->nactivations) {
		/* Frames that were reported to no hook. */
		check_failed(c, "frames are missing", NULL, s);
		check_forget(c, s);
		return NULL;
	}
	while (s->level[s->nlevels - 1] != l)
		check_drop_level(s);
	if (n < s->nactivations)
		check_leave(c, s, n, (u32)s->nlevels - 1, false);
	return strand->hooked;
}
