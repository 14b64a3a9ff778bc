// SPDX-License-Identifier: GPL-2.0-or-later
/* Find the files with executed code, and the processes with executed code without a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "functions_internal.h"

/* A file or a process that a row of the profile names. */
struct owner {
	uint32_t image, process;	/* image 0: code of @process without a file */
	const struct dep_module *m;	/* NULL with image 0 */
};

struct owners {
	struct owner *owner;
	size_t n, room;
	struct owner last;
	bool *seen;			/* by image */
};

static int add_owner(struct functions *f, struct owners *o, uint32_t process, uint32_t image)
{
	struct owner *more;

	if (image > f->nmodules)
		image = 0;
	if (image ? o->seen[image] : o->n && !o->last.image && o->last.process == process)
		return 0;
	more = functions_grow(o->owner, o->n, &o->room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	o->owner = more;
	o->last = (struct owner){ image, process, image ? &f->module[image - 1] : NULL };
	o->owner[o->n++] = o->last;
	o->seen[image] = true;
	return 0;
}

static const char *text_of(const char *s)
{
	return s ? s : "";
}

static int by_file(const void *pa, const void *pb)
{
	const struct owner *a = pa, *b = pb;
	int d;

	if (!a->m || !b->m) {
		if (a->m || b->m)
			return a->m ? 1 : -1;
		return a->process < b->process ? -1 : a->process > b->process;
	}
	d = strcmp(text_of(a->m->path), text_of(b->m->path));
	if (!d)
		d = strcmp(text_of(a->m->build_id), text_of(b->m->build_id));
	return d ? d : a->image < b->image ? -1 : a->image > b->image;
}

static bool same_unit(const struct owner *a, const struct owner *b)
{
	if (!a->m || !b->m)
		return !a->m && !b->m && a->process == b->process;
	return !strcmp(text_of(a->m->path), text_of(b->m->path)) &&
	       !strcmp(text_of(a->m->build_id), text_of(b->m->build_id));
}

static int collect(struct functions *f, struct owners *o)
{
	const struct dep_profile *p = f->p;
	const struct dep_contexts *c = f->c;
	int err = 0;
	size_t i;

	for (i = 0; p && i < p->ninsns && !err; i++)
		err = add_owner(f, o, p->insn[i].process, p->insn[i].image);
	for (i = 1; c && i < c->ncontexts && !err; i++)
		err = add_owner(f, o, c->context[i].process, c->context[i].image);
	return err;
}

/* Set the bias of the image of @o; the first image of a unit also sets the unit's functions. */
static int open_image(struct functions *f, const struct owner *o, struct unit *u, bool first)
{
	struct image_unit *to = &f->image[o->image];
	struct dep_file_code code;
	int err;

	to->unit = (uint32_t)(u - f->unit);
	err = dep_symbols_file_code(f->symbols, o->m->process, o->m->start, o->m->from_ns, &code);
	if (err && err != -ENOENT)
		return err;
	if (err) {
		/* Without the file, the offset in it stands for the address as linked. */
		to->bias = o->m->start - o->m->offset;
		return 0;
	}
	to->bias = code.bias;
	if (first)
		u->code = code;
	return 0;
}

static int make_units(struct functions *f, const struct owners *o)
{
	const struct owner *w;
	struct unit *u = NULL;
	bool first;
	size_t i;
	int err;

	f->unit = calloc(o->n + 1, sizeof(*f->unit));
	if (!f->unit)
		return -ENOMEM;
	for (i = 0; i < o->n; i++) {
		w = &o->owner[i];
		first = !i || !same_unit(w - 1, w);
		if (first) {
			u = &f->unit[f->nunits++];
			u->any_process = w->m ? w->m->process : w->process;
			u->any_image = w->image;
			u->path = w->m ? text_of(w->m->path) : "";
			u->build_id = w->m ? text_of(w->m->build_id) : "";
			u->process = w->m ? 0 : w->process;
			f->nanonymous += !w->m;
		}
		err = w->m ? open_image(f, w, u, first) : 0;
		if (err)
			return err;
	}
	return 0;
}

int functions_find_units(struct functions *f)
{
	struct owners o = { 0 };
	int err = -ENOMEM;
	size_t i;

	f->nmodules = dep_store_modules(f->store, &f->module);
	f->image = calloc(f->nmodules + 1, sizeof(*f->image));
	o.seen = calloc(f->nmodules + 1, sizeof(*o.seen));
	for (i = 0; f->image && i <= f->nmodules; i++)
		f->image[i].unit = NO_FUNCTION;
	if (f->image && o.seen)
		err = collect(f, &o);
	if (!err) {
		qsort(o.owner, o.n, sizeof(*o.owner), by_file);
		err = make_units(f, &o);
	}
	free(o.owner);
	free(o.seen);
	return err;
}

/* The unit of the code of @process that is in no file. */
static uint32_t anonymous_unit(const struct functions *f, uint32_t process)
{
	size_t lo = 0, hi = f->nanonymous, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (f->unit[mid].process < process)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* NO_FUNCTION is the number of no unit either. */
	return lo < f->nanonymous && f->unit[lo].process == process ? (uint32_t)lo : NO_FUNCTION;
}

struct site functions_site(const struct functions *f, uint32_t process, uint32_t image, uint64_t pc)
{
	if (image && image <= f->nmodules)
		return (struct site){ pc - f->image[image].bias, f->image[image].unit };
	return (struct site){ pc, anonymous_unit(f, process) };
}

uint32_t functions_find_file(const struct functions *f, const char *path, const char *build_id)
{
	size_t lo = f->nanonymous, hi = f->nunits, mid;
	int d;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		d = strcmp(f->unit[mid].path, path);
		if (!d)
			d = strcmp(f->unit[mid].build_id, build_id);
		if (!d)
			return (uint32_t)mid;
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NO_FUNCTION;
}

uint32_t functions_units(const struct functions *f)
{
	return (uint32_t)f->nunits;
}

struct mapping functions_mapping(const struct functions *f, uint32_t unit)
{
	const struct unit *u = unit < f->nunits ? &f->unit[unit] : NULL;

	if (!u)
		return (struct mapping){ 0 };
	if (!u->any_image)
		return (struct mapping){ .process = u->process };
	return (struct mapping){ u->any_process, f->image[u->any_image].bias,
				 f->module[u->any_image - 1].from_ns };
}

const struct dep_file_code *functions_code(const struct functions *f, uint32_t unit)
{
	static const struct dep_file_code none;

	return unit < f->nunits ? &f->unit[unit].code : &none;
}
