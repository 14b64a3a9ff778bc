// SPDX-License-Identifier: GPL-2.0-or-later
/* Print races as text and as JSON. */
#include <string.h>

#include "tools/depctl/depctl.h"
#include "races.h"

/* ---- text ---- */

static void text_frame(struct out *o, const struct dep_place *p, bool location)
{
	out_plain(o, p->function ? p->function : "??");
	if (p->file && location) {
		out_color(o, COLOR_LOCATION);
		out_text(o, " ");
		out_plain(o, p->file);
		out_printf(o, ":%u", p->line);
		if (p->column)
			out_printf(o, ":%u", p->column);
		out_color(o, COLOR_END);
	}
	if (p->inlined) {
		out_text(o, " (inlined)\n");
		return;
	}
	out_text(o, " (");
	out_plain(o, p->module);
	out_printf(o, "+0x%llx", (unsigned long long)p->offset);
	/* The function has no name, but it can be found later by build-id and offset. */
	if (!p->function && *p->build_id) {
		out_text(o, ", build-id ");
		out_plain(o, p->build_id);
	}
	out_text(o, ")\n");
}

/* Print a stack.  Frames that are not printed are numbered as well. */
static void text_stack(struct out *o, const struct race_stack *s, bool all)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (!all && race_is_internal(s, i))
			continue;
		out_printf(o, "    #%zu ", i);
		text_frame(o, &s->place[i], all || !race_in_system(s->place[i].module));
	}
}

/* Get the thread's name; NULL if it has none, or the same name as its creator (inherited). */
static const char *given_name(const struct race_view *v, uint32_t thread)
{
	const struct dep_thread *t = thread_of(v->store, thread);
	const char *creator = t && t->parent ? race_thread_name(v, t->parent) : NULL;

	return creator && t->name && strcmp(t->name, creator) ? t->name : NULL;
}

static void text_thread(struct out *o, const struct race_view *v, uint32_t thread, uint32_t tid)
{
	bool main = tid == v->main_tid[0] || tid == v->main_tid[1];
	const char *name = given_name(v, thread);

	out_printf(o, "thread %u%s", tid, main ? " (main)" : "");
	if (name) {
		out_text(o, " '");
		out_plain(o, name);
		out_text(o, "'");
	}
}

static void text_process(struct out *o, const struct race_view *v, int side)
{
	const char *program = race_program(v, v->race->access[side].process);

	out_printf(o, " of process %u", v->main_tid[side]);
	if (program) {
		out_text(o, " (");
		out_plain(o, program);
		out_text(o, ")");
	}
}

static void text_creation(struct out *o, const struct race_view *v, int side, bool all_frames)
{
	const struct dep_race_access *a = &v->race->access[side];

	if (!a->creator)
		return;
	out_text(o, "  ");
	text_thread(o, v, a->thread, a->tid);
	out_text(o, " was created by ");
	text_thread(o, v, a->creator, a->creator_tid);
	out_text(o, ":\n");
	text_stack(o, &v->birth[side], all_frames);
}

static void text_block(struct out *o, const struct race_view *v, bool all_frames)
{
	const struct dep_race *r = v->race;

	if (!r->block_size)
		return;
	out_printf(o, "  byte %llu of a block of %llu, allocated by ",
		   (unsigned long long)(r->address - r->block), (unsigned long long)r->block_size);
	text_thread(o, v, r->owner, r->owner_tid);
	out_text(o, ":\n");
	text_stack(o, &v->block, all_frames);
}

void race_print_text(struct out *o, const struct race_view *v, bool all_frames)
{
	const struct dep_race *r = v->race;
	int i;

	if (v->rank == RACE_IN_LIBRARY)
		all_frames = true;
	out_color(o, COLOR_HEADING);
	out_printf(o, "%s%s:", r->predicted ? "predicted " : "", race_confidence_name(v->rank));
	out_color(o, COLOR_END);
	out_text(o, " ");
	if (r->access[0].flags & DEP_ACCESS_DESCRIPTOR)
		out_printf(o, "descriptor %llu", (unsigned long long)r->address);
	else if (r->access[0].flags & DEP_ACCESS_OBJECT)
		out_printf(o, "object at 0x%llx", (unsigned long long)r->address);
	else
		out_printf(o, "%llu bytes at 0x%llx", (unsigned long long)r->size,
			   (unsigned long long)r->address);
	if (v->named) {
		out_text(o, ", ");
		out_plain(o, v->object.name);
		if (v->object.file) {
			out_text(o, " (");
			out_plain(o, v->object.file);
			out_printf(o, ":%u)", v->object.line);
		}
	}
	if (!r->predicted)
		out_printf(o, ", %llu time%s", (unsigned long long)r->count,
			   r->count == 1 ? "" : "s");
	out_text(o, "\n");
	for (i = 1; i >= 0; i--) {
		out_printf(o, "  %s%s by ", i || r->predicted ? "" : "earlier ",
			   race_access_name(&r->access[i]));
		text_thread(o, v, r->access[i].thread, r->access[i].tid);
		if (r->access[0].process != r->access[1].process)
			text_process(o, v, i);
		out_text(o, ":\n");
		text_stack(o, &v->stack[i], all_frames);
		if (r->access[i].incomplete)
			out_text(o, "    callers may be missing\n");
		race_text_held(o, v, i);
	}
	race_text_witness(o, v);
	text_block(o, v, all_frames);
	for (i = 1; i >= 0; i--)
		text_creation(o, v, i, all_frames);
	out_text(o, "\n");
}

