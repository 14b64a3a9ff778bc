// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Match the functions and contexts of two stores.
 *
 * Functions of the same file (by its build-id) are matched by their address in it.  Those of
 * different builds are matched by the file's name and their own name, or by their code if they have
 * no name.  The recorded programs match each other, whatever their names.  Code that is in no file,
 * such as that of a JIT compiler, has no name that lasts: all of it is one row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "diff.h"

static int no_memory(void)
{
	warn("out of memory");
	return 1;
}

/* ---- functions ---- */

/* The build-ids of a store's files, to see which files both stores have. */
static int list_builds(const struct loaded *l, struct numbering *builds)
{
	const struct dep_module *m;
	size_t i, n = dep_store_modules(l->store, &m);

	for (i = 0; i < n; i++)
		if (*m[i].build_id && number_of(builds, m[i].build_id, strlen(m[i].build_id)) ==
				      NUMBERING_FULL)
			return no_memory();
	return 0;
}

static int find_insns(struct diff *d, unsigned int side)
{
	const struct loaded *l = &d->l[side];
	const struct dep_insn_count *insn = l->profile->insn;
	size_t i;
	uint32_t f;

	d->row_of[side] = calloc(l->nfunctions + 1, sizeof(*d->row_of[side]));
	d->insn[side] = calloc(l->nfunctions + 1, sizeof(*d->insn[side]));
	if (!d->row_of[side] || !d->insn[side])
		return no_memory();
	for (i = 0; i < l->profile->ninsns; i++) {
		f = functions_at(l->functions, insn[i].process, insn[i].image, insn[i].pc);
		if (f != NO_FUNCTION && !d->insn[side][f])
			d->insn[side][f] = &insn[i];
	}
	return 0;
}

/* The name of a function's file, which is the same for the programs of both stores. */
static const char *module_key(const struct loaded *l, const struct function *fn)
{
	const struct dep_process *p;

	if (dep_store_processes(l->store, &p) && p->exe && !strcmp(p->exe, fn->path))
		return "";
	return fn->module;
}

/* True if the function's name is that of a symbol, rather than made of its address. */
static bool has_name(const struct function *fn)
{
	return fn->named && (fn->symbol || !strchr(fn->name, '+'));
}

/* Make the key of function @f, equal for functions that match.  Return: its size; 0: no memory */
static size_t key_of(struct diff *d, unsigned int side, uint32_t f, const struct numbering *other,
		     char **key)
{
	const struct function *fn = &d->l[side].function[f];
	const char *module = module_key(&d->l[side], fn);
	uint64_t hash[2];
	int size;

	if (!*fn->path || *fn->path == '[')
		size = asprintf(key, "module%c%s", 0, fn->module);
	else if (*fn->build_id && number_find(other, fn->build_id, strlen(fn->build_id)) !=
				  NUMBERING_FULL)
		size = asprintf(key, "address%c%s%c%llx", 0, fn->build_id, 0,
				(unsigned long long)fn->start);
	else if (has_name(fn))
		size = asprintf(key, "name%c%s%c%s%c%d", 0, module, 0,
				fn->symbol ? fn->symbol : fn->name, 0, fn->stub);
	else if (code_hash(&d->l[side], fn, d->insn[side][f], hash))
		size = asprintf(key, "code%c%s%c%llx %llx", 0, module, 0,
				(unsigned long long)hash[0], (unsigned long long)hash[1]);
	else
		size = asprintf(key, "side%c%u%c%u", 0, side, 0, f);
	return size < 0 ? 0 : (size_t)size;
}

/* Return: 0, or 1 after a message. */
static int add_counts_of(struct diff_counts *c, uint64_t insns, uint64_t refs, uint64_t calls,
			 unsigned int side)
{
	c->present = true;
	return diff_sum(&c->insns, insns, side) || diff_sum(&c->refs, refs, side) ||
	       diff_sum(&c->calls, calls, side);
}

static int add_function(struct diff *d, unsigned int side, uint32_t f, uint32_t number)
{
	const struct function *fn = &d->l[side].function[f];
	struct diff_row *row = &d->row[number];
	struct diff_counts *c = &row->side[side];

	row->many |= c->present;
	if (!c->present) {
		row->function[side] = fn;
		row->index[side] = f;
	}
	d->row_of[side][f] = number;
	return add_counts_of(c, fn->insns, fn->refs, fn->calls, side);
}

