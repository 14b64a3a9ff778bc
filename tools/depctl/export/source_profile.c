// SPDX-License-Identifier: GPL-2.0-or-later
/* Make the counts by source lines of one program; see source_profile.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "source_parts.h"

#define MOST_NAMES	20u	/* of functions that are left out, in the message */

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

/* ---- the executed code ---- */

static int by_address(const void *pa, const void *pb)
{
	const struct source_code *a = pa, *b = pb;
	int order = ORDER(a->linked, b->linked);

	return order ? order : ORDER(a->process, b->process);
}

static int find_code(struct source_maker *m)
{
	const struct dep_profile *p = m->x->l.profile;
	const struct dep_insn_count *in;
	struct source_code *c;
	size_t i, n = 0;

	m->code = calloc(p->ninsns + 1, sizeof(*m->code));
	if (!m->code)
		return -ENOMEM;
	for (i = 0; i < p->ninsns; i++) {
		in = &p->insn[i];
		c = &m->code[m->ncode];
		*c = (struct source_code){ 0, in->pc, in->count, in->process, in->image,
					   in->size };
		m->ncode += in->count &&
			    program_address(&m->program, in->image, in->pc, &c->linked);
	}
	qsort(m->code, m->ncode, sizeof(*m->code), by_address);
	for (i = 0; i < m->ncode; i++) {
		if (n && m->code[n - 1].linked == m->code[i].linked)
			m->code[n - 1].count += m->code[i].count;
		else
			m->code[n++] = m->code[i];
	}
	m->ncode = n;
	return 0;
}

size_t source_code_at(const struct source_maker *m, uint64_t linked)
{
	size_t low = 0, high = m->ncode, i;

	while (low < high) {
		i = low + (high - low) / 2;
		if (m->code[i].linked < linked)
			low = i + 1;
		else
			high = i;
	}
	return low;
}

/* ---- what is left out ---- */

static size_t name_left_out(const struct source_maker *m, FILE *to, uint64_t *insns)
{
	const struct source_code *c;
	uint32_t copy, last = NO_FUNCTION;
	size_t i, n = 0;

	for (i = 0; i < m->ncode; i++) {
		c = &m->code[i];
		copy = functions_at(m->x->l.functions, c->process, c->image, c->pc);
		if (copy == NO_FUNCTION || m->located[copy] || m->x->l.function[copy].stub ||
		    !export_chosen(m->x, copy))
			continue;
		*insns += c->count;
		if (copy != last && n++ < MOST_NAMES)
			fprintf(to, "%s%s", n > 1 ? ", " : "", m->x->l.function[copy].name);
		last = copy;
	}
	if (n > MOST_NAMES)
		fprintf(to, " and %zu more", n - MOST_NAMES);
	return n;
}

static void tell_left_out(const struct source_maker *m)
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
		warn("left out, since %s has no line numbers for them: %s (%llu instructions)",
		     base_name(m->program.path), names, (unsigned long long)insns);
	free(names);
}

/* ---- the interface ---- */

static int make(struct source_maker *m)
{
	m->located = calloc(m->x->l.nfunctions + 1, sizeof(*m->located));
	if (!m->located || find_code(m) || source_add_rows(m) || source_add_targets(m) ||
	    source_join(m)) {
		warn("out of memory");
		return 1;
	}
	if (m->s->nlines) {
		tell_left_out(m);
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
