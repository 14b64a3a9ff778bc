// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Choose what is exported by --process, --thread, --function and --module.
 */
#include <fnmatch.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "export.h"

bool export_module(const struct export *x, const char *path)
{
	return !x->module_glob || !fnmatch(x->module_glob, path, 0) ||
	       !fnmatch(x->module_glob, base_name(path), 0);
}

bool export_share(const void *export, const struct dep_context_share *s)
{
	const struct export *x = export;

	if (x->thread ? s->thread != x->thread :
	    x->process && x->l.contexts->context[s->context].process != x->process)
		return false;
	return export_chosen(x, functions_of(x->l.functions, s->context));
}

static bool fits(const struct export *x, const struct function *f)
{
	if (x->function_glob && !function_matches(f, x->function_glob))
		return false;
	return export_module(x, *f->path ? f->path : f->module);
}

int export_choose(struct export *x)
{
	size_t i, found = 0;

	x->others = true;
	if (!x->function_glob && !x->module_glob)
		return 0;
	x->others = false;
	x->chosen = calloc(x->l.nfunctions + 1, sizeof(*x->chosen));
	if (!x->chosen) {
		warn("out of memory");
		return 1;
	}
	for (i = 0; i < x->l.nfunctions; i++) {
		x->chosen[i] = fits(x, &x->l.function[i]);
		found += x->chosen[i];
	}
	if (found)
		return 0;
	warn("%s executed no function%s%s%s%s", x->path,
	     x->function_glob ? " with the name " : "", x->function_glob ? x->function_glob : "",
	     x->module_glob ? " of the file " : "", x->module_glob ? x->module_glob : "");
	return 1;
}
