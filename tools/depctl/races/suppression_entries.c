// SPDX-License-Identifier: GPL-2.0-or-later
/* Print races as entries of suppression files. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "tools/depctl/depctl.h"
#include "races.h"

/* Return true if @text was not printed yet, and remember it; out of memory: do not remember it. */
static bool is_new(struct races_baseline *printed, const char *text)
{
	XXH128_hash_t h = XXH3_128bits(text, strlen(text));
	char print[RACE_FINGERPRINT];

	snprintf(print, sizeof(print), "%016llx%016llx", (unsigned long long)h.high64,
		 (unsigned long long)h.low64);
	if (races_baseline_has(printed, print))
		return false;
	races_baseline_add(printed, print);
	return true;
}

/*
 * True if the function's name lacks the parameters that other tools print.  For an inlined static
 * C++ function, DWARF has no linkage name, which would contain the parameters.
 */
static bool is_cut(const struct dep_place *p)
{
	const char *dot = p->file ? strrchr(p->file, '.') : NULL;

	return p->inlined && !p->symbol && dot && strcmp(dot, ".c");
}

/*
 * An entry for ThreadSanitizer names one function and suppresses all races of that function.  So
 * use the innermost function of the program, not one of the C library.
 */
static void for_tsan(char *text, size_t size, const struct race_view *v)
{
	const struct race_stack *s = &v->stack[1];
	const struct dep_place *p = &s->place[s->own];
	const char *name = p->function ? p->function : base_name(p->module);
	size_t n, i;

	n = (size_t)snprintf(text, size, "race%s:%s", s->own ? "" : "_top",
			     p->function ? "^" : "");
	/* The format cannot escape '$', so use '*', which matches any text. */
	for (i = n; *name && i + 3 < size; name++)
		text[i++] = *name == '$' ? '*' : *name;
	if (p->function && !is_cut(p))
		text[i++] = '$';
	text[i++] = '\n';
	text[i] = '\0';
}

/*
 * An entry for Valgrind has the frames from the access up to the last program code before the C
 * library's start function.  Frames that Helgrind shows differently become "...": C library
 * functions, which Helgrind replaces by its own functions, and inlined functions.
 */
static void for_valgrind(char *text, size_t size, const struct race_view *v, int side)
{
	const struct race_stack *s = &v->stack[side];
	const char *name = v->named ? v->object.name : "";
	const struct dep_place *p;
	unsigned int lines = 0;
	bool any = false, left_out;
	size_t n, i;

	n = (size_t)snprintf(text, size, "{\n   race%s%s\n   Helgrind:Race\n", *name ? " on " : "",
			     name);
	for (i = 0; i < s->n && lines < SUPPRESSION_FRAMES; i++) {
		p = &s->place[i];
		if (i > s->main && race_in_system(p->module))
			break;
		left_out = i < s->main || p->inlined;
		if (left_out && any)
			continue;
		any = left_out;
		lines++;
		if (left_out)
			n += (size_t)snprintf(text + n, size - n, "   ...\n");
		else if (p->function)
			n += (size_t)snprintf(text + n, size - n, "   fun:%.2000s\n",
					      p->symbol ? p->symbol : p->function);
		else
			n += (size_t)snprintf(text + n, size - n, "   obj:%.2000s\n", p->module);
	}
	snprintf(text + n, size - n, "}\n");
}

void race_print_entry(struct out *o, const struct race_view *v, enum races_form form,
		      struct races_baseline *printed)
{
	char text[SUPPRESSION_FRAMES * 2048 + 1024];
	int side, last = form == RACES_FOR_TSAN ? 1 : 0;

	/*
	 * One entry suffices for ThreadSanitizer, which matches it with both accesses.  Helgrind
	 * matches only the access that is second in its own run, so print an entry for each.
	 */
	for (side = 1; side >= last; side--) {
		if (form == RACES_FOR_TSAN)
			for_tsan(text, sizeof(text), v);
		else
			for_valgrind(text, sizeof(text), v, side);
		if (is_new(printed, text))
			out_text(o, text);
	}
}
