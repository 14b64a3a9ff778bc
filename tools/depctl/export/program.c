// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Choose the one program or library whose code a format describes.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "program.h"

static bool same_file(const struct program *p, const struct dep_module *m)
{
	return !strcmp(p->path, m->path) && !strcmp(p->build_id, m->build_id);
}

/* Choose by --module, among the files whose code is in the profile. */
static int choose_module(struct program *p, const struct export *x, const bool *executed)
{
	const struct dep_module *m = p->lines.module;
	size_t i;

	for (i = 0; i < p->lines.nmodules; i++) {
		if (!executed[i + 1] || !export_module(x, m[i].path))
			continue;
		if (p->path && !same_file(p, &m[i])) {
			warn("--module names several files: %s and %s", p->path, m[i].path);
			return 1;
		}
		p->path = m[i].path;
		p->build_id = m[i].build_id;
	}
	if (p->path)
		return 0;
	warn("%s executed no code of a file %s", x->path, x->module_glob);
	return 1;
}

static int choose_program(struct program *p, const struct export *x)
{
	const struct dep_module *m = p->lines.module;
	const struct dep_process *of;
	size_t i, n = dep_store_processes(x->l.store, &of);

	if (x->process)
		of = process_of(x->l.store, x->process);
	for (i = 0; n && of && of->exe && i < p->lines.nmodules; i++) {
		if (m[i].process != of->serial || strcmp(m[i].path, of->exe))
			continue;
		p->path = m[i].path;
		p->build_id = m[i].build_id;
		return 0;
	}
	warn("%s executed no code of its program: choose a file by --module", x->path);
	return 1;
}

int program_find(struct program *p, const struct export *x)
{
	const struct dep_profile *profile = x->l.profile;
	bool *executed = NULL;
	size_t i;
	int ret = 1;

	memset(p, 0, sizeof(*p));
	if (lines_begin(&p->lines, x->l.store, x->l.symbols))
		goto no_memory;
	p->mapped = calloc(p->lines.nmodules + 1, sizeof(*p->mapped));
	executed = calloc(p->lines.nmodules + 1, sizeof(*executed));
	if (!p->mapped || !executed)
		goto no_memory;
	for (i = 0; i < profile->ninsns; i++)
		if (profile->insn[i].image <= p->lines.nmodules)
			executed[profile->insn[i].image] = true;
	ret = x->module_glob ? choose_module(p, x, executed) : choose_program(p, x);
	for (i = 0; !ret && i < p->lines.nmodules; i++)
		p->mapped[i + 1] = same_file(p, &p->lines.module[i]);
	free(executed);
	if (ret)
		program_end(p);
	return ret;

no_memory:
	warn("out of memory");
	free(executed);
	program_end(p);
	return 1;
}

bool program_address(struct program *p, uint32_t image, uint64_t pc, uint64_t *linked)
{
	const struct lines_file *f;

	if (!image || image > p->lines.nmodules || !p->mapped[image])
		return false;
	f = lines_file(&p->lines, image);
	if (!f->code)
		return false;
	*linked = pc - f->bias;
	return true;
}

void program_end(struct program *p)
{
	lines_end(&p->lines);
	free(p->mapped);
	p->mapped = NULL;
}
