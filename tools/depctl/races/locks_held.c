// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and output of the locks that the two threads of a race held. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "races.h"

int race_name_lock(struct race_lock *l, struct dep_symbols *symbols, uint32_t process,
		   uint64_t address, const uint64_t *call, size_t n)
{
	int err = 0;

	l->stack.n = 0;
	/* Use the lock's name without its first member, which is internal to the C library. */
	l->named = dep_symbols_object(symbols, process, address, 0, 0, &l->object);
	if (l->named)
		race_name_whole(&l->object);
	for (; n && !err; n--)
		err = race_add_places(&l->stack, symbols, process, *call++);
	race_find_main(&l->stack);
	return err;
}

int race_held_name(struct race_view *v, struct dep_symbols *symbols, int side)
{
	const struct dep_race_access *a = &v->race->access[side];
	struct race_held *h = &v->held[side];
	const struct dep_held_lock *l = a->held;
	size_t i, n = a->nheld + 1;
	void *more;
	int err = 0;

	if (n > h->room) {
		more = realloc(h->lock, n * sizeof(*h->lock));
		if (!more)
			return -ENOMEM;
		h->lock = more;
		memset(h->lock + h->room, 0, (n - h->room) * sizeof(*h->lock));
		h->room = n;
	}
	for (i = 0; i < a->nheld && !err; i++, l++)
		err = race_name_lock(&h->lock[i], symbols, a->process, l->address, l->call,
				     l->ncalls);
	/* Append the word at own_address, which may be a lock that the program implements. */
	if (!err && a->own_pc)
		err = race_name_lock(&h->lock[i], symbols, a->process, a->own_address,
				     &a->own_pc, 1);
	return err;
}

void race_held_free(struct race_held *h)
{
	size_t i;

	for (i = 0; i < h->room; i++)
		free(h->lock[i].stack.place);
	free(h->lock);
}

static const char *kind_name(const struct dep_held_lock *l)
{
	return l->kind == DEP_LOCK_MUTEX ? "mutex" :
	       l->kind == DEP_LOCK_SPIN ? "spin lock" : "read-write lock";
}

static const char *unknown(const struct dep_race_access *a)
{
	return a->held_missing & DEP_LOCK_UNSEEN ? "calls of lock functions were not recorded" :
	       a->held_missing & DEP_LOCK_LOST ? "part of the thread's recording is missing" : NULL;
}

/* ---- text ---- */

void race_text_lock(struct out *o, const struct race_lock *l, uint64_t address)
{
	if (!l->named) {
		out_printf(o, "0x%llx", (unsigned long long)address);
		return;
	}
	out_plain(o, l->object.name);
	if (l->object.file) {
		out_text(o, " (");
		out_plain(o, l->object.file);
		out_printf(o, ":%u)", l->object.line);
	}
	out_printf(o, " at 0x%llx", (unsigned long long)address);
}

static void text_lock(struct out *o, const struct dep_held_lock *l, const struct race_lock *name)
{
	out_printf(o, "    holding %s ", kind_name(l));
	race_text_lock(o, name, l->address);
	if (l->block_size)
		out_printf(o, ", byte %llu of a block of %llu",
			   (unsigned long long)(l->address - l->block),
			   (unsigned long long)l->block_size);
	out_printf(o, "%s, locked in ", l->reading ? ", for reading" : "");
	if (name->stack.n)
		race_text_place(o, &name->stack.place[name->stack.own]);
	else
		out_text(o, "??");
	out_text(o, "\n");
}

void race_text_held(struct out *o, const struct race_view *v, int side)
{
	const struct dep_race_access *a = &v->race->access[side];
	const struct race_lock *name = v->held[side].lock;
	const char *why = unknown(a);
	size_t i;

	for (i = 0; i < a->nheld; i++)
		text_lock(o, &a->held[i], &name[i]);
	if (why)
		out_printf(o, "    %slocks held are not known: %s\n",
			   a->nheld ? "other " : "", why);
	else if (!a->nheld)
		out_text(o, "    holding no lock of pthreads\n");
	if (a->nheld || !a->own_pc)
		return;
	out_text(o, "    its last locked instruction, maybe in the program's own lock, accessed ");
	race_text_lock(o, &name[a->nheld], a->own_address);
	out_text(o, " in ");
	race_text_place(o, &name[a->nheld].stack.place[name[a->nheld].stack.own]);
	out_text(o, "\n");
}

/* ---- JSON ---- */

void race_json_held(struct json *j, const struct race_view *v, int side)
{
	const struct dep_race_access *a = &v->race->access[side];
	const struct race_lock *name = v->held[side].lock;
	size_t i;

	json_array(j, "locks");
	for (i = 0; i < a->nheld; i++, name++) {
		const struct dep_held_lock *l = &a->held[i];

		json_object(j, NULL);
		json_str(j, "kind", kind_name(l));
		json_bool(j, "shared", l->reading);
		json_hex(j, "address", l->address);
		json_str(j, "variable", name->named ? name->object.name : "");
		if (l->block_size) {
			json_object(j, "block");
			json_hex(j, "address", l->block);
			json_u64(j, "size", l->block_size);
			json_close(j, '}');
		}
		race_json_stack(j, &name->stack);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_bool(j, "locks_known", !a->held_missing);
	if (!a->own_pc)
		return;
	json_object(j, "last_atomic");
	json_hex(j, "address", a->own_address);
	json_str(j, "variable", name->named ? name->object.name : "");
	race_json_stack(j, &name->stack);
	json_close(j, '}');
}

/* ---- short descriptions for SARIF messages ---- */

void race_say_lock(char *text, size_t size, const struct race_view *v, int side, size_t i)
{
	const struct dep_held_lock *l = &v->race->access[side].held[i];
	const struct race_lock *name = &v->held[side].lock[i];
	char address[24];

	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)l->address);
	snprintf(text, size, "%s %s%s", kind_name(l), name->named ? name->object.name : address,
		 l->reading ? " for reading" : "");
}

void race_say_held(char *text, size_t size, const struct race_view *v, int side)
{
	const struct dep_race_access *a = &v->race->access[side];
	const char *why = unknown(a);
	char lock[320];
	size_t i, n = 0;

	*text = '\0';
	for (i = 0; i < a->nheld && n < size; i++) {
		race_say_lock(lock, sizeof(lock), v, side, i);
		n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "holding ", lock);
	}
	if (why && n < size)
		snprintf(text + n, size - n, "%slocks not known because %s", n ? ", other " : "",
			 why);
	else if (!a->nheld)
		snprintf(text, size, "holding no lock of pthreads");
}
