// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <stdlib.h>

#include "grammar_read.h"

/**
 * struct reader - a grammar is read
 * @start: position of each rule's first symbol; @body has the number of symbols
 * @length: of the sequence that a rule stands for; max + 1 if it is longer than max
 */
struct reader {
	const u8 *data;
	size_t size, at;
	u64 max, nsymbols, nrules;
	u64 *symbol, *body, *length;
	size_t *start;
	bool bad;
};

static u64 number(struct reader *r)
{
	unsigned int shift;
	u64 n = 0;
	u8 byte;

	for (shift = 0; shift < 64 && r->at < r->size; shift += 7) {
		byte = r->data[r->at++];
		n |= (u64)(byte & 0x7f) << shift;
		if (shift == 63 && byte > 1)
			break;
		if (!(byte & 0x80))
			return n;
	}
	r->bad = true;
	return 0;
}

/* A number of things that have at least one byte each. */
static u64 count(struct reader *r)
{
	u64 n = number(r);

	r->bad |= n > r->size - r->at;
	return r->bad ? 0 : n;
}

static void read_symbols(struct reader *r)
{
	u64 i, before = 0;

	r->nsymbols = count(r);
	r->symbol = calloc(r->nsymbols + 1, sizeof(*r->symbol));
	for (i = 0; i < r->nsymbols && !r->bad; i++) {
		r->symbol[i] = before + number(r);
		r->bad |= i && r->symbol[i] <= before;
		before = r->symbol[i];
	}
}

static void read_rules(struct reader *r)
{
	u64 i, k, s;

	r->nrules = count(r);
	r->bad |= !r->nrules;
	r->body = calloc(r->nrules + 1, sizeof(*r->body));
	r->length = calloc(r->nrules + 1, sizeof(*r->length));
	r->start = calloc(r->nrules + 1, sizeof(*r->start));
	for (i = 0; i < r->nrules && !r->bad; i++) {
		r->body[i] = count(r);
		r->start[i] = r->at;
		r->bad |= i && r->body[i] < 2;
		for (k = 0; k < r->body[i] && !r->bad; k++) {
			s = number(r);
			r->bad |= s & 1 ? !(s / 2) || s / 2 >= r->nrules - i : s / 2 >= r->nsymbols;
		}
	}
	r->bad |= r->at != r->size;
}

/* Rules use rules with greater numbers. */
static void add_lengths(struct reader *r)
{
	u64 i, k, s;

	for (i = r->nrules; i--;) {
		r->at = r->start[i];
		for (k = 0; k < r->body[i]; k++) {
			s = number(r);
			r->length[i] += s & 1 ? r->length[i + s / 2] : 1;
			if (r->length[i] > r->max)
				r->length[i] = r->max + 1;
		}
	}
}

/* A rule's number is greater than those of the rules around it, so the stack has room. */
static void expand(struct reader *r, u64 *out)
{
	struct level { size_t at; u64 rule, left; } *stack;
	u64 n = 0, s, depth = 0;

	stack = calloc(r->nrules, sizeof(*stack));
	stack[depth] = (struct level){ r->start[0], 0, r->body[0] };
	for (;;) {
		struct level *l = &stack[depth];

		if (!l->left) {
			if (!depth--)
				break;
			continue;
		}
		l->left--;
		r->at = l->at;
		s = number(r);
		l->at = r->at;
		if (s & 1)
			stack[++depth] = (struct level){ r->start[l->rule + s / 2], l->rule + s / 2,
							 r->body[l->rule + s / 2] };
		else
			out[n++] = r->symbol[s / 2];
	}
	free(stack);
}

u64 *grammar_read(const u8 *data, size_t size, u64 max, u64 *n)
{
	struct reader r = { .data = data, .size = size, .max = max };
	u64 *out = NULL;

	read_symbols(&r);
	if (!r.bad)
		read_rules(&r);
	if (!r.bad)
		add_lengths(&r);
	if (!r.bad && r.length[0] <= max) {
		*n = r.length[0];
		out = calloc(*n + 1, sizeof(*out));
		expand(&r, out);
	}
	free(r.symbol);
	free(r.body);
	free(r.length);
	free(r.start);
	return out;
}
