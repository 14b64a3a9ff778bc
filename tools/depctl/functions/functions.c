// SPDX-License-Identifier: GPL-2.0-or-later
/* The executed functions of a store; see functions.h. */
#include <errno.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "functions_internal.h"

static int name_function(struct functions *f, size_t i)
{
	const struct unit *u = &f->unit[f->function_unit[i]];
	const struct mapping m = functions_mapping(f, f->function_unit[i]);
	struct function *fn = &f->function[i];
	struct dep_place place[DEP_PLACES];
	size_t n;

	n = dep_symbols_frames(f->symbols, m.process, fn->start + m.bias, m.time_ns, place,
			       DEP_PLACES);
	n = n < DEP_PLACES ? n : DEP_PLACES;
	fn->path = u->path;
	fn->build_id = u->build_id;
	fn->module = base_name(*u->path ? u->path : place[0].module);
	fn->file = place[n - 1].file;
	fn->line = place[n - 1].line;
	fn->named = fn->name;
	if (!fn->name)
		fn->name = functions_text(f, "%s+%llx", fn->module, (unsigned long long)fn->start);
	return fn->name ? 0 : -ENOMEM;
}

/* ---- order ---- */

struct numbered {
	const struct functions *f;
	uint32_t i;
};

static int by_start(const void *pa, const void *pb)
{
	const struct numbered *a = pa, *b = pb;
	const struct functions *f = a->f;

	if (f->function_unit[a->i] != f->function_unit[b->i])
		return f->function_unit[a->i] < f->function_unit[b->i] ? -1 : 1;
	return f->function[a->i].start < f->function[b->i].start ? -1 :
	       f->function[a->i].start > f->function[b->i].start;
}

/* Parts of functions can come in front of the function, so sort again. */
static int sort_functions(struct functions *f)
{
	struct numbered *order = calloc(f->nfunctions + 1, sizeof(*order));
	struct function *fn = calloc(f->nfunctions + 1, sizeof(*fn));
	uint32_t *unit = calloc(f->nfunctions + 1, sizeof(*unit));
	uint32_t *now = calloc(f->nfunctions + 1, sizeof(*now));
	size_t i;

	if (!order || !fn || !unit || !now) {
		free(order);
		free(fn);
		free(unit);
		free(now);
		return -ENOMEM;
	}
	for (i = 0; i < f->nfunctions; i++)
		order[i] = (struct numbered){ f, (uint32_t)i };
	qsort(order, f->nfunctions, sizeof(*order), by_start);
	for (i = 0; i < f->nfunctions; i++) {
		fn[i] = f->function[order[i].i];
		unit[i] = f->function_unit[order[i].i];
		now[order[i].i] = (uint32_t)i;
	}
	for (i = 0; i < f->nranges; i++)
		f->range[i].function = now[f->range[i].function];
	free(f->function);
	free(f->function_unit);
	f->function = fn;
	f->function_unit = unit;
	free(order);
	free(now);
	return 0;
}

/* ---- the interface ---- */

static int make(struct functions *f)
{
	int err = functions_find_units(f);
	size_t i;

	if (!err)
		err = functions_find_ranges(f);
	if (!err)
		err = sort_functions(f);
	for (i = 0; i < f->nfunctions && !err; i++)
		err = name_function(f, i);
	return err ? err : functions_find_calls(f);
}

int functions_make(struct dep_store *store, struct dep_symbols *symbols,
		   const struct dep_profile *p, const struct dep_contexts *c,
		   struct functions **out)
{
	struct functions *f = calloc(1, sizeof(*f));
	int err;

	*out = NULL;
	if (!f)
		return -ENOMEM;
	f->store = store;
	f->symbols = symbols;
	f->p = p;
	f->c = c;
	err = make(f);
	if (err) {
		functions_free(f);
		return err;
	}
	*out = f;
	return 0;
}

void functions_free(struct functions *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->ntexts; i++)
		free(f->text[i]);
	free(f->text);
	free(f->image);
	free(f->unit);
	free(f->range);
	free(f->function);
	free(f->function_unit);
	free(f->target);
	free(f->context);
	free(f);
}
