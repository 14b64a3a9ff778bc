// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of a processed profile of the Firefox Profiler, which all threads share.
 *
 * A table is an object with an array for each column.  A stack is a frame and the stack of its
 * caller, so the tables' size is that of the tree of contexts, whatever its depth.
 */
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "firefox.h"
#include "names.h"
#include "stacks.h"

#define NO_STACK	UINT32_MAX
#define RESOURCE_LIBRARY	1

/* A frame; without padding, to be a key. */
struct frame {
	struct stack_place place;
	uint64_t guess;		/* it is a caller at an attach that may be wrong */
};

struct stack {
	uint32_t prefix, frame;	/* @prefix: NO_STACK at the outermost frame */
};

/* ---- numbers of strings, frames and stacks ---- */

static uint32_t number(struct firefox *f, struct numbering *t, const void *key, size_t size)
{
	uint32_t n = number_of(t, key, size);

	f->failed |= n == NUMBERING_FULL;
	return n;
}

static uint32_t string(struct firefox *f, const char *s)
{
	return number(f, &f->strings, s, strlen(s) + 1);
}

static uint32_t stack_number(struct firefox *f, uint32_t prefix, const struct stack_frame *at)
{
	const struct frame frame = {
		.place = stacks_place(at),
		.guess = f->samples.contexts->context[at->context].guess,
	};
	struct stack stack = { prefix, number(f, &f->frames, &frame, sizeof(frame)) };

	return number(f, &f->stacks, &stack, sizeof(stack));
}

/* Number the stacks of all samples; contexts above come first, and with them their callers. */
static void make_stacks(struct firefox *f, bool *needed, uint32_t *caller)
{
	const struct dep_contexts *c = f->samples.contexts;
	struct stack_frame at;
	uint32_t parent, i;
	size_t s;

	for (s = 0; s < f->samples.n; s++) {
		i = samples_row(&f->samples, s)->context;
		f->stack[i] = 0;
		for (; i && !needed[i]; i = c->context[i].parent)
			needed[i] = true;
	}
	for (i = 1; i < c->ncontexts && !f->failed; i++) {
		if (!needed[i])
			continue;
		parent = c->context[i].parent;
		caller[i] = NO_STACK;
		if (parent) {
			at = stacks_caller(f->x, i);
			caller[i] = stack_number(f, caller[parent], &at);
		}
		if (f->stack[i] == NO_STACK)
			continue;
		at = stacks_inner(f->x, i);
		f->stack[i] = stack_number(f, caller[i], &at);
	}
}

static void make_functions(struct firefox *f)
{
	size_t n = f->x->l.nfunctions, i;
	const struct function *of;
	char room[EXPORT_TITLE];
	const char *lib;

	for (i = 0; i <= n && !f->failed; i++) {
		of = i < n ? &f->x->l.function[i] : NULL;
		f->name[i] = string(f, export_title(f->x, of ? (uint32_t)i : NO_FUNCTION, room,
						    sizeof(room)));
		f->source[i] = f->lib[i] = UINT32_MAX;
		if (!of)
			continue;
		lib = *of->path ? of->path : of->module;
		f->lib[i] = number(f, &f->libs, lib, strlen(lib) + 1);
		string(f, base_name(lib));
		if (of->file) {
			string(f, of->file);
			f->source[i] = number(f, &f->sources, of->file, strlen(of->file) + 1);
		}
	}
}

bool firefox_number(struct firefox *f)
{
	size_t n = f->samples.contexts->ncontexts + 1, functions = f->x->l.nfunctions + 1, i;
	uint32_t *caller = calloc(n, sizeof(*caller));
	bool *needed = calloc(n, sizeof(*needed));

	f->stack = calloc(n, sizeof(*f->stack));
	f->name = calloc(functions, sizeof(*f->name));
	f->source = calloc(functions, sizeof(*f->source));
	f->lib = calloc(functions, sizeof(*f->lib));
	f->failed = !caller || !needed || !f->stack || !f->name || !f->source || !f->lib;
	for (i = 0; i < n && !f->failed; i++)
		f->stack[i] = NO_STACK;
	if (!f->failed)
		make_functions(f);
	if (!f->failed)
		make_stacks(f, needed, caller);
	free(caller);
	free(needed);
	return !f->failed;
}

