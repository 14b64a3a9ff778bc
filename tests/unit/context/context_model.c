// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks that are kept in full. */
#include "context_model.h"

void model_init(struct model *m)
{
	*m = (struct model){ .chain.max = SIZE_MAX / 64 };
	assert_int_equal(dep_cc_encoder_init(&m->en), 0);
}

void model_free(struct model *m)
{
	u32 i;

	for (i = 0; i < MODEL_STACKS; i++)
		model_end(m, i);
	dep_cc_encoder_free(&m->en);
	dep_cc_chain_free(&m->chain);
}

u32 model_function(struct model *m, u64 f)
{
	u32 n = dep_cc_graph_node(&m->en.graph, f, 0);

	assert_int_not_equal(n, DEP_CC_NONE);
	return n;
}

static void push(struct model_stack *s, const struct model_frame *f)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->frame = reallocarray(s->frame, s->room, sizeof(*s->frame));
		assert_non_null(s->frame);
	}
	s->frame[s->n++] = *f;
}

u32 model_at_work(const struct model *m, u32 stack)
{
	const struct model_stack *s = m->stack + stack;

	return s->n ? s->frame[s->n - 1].function : DEP_CC_ROOT;
}

/* ---- comparison ---- */

static void compare(const struct dep_cc_frame *f, const struct model_frame *t)
{
	assert_int_equal(f->function, t->function);
	assert_int_equal(f->site, t->site);
	assert_int_equal(f->kind, t->kind);
}

/* @frame: innermost first */
static void compare_all(const struct dep_cc_chain *c, const struct model_frame *frame, size_t n)
{
	size_t i;

	assert_int_equal(c->n, n);
	for (i = 0; i < n; i++)
		compare(c->frame + i, frame + i);
}

static struct model_frame *inwards(const struct model_stack *s, size_t *n)
{
	struct model_frame *f = calloc(s->n + s->norigin + 1, sizeof(*f));
	size_t i;

	assert_non_null(f);
	for (i = 0; i < s->n; i++)
		f[i] = s->frame[s->n - 1 - i];
	if (s->norigin)
		memcpy(f + s->n, s->origin, s->norigin * sizeof(*f));
	*n = s->n + s->norigin;
	return f;
}

void model_record(struct model *m, u32 stack, bool compress, struct model_record *r)
{
	struct model_stack *s = m->stack + stack;

	assert_int_equal(dep_cc_state_record(&s->own.state, compress, &r->record), 0);
	r->frame = inwards(s, &r->n);
}

void model_check_record(struct model *m, const struct model_record *r)
{
	assert_int_equal(dep_cc_decode_origins(&m->en.history, &r->record, &m->chain), 0);
	compare_all(&m->chain, r->frame, r->n);
}

void model_record_free(struct model_record *r)
{
	dep_cc_record_free(&r->record);
	free(r->frame);
	*r = (struct model_record){ 0 };
}

void model_check(struct model *m, u32 stack)
{
	struct model_stack *s = m->stack + stack;
	const struct dep_cc_state *st = &s->own.state;
	struct model_record r;
	size_t i;
	int how;

	assert_int_equal(dep_cc_state_chain(st, &m->chain), 0);
	assert_int_equal(m->chain.n, s->n);
	for (i = 0; i < s->n; i++)
		compare(m->chain.frame + i, s->frame + s->n - 1 - i);
	assert_true(st->id <= 2 * st->dictionary->max_id + 1);
	assert_int_equal(st->id > st->dictionary->max_id, st->n > 0);
	for (how = 0; how < 2; how++) {
		model_record(m, stack, how, &r);
		model_check_record(m, &r);
		assert_true(!st->n || r.record.n == (how ? st->entry[st->n - 1].runs : st->n));
		model_record_free(&r);
	}
}

static void changed(struct model *m, u32 stack)
{
	assert_int_equal(m->stack[stack].own.state.function, model_at_work(m, stack));
	if (!m->quiet)
		model_check(m, stack);
}

/* ---- calls and returns ---- */

/* The slot of an activation; translation goes inwards. */
static u64 slot_of(void *arg, size_t n)
{
	struct model_stack *s = arg;
	const struct model_frame *f = s->frame;

	while (f[s->slot_frame].kind == DEP_CC_TAIL || s->slot_n > n) {
		if (f[s->slot_frame].kind != DEP_CC_TAIL)
			s->slot_n--;
		s->slot_frame++;
	}
	assert_int_equal(s->slot_n, n);
	return f[s->slot_frame].slot;
}

static void encoder_call(struct model *m, struct model_stack *s, struct model_frame *f)
{
	struct dep_cc_call c = {
		.site = f->site, .rsp = f->slot, .callee = f->function, .kind = f->kind,
	};
	int n = dep_cc_encoder_call(&m->en, &s->own, &c, &f->edge);

	assert_true(n == 0 || n == 1);
	assert_int_not_equal(f->edge, DEP_CC_NONE);
	m->due |= n;
}

void model_start(struct model *m, u32 stack, int creator, u32 function)
{
	struct model_stack *s = m->stack + stack, *c = creator < 0 ? NULL : m->stack + creator;

	model_end(m, stack);
	s->used = true;
	assert_int_equal(dep_cc_encoder_begin(&m->en, &s->own, c ? &c->own.state : NULL, slot_of,
					      s), 0);
	if (c)
		s->origin = inwards(c, &s->norigin);
	model_call(m, stack, 0, function, DEP_CC_START);
}

static u64 slot_below(const struct model_stack *s)
{
	return s->n ? s->frame[s->n - 1].slot - 8 - 8 * (rnd() % 4) : 1ull << 40;
}