static int match_side(struct diff *d, unsigned int side, const struct numbering *other)
{
	uint32_t f, number;
	size_t size;
	char *key;

	for (f = 0; f < d->l[side].nfunctions; f++) {
		key = NULL;
		size = key_of(d, side, f, other, &key);
		number = size ? number_of(&d->keys, key, size) : NUMBERING_FULL;
		if (size)
			free(key);
		if (number == NUMBERING_FULL)
			return no_memory();
		if (add_function(d, side, f, number))
			return 1;
	}
	d->nrows = d->keys.n;
	return 0;
}

/* Tell functions whose code differs from those that only did something else. */
static void compare_code(struct diff *d)
{
	const struct function *const *f;
	struct diff_row *row;
	uint64_t hash[SIDES][2];
	uint32_t i;

	for (i = 0; i < d->nrows; i++) {
		row = &d->row[i];
		f = row->function;
		if (row->many || !f[0] || !f[1])
			continue;
		if (*f[0]->build_id && !strcmp(f[0]->build_id, f[1]->build_id))
			row->code = DIFF_CODE_SAME;
		else if (code_hash(&d->l[0], f[0], d->insn[0][row->index[0]], hash[0]) &&
			 code_hash(&d->l[1], f[1], d->insn[1][row->index[1]], hash[1]))
			row->code = memcmp(hash[0], hash[1], sizeof(hash[0])) ? DIFF_CODE_CHANGED :
				    DIFF_CODE_SAME;
	}
}

int diff_functions(struct diff *d)
{
	struct numbering builds[SIDES] = { 0 };
	int ret = 1;

	d->row = calloc(d->l[0].nfunctions + d->l[1].nfunctions + 1, sizeof(*d->row));
	if (!d->row) {
		no_memory();
		goto out;
	}
	if (list_builds(&d->l[0], &builds[0]) || list_builds(&d->l[1], &builds[1]) ||
	    find_insns(d, 0) || find_insns(d, 1) || match_side(d, 0, &builds[1]) ||
	    match_side(d, 1, &builds[0]))
		goto out;
	compare_code(d);
	ret = 0;
out:
	numbering_free(&builds[0]);
	numbering_free(&builds[1]);
	return ret;
}

/* ---- contexts ---- */

static int match_contexts(struct diff *d, unsigned int side)
{
	const struct loaded *l = &d->l[side];
	const struct dep_context *c = l->contexts->context;
	struct { uint32_t parent, row; } key = { 0 };
	uint32_t i, f, number, *match;
	int ret = 0;

	match = calloc(l->contexts->ncontexts + 1, sizeof(*match));
	if (!match)
		return no_memory();
	for (i = 0; i < l->contexts->ncontexts && !ret; i++) {
		f = functions_of(l->functions, i);
		key.parent = i ? match[c[i].parent] : 0;
		key.row = f == NO_FUNCTION ? NO_FUNCTION : d->row_of[side][f];
		number = number_of(&d->context_keys, &key, sizeof(key));
		if (number == NUMBERING_FULL) {
			ret = no_memory();
			break;
		}
		match[i] = number;
		d->context[number].parent = key.parent;
		d->context[number].row = key.row;
		ret = add_counts_of(&d->context[number].side[side], c[i].insns, c[i].refs,
				    c[i].calls, side);
	}
	free(match);
	d->ncontexts = d->context_keys.n;
	return ret;
}

int diff_contexts(struct diff *d)
{
	d->context = calloc(d->l[0].contexts->ncontexts + d->l[1].contexts->ncontexts + 1,
			    sizeof(*d->context));
	if (!d->context)
		return no_memory();
	return match_contexts(d, 0) || match_contexts(d, 1);
}

void diff_free(struct diff *d)
{
	unsigned int side;

	for (side = 0; side < SIDES; side++) {
		free(d->row_of[side]);
		free(d->insn[side]);
		load_close(&d->l[side]);
	}
	numbering_free(&d->keys);
	numbering_free(&d->context_keys);
	free(d->row);
	free(d->context);
}
