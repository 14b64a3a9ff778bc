// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tools/depctl/depctl.h"
#include "races.h"

/* ---- names ---- */

int race_add_places(struct race_stack *s, struct dep_symbols *symbols, uint32_t process,
		    uint64_t pc)
{
	size_t n, room = s->room ? s->room * 2 : 2 * DEP_PLACES;
	void *more;

	if (s->n + DEP_PLACES > s->room) {
		more = realloc(s->place, room * sizeof(*s->place));
		if (!more)
			return -ENOMEM;
		s->place = more;
		s->room = room;
	}
	n = dep_symbols_frames(symbols, process, pc, 0, s->place + s->n, DEP_PLACES);
	s->n += n < DEP_PLACES ? n : DEP_PLACES;
	return 0;
}

static bool is_own(const struct dep_place *p)
{
	return p->file && strncmp(p->file, "/usr/", 5) && !race_in_system(p->module);
}

void race_find_main(struct race_stack *s)
{
	for (s->main = 0; s->main < s->n; s->main++)
		if (!race_in_system(s->place[s->main].module))
			break;
	if (s->main == s->n)
		s->main = 0;
	for (s->own = s->main; s->own < s->n; s->own++)
		if (is_own(&s->place[s->own]))
			return;
	s->own = s->main;
}

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

const char *race_access_name(const struct dep_race_access *a)
{
	static const char *const names[3][3] = {
		{ "read", "write", "read-modify-write" },
		{ "atomic read", "atomic write", "atomic read-modify-write" },
		{ "system call's read", "system call's write", "system call's read-modify-write" },
	};
	unsigned int how = a->flags & DEP_ACCESS_ATOMIC ? 1 : a->flags & DEP_ACCESS_SYSCALL ? 2 : 0;

	if (a->flags & DEP_ACCESS_FREE)
		return a->flags & DEP_ACCESS_SYSCALL ? "unmapping" : "free";
	if (a->flags & DEP_ACCESS_OBJECT)
		return a->flags & DEP_ACCESS_WRITE ? "making or destruction" : "use";
	if (a->flags & DEP_ACCESS_DESCRIPTOR)
		return a->flags & DEP_ACCESS_WRITE ? "close" : "use";
	if (!(a->flags & DEP_ACCESS_WRITE))
		return names[how][0];
	return names[how][a->flags & DEP_ACCESS_READ ? 2 : 1];
}

const char *race_thread_name(const struct race_view *v, uint32_t thread)
{
	const struct dep_thread *t = thread_of(v->store, thread);

	return t ? t->name : NULL;
}

const char *race_program(const struct race_view *v, uint32_t process)
{
	const struct dep_process *p = process_of(v->store, process);
	const char *slash = p && p->exe ? strrchr(p->exe, '/') : NULL;

	return slash ? slash + 1 : p ? p->exe : NULL;
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

/* Without symbols there is the file, whose build-id says which one, and the offset in it. */
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
	/* Memory of no file is elsewhere each time. */
	snprintf(offset, sizeof(offset), "%llx", base ? (unsigned long long)p->offset : 0);
	add(h, offset);
}

/* The functions that it was inlined into, up to the first one that is the program's. */
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

/* Which element of an array it was first is a matter of chance. */
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
	/* Which access came first is a matter of chance, too. */
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

/* Of an object all is meant, and what its first byte is called tells nothing. */
void race_name_whole(struct dep_object *o)
{
	char *member = strstr(o->name, ".__");

	if (member)
		*member = '\0';
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
