// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "events.h"

/* Of the filters, which any worker asks. */
static u8 code(void *arg, u32 process, u64 pc)
{
	return order_ask_code(arg, process, pc);
}

struct order_scope *order_scope_of(struct order_feed *f, u32 process)
{
	struct order_scope *s = order_serials_find(&f->scope_by, process);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s || order_serials_add(&f->scope_by, process, s)) {
		free(s);
		return NULL;
	}
	dep_places_init(&s->locked);
	dep_places_init(&s->spun);
	dep_places_init(&s->raced);
	dep_places_init(&s->wanted);
	s->seen = (struct dep_scope){
		.process = process, .code = code, .arg = f, .locked = &s->locked, .spun = &s->spun,
		.counters = &s->counters,
		/* What is told at once is told as it was. */
		.singly = f->options->found,
	};
	s->next = f->scopes;
	return f->scopes = s;
}

const struct dep_scope *order_scope_seen(struct order_feed *f, u32 process)
{
	struct order_scope *s;

	if (f->shares && f->pass != ORDER_FIRST && order_shares_has(f->shares, process))
		return NULL;
	s = order_scope_of(f, process);
	return s ? &s->seen : NULL;
}

/* Also words of locks that others than locked instructions change. */
int order_scope_learn(struct order_process *p)
{
	const struct order_object *o;
	int err = 0;
	u32 i;

	for (i = 0; i < p->objects.nbuckets; i++)
		for (o = p->objects.bucket[i]; o && !err; o = o->next)
			if (o->kind == ORDER_WORD)
				err = dep_places_add(&p->scope->locked, o->id * 4, 4);
	return err;
}

int order_scopes_learn(struct order_feed *f)
{
	struct order_process *p;
	int err = 0;

	for (p = f->processes; p && !err; p = p->next)
		err = order_scope_learn(p);
	return err;
}

static int want(void *arg, u64 address, u64 size)
{
	return dep_places_add(arg, address, size);
}

static int want_known(const struct order_feed *f, struct order_scope *s)
{
	int err = 0;
	size_t i;

	for (i = 0; i < f->words->n && !err; i++)
		if (f->words->v[i].process == s->seen.process)
			err = dep_places_add(&s->wanted, f->words->v[i].word * 4, 4);
	return err;
}

int order_scopes_want(struct order_feed *f)
{
	struct order_scope *s;
	int err = 0, none = 1;

	for (s = f->scopes; s && !err; s = s->next) {
		err = dep_places_each(&s->raced, want, &s->wanted);
		if (!err)
			err = dep_places_each(&s->locked, want, &s->wanted);
		if (!err)
			err = want_known(f, s);
		s->seen.wanted = &s->wanted;
		/* Of those that share memory everything is looked at. */
		none &= !s->raced.words && !(f->shares && f->shares->nimages);
		if (s->raced.lost || s->locked.lost || s->spun.lost)
			err = order_no_memory();
	}
	return err ? err : none;
}

void order_scopes_free(struct order_feed *f)
{
	struct order_scope *s;

	order_serials_free(&f->scope_by);
	while ((s = f->scopes)) {
		f->scopes = s->next;
		dep_places_free(&s->locked);
		dep_places_free(&s->spun);
		dep_places_free(&s->raced);
		dep_places_free(&s->wanted);
		free(s);
	}
}
