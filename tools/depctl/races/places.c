// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and output of places in the source code, and of call stacks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "races.h"

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

/* True for the program's _start(), which called the C library's start function. */
static bool is_start_code(const struct race_stack *s, size_t i)
{
	const struct dep_place *p = &s->place[i];

	return i && race_in_system(p[-1].module) && p->function && !strcmp(p->function, "_start");
}

bool race_is_internal(const struct race_stack *s, size_t i)
{
	size_t last = s->n;

	while (last && (race_in_system(s->place[last - 1].module) || is_start_code(s, last - 1)))
		last--;
	/* The stack has no program code: treat none of its places as internal. */
	if (!last)
		return false;
	return i >= last || (race_in_system(s->place[i].module) &&
			     race_in_system(s->place[i + 1].module));
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

void race_name_whole(struct dep_object *o)
{
	char *member = strstr(o->name, ".__");

	if (member)
		*member = '\0';
}

void race_text_place(struct out *o, const struct dep_place *p)
{
	out_plain(o, p->function ? p->function : "??");
	out_text(o, " ");
	if (p->file) {
		out_plain(o, p->file);
		out_printf(o, ":%u", p->line);
		if (p->column)
			out_printf(o, ":%u", p->column);
	} else {
		out_plain(o, p->module);
		out_printf(o, "+0x%llx", (unsigned long long)p->offset);
	}
}

void race_json_stack(struct json *j, const struct race_stack *s)
{
	const struct dep_place *p;
	size_t i;

	json_array(j, "stack");
	for (i = 0; i < s->n; i++) {
		p = &s->place[i];
		json_object(j, NULL);
		json_str(j, "function", p->function);
		json_str(j, "file", p->file);
		json_u64(j, "line", p->line);
		json_u64(j, "column", p->column);
		json_bool(j, "inlined", p->inlined);
		json_str(j, "module", p->module);
		json_hex(j, "module_offset", p->offset);
		json_str(j, "build_id", p->build_id);
		json_close(j, '}');
	}
	json_close(j, ']');
}
