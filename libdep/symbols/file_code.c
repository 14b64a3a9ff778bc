// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Divide the code of a file into functions.  Where the sources differ, the first one that knows an
 * address decides: entries of PLTs, symbols with a size, symbols without one, .eh_frame.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file_code.h"

/* By precedence. */
enum layer { STUB, SIZED, UNSIZED, UNWIND, LAYERS };

#define MAX_CHAIN	8u	/* parts of parts: NAME.part.0.cold */
/* Bytes of names per byte of the file, and in all.  Honest files have less than 1. */
#define NAMES_SHARE	4u
#define MAX_NAMES	(1ull << 30)

/* A range of code that belongs to one entry of one layer. */
struct piece {
	u64 lo, hi;
	u32 value;		/* index in the layer */
	u32 whole;		/* index of the piece that this is a part of, or its own index */
	u8 layer;
};

struct code {
	struct dep_image *im;
	struct dep_extents areas, fde;
	struct dep_stubs stubs;
	struct dep_starts starts;
	struct dep_spans layer[LAYERS];
	struct piece *piece;
	size_t n, room;
	u32 *first;		/* for each of @starts: its first piece, or DEP_NO_INDEX */
	u64 names_left;		/* bytes of names that may still be made */
};

/* ---- layers ---- */

static int make_layers(struct code *c)
{
	const struct dep_start *s;
	int err = 0;
	u32 i;

	for (i = 0; i < c->stubs.n && !err; i++)
		err = dep_spans_add(&c->layer[STUB], c->stubs.stub[i].lo, c->stubs.stub[i].hi, i);
	for (i = 0; i < c->starts.n && !err; i++) {
		s = &c->starts.start[i];
		err = dep_spans_add(&c->layer[s->sized ? SIZED : UNSIZED], s->lo, s->hi, i);
	}
	for (i = 0; i < c->fde.n && !err; i++)
		err = dep_spans_add(&c->layer[UNWIND], c->fde.at[i].lo, c->fde.at[i].hi, i);
	for (i = 0; i < LAYERS && !err; i++)
		err = dep_spans_seal(&c->layer[i]);
	return err;
}

static int add_piece(struct code *c, u64 lo, u64 hi, u32 layer, u32 value)
{
	struct piece *last = c->n ? &c->piece[c->n - 1] : NULL, *p;

	if (last && last->hi == lo && last->layer == layer && last->value == value) {
		last->hi = hi;
		return 0;
	}
	p = dep_grow(c->piece, c->n, &c->room, sizeof(*p));
	if (!p || c->n >= DEP_NO_INDEX)
		return -ENOMEM;
	c->piece = p;
	p[c->n] = (struct piece){ .lo = lo, .hi = hi, .value = value, .layer = (u8)layer,
				  .whole = (u32)c->n };
	c->n++;
	return 0;
}

/* Divide [lo, hi).  @next: for each layer the first of its cuts behind @lo; is moved up to @hi. */
static int divide_area(struct code *c, u64 lo, u64 hi, size_t next[LAYERS])
{
	const struct dep_spans *t;
	u64 end;
	u32 value, owner, i, v;
	int err = 0;

	for (; lo < hi && !err; lo = end) {
		end = hi;
		owner = LAYERS;
		value = DEP_SPAN_NONE;
		for (i = 0; i < LAYERS; i++) {
			t = &c->layer[i];
			while (next[i] < t->ncuts && t->cut[next[i]].at <= lo)
				next[i]++;
			if (next[i] < t->ncuts && t->cut[next[i]].at < end)
				end = t->cut[next[i]].at;
			v = next[i] ? t->cut[next[i] - 1].value : DEP_SPAN_NONE;
			if (owner != LAYERS || v == DEP_SPAN_NONE)
				continue;
			owner = i;
			value = v;
		}
		if (owner != LAYERS)
			err = add_piece(c, lo, end, owner, value);
	}
	return err;
}

static int divide(struct code *c)
{
	size_t next[LAYERS] = { 0 }, i;
	int err = 0;

	for (i = 0; i < c->areas.n && !err; i++)
		err = divide_area(c, c->areas.at[i].lo, c->areas.at[i].hi, next);
	return err;
}

/* ---- parts ---- */

static bool has_symbol(const struct piece *p)
{
	return p->layer == SIZED || p->layer == UNSIZED;
}

/* The rest of a range of .eh_frame behind a symbol belongs to that symbol's function. */
static u32 whole_by_unwind(const struct code *c, u32 i)
{
	const struct piece *p = &c->piece[i], *before = i ? p - 1 : NULL;

	if (p->lo == c->fde.at[p->value].lo || !before || before->hi != p->lo ||
	    before->layer == STUB)
		return i;
	return has_symbol(before) ? i - 1 : before->whole;
}

