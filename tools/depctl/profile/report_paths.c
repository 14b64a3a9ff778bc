// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl report --paths: the hottest paths, and the hot path of each loop. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "query.h"
#include "report_parts.h"

#define BLOCKS_WIDTH	31u	/* columns for the blocks of a loop's hot path */
#define JSON_LEAST	1000u	/* JSON has paths with this part of all instructions */

/* The first block of @path, and the block to which it goes back; 0: to none. */
static struct site first_of(struct report *r, const struct hot_path *path, uint64_t *back)
{
	const struct dep_path_row *row = &r->hot.p->row[path->row];
	struct dep_path_code first = { .pc = row->pc };

	dep_path_profile_blocks(r->hot.p, path->row, &first, 1);
	*back = row->kind == DEP_PATH_ROW_LOOP ? first.pc : row->next;
	return functions_site(r->v.f, row->process, row->image, first.pc);
}

/* ---- text ---- */

static void put_path(struct report *r, const struct hot_path *path)
{
	const struct dep_path_row *row = &r->hot.p->row[path->row];
	char name[NAME_TEXT], each[16], to[24] = "-";
	struct site first;
	uint64_t back;

	first = first_of(r, path, &back);
	name_code(&r->v, first, name);
	if (back)
		snprintf(to, sizeof(to), "%c%" PRIx64, back < row->pc ? '-' : '+',
			 back < row->pc ? row->pc - back : back - row->pc);
	out_printf(&r->out, "%5.1f%%  ", per_cent(path->insns, r->v.p->insns));
	report_put_name(r, name);
	out_printf(&r->out, " %11llu %12s %8u %9s  ", (unsigned long long)path->count,
		   human_count(row->insns, each), row->blocks, to);
	report_put_place(r, first);
}

static void put_paths(struct report *r)
{
	size_t n = r->v.o->top ? r->v.o->top : REPORT_PATHS, i;
	uint64_t rest = 0;
	char title[64];

	n = n < r->hot.n ? n : r->hot.n;
	snprintf(title, sizeof(title), "PATHS (%zu executed)", r->hot.n);
	report_put_title(r, title);
	out_printf(&r->out, " %11s %12s %8s %9s  %s\n", "executions", "insns each", "blocks",
		   "back to", "place");
	for (i = 0; i < n; i++)
		put_path(r, &r->hot.path[i]);
	for (i = n; i < r->hot.n; i++)
		rest += r->hot.path[i].insns;
	if (r->hot.n > n)
		out_printf(&r->out, "%5.1f%%  in %zu more\n", per_cent(rest, r->v.p->insns),
			   r->hot.n - n);
	if (r->hot.partial)
		out_printf(&r->out, "%5.1f%%  in %llu path%s that did not end\n",
			   per_cent(r->hot.partial_insns, r->v.p->insns),
			   (unsigned long long)r->hot.partial, r->hot.partial == 1 ? "" : "s");
	if (r->hot.truncated)
		out_printf(&r->out, "        %llu function%s too many paths: they are cut into "
			   "shorter ones\n", (unsigned long long)r->hot.truncated,
			   r->hot.truncated == 1 ? " has" : "s have");
}

static int put_loop(struct report *r, const struct loop *l)
{
	size_t i = hot_paths_of_loop(&r->hot, l->header);
	const struct dep_path_row *row;
	char name[NAME_TEXT], each[16], *blocks;

	name_code(&r->v, l->header, name);
	if (i == r->hot.n) {
		out_text(&r->out, "     -  ");
		report_put_name(r, name);
		out_text(&r->out, " no path begins there and goes back to it\n");
		return 0;
	}
	row = &r->hot.p->row[r->hot.path[i].row];
	blocks = path_text(r->hot.p, r->hot.path[i].row, BLOCKS_WIDTH, true);
	if (!blocks)
		return -ENOMEM;
	out_printf(&r->out, "%5.1f%%  ", per_cent(r->hot.path[i].count, l->iterations));
	report_put_name(r, name);
	out_printf(&r->out, " %12llu %9s %7u  ", (unsigned long long)r->hot.path[i].count,
		   human_count(row->insns, each), row->blocks);
	if (strlen(blocks) <= BLOCKS_WIDTH)
		out_text(&r->out, blocks);
	else
		out_printf(&r->out, "%.*s...", (int)BLOCKS_WIDTH - 3, blocks);
	out_text(&r->out, "\n");
	free(blocks);
	return 0;
}

int report_paths_text(struct report *r)
{
	size_t n = r->loops.n < REPORT_LOOPS ? r->loops.n : REPORT_LOOPS, i;
	int err = 0;

	if (!r->paths)
		return 0;
	put_paths(r);
	if (!n)
		return 0;
	report_put_title(r, "HOT PATH OF EACH LOOP");
	out_printf(&r->out, " %12s %9s %7s  %s\n", "times", "insns", "blocks", "blocks at");
	for (i = 0; i < n && !err; i++)
		err = put_loop(r, &r->loops.loop[i]);
	return err;
}

/* ---- JSON ---- */

static int put_members(struct report *r, struct json *j, const struct hot_path *path)
{
	const struct dep_path_row *row = &r->hot.p->row[path->row];
	char *blocks = path_text(r->hot.p, path->row, row->blocks, false), next[24];

	if (!blocks)
		return -ENOMEM;
	snprintf(next, sizeof(next), "%" PRIx64, row->next);
	json_u64(j, "instructions", path->insns);
	json_u64(j, "executions", path->count);
	json_u64(j, "path_instructions", row->insns);
	json_u64(j, "blocks", row->blocks);
	json_str(j, "kind", row->kind == DEP_PATH_ROW_LOOP ? "loop" : "path");
	json_u64(j, "process_count", path->processes);
	json_u64(j, "process", row->process);
	json_u64(j, "number", row->number);
	json_str(j, "path", blocks);
	json_str(j, "next", row->next ? next : NULL);
	free(blocks);
	return 0;
}

int report_loop_json(struct report *r, struct json *j, const struct loop *l)
{
	size_t i;
	int err;

	if (!r->paths)
		return 0;
	i = hot_paths_of_loop(&r->hot, l->header);
	if (i == r->hot.n) {
		json_str(j, "hot_path", NULL);
		return 0;
	}
	json_object(j, "hot_path");
	err = put_members(r, j, &r->hot.path[i]);
	json_close(j, '}');
	return err;
}

int report_paths_json(struct report *r, struct json *j)
{
	uint64_t least = r->v.p->insns / JSON_LEAST, back;
	size_t i, n = r->v.o->top ? r->v.o->top : r->hot.n;
	int err = 0;

	if (!r->paths)
		return 0;
	json_u64(j, "path_count", r->hot.n);
	json_array(j, "hot_paths");
	for (i = 0; i < n && i < r->hot.n && !err; i++) {
		if (!r->v.o->top && r->hot.path[i].insns < least)
			break;
		json_object(j, NULL);
		json_site(j, "at", &r->v, r->hot.path[i].function);
		json_site(j, "first_block", &r->v, first_of(r, &r->hot.path[i], &back));
		err = put_members(r, j, &r->hot.path[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_object(j, "partial_paths");
	json_u64(j, "path_count", r->hot.partial);
	json_u64(j, "instructions", r->hot.partial_insns);
	json_close(j, '}');
	json_u64(j, "truncated_functions", r->hot.truncated);
	return err;
}
