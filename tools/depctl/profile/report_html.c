// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl report --html: the profile as a page for a browser. */
#include <errno.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/page/page.h"
#include "report_html.h"

/** struct chosen - the paths of a page, and what they are made of */
struct chosen {
	struct dep_path_profile *profile;
	struct hot_paths hot;
	struct loops loops;
	uint32_t *number;	/* on the page, of each of hot.path; NO_FUNCTION: left out */
	struct page_path *path;
	struct page_loop *loop;
	struct dep_path_code *block;
	struct page_paths page;
};

static void chosen_free(struct chosen *c)
{
	free(c->number);
	free(c->path);
	free(c->loop);
	free(c->block);
	loops_free(&c->loops);
	hot_paths_free(&c->hot);
	dep_path_profile_free(c->profile);
}

/* Choose the hottest paths, and those round the hottest loops. */
static size_t number_paths(struct chosen *c, size_t nloops)
{
	size_t i, at, n = 0;

	for (i = 0; i < c->hot.n; i++)
		c->number[i] = NO_FUNCTION;
	for (i = 0; i < c->hot.n && i < PAGE_PATHS; i++)
		c->number[i] = 0;
	for (i = 0; i < nloops; i++) {
		at = hot_paths_of_loop(&c->hot, c->loops.loop[i].header);
		if (at < c->hot.n)
			c->number[at] = 0;
	}
	for (i = 0; i < c->hot.n; i++) {
		if (!c->number[i]) {
			c->number[i] = (uint32_t)n++;
		} else {
			c->page.left_out++;
			c->page.left_insns += c->hot.path[i].insns;
		}
	}
	return n;
}

/* Take the blocks of the path, if there is room for them all. */
static int take_blocks(struct chosen *c, size_t row, struct page_path *out, size_t *used)
{
	struct dep_path_code *block = c->block + *used;

	if (out->blocks > PAGE_BLOCKS - *used)
		return 0;
	out->block = block;
	out->nblocks = out->blocks;
	*used += out->blocks;
	return dep_path_profile_blocks(c->profile, row, block, out->blocks) ? 0 : -ENOMEM;
}

static int take_paths(struct chosen *c, const struct profile_view *v)
{
	const struct dep_path_row *r;
	struct dep_path_code first;
	struct page_path *out;
	size_t i, used = 0;
	int err = 0;

	for (i = 0; i < c->hot.n && !err; i++) {
		if (c->number[i] == NO_FUNCTION)
			continue;
		r = &c->profile->row[c->hot.path[i].row];
		first = (struct dep_path_code){ .pc = r->pc };
		dep_path_profile_blocks(c->profile, c->hot.path[i].row, &first, 1);
		out = &c->path[c->number[i]];
		*out = (struct page_path){
			.count = c->hot.path[i].count, .insns = r->insns,
			.offset = (int64_t)(first.pc - r->pc), .process = r->process,
			.image = r->image, .blocks = r->blocks,
			.function = functions_in(v->f, c->hot.path[i].function),
			.round = c->hot.path[i].loop.unit != NO_FUNCTION };
		err = take_blocks(c, c->hot.path[i].row, out, &used);
	}
	return err;
}

static void take_loops(struct chosen *c, const struct profile_view *v)
{
	const struct loop *l;
	struct dep_place place;
	size_t i, at;

	for (i = 0; i < c->page.nloops; i++) {
		l = &c->loops.loop[i];
		at = hot_paths_of_loop(&c->hot, l->header);
		functions_place(v->f, l->header, &place);
		c->loop[i] = (struct page_loop){
			.entered = l->entered, .iterations = l->iterations, .insns = l->insns,
			.offset = (int64_t)(l->header.addr -
					    functions_start(v->f, l->function).addr),
			.function = l->function, .line = place.file ? place.line : 0,
			.path = at < c->hot.n ? c->number[at] : NO_FUNCTION };
	}
}

static int choose(struct chosen *c, const struct profile_view *v)
{
	int err = profile_loops(v, &c->loops);

	if (!err)
		err = hot_paths_find(&c->hot, c->profile, v->f);
	if (err)
		return err;
	c->page.nloops = c->loops.n < PAGE_LOOPS ? c->loops.n : PAGE_LOOPS;
	c->number = calloc(c->hot.n + 1, sizeof(*c->number));
	c->path = calloc(PAGE_PATHS + PAGE_LOOPS, sizeof(*c->path));
	c->loop = calloc(PAGE_LOOPS, sizeof(*c->loop));
	c->block = calloc(PAGE_BLOCKS, sizeof(*c->block));
	if (!c->number || !c->path || !c->loop || !c->block)
		return -ENOMEM;
	c->page.n = number_paths(c, c->page.nloops);
	err = take_paths(c, v);
	if (err)
		return err;
	take_loops(c, v);
	c->page.path = c->path;
	c->page.loop = c->loop;
	c->page.loops_left_out = c->loops.n - c->page.nloops;
	c->page.partial = c->hot.partial;
	c->page.partial_insns = c->hot.partial_insns;
	c->page.truncated = c->hot.truncated;
	return 0;
}

static int write_page(struct profile_view *v, const char *path, bool source,
		      const struct page_paths *paths)
{
	const char *missing[REASONS_MAX];
	struct page_input in = {
		.store = v->store, .symbols = v->symbols, .code = v->code, .profile = v->p,
		.contexts = v->c, .functions = v->f, .paths = paths, .missing = missing,
		.source = source };
	struct reasons reasons;

	profile_reasons(v, &reasons);
	while (in.nmissing < reasons.n) {
		missing[in.nmissing] = reasons.text[in.nmissing];
		in.nmissing++;
	}
	return page_write(&in, path) ? EXIT_FAILURE : profile_status(v);
}

int report_html(const struct profile_options *o, const char *path, bool source, bool paths)
{
	struct chosen chosen = { 0 };
	struct profile_view v;
	int status = profile_open(&v, o, VIEW_CONTEXTS | VIEW_TIMES);

	if (!status && paths)
		status = profile_paths(&v, &chosen.profile);
	if (!status && paths && choose(&chosen, &v)) {
		warn("out of memory");
		status = EXIT_FAILURE;
	}
	if (!status)
		status = write_page(&v, path, source, paths ? &chosen.page : NULL);
	chosen_free(&chosen);
	profile_close(&v);
	return status;
}