static void text_where(struct out *o, const struct race_stack *s)
{
	const struct dep_place *p = &s->place[s->main];

	if (p->function) {
		out_text(o, " in ");
		out_plain(o, p->function);
	}
	if (p->file) {
		out_text(o, " ");
		out_plain(o, p->file);
		out_printf(o, ":%u", p->line);
	} else {
		out_text(o, " (");
		out_plain(o, p->module);
		out_printf(o, "+0x%llx)", (unsigned long long)p->offset);
	}
}

void race_print_suspect(struct out *o, const struct race_view *v)
{
	const struct dep_race *r = v->race;

	out_text(o, "depctl: suspected race: ");
	out_text(o, race_access_name(&r->access[1]));
	text_where(o, &v->stack[1]);
	out_text(o, ", earlier ");
	out_text(o, race_access_name(&r->access[0]));
	text_where(o, &v->stack[0]);
	if (v->named) {
		out_text(o, ", of ");
		out_plain(o, v->object.name);
	}
	out_text(o, "\n");
}

static void text_suppressions(struct out *o, const struct suppressions *s, bool unused)
{
	const struct suppression *e;
	size_t i;

	for (i = 0; i < s->n; i++) {
		e = &s->v[i];
		if (e->kind == SUPPRESS_USELESS || (!e->races && !unused))
			continue;
		out_printf(o, "  %llu by ", (unsigned long long)e->races);
		out_plain(o, e->text);
		out_text(o, " (");
		out_plain(o, e->file);
		out_printf(o, ":%u)\n", e->line);
	}
}

static void text_complete(struct out *o, const struct races_summary *s)
{
	struct reasons why;

	races_reasons(&why, s);
	reasons_text(o, &why, ", ");
}

static void text_attached(struct out *o, const struct races_summary *s)
{
	if (s->attached)
		out_printf(o, "attached: %llu process%s; what %s did before counts as ordered "
			   "before everything recorded\n", (unsigned long long)s->attached,
			   s->attached == 1 ? "" : "es", s->attached == 1 ? "it" : "they");
}

void races_end_text(struct out *o, const struct races_summary *s, const struct races_options *how,
		    const struct suppressions *suppressions)
{
	out_printf(o, "%zu race%s in %llu references", s->count[RACE_CERTAIN],
		   s->count[RACE_CERTAIN] == 1 ? "" : "s", (unsigned long long)s->references);
	if (s->count[RACE_UNLESS_ATOMIC])
		out_printf(o, "; %zu more unless a word is atomic", s->count[RACE_UNLESS_ATOMIC]);
	if (s->count[RACE_UNLESS_OVERREAD])
		out_printf(o, "; %zu unless a string function overreads",
			   s->count[RACE_UNLESS_OVERREAD]);
	if (s->count[RACE_UNLESS_SPECULATIVE])
		out_printf(o, "; %zu unless a load is speculative",
			   s->count[RACE_UNLESS_SPECULATIVE]);
	if (s->count[RACE_IN_LIBRARY])
		out_printf(o, "; %zu inside of the C library", s->count[RACE_IN_LIBRARY]);
	out_text(o, "\n");
	if (how->nsuppressions) {
		out_printf(o, "suppressed: %zu\n", s->suppressed);
		text_suppressions(o, suppressions, how->verbose);
	}
	if (how->new_since || how->baseline) {
		out_printf(o, "not new: %zu, in ", s->known);
		out_text(o, how->new_since ? how->new_since : how->baseline);
		if (how->new_since && how->baseline) {
			out_text(o, " or ");
			out_text(o, how->baseline);
		}
		out_text(o, "\n");
	}
	text_complete(o, s);
	text_attached(o, s);
	if (!s->tsc_synchronized)
		out_text(o, "clocks: " RACES_CLOCKS "\n");
}

