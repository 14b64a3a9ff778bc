// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "sync.h"

/* Callback dep_process_filter.code(): any loader thread calls it. */
static u8 code(void *arg, u32 process, u64 pc)
{
	return sync_ask_code(arg, process, pc);
}

struct sync_facts *sync_facts_of(struct sync_events *f, u32 process)
{
	struct sync_facts *s = sync_serials_find(&f->scope_by, process);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s || sync_serials_add(&f->scope_by, process, s)) {
		free(s);
		return NULL;
	}
	dep_word_set_init(&s->locked);
	dep_word_set_init(&s->spin_words);
	dep_word_set_init(&s->raced);
	dep_word_set_init(&s->wanted);
	s->seen = (struct dep_process_filter){
		.process = process,
		.code = code,
		.arg = f,
		.locked = &s->locked,
		.spin_words = &s->spin_words,
		.counters = &s->counters,
		/* Do not merge accesses in live analysis: it reports their code locations. */
		.singly = f->options->found,
	};
	s->next = f->scopes;
	return f->scopes = s;
}

const struct dep_process_filter *sync_facts_note(struct sync_events *f, u32 process)
{
	struct sync_facts *s;

	if (f->shares && f->pass != SYNC_FIRST && sync_shared_maps_has(f->shares, process))
		return NULL;
	s = sync_facts_of(f, process);
	return s ? &s->seen : NULL;
}

/* This includes words that order threads without locked instructions: of futexes, thread ends. */
int sync_facts_learn_process(struct sync_process *p)
{
	const struct sync_object *o;
	int err = 0;
	u32 i;

	for (i = 0; i < p->objects.nbuckets; i++)
		for (o = p->objects.bucket[i]; o && !err; o = o->next)
			if (o->kind == SYNC_WORD)
				err = dep_word_set_add(&p->scope->locked, o->id * 4, 4);
	return err;
}

int sync_facts_learn(struct sync_events *f)
{
	struct sync_process *p;
	int err = 0;

	for (p = f->processes; p && !err; p = p->next)
		err = sync_facts_learn_process(p);
	return err;
}

static int want(void *arg, u64 address, u64 size)
{
	return dep_word_set_add(arg, address, size);
}

static int want_known(const struct sync_events *f, struct sync_facts *s)
{
	int err = 0;
	size_t i;

	for (i = 0; i < f->words->n && !err; i++)
		if (f->words->v[i].process == s->seen.process)
			err = dep_word_set_add(&s->wanted, f->words->v[i].word * 4, 4);
	return err;
}

int sync_facts_want(struct sync_events *f)
{
	struct sync_facts *s;
	int err = 0, none = 1;

	for (s = f->scopes; s && !err; s = s->next) {
		err = dep_word_set_each(&s->raced, want, &s->wanted);
		if (!err)
			err = dep_word_set_each(&s->locked, want, &s->wanted);
		if (!err)
			err = want_known(f, s);
		s->seen.wanted = &s->wanted;
		/* In a group of processes that share memory, any word may race. */
		none &= !s->raced.words && !(f->shares && f->shares->nimages);
		if (s->raced.lost || s->locked.lost || s->spin_words.lost)
			err = sync_no_memory();
	}
	return err ? err : none;
}

void sync_facts_free(struct sync_events *f)
{
	struct sync_facts *s;

	sync_serials_free(&f->scope_by);
	while ((s = f->scopes)) {
		f->scopes = s->next;
		dep_word_set_free(&s->locked);
		dep_word_set_free(&s->spin_words);
		dep_word_set_free(&s->raced);
		dep_word_set_free(&s->wanted);
		free(s);
	}
}
