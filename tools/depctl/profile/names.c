// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of addresses and numbers for people. */
#include <stdio.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "profile.h"

const char *edge_kind_name(uint8_t kind)
{
	static const char *const names[DEP_BRANCHES] = {
		"none", "branch", "jump", "jump-indirect", "call", "call-indirect", "return",
		"syscall",
	};

	if (kind == DEP_EDGE_ENTERED)
		return "entered";
	if (kind == DEP_EDGE_LEFT)
		return "left";
	return kind < DEP_BRANCHES ? names[kind] : "unknown";
}

/* Is @path the program of a recorded process, not a library? */
static bool is_program(const struct profile_view *v, const char *path)
{
	const struct dep_process *p;
	size_t i, n = dep_store_processes(v->store, &p);

	for (i = 0; i < n; i++)
		if (p[i].exe && !strcmp(p[i].exe, path))
			return true;
	return false;
}

/* Name an address in no function that was executed. */
static void name_unexecuted(const struct profile_view *v, struct site site, char *out)
{
	struct dep_place p;

	functions_place(v->f, site, &p);
	if (!p.function)
		snprintf(out, NAME_TEXT, "%s+%llx", base_name(p.module),
			 (unsigned long long)site.addr);
	else if (is_program(v, p.module))
		snprintf(out, NAME_TEXT, "%s", p.function);
	else
		snprintf(out, NAME_TEXT, "%s (%s)", p.function, base_name(p.module));
}

void name_code(const struct profile_view *v, struct site site, char *out)
{
	uint32_t i = functions_in(v->f, site);
	const struct function *f;

	if (site.unit == NO_FUNCTION) {
		snprintf(out, NAME_TEXT, "-");
		return;
	}
	if (i >= functions_all(v->f, &f)) {
		name_unexecuted(v, site, out);
		return;
	}
	f += i;
	if (site.addr == f->start)
		snprintf(out, NAME_TEXT, "%s", f->name);
	else if (f->named && site.addr > f->start)
		snprintf(out, NAME_TEXT, "%s+%llx", f->name,
			 (unsigned long long)(site.addr - f->start));
	else
		snprintf(out, NAME_TEXT, "%s+%llx", f->module, (unsigned long long)site.addr);
}

void name_site(const struct profile_view *v, struct site site, char *out)
{
	uint32_t i = functions_in(v->f, site);
	const struct function *f;

	name_code(v, site, out);
	if (i >= functions_all(v->f, &f))
		return;
	f += i;
	if (f->named && !is_program(v, f->path) && !strstr(f->name, f->module))
		snprintf(out + strlen(out), NAME_TEXT - strlen(out), " (%s)", f->module);
}

const char *human_count(uint64_t n, char *buf)
{
	static const char *const units[] = { "", " k", " M", " G", " T", " P", " E" };
	unsigned int u = 0;
	double d = (double)n;

	while (d >= 999.5 && u < 6) {
		d /= 1000;
		u++;
	}
	if (!u)
		snprintf(buf, 16, "%u", (unsigned int)n);
	else
		snprintf(buf, 16, d < 9.995 ? "%.2f%s" : d < 99.95 ? "%.1f%s" : "%.0f%s", d,
			 units[u]);
	return buf;
}