static int find_first_pieces(struct code *c)
{
	u32 i, *first;

	c->first = malloc((c->starts.n + 1ull) * sizeof(*c->first));
	if (!c->first)
		return -ENOMEM;
	memset(c->first, 0xff, (c->starts.n + 1ull) * sizeof(*c->first));
	for (i = 0; i < c->n; i++) {
		first = &c->first[c->piece[i].value];
		if (has_symbol(&c->piece[i]) && *first == DEP_NO_INDEX)
			*first = i;
	}
	return 0;
}

/* Follow chains of parts.  Names of a hostile file can refer to each other: then all are whole. */
static u32 end_of_chain(const struct code *c, u32 i)
{
	u32 at = i, n;

	for (n = 0; n < MAX_CHAIN; n++) {
		if (c->piece[at].whole == at)
			return at;
		at = c->piece[at].whole;
	}
	return i;
}

static int find_wholes(struct code *c)
{
	struct piece *p;
	int err = find_first_pieces(c);
	u32 i, start;

	for (i = 0; i < c->n && !err; i++) {
		p = &c->piece[i];
		if (p->layer == UNWIND)
			p->whole = whole_by_unwind(c, i);
		if (!has_symbol(p))
			continue;
		p->whole = c->first[p->value];
		start = p->whole == i ? dep_starts_whole(&c->starts, p->value) : p->value;
		if (c->first[start] != DEP_NO_INDEX)
			p->whole = c->first[start];
	}
	return err;
}

/* ---- names ---- */

static const char *take_name(struct code *c, const char *raw, const char **symbol)
{
	struct dep_image *im = c->im;
	const char *name = NULL, *mangled = NULL;
	u64 n;

	*symbol = NULL;
	if (!raw || !c->names_left)
		return NULL;
	n = strnlen(raw, c->names_left);
	if (n < c->names_left)
		name = dep_symbol_text(im, raw, &mangled);
	n += name ? strlen(name) : 0;
	if (n >= c->names_left) {
		c->names_left = 0;
		dep_symbols_message(im->s, "some functions of %s have no names: its symbols "
				    "overlap, or are too long in all", im->path);
		return name;
	}
	c->names_left -= n;
	*symbol = mangled ? mangled : name;
	return name;
}

static const char *stub_name(const struct code *c, const struct dep_stub *stub)
{
	u32 start = stub->name || !stub->resolver ? DEP_NO_INDEX :
		    dep_starts_at(&c->starts, stub->resolver);

	return start == DEP_NO_INDEX ? stub->name : c->starts.start[start].name;
}

static void describe(struct code *c, u32 i, struct dep_file_function *out)
{
	static const u8 kinds[LAYERS] = {
		[STUB] = DEP_FUNCTION_STUB, [SIZED] = DEP_FUNCTION_SYMBOL,
		[UNSIZED] = DEP_FUNCTION_SYMBOL, [UNWIND] = DEP_FUNCTION_UNWIND,
	};
	const struct piece *p = &c->piece[i];
	struct dep_file_function *f = &out[i];
	u32 first;

	*f = (struct dep_file_function){ .start = p->lo, .end = p->hi, .kind = kinds[p->layer],
					 .whole = end_of_chain(c, i) };
	if (p->layer == STUB)
		f->name = take_name(c, stub_name(c, &c->stubs.stub[p->value]), &f->symbol);
	if (!has_symbol(p))
		return;
	first = c->first[p->value];
	if (first == i) {
		f->name = take_name(c, c->starts.start[p->value].name, &f->symbol);
	} else {
		f->name = out[first].name;
		f->symbol = out[first].symbol;
	}
}

static int describe_all(struct code *c)
{
	struct dep_image *im = c->im;
	u32 i;

	if (!c->n)
		return 0;
	im->function = malloc(c->n * sizeof(*im->function));
	if (!im->function)
		return -ENOMEM;
	c->names_left = NAMES_SHARE * (im->main.size + im->debug.size) + (1 << 20);
	if (c->names_left > MAX_NAMES)
		c->names_left = MAX_NAMES;
	for (i = 0; i < c->n; i++)
		describe(c, i, im->function);
	im->nfunctions = c->n;
	return 0;
}

int dep_image_code(struct dep_image *im)
{
	struct code c = { .im = im };
	int err;
	u32 i;

	if (im->have_functions)
		return 0;
	err = dep_code_areas(im, &c.areas);
	if (!err)
		err = dep_eh_frame_ranges(im, &c.fde);
	if (!err)
		err = dep_plt_stubs(im, &c.fde, &c.stubs);
	if (!err)
		err = dep_function_starts(im, &c.areas, &c.fde, &c.starts);
	if (!err)
		err = make_layers(&c);
	if (!err)
		err = divide(&c);
	if (!err)
		err = find_wholes(&c);
	if (!err)
		err = describe_all(&c);
	im->have_functions = !err;
	for (i = 0; i < LAYERS; i++)
		dep_spans_free(&c.layer[i]);
	dep_starts_free(&c.starts);
	free(c.stubs.stub);
	free(c.areas.at);
	free(c.fde.at);
	free(c.piece);
	free(c.first);
	return err;
}