/* ---- columns ---- */

void firefox_equal(struct json *j, const char *column, size_t n, int number)
{
	json_array(j, column);
	while (n--) {
		if (number < 0)
			json_str(j, NULL, NULL);
		else
			json_u64(j, NULL, (uint64_t)number);
	}
	json_close(j, ']');
}

static void put_u32(struct json *j, uint32_t v)
{
	if (v == UINT32_MAX)
		json_str(j, NULL, NULL);
	else
		json_u64(j, NULL, v);
}

static void put_column(struct json *j, const char *column, const uint32_t *v, size_t n)
{
	json_array(j, column);
	while (n--)
		put_u32(j, *v++);
	json_close(j, ']');
}

static void put_false(struct json *j, const char *column, size_t n)
{
	json_array(j, column);
	while (n--)
		json_bool(j, NULL, false);
	json_close(j, ']');
}

/* ---- tables of all threads ---- */

static void put_strings(struct firefox *f)
{
	uint32_t i;

	json_array(&f->j, "stringArray");
	for (i = 0; i < f->strings.n; i++)
		json_str(&f->j, NULL, number_key(&f->strings, i));
	json_close(&f->j, ']');
}

/* The strings of sources are in the table of strings since make_functions(). */
static void put_sources(struct firefox *f)
{
	struct json *j = &f->j;
	uint32_t n = f->sources.n, i;

	json_object(j, "sources");
	json_u64(j, "length", n);
	firefox_equal(j, "id", n, -1);
	json_array(j, "filename");
	for (i = 0; i < n; i++)
		json_u64(j, NULL, string(f, number_key(&f->sources, i)));
	json_close(j, ']');
	firefox_equal(j, "startLine", n, 1);
	firefox_equal(j, "startColumn", n, 1);
	firefox_equal(j, "sourceMapURL", n, -1);
	json_close(j, '}');
}

static void put_resources(struct firefox *f)
{
	struct json *j = &f->j;
	uint32_t n = f->libs.n, i;

	json_object(j, "resourceTable");
	json_u64(j, "length", n);
	firefox_equal(j, "type", n, RESOURCE_LIBRARY);
	json_array(j, "lib");
	for (i = 0; i < n; i++)
		json_u64(j, NULL, i);
	json_close(j, ']');
	json_array(j, "name");
	for (i = 0; i < n; i++)
		json_u64(j, NULL, string(f, base_name(number_key(&f->libs, i))));
	json_close(j, ']');
	firefox_equal(j, "host", n, -1);
	json_close(j, '}');
}

static void put_functions(struct firefox *f)
{
	struct json *j = &f->j;
	size_t n = f->x->l.nfunctions, i;

	json_object(j, "funcTable");
	json_u64(j, "length", n + 1);
	put_column(j, "name", f->name, n + 1);
	put_false(j, "isJS", n + 1);
	put_false(j, "relevantForJS", n + 1);
	json_array(j, "resource");
	for (i = 0; i <= n; i++)
		json_i64(j, NULL, f->lib[i] == UINT32_MAX ? -1 : (int64_t)f->lib[i]);
	json_close(j, ']');
	put_column(j, "source", f->source, n + 1);
	json_array(j, "lineNumber");
	for (i = 0; i <= n; i++)
		put_u32(j, i < n && f->x->l.function[i].line ? f->x->l.function[i].line :
			UINT32_MAX);
	json_close(j, ']');
	firefox_equal(j, "columnNumber", n + 1, -1);
	json_close(j, '}');
}

static struct frame frame_of(const struct firefox *f, uint32_t i)
{
	struct frame frame;

	memcpy(&frame, number_key(&f->frames, i), sizeof(frame));
	return frame;
}