void model_call(struct model *m, u32 stack, u64 site, u32 callee, enum dep_cc_kind kind)
{
	struct model_stack *s = m->stack + stack;
	struct model_frame f = {
		.site = site, .slot = slot_below(s), .function = callee, .kind = kind,
	};

	encoder_call(m, s, &f);
	push(s, &f);
	changed(m, stack);
}

void model_enter(struct model *m, u32 stack, u64 site, u32 callee)
{
	struct model_stack *s = m->stack + stack;
	struct model_frame f = {
		.site = site, .slot = slot_below(s), .function = callee, .kind = DEP_CC_CALL,
		.edge = DEP_CC_NONE,
	};

	assert_int_equal(dep_cc_state_enter(&s->own.state, site, callee, f.kind, f.slot), 0);
	push(s, &f);
	changed(m, stack);
}

void model_tail(struct model *m, u32 stack, u64 site, u32 callee)
{
	struct model_stack *s = m->stack + stack;
	struct model_frame f = {
		.site = site, .slot = s->frame[s->n - 1].slot, .function = callee,
		.kind = DEP_CC_TAIL,
	};
	size_t n;

	encoder_call(m, s, &f);
	/* A function that the tail chain has already: what came after it is erased. */
	for (n = s->n; n && s->frame[n - 1].slot == f.slot; n--)
		if (s->frame[n - 1].function == callee)
			break;
	if (n && s->frame[n - 1].slot == f.slot)
		s->n = n;
	else
		push(s, &f);
	changed(m, stack);
}

void model_handler(struct model *m, u32 stack, u64 pc, u32 handler, u64 slot)
{
	struct model_stack *s = m->stack + stack;
	struct model_frame f = {
		.site = pc, .slot = slot ? slot : slot_below(s), .function = handler,
		.kind = DEP_CC_HANDLER, .edge = DEP_CC_NONE,
	};

	assert_int_equal(dep_cc_state_handler(&s->own.state, pc, handler), 0);
	push(s, &f);
	changed(m, stack);
}

/* The frame of the activation at work that was called, not tail-called. */
static size_t called(const struct model_stack *s, size_t n)
{
	while (s->frame[n - 1].kind == DEP_CC_TAIL)
		n--;
	return n - 1;
}

void model_return(struct model *m, u32 stack)
{
	struct model_stack *s = m->stack + stack;
	size_t n = called(s, s->n);
	struct model_frame *f = s->frame + n;
	int err;

	if (f->kind == DEP_CC_HANDLER)
		err = dep_cc_state_sigreturn(&s->own.state);
	else
		err = dep_cc_state_return(&s->own.state, &m->en.graph, f->edge, f->slot);
	assert_int_equal(err, 0);
	s->n = n;
	changed(m, stack);
}

void model_unwind(struct model *m, u32 stack, size_t n)
{
	struct model_stack *s = m->stack + stack;
	struct model_frame *f = s->frame + n;
	u32 handlers = 0;
	size_t i;

	assert_true(n + 1 == s->n || f[1].kind != DEP_CC_TAIL);
	for (i = 0; i <= n; i++)
		handlers += s->frame[i].kind == DEP_CC_HANDLER;
	assert_int_equal(dep_cc_state_unwind(&s->own.state, f->function, f->slot - rnd() % 8,
					     handlers), 0);
	s->n = n + 1;
	changed(m, stack);
}

void model_fork(struct model *m, u32 to, u32 from)
{
	struct model_stack *t = m->stack + to, *f = m->stack + from;
	size_t i;

	model_end(m, to);
	t->used = true;
	assert_int_equal(dep_cc_encoder_fork(&m->en, &t->own, &f->own.state, slot_of, t), 0);
	for (i = 0; i < f->n; i++)
		push(t, f->frame + i);
	t->norigin = f->norigin;
	t->origin = calloc(f->norigin + 1, sizeof(*t->origin));
	assert_non_null(t->origin);
	if (f->norigin)
		memcpy(t->origin, f->origin, f->norigin * sizeof(*t->origin));
	changed(m, to);
}

void model_end(struct model *m, u32 stack)
{
	struct model_stack *s = m->stack + stack;

	if (!s->used)
		return;
	dep_cc_encoder_end(&s->own);
	free(s->frame);
	free(s->origin);
	*s = (struct model_stack){ 0 };
}

/* ---- encodings ---- */

void model_check_dictionary(const struct dep_cc_dictionary *d)
{
	u64 sum, most = 0;
	u32 n, i;

	for (n = 0; n < d->nnodes; n++) {
		sum = 0;
		for (i = d->first[n]; i < d->first[n + 1]; i++) {
			assert_int_equal(d->in[i].add, sum);
			sum += d->contexts[d->in[i].caller];
			assert_true(sum >= d->contexts[d->in[i].caller]);
		}
		assert_int_equal(d->contexts[n], sum ? sum : 1);
		if (d->contexts[n] - 1 > most)
			most = d->contexts[n] - 1;
	}
	assert_int_equal(d->max_id, most);
	assert_true(most < 1ull << 63);
}

void model_encode(struct model *m)
{
	struct model_stack *s;
	size_t k;
	u32 i;

	for (i = 0; i < MODEL_STACKS; i++) {
		s = m->stack + i;
		s->slot_frame = s->slot_n = 0;
		for (k = 1; k < s->n; k++)
			s->slot_n += s->frame[k].kind != DEP_CC_TAIL;
	}
	assert_int_equal(dep_cc_encoder_encode(&m->en), 0);
	m->due = false;
	for (i = 0; i < MODEL_STACKS; i++)
		if (m->stack[i].used)
			changed(m, i);
	if (!m->quiet)
		model_check_dictionary(m->en.encoding.dictionary);
}
