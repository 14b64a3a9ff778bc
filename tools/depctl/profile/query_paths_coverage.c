// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query paths --table=coverage: which part of the potential paths of each function one or
 * several recordings executed.
 *
 * Functions of a file are the same in all recordings if its path and build-id are.  A path is its
 * code from one branch to the next, relative to the function, since each recording divides the code
 * into blocks in its own way.
 */
#include <dep/path_profile.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/common/numbering.h"
#include "tools/depctl/depctl.h"
#include "query.h"

#define CODE_MAX	(1u << 20)	/* bytes that are read of each part of a function */

/* A function. */
struct covered {
	struct dep_path_flow *flow;
	char *name;
	uint64_t paths, executions;	/* whole ones */
	uint64_t potential;
	bool file;			/* the flow has the code of the file */
	bool more, unknown;		/* of @potential */
	bool cut;			/* not all code of the file could be read */
};

/* All stores so far. */
struct coverage {
	struct numbering functions, paths;
	struct covered *row;
	size_t n, room;
	uint64_t *key;		/* of a path: function and end, then the runs */
	struct dep_path_code *block;
	size_t key_room, block_room;
};

static int grow(void *rowp, size_t n, size_t *room, size_t size)
{
	void **row = rowp, *more;
	size_t want = n > 2 * *room ? n : 2 * *room;

	if (n <= *room)
		return 0;
	more = reallocarray(*row, want, size);
	if (!more)
		return -ENOMEM;
	*row = more;
	*room = want;
	return 0;
}

/* ---- functions ---- */

/* Read @size bytes of the file's code at @linked. */
static int add_code(struct covered *c, const struct profile_view *v, struct mapping m,
		    uint64_t linked, uint64_t size)
{
	const uint64_t all = size;
	uint8_t *code;
	size_t n;
	int err;

	if (size > CODE_MAX)
		size = CODE_MAX;
	code = malloc(size + 1);
	if (!code)
		return -ENOMEM;
	n = dep_symbols_file_bytes(v->symbols, m.process, linked + m.bias, m.time_ns, linked, code,
				   size);
	err = n ? dep_path_flow_code(c->flow, linked, code, n) : 0;
	c->file |= n > 0;
	c->cut |= n < all;
	free(code);
	return err;
}

/* Add the code of the function at @site, with its parts; or what is known of its size. */
static int add_file(struct covered *c, const struct profile_view *v, struct site site)
{
	const struct dep_file_code *code = functions_code(v->f, site.unit);
	struct mapping m = functions_mapping(v->f, site.unit);
	size_t i, at = code->nfunctions;
	int err = 0;

	for (i = 0; i < code->nfunctions; i++)
		if (site.addr >= code->function[i].start && site.addr < code->function[i].end)
			at = i;
	if (at == code->nfunctions)
		return 0;
	for (i = 0; i < code->nfunctions && !err; i++)
		if (code->function[i].whole == code->function[at].whole)
			err = add_code(c, v, m, code->function[i].start,
				       code->function[i].end - code->function[i].start);
	return err;
}

/* The key of the function at @site, the same in all stores; its size, or 0. */
static size_t key_of(unsigned int store, struct site site, const struct function *fn, char **key)
{
	int size;

	if (fn && *fn->path == '/' && *fn->build_id)
		size = asprintf(key, "%s%c%s%c%llx", fn->path, 0, fn->build_id, 0,
				(unsigned long long)site.addr);
	else
		size = asprintf(key, "%u%c%u%c%llx", store, 0, site.unit, 0,
				(unsigned long long)site.addr);
	return size < 0 ? 0 : (size_t)size;
}

static int new_function(struct covered *c, const struct profile_view *v, struct site site,
			const struct function *fn)
{
	char name[NAME_TEXT];
	int err;

	name_site(v, site, name);
	c->name = strdup(name);
	err = c->name ? dep_path_flow_new(site.addr, &c->flow) : -ENOMEM;
	if (!err && fn && *fn->path == '/')
		err = add_file(c, v, site);
	return err;
}

/* The number of the function of @row in all stores. */
static int64_t function_of(struct coverage *c, const struct profile_view *v, unsigned int store,
			   struct site site)
{
	const struct function *all;
	uint32_t f = functions_in(v->f, site), n = c->functions.n, number;
	char *key = NULL;
	size_t size;
	int err;

	functions_all(v->f, &all);
	size = key_of(store, site, f == NO_FUNCTION ? NULL : all + f, &key);
	number = size ? number_of(&c->functions, key, size) : NUMBERING_FULL;
	if (size)
		free(key);
	if (number == NUMBERING_FULL)
		return -ENOMEM;
	if (number < n)
		return number;
	err = grow(&c->row, n + 1ul, &c->room, sizeof(*c->row));
	if (err)
		return err;
	c->row[n] = (struct covered){ 0 };
	c->n = n + 1ul;
	err = new_function(c->row + n, v, site, f == NO_FUNCTION ? NULL : all + f);
	return err ? err : (int64_t)number;
}

/* ---- paths ---- */

/* Make the key of a path; its size. */
static size_t path_key(struct coverage *c, const struct dep_path_row *r, uint64_t function,
		       uint64_t base)
{
	const struct dep_path_code *b = c->block;
	size_t n = 0;
	uint32_t i;

	c->key[n++] = function;
	c->key[n++] = r->next ? r->next - base : UINT64_MAX;
	c->key[n++] = b->pc - base;
	/* Where code goes on behind a block, it is one run with the next one. */
	for (i = 0; i < r->blocks; i++) {
		if (i + 1 < r->blocks && b[i].branch == DEP_BRANCH_NONE &&
		    b[i + 1].pc == b[i].pc + b[i].size)
			continue;
		c->key[n++] = b[i].last - base;
		if (i + 1 < r->blocks)
			c->key[n++] = b[i + 1].pc - base;
	}
	return n * sizeof(*c->key);
}

