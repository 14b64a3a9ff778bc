// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "query.h"

/* Frames of the access itself and of the calls that led to it. */
struct frames {
	struct dep_symbols *symbols;
	uint32_t process;
	void (*print)(void *arg, unsigned int number, const struct dep_place *p);
	void *arg;
	unsigned int number;
};

static void each_place(struct frames *f, uint64_t pc)
{
	struct dep_place p[DEP_PLACES];
	size_t i, n = dep_symbols_frames(f->symbols, f->process, pc, 0, p, DEP_PLACES);

	for (i = 0; i < n && i < DEP_PLACES; i++)
		f->print(f->arg, f->number++, &p[i]);
}

static void each_frame(struct frames *f, const struct dep_race_access *a)
{
	size_t i;

	each_place(f, a->pc);
	for (i = 0; i < a->ncalls; i++)
		each_place(f, a->call[i]);
}

static const char *access_name(const struct dep_race_access *a)
{
	bool reads = a->flags & DEP_ACCESS_READ, writes = a->flags & DEP_ACCESS_WRITE;

	return reads && writes ? "read-modify-write" : writes ? "write" : "read";
}

static bool object_of(struct dep_symbols *symbols, const struct dep_race *r, struct dep_object *o)
{
	return dep_symbols_object(symbols, r->process, r->address, (uint32_t)r->size, 0, o);
}

static void text_place(void *arg, unsigned int number, const struct dep_place *p)
{
	struct out *o = arg;

	out_printf(o, "    #%u ", number);
	out_text(o, p->function ? p->function : "??");
	if (p->file) {
		out_text(o, " ");
		out_text(o, p->file);
		out_printf(o, ":%u", p->line);
		if (p->column)
			out_printf(o, ":%u", p->column);
	}
	if (p->inlined) {
		out_text(o, " (inlined)\n");
		return;
	}
	out_text(o, " (");
	out_text(o, p->module);
	out_printf(o, "+0x%llx)\n", (unsigned long long)p->offset);
}

void race_print_text(struct out *o, struct dep_symbols *symbols, const struct dep_race *r,
		     enum race_rank rank)
{
	struct frames f = { .symbols = symbols, .process = r->process, .print = text_place,
			    .arg = o };
	const struct dep_race_access *a;
	struct dep_object obj;
	int i;

	out_printf(o, "%s: %llu bytes at 0x%llx", race_rank_name(rank),
		   (unsigned long long)r->size, (unsigned long long)r->address);
	if (object_of(symbols, r, &obj)) {
		out_text(o, ", ");
		out_text(o, obj.name);
		if (obj.file) {
			out_text(o, " (");
			out_text(o, obj.file);
			out_printf(o, ":%u)", obj.line);
		}
	}
	out_printf(o, ", %llu times\n", (unsigned long long)r->count);
	for (i = 1; i >= 0; i--) {
		a = &r->access[i];
		out_printf(o, "  %s%s%s by thread %u:\n", i ? "" : "earlier ",
			   a->flags & DEP_ACCESS_ATOMIC ? "atomic " :
			   a->flags & DEP_ACCESS_SYSCALL ? "system call's " : "",
			   access_name(a), a->tid);
		f.number = 0;
		each_frame(&f, a);
	}
	out_text(o, "\n");
}

static void json_place(void *arg, unsigned int number, const struct dep_place *p)
{
	struct json *j = arg;

	(void)number;
	json_object(j, NULL);
	json_str(j, "function", p->function);
	json_str(j, "file", p->file);
	json_u64(j, "line", p->line);
	json_u64(j, "column", p->column);
	json_bool(j, "inlined", p->inlined);
	json_str(j, "module", p->module);
	json_hex(j, "offset", p->offset);
	json_str(j, "build_id", p->build_id);
	json_close(j, '}');
}

void race_print_json(struct json *j, struct dep_symbols *symbols, const struct dep_race *r,
		     enum race_rank rank)
{
	struct frames f = { .symbols = symbols, .process = r->process, .print = json_place,
			    .arg = j };
	const struct dep_race_access *a;
	struct dep_object obj;
	int i;

	json_object(j, NULL);
	json_str(j, "kind", race_rank_name(rank));
	json_u64(j, "process", r->process);
	json_str(j, "variable", object_of(symbols, r, &obj) ? obj.name : "");
	json_hex(j, "addr", r->address);
	json_u64(j, "size", r->size);
	json_u64(j, "count", r->count);
	json_array(j, "accesses");
	for (i = 0; i < 2; i++) {
		a = &r->access[i];
		json_object(j, NULL);
		json_str(j, "type", access_name(a));
		json_bool(j, "atomic", a->flags & DEP_ACCESS_ATOMIC);
		json_bool(j, "syscall", a->flags & DEP_ACCESS_SYSCALL);
		json_u64(j, "thread", a->thread);
		json_u64(j, "tid", a->tid);
		json_hex(j, "pc", a->pc);
		json_array(j, "stack");
		each_frame(&f, a);
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}