static void put_frame_lines(struct firefox *f)
{
	const struct dep_file_line *line;
	struct stack_place place;
	uint32_t i;

	json_array(&f->j, "line");
	for (i = 0; i < f->frames.n; i++) {
		place = frame_of(f, i).place;
		line = lines_at(&f->lines, place.image, place.pc);
		put_u32(&f->j, line && line->line ? line->line : UINT32_MAX);
	}
	json_close(&f->j, ']');
}

/* Addresses would be of use for finding names only, which the profile has. */
static void put_frames(struct firefox *f)
{
	struct json *j = &f->j;
	uint32_t n = f->frames.n, i, function;

	json_object(j, "frameTable");
	json_u64(j, "length", n);
	json_array(j, "address");
	for (i = 0; i < n; i++)
		json_i64(j, NULL, -1);
	json_close(j, ']');
	firefox_equal(j, "inlineDepth", n, 0);
	json_array(j, "category");
	for (i = 0; i < n; i++)
		json_u64(j, NULL, frame_of(f, i).guess ? FIREFOX_GUESS : FIREFOX_OTHER);
	json_close(j, ']');
	firefox_equal(j, "subcategory", n, 0);
	json_array(j, "func");
	for (i = 0; i < n; i++) {
		function = frame_of(f, i).place.function;
		json_u64(j, NULL, function == NO_FUNCTION ? f->x->l.nfunctions : function);
	}
	json_close(j, ']');
	firefox_equal(j, "nativeSymbol", n, -1);
	firefox_equal(j, "innerWindowID", n, -1);
	put_frame_lines(f);
	firefox_equal(j, "column", n, -1);
	json_close(j, '}');
}

static struct stack stack_of(const struct firefox *f, uint32_t i)
{
	struct stack stack;

	memcpy(&stack, number_key(&f->stacks, i), sizeof(stack));
	return stack;
}

static void put_stacks(struct firefox *f)
{
	struct json *j = &f->j;
	uint32_t n = f->stacks.n, i;

	json_object(j, "stackTable");
	json_u64(j, "length", n);
	json_array(j, "frame");
	for (i = 0; i < n; i++)
		json_u64(j, NULL, stack_of(f, i).frame);
	json_close(j, ']');
	json_array(j, "prefix");
	for (i = 0; i < n; i++)
		put_u32(j, stack_of(f, i).prefix);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_shared(struct firefox *f)
{
	struct json *j = &f->j;

	json_object(j, "shared");
	put_stacks(f);
	put_frames(f);
	put_functions(f);
	put_resources(f);
	put_sources(f);
	json_object(j, "nativeSymbols");
	json_u64(j, "length", 0);
	firefox_equal(j, "libIndex", 0, 0);
	firefox_equal(j, "address", 0, 0);
	firefox_equal(j, "name", 0, 0);
	firefox_equal(j, "functionSize", 0, 0);
	json_close(j, '}');
	put_strings(f);
	json_close(j, '}');
}

static void put_libs(struct firefox *f)
{
	struct json *j = &f->j;
	const char *path;
	uint32_t i;

	json_array(j, "libs");
	for (i = 0; i < f->libs.n; i++) {
		path = number_key(&f->libs, i);
		json_object(j, NULL);
		json_str(j, "arch", "x86_64");
		json_str(j, "name", base_name(path));
		json_str(j, "path", path);
		json_str(j, "debugName", base_name(path));
		json_str(j, "debugPath", path);
		json_str(j, "breakpadId", "");
		json_str(j, "codeId", NULL);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void firefox_tables(struct firefox *f)
{
	put_libs(f);
	put_shared(f);
}

void firefox_free(struct firefox *f)
{
	numbering_free(&f->strings);
	numbering_free(&f->libs);
	numbering_free(&f->sources);
	numbering_free(&f->frames);
	numbering_free(&f->stacks);
	free(f->stack);
	free(f->name);
	free(f->source);
	free(f->lib);
}