static int add_path(struct coverage *c, const struct profile_view *v, unsigned int store,
		    const struct dep_path_profile *p, size_t i)
{
	const struct dep_path_row *r = p->row + i;
	struct site site = functions_site(v->f, r->process, r->image, r->pc);
	const uint64_t base = r->pc - site.addr;
	int64_t number = function_of(c, v, store, site);
	uint32_t path, n = c->paths.n;
	int err;

	if (number < 0)
		return (int)number;
	err = grow(&c->block, r->blocks + 1ul, &c->block_room, sizeof(*c->block));
	if (!err)
		err = grow(&c->key, 2ul * r->blocks + 4, &c->key_room, sizeof(*c->key));
	if (err || dep_path_profile_blocks(p, i, c->block, r->blocks) != r->blocks)
		return -ENOMEM;
	err = dep_path_flow_path(c->row[number].flow, r, c->block, base);
	if (err == -E2BIG) {
		c->row[number].unknown = true;
		err = 0;
	}
	if (err || r->kind != DEP_PATH_ROW_WHOLE)
		return err;
	c->row[number].executions += r->count;
	path = number_of(&c->paths, c->key, path_key(c, r, (uint64_t)number, base));
	if (path == NUMBERING_FULL)
		return -ENOMEM;
	c->row[number].paths += path == n;
	return 0;
}

static int add_store(struct coverage *c, const struct query *q, const struct profile_view *v,
		     unsigned int store, const struct dep_path_profile *p)
{
	struct site site;
	int err = 0;
	size_t i;

	for (i = 0; i < p->nrows && !err; i++) {
		site = functions_site(v->f, p->row[i].process, p->row[i].image, p->row[i].pc);
		if (!q->o.function || profile_matches(v, functions_in(v->f, site)))
			err = add_path(c, v, store, p, i);
	}
	return err;
}

/* The other stores, one after the other. */
static int add_others(struct coverage *c, struct query *q)
{
	struct profile_options o = q->o;
	struct dep_path_profile *p;
	struct profile_view v;
	int status = 0, lacks = 0;
	size_t i;

	for (i = 0; i < q->o.nmore && !status; i++) {
		p = NULL;
		o.path = q->o.more[i];
		status = profile_open(&v, &o, 0);
		if (!status)
			status = profile_paths(&v, &p);
		if (!status)
			status = add_store(c, q, &v, (unsigned int)i + 1, p);
		if (!status) {
			profile_add_reasons(&v, &q->more);
			lacks |= profile_status(&v);
		}
		dep_path_profile_free(p);
		profile_close(&v);
	}
	q->lacks = lacks;
	return status;
}

/* ---- rows ---- */

static const struct row_column columns[] = {
	{ "share", "share", ROW_SHARE },
	{ "paths", "paths", ROW_COUNT },
	{ "potential", "potential", ROW_TEXT },
	{ "graph", "graph", ROW_TEXT },
	{ "executions", "count", ROW_COUNT },
	{ "function", "function", ROW_TEXT },
};

struct row_columns paths_coverage_columns(void)
{
	return ROW_COLUMNS(columns);
}

static int find_potential(struct coverage *c)
{
	struct covered *row;
	size_t i;
	int err;

	for (i = 0; i < c->n; i++) {
		row = c->row + i;
		if (row->unknown)
			continue;
		err = dep_path_flow_potential(row->flow, &row->potential, &row->more);
		if (err == -E2BIG)
			row->unknown = true;
		else if (err)
			return err;
	}
	return 0;
}

static int by_paths(const void *pa, const void *pb)
{
	const struct covered *a = pa, *b = pb;

	if (a->paths != b->paths)
		return a->paths > b->paths ? -1 : 1;
	if (a->executions != b->executions)
		return a->executions > b->executions ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void put(struct query *q, const struct covered *c)
{
	char potential[48];

	if (c->unknown)
		snprintf(potential, sizeof(potential), "unknown");
	else if (c->potential == UINT64_MAX)
		snprintf(potential, sizeof(potential), "more than 64 bits");
	else
		snprintf(potential, sizeof(potential), "%s%llu", c->more || c->cut ? ">=" : "",
			 (unsigned long long)c->potential);
	row_share(&q->rows, c->paths, c->unknown ? 0 : c->potential);
	row_count(&q->rows, c->paths);
	row_text(&q->rows, potential);
	row_text(&q->rows, c->file ? "file" : "executed");
	row_count(&q->rows, c->executions);
	row_text(&q->rows, c->name);
}

static int print(struct query *q, struct coverage *c)
{
	size_t i, n = 0;
	int err = find_potential(c);

	if (err)
		return err;
	if (c->n)
		qsort(c->row, c->n, sizeof(*c->row), by_paths);
	while (n < c->n && c->row[n].paths)
		n++;
	n = query_rows(q, n);
	for (i = 0; i < n; i++)
		put(q, c->row + i);
	return 0;
}

int paths_coverage(struct query *q, const struct dep_path_profile *p)
{
	struct coverage c = { 0 };
	size_t i;
	int err;

	err = add_store(&c, q, &q->v, 0, p);
	if (!err)
		err = add_others(&c, q);
	if (!err)
		err = print(q, &c);
	for (i = 0; i < c.n; i++) {
		dep_path_flow_free(c.row[i].flow);
		free(c.row[i].name);
	}
	free(c.row);
	free(c.key);
	free(c.block);
	numbering_free(&c.functions);
	numbering_free(&c.paths);
	return err;
}
