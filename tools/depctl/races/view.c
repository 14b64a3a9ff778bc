// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tools/depctl/depctl.h"
#include "races.h"

static int name_access(struct race_view *v, struct dep_symbols *symbols, int side)
{
	const struct dep_race_access *a = &v->race->access[side];
	struct race_stack *s = &v->stack[side], *b = &v->birth[side];
	int err;
	size_t i;

	s->n = b->n = 0;
	err = race_add_places(s, symbols, a->process, a->pc);
	for (i = 0; i < a->ncalls && !err; i++)
		err = race_add_places(s, symbols, a->process, a->call[i]);
	for (i = 0; i < a->ncreated && !err; i++)
		err = race_add_places(b, symbols, a->process, a->created[i]);
	race_find_main(s);
	race_find_main(b);
	return err ? err : race_held_name(v, symbols, side);
}

const char *race_thread_name(const struct race_view *v, uint32_t thread)
{
	const struct dep_thread *t = thread_of(v->store, thread);

	return t ? t->name : NULL;
}

const char *race_program(const struct race_view *v, uint32_t process)
{
	const struct dep_process *p = process_of(v->store, process);

	return p && p->exe ? base_name(p->exe) : NULL;
}

static uint32_t pid_of(struct dep_store *store, uint32_t process)
{
	const struct dep_process *p = process_of(store, process);

	return p ? p->pid : 0;
}

/* ---- fingerprints ---- */

static void add(XXH3_state_t *h, const char *s)
{
	XXH3_128bits_update(h, s, strlen(s) + 1);
}

/* Hash the function and its file name; without symbols, the file's build-id and the offset. */
static void add_place(XXH3_state_t *h, const struct dep_place *p)
{
	const char *base = strrchr(p->module, '/');
	char offset[32];

	if (p->function) {
		add(h, p->symbol ? p->symbol : p->function);
		add(h, base ? base + 1 : p->module);
		return;
	}
	add(h, *p->build_id ? p->build_id : p->module);
	/* Hash no offset for anonymous memory: its address differs from run to run. */
	snprintf(offset, sizeof(offset), "%llx", base ? (unsigned long long)p->offset : 0);
	add(h, offset);
}

/* Hash the kind of access and the stack up to the first function of the program. */
static XXH128_hash_t hash_side(XXH3_state_t *h, const struct race_view *v, int side)
{
	const struct race_stack *s = &v->stack[side];
	size_t i = 0;

	XXH3_128bits_reset(h);
	add(h, race_access_name(&v->race->access[side]));
	for (; i < s->n; i++) {
		add_place(h, &s->place[i]);
		if (i >= s->main && !s->place[i].inlined)
			break;
	}
	return XXH3_128bits_digest(h);
}

/* Hash the variable's name without array indices: the first racing element differs between runs. */
static void add_variable(XXH3_state_t *h, const char *name)
{
	char plain[sizeof(((struct dep_object *)0)->name)];
	size_t n = 0;
	bool index = false;

	for (; *name && n + 1 < sizeof(plain); name++) {
		if (*name == ']')
			index = false;
		if (!index || *name < '0' || *name > '9')
			plain[n++] = *name;
		if (*name == '[')
			index = true;
	}
	plain[n] = '\0';
	add(h, plain);
}

static int make_fingerprint(struct race_view *v)
{
	XXH3_state_t *h = XXH3_createState();
	XXH128_hash_t side[2], all;

	if (!h)
		return -ENOMEM;
	side[0] = hash_side(h, v, 0);
	side[1] = hash_side(h, v, 1);
	XXH3_128bits_reset(h);
	/* Sort the two hashes: the order of the accesses differs from run to run. */
	if (XXH128_cmp(&side[0], &side[1]) > 0) {
		all = side[0];
		side[0] = side[1];
		side[1] = all;
	}
	XXH3_128bits_update(h, side, sizeof(side));
	add_variable(h, v->named ? v->object.name : "");
	all = XXH3_128bits_digest(h);
	snprintf(v->fingerprint, sizeof(v->fingerprint), "%016llx%016llx",
		 (unsigned long long)all.high64, (unsigned long long)all.low64);
	XXH3_freeState(h);
	return 0;
}

int race_view_make(struct race_view *v, struct dep_store *store, struct dep_symbols *symbols,
		   const struct dep_race *r)
{
	int side, err = 0;
	size_t i;

	v->race = r;
	v->store = store;
	v->rank = race_confidence(symbols, r);
	v->named = !(r->access[0].flags & DEP_ACCESS_DESCRIPTOR) &&
		   dep_symbols_object(symbols, r->process, r->address, (uint32_t)r->size, 0,
				      &v->object);
	if (v->named && r->access[0].flags & DEP_ACCESS_OBJECT)
		race_name_whole(&v->object);
	v->main_tid[0] = pid_of(store, r->access[0].process);
	v->main_tid[1] = pid_of(store, r->access[1].process);
	for (side = 0; side < 2 && !err; side++)
		err = name_access(v, symbols, side);
	v->block.n = 0;
	for (i = 0; i < r->nallocated && !err; i++)
		err = race_add_places(&v->block, symbols, r->process, r->allocated[i]);
	race_find_main(&v->block);
	if (!err)
		err = race_witness_name(v, symbols);
	return err ? err : make_fingerprint(v);
}

void race_view_free(struct race_view *v)
{
	int side;

	for (side = 0; side < 2; side++) {
		free(v->stack[side].place);
		free(v->birth[side].place);
		race_held_free(&v->held[side]);
	}
	free(v->block.place);
	race_witness_free(v);
}
