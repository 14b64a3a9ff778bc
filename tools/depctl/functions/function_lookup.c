// SPDX-License-Identifier: GPL-2.0-or-later
/* Look up functions by address; see functions.h. */
#include <fnmatch.h>
#include <string.h>

#include "functions_internal.h"

/* Names can have brackets and asterisks, so a name may not match itself as a pattern. */
static bool name_matches(const char *name, const char *pattern)
{
	return !strcmp(name, pattern) || !fnmatch(pattern, name, 0);
}

bool function_matches(const struct function *f, const char *pattern)
{
	return name_matches(f->name, pattern) || (f->symbol && name_matches(f->symbol, pattern));
}

size_t functions_all(const struct functions *f, const struct function **out)
{
	*out = f->function;
	return f->nfunctions;
}

uint32_t functions_in(const struct functions *f, struct site site)
{
	size_t lo = 0, hi = f->nranges, mid;
	const struct range *r;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		r = &f->range[mid];
		if (r->unit < site.unit || (r->unit == site.unit && r->start <= site.addr))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NO_FUNCTION;
	r = &f->range[lo - 1];
	return r->unit == site.unit && site.addr < r->end ? r->function : NO_FUNCTION;
}

uint32_t functions_at(const struct functions *f, uint32_t process, uint32_t image, uint64_t pc)
{
	return functions_in(f, functions_site(f, process, image, pc));
}

struct site functions_start(const struct functions *f, uint32_t i)
{
	if (i >= f->nfunctions)
		return (struct site){ 0, NO_FUNCTION };
	return (struct site){ f->function[i].start, f->function_unit[i] };
}

uint32_t functions_of(const struct functions *f, uint32_t i)
{
	return f->context && i < f->c->ncontexts ? f->context[i] : NO_FUNCTION;
}

uint32_t functions_target(const struct functions *f, uint32_t i)
{
	return i < f->nfunctions ? f->target[i] : NO_FUNCTION;
}

void functions_place(const struct functions *f, struct site site, struct dep_place *out)
{
	const struct mapping m = functions_mapping(f, site.unit);
	struct dep_place place[DEP_PLACES];
	uint32_t fn = functions_in(f, site);

	dep_symbols_frames(f->symbols, m.process, site.addr + m.bias, m.time_ns, place,
			   DEP_PLACES);
	*out = place[0];
	out->linked = site.addr;
	if (fn != NO_FUNCTION)
		out->function = f->function[fn].name;
}
