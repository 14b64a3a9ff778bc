// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The binary profile that gcc -fauto-profile reads, version 2, as gcc 12 and later have it: the
 * lengths of strings are bytes.  It consists of 32-bit words; a counter is two, the low one first.
 *
 * gcc 12 takes no notice of discriminators: of several counts for one line it uses the last.  So
 * the counts of a line are in ascending order.  Later versions distinguish them.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "source_profile.h"

#define MAGIC		0x67636461u
#define VERSION		2u
#define TAG_NAMES	0xaa000000u
#define TAG_FUNCTIONS	0xac000000u
#define TAG_GROUPING	0xae000000u	/* of modules: there is none */
#define INDIRECT_CALL	7u		/* kind of the values that a target stands for */

struct afdo {
	struct export *x;
	struct source_profile s;
};

static void put_word(struct afdo *a, uint32_t v)
{
	unsigned int i;

	out_reserve(&a->x->out);
	for (i = 0; i < 32; i += 8)
		put_char(&a->x->out, (char)(v >> i));
}

static void put_counter(struct afdo *a, uint64_t v)
{
	/* gcc's counters are signed. */
	if (v > INT64_MAX)
		v = INT64_MAX;
	put_word(a, (uint32_t)v);
	put_word(a, (uint32_t)(v >> 32));
}

/* ---- names ---- */

/* Bytes of a name, with zero bytes up to a whole word, at least one. */
static size_t name_size(const char *name)
{
	return (strlen(name) + 4) & ~(size_t)3;
}

static size_t names_words(const struct source_profile *s)
{
	size_t i, words = 1;

	for (i = 0; i < s->names.n; i++)
		words += 1 + name_size(source_name(s, (uint32_t)i)) / 4;
	return words;
}

static void put_names(struct afdo *a)
{
	const struct source_profile *s = &a->s;
	const char *name;
	size_t i, length;

	put_word(a, TAG_NAMES);
	put_word(a, (uint32_t)names_words(s));
	put_word(a, s->names.n);
	for (i = 0; i < s->names.n; i++) {
		name = source_name(s, (uint32_t)i);
		length = strlen(name);
		put_word(a, (uint32_t)name_size(name));
		out_bytes(&a->x->out, name, length);
		out_bytes(&a->x->out, "\0\0\0", name_size(name) - length);
	}
}

/* ---- functions ---- */

static int by_count(const void *pa, const void *pb)
{
	const struct source_line *a = pa, *b = pb;

	if (a->at.offset != b->at.offset)
		return a->at.offset < b->at.offset ? -1 : 1;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return a->at.discriminator < b->at.discriminator ? -1 : 1;
}

static void put_place(struct afdo *a, const struct source_at *at)
{
	put_word(a, at->offset << 16 | at->discriminator);
}

static void put_line(struct afdo *a, const struct source_line *line)
{
	size_t i;

	put_place(a, &line->at);
	put_word(a, (uint32_t)line->ntargets);
	put_counter(a, line->count);
	for (i = 0; i < line->ntargets; i++) {
		put_word(a, INDIRECT_CALL);
		put_counter(a, line->target[i].name);
		put_counter(a, line->target[i].count);
	}
}

/* Functions are inlined 130 deep at most, see source_locate(). */
static void put_function(struct afdo *a, uint32_t i)
{
	const struct source_function *f = &a->s.function[i];
	size_t k;

	put_word(a, f->name);
	put_word(a, (uint32_t)f->nlines);
	put_word(a, (uint32_t)f->ninlined);
	if (f->nlines)
		qsort(f->line, f->nlines, sizeof(*f->line), by_count);
	for (k = 0; k < f->nlines; k++)
		put_line(a, &f->line[k]);
	for (k = 0; k < f->ninlined; k++) {
		put_place(a, &a->s.function[f->inlined[k]].at);
		put_function(a, f->inlined[k]);
	}
}

static size_t functions_words(const struct source_profile *s)
{
	return 1 + 2 * s->nouter + 3 * (size_t)s->nfunctions + (s->nfunctions - s->nouter) +
	       4 * s->nlines + 5 * s->ntargets;
}

static void put_functions(struct afdo *a)
{
	const struct source_profile *s = &a->s;
	size_t i;

	put_word(a, TAG_FUNCTIONS);
	put_word(a, (uint32_t)functions_words(s));
	put_word(a, (uint32_t)s->nouter);
	for (i = 0; i < s->nouter; i++) {
		put_counter(a, s->function[s->outer[i]].head);
		put_function(a, s->outer[i]);
	}
}

int export_gcc_afdo(struct export *x)
{
	struct afdo a = { .x = x };

	if (source_profile_make(&a.s, x, SOURCE_GCC))
		return 1;
	if (names_words(&a.s) > UINT32_MAX || functions_words(&a.s) > UINT32_MAX) {
		warn("%s has more functions and lines than gcc-afdo can have", x->path);
		source_profile_free(&a.s);
		return 1;
	}
	put_word(&a, MAGIC);
	put_word(&a, VERSION);
	put_word(&a, 0);
	put_names(&a);
	put_functions(&a);
	put_word(&a, TAG_GROUPING);
	put_word(&a, 1);
	put_word(&a, 0);
	source_profile_free(&a.s);
	return 0;
}
