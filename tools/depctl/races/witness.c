// SPDX-License-Identifier: GPL-2.0-or-later
/* Print the witness of a predicted race: an order of the threads' steps in which it happens. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "races.h"

static size_t shown(const struct dep_step *s)
{
	return s->nsections < DEP_STEP_SECTIONS ? s->nsections : DEP_STEP_SECTIONS;
}

static size_t calls(const uint64_t *call)
{
	size_t n = 0;

	while (n < DEP_STEP_CALLS && call[n])
		n++;
	return n;
}

static int name_step(struct race_step *to, struct dep_symbols *symbols, uint32_t process,
		     const struct dep_step *s)
{
	size_t i, n = calls(s->call);
	int err = 0;

	to->end.n = 0;
	for (i = 0; i < n && !err; i++)
		err = race_add_places(&to->end, symbols, process, s->call[i]);
	race_find_main(&to->end);
	for (i = 0; i < shown(s) && !err; i++)
		err = race_name_lock(&to->section[i], symbols, process, s->section[i].lock,
				     s->section[i].call, calls(s->section[i].call));
	return err;
}

int race_witness_name(struct race_view *v, struct dep_symbols *symbols)
{
	size_t i, n = v->race->nsteps;
	void *more;
	int err = 0;

	if (n > v->steps_room) {
		more = realloc(v->step, n * sizeof(*v->step));
		if (!more)
			return -ENOMEM;
		v->step = more;
		memset(v->step + v->steps_room, 0, (n - v->steps_room) * sizeof(*v->step));
		v->steps_room = n;
	}
	for (i = 0; i < n && !err; i++)
		err = name_step(&v->step[i], symbols, v->race->process, &v->race->step[i]);
	return err;
}

void race_witness_free(struct race_view *v)
{
	size_t i, k;

	for (i = 0; i < v->steps_room; i++) {
		free(v->step[i].end.place);
		for (k = 0; k < DEP_STEP_SECTIONS; k++)
			free(v->step[i].section[k].stack.place);
	}
	free(v->step);
}

/* Get the racing access of the step's thread; the step ends before this access. */
static const struct dep_race_access *access_of(const struct race_view *v, const struct dep_step *s)
{
	return &v->race->access[v->race->access[0].thread != s->thread];
}

static void text_end(struct out *o, const struct race_view *v, const struct dep_step *s,
		     const struct race_step *name)
{
	if (s->end == DEP_STEP_ACCESS) {
		out_printf(o, " runs up to its %s\n", race_access_name(access_of(v, s)));
		return;
	}
	if (!name->end.n) {
		out_text(o, s->end == DEP_STEP_AFTER ? " runs until no thread waits for it\n" :
							" runs until it must wait for a thread\n");
		return;
	}
	out_text(o, s->end == DEP_STEP_AFTER ? " runs through " : " runs up to ");
	race_text_place(o, &name->end.place[name->end.own]);
	out_text(o, "\n");
}

static void text_sections(struct out *o, const struct dep_step *s, const struct race_step *name)
{
	size_t i;

	if (s->nsections > shown(s))
		out_printf(o, "       takes %llu locks; the last ones:\n",
			   (unsigned long long)s->nsections);
	for (i = 0; i < shown(s); i++) {
		out_text(o, "       takes ");
		race_text_lock(o, &name->section[i], s->section[i].lock);
		if (s->section[i].reading)
			out_text(o, " for reading");
		if (name->section[i].stack.n) {
			out_text(o, " in ");
			race_text_place(o,
				&name->section[i].stack.place[name->section[i].stack.own]);
		}
		out_text(o, "\n");
	}
}

void race_text_witness(struct out *o, const struct race_view *v)
{
	const struct dep_race *r = v->race;
	size_t i;

	if (!r->predicted)
		return;
	out_text(o, "  the race did not happen in the recorded order, but can happen in this "
		    "order:\n");
	for (i = 0; i < r->nsteps; i++) {
		out_printf(o, "    %zu. thread %u%s", i + 1, r->step[i].tid,
			   r->step[i].tid == v->main_tid[1] ? " (main)" : "");
		text_end(o, v, &r->step[i], &v->step[i]);
		text_sections(o, &r->step[i], &v->step[i]);
	}
	if (r->more_steps)
		out_printf(o, "    %llu more steps lead to both accesses\n",
			   (unsigned long long)r->more_steps);
}

static void json_section(struct json *j, const struct dep_section *s, const struct race_lock *name)
{
	json_object(j, NULL);
	json_hex(j, "address", s->lock);
	json_str(j, "variable", name->named ? name->object.name : "");
	json_bool(j, "shared", s->reading);
	race_json_stack(j, &name->stack);
	json_close(j, '}');
}

void race_json_witness(struct json *j, const struct race_view *v)
{
	static const char *const ends[] = { "access", "before", "after" };
	const struct dep_race *r = v->race;
	size_t i, k;

	json_bool(j, "predicted", r->predicted);
	if (!r->predicted)
		return;
	json_array(j, "witness");
	for (i = 0; i < r->nsteps; i++) {
		json_object(j, NULL);
		json_u64(j, "thread", r->step[i].thread);
		json_u64(j, "tid", r->step[i].tid);
		json_str(j, "up_to", ends[r->step[i].end]);
		race_json_stack(j, &v->step[i].end);
		json_u64(j, "locks_taken", r->step[i].nsections);
		json_array(j, "last_locks");
		for (k = 0; k < shown(&r->step[i]); k++)
			json_section(j, &r->step[i].section[k], &v->step[i].section[k]);
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
	json_u64(j, "witness_left_out", r->more_steps);
}

void race_say_witness(char *text, size_t size, const struct race_view *v)
{
	const struct dep_race *r = v->race;
	size_t i, n;

	*text = '\0';
	if (!r->predicted)
		return;
	n = (size_t)snprintf(text, size, " The race did not happen in the recorded order, "
			     "but can happen if");
	for (i = 0; i < r->nsteps && n < size; i++) {
		const struct dep_step *s = &r->step[i];
		const struct race_stack *end = &v->step[i].end;
		const struct dep_place *p = end->n ? &end->place[end->own] : NULL;

		n += (size_t)snprintf(text + n, size - n, "%s thread %u runs %s", i ? ", then" : "",
				      s->tid, s->end == DEP_STEP_ACCESS ? "up to its access" :
				      s->end == DEP_STEP_BEFORE ? "on" : "on until ");
		if (n < size && s->end == DEP_STEP_AFTER && p)
			n += (size_t)snprintf(text + n, size - n, "%.100s line %u is done",
					      p->function ? p->function : p->module, p->line);
		else if (n < size && s->end == DEP_STEP_AFTER)
			n += (size_t)snprintf(text + n, size - n, "no thread waits for it");
	}
	if (n < size)
		snprintf(text + n, size - n, r->more_steps ? ", and so on." : ".");
}
