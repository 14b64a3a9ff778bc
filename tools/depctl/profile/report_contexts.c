// SPDX-License-Identifier: GPL-2.0-or-later
/* The hottest calling contexts in depctl report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/common/table.h"
#include "tools/depctl/depctl.h"
#include "query.h"
#include "report_parts.h"

#define CHAIN_WIDTH	64u	/* columns for a chain of calls */
#define JSON_CONTEXTS	20u	/* unless --top tells otherwise */
#define JSON_CALLERS	64u	/* of a context */

static bool is_stub(const struct report *r, uint32_t context)
{
	const struct function *f;
	uint32_t i = functions_of(r->v.f, context);

	return i < functions_all(r->v.f, &f) && f[i].stub;
}

/*
 * The next context towards the root, and where it called @context, or its function if that is not
 * known; 0: there is none.  What a stub of a PLT jumps to was called by the stub's caller, as in
 * depctl query contexts.
 */
static uint32_t caller_of(const struct report *r, uint32_t context, struct site *site)
{
	const struct dep_context *all = r->v.c->context, *c;

	do {
		c = &all[context];
		context = c->parent < context ? c->parent : 0;
	} while (context && is_stub(r, context));
	if (!context)
		return 0;
	*site = functions_site(r->v.f, all[context].process, c->site_image, c->site);
	if (!c->site || site->unit == NO_FUNCTION)
		*site = functions_site(r->v.f, all[context].process, all[context].image,
				       all[context].pc);
	return context;
}

/* ---- text ---- */

/* Print the function of @context and its callers, the nearest first, as far as there is room. */
static void put_chain(struct report *r, uint32_t context)
{
	const struct dep_context *c = &r->v.c->context[context];
	size_t left = CHAIN_WIDTH, n;
	char name[NAME_TEXT];
	struct site site;

	name_code(&r->v, functions_site(r->v.f, c->process, c->image, c->pc), name);
	out_shortened(&r->out, name, CHAIN_WIDTH / 2);
	n = text_columns(name);
	left -= n < CHAIN_WIDTH / 2 ? n : CHAIN_WIDTH / 2;
	while ((context = caller_of(r, context, &site))) {
		name_code(&r->v, site, name);
		n = text_columns(name) + strlen(" < ");
		out_text(&r->out, " < ");
		if (n + strlen(" < ...") > left) {
			out_text(&r->out, "...");
			break;
		}
		out_plain(&r->out, name);
		left -= n;
	}
	out_text(&r->out, "\n");
}

void report_contexts_text(struct report *r)
{
	const struct dep_context *c = r->v.c->context;
	size_t i, n = r->ncontexts < REPORT_CONTEXTS ? r->ncontexts : REPORT_CONTEXTS;
	char self[16];

	if (!n || r->nprocesses > 1)
		return;
	out_text(&r->out, "\n");
	out_color(&r->out, COLOR_HEADING);
	out_text(&r->out, "CONTEXTS");
	out_color(&r->out, COLOR_END);
	out_printf(&r->out, " %12s %10s  %s\n", "calls", "self", "function < callers");
	for (i = 0; i < n; i++) {
		out_printf(&r->out, "%5.1f%%  %13llu %10s  ",
			   per_cent(c[r->context[i]].insns, r->v.p->insns),
			   (unsigned long long)c[r->context[i]].calls,
			   human_count(c[r->context[i]].insns, self));
		put_chain(r, r->context[i]);
	}
}

/* ---- JSON ---- */

static void put_callers(struct report *r, struct json *j, uint32_t context)
{
	struct site site;
	unsigned int k;

	json_array(j, "callers");
	for (k = 0; k < JSON_CALLERS; k++) {
		context = caller_of(r, context, &site);
		if (!context)
			break;
		json_site(j, NULL, &r->v, site);
	}
	json_close(j, ']');
}

void report_contexts_json(struct report *r, struct json *j)
{
	size_t i, n = r->v.o->top ? r->v.o->top : JSON_CONTEXTS;
	const struct dep_context *c;

	json_u64(j, "context_count", r->ncontexts);
	json_array(j, "hot_contexts");
	for (i = 0; i < n && i < r->ncontexts; i++) {
		c = &r->v.c->context[r->context[i]];
		json_object(j, NULL);
		json_u64(j, "context", r->context[i]);
		json_site(j, "at", &r->v, functions_site(r->v.f, c->process, c->image, c->pc));
		json_u64(j, "instructions", c->insns);
		json_u64(j, "references", c->refs);
		json_u64(j, "calls", c->calls);
		put_callers(r, j, r->context[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}