/* ---- JSON ---- */

static const char *access_type(const struct dep_race_access *a)
{
	bool reads = a->flags & DEP_ACCESS_READ, writes = a->flags & DEP_ACCESS_WRITE;

	return reads && writes ? "read-modify-write" : writes ? "write" : "read";
}

static void json_access(struct json *j, const struct race_view *v, int side)
{
	const struct dep_race_access *a = &v->race->access[side];

	json_object(j, NULL);
	json_str(j, "type", access_type(a));
	json_bool(j, "atomic", a->flags & DEP_ACCESS_ATOMIC);
	json_bool(j, "syscall", a->flags & DEP_ACCESS_SYSCALL);
	json_bool(j, "free", a->flags & DEP_ACCESS_FREE);
	json_bool(j, "object", a->flags & DEP_ACCESS_OBJECT);
	json_bool(j, "descriptor", a->flags & DEP_ACCESS_DESCRIPTOR);
	json_u64(j, "process", a->process);
	json_u64(j, "thread", a->thread);
	json_u64(j, "tid", a->tid);
	json_str(j, "thread_name", race_thread_name(v, a->thread));
	json_str(j, "program", race_program(v, a->process));
	json_bool(j, "main", a->tid == v->main_tid[side]);
	json_hex(j, "pc", a->pc);
	race_json_stack(j, &v->stack[side]);
	json_bool(j, "stack_complete", !a->incomplete);
	race_json_held(j, v, side);
	if (a->creator) {
		json_object(j, "created_by");
		json_u64(j, "thread", a->creator);
		json_u64(j, "tid", a->creator_tid);
		json_str(j, "thread_name", race_thread_name(v, a->creator));
		race_json_stack(j, &v->birth[side]);
		json_close(j, '}');
	}
	json_close(j, '}');
}

void races_begin_json(struct json *j)
{
	json_object(j, NULL);
	json_array(j, "races");
}

void race_print_json(struct json *j, const struct race_view *v)
{
	const struct dep_race *r = v->race;

	json_object(j, NULL);
	json_str(j, "kind", race_confidence_name(v->rank));
	json_str(j, "fingerprint", v->fingerprint);
	json_u64(j, "process", r->process);
	json_str(j, "variable", v->named ? v->object.name : "");
	json_hex(j, "address", r->address);
	json_u64(j, "size", r->size);
	json_u64(j, "count", r->predicted ? 0 : r->count);
	race_json_witness(j, v);
	if (r->block_size) {
		json_object(j, "block");
		json_hex(j, "address", r->block);
		json_u64(j, "size", r->block_size);
		json_u64(j, "thread", r->owner);
		json_u64(j, "tid", r->owner_tid);
		json_str(j, "thread_name", race_thread_name(v, r->owner));
		race_json_stack(j, &v->block);
		json_close(j, '}');
	}
	json_array(j, "accesses");
	json_access(j, v, 0);
	json_access(j, v, 1);
	json_close(j, ']');
	json_close(j, '}');
}

static void json_suppressions(struct json *j, const struct suppressions *s)
{
	const struct suppression *e;
	size_t i;

	json_array(j, "suppressions");
	for (i = 0; i < s->n; i++) {
		e = &s->v[i];
		json_object(j, NULL);
		json_str(j, "file", e->file);
		json_u64(j, "line", e->line);
		json_str(j, "text", e->text);
		json_bool(j, "is_race_suppression", e->kind != SUPPRESS_USELESS);
		json_u64(j, "races_suppressed", e->races);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void races_end_json(struct json *j, const struct races_summary *s,
		    const struct suppressions *suppressions)
{
	struct reasons why;

	races_reasons(&why, s);
	json_close(j, ']');
	json_u64(j, "unless_atomic", s->count[RACE_UNLESS_ATOMIC]);
	json_u64(j, "unless_overread", s->count[RACE_UNLESS_OVERREAD]);
	json_u64(j, "unless_speculative_load", s->count[RACE_UNLESS_SPECULATIVE]);
	json_u64(j, "in_library", s->count[RACE_IN_LIBRARY]);
	json_u64(j, "suppressed", s->suppressed);
	json_suppressions(j, suppressions);
	json_u64(j, "in_baseline", s->known);
	json_u64(j, "references", s->references);
	json_u64(j, "lost_windows", s->missing.gaps);
	json_u64(j, "disorder", s->disorder);
	json_u64(j, "attached_processes", s->attached);
	json_bool(j, "tsc_synchronized", s->tsc_synchronized);
	reasons_json(j, &why);
	json_close(j, '}');
	json_line(j);
}
