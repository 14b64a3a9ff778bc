// SPDX-License-Identifier: GPL-2.0-or-later
/* Make the counts by source lines of one program; see source_profile.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "source_parts.h"

#define MOST_NAMES	20u	/* of functions that are left out, in the message */

/* ---- what is left out ---- */

static size_t name_left_out(struct source_maker *m, FILE *to, uint64_t *insns)
{
	const struct source_code *c;
	uint32_t copy;
	size_t i, n = 0;

	for (i = 0; i < m->ncode; i++) {
		c = &m->code[i];
		copy = functions_at(m->x->l.functions, c->process, c->image, c->pc);
		if (copy == NO_FUNCTION || m->located[copy] || m->x->l.function[copy].stub ||
		    !export_chosen(m->x, copy))
			continue;
		m->located[copy] = true;	/* so that it is named once */
		*insns += m->x->l.function[copy].insns;
		if (n++ < MOST_NAMES)
			fprintf(to, "%s%s", n > 1 ? ", " : "", m->x->l.function[copy].name);
	}
	if (n > MOST_NAMES)
		fprintf(to, " and %zu more", n - MOST_NAMES);
	return n;
}

static void report_left_out(struct source_maker *m)
{
	uint64_t insns = 0;
	char *names = NULL;
	size_t size, n = 0;
	FILE *f = open_memstream(&names, &size);

	if (!f)
		return;
	n = name_left_out(m, f, &insns);
	fclose(f);
	if (n && names)
		warn("functions of %s without line numbers, or with names that the profile cannot "
		     "have, are left out: %s (%llu instructions)", base_name(m->program.path),
		     names, (unsigned long long)insns);
	free(names);
}

/* ---- the interface ---- */

static int make(struct source_maker *m)
{
	m->located = calloc(m->x->l.nfunctions + 1, sizeof(*m->located));
	if (!m->located || source_find_code(m) || source_add_rows(m) || source_add_targets(m) ||
	    source_join(m)) {
		warn("out of memory");
		return 1;
	}
	if (m->s->nlines) {
		report_left_out(m);
		return 0;
	}
	warn("%s has no line numbers for the executed code: compile it with -g",
	     m->program.path);
	return 1;
}

int source_profile_make(struct source_profile *s, struct export *x,
			enum source_compiler compiler)
{
	struct source_maker m = { .x = x, .s = s, .compiler = compiler };
	int ret;

	*s = (struct source_profile){ 0 };
	if (program_find(&m.program, x))
		return 1;
	ret = make(&m);
	free(m.located);
	free(m.code);
	free(m.row);
	numbering_free(&m.functions);
	program_end(&m.program);
	if (ret)
		source_profile_free(s);
	return ret;
}

void source_profile_free(struct source_profile *s)
{
	numbering_free(&s->names);
	free(s->function);
	free(s->line);
	free(s->target);
	free(s->order);
	*s = (struct source_profile){ 0 };
}
