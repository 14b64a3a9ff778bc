// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sequitur: a closed grammar as bytes; sequitur.h has the format. */
#include <errno.h>
#include <stdlib.h>

#include "sequitur.h"

struct writer {
	int (*put)(void *arg, const void *data, size_t size);
	void *arg;
	u64 size;
	u64 *symbol;		/* distinct symbols in ascending order */
	size_t n;
};

static int write_number(struct writer *w, u64 n)
{
	u8 byte[10];
	size_t size = 0;

	for (; n > 0x7f; n >>= 7)
		byte[size++] = (u8)n | 0x80;
	byte[size++] = (u8)n;
	w->size += size;
	return w->put ? w->put(w->arg, byte, size) : 0;
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int find_symbols(const struct sequitur *g, struct writer *w)
{
	struct sequitur_size size;
	struct sequitur_symbol s;
	struct sequitur_walk at;
	size_t i, n = 0;
	u32 rule;

	sequitur_size(g, &size);
	w->symbol = malloc((size.body + 1) * sizeof(*w->symbol));
	if (!w->symbol)
		return -ENOMEM;
	for (rule = 0; rule < sequitur_rules(g); rule++) {
		at = sequitur_walk(g, rule);
		while (sequitur_next(g, &at, &s))
			if (!s.is_rule)
				w->symbol[n++] = s.value;
	}
	qsort(w->symbol, n, sizeof(*w->symbol), compare);
	for (i = 0; i < n; i++)
		if (!i || w->symbol[i] != w->symbol[i - 1])
			w->symbol[w->n++] = w->symbol[i];
	return 0;
}

static int write_symbols(struct writer *w)
{
	size_t i;
	int ret = write_number(w, w->n);

	for (i = 0; i < w->n && !ret; i++)
		ret = write_number(w, w->symbol[i] - (i ? w->symbol[i - 1] : 0));
	return ret;
}

static u64 index_of(const struct writer *w, u64 symbol)
{
	const u64 *p = bsearch(&symbol, w->symbol, w->n, sizeof(symbol), compare);

	return p - w->symbol;
}

static int write_rule(const struct sequitur *g, struct writer *w, u32 rule)
{
	struct sequitur_walk at = sequitur_walk(g, rule);
	struct sequitur_symbol s;
	u64 n = 0;
	int ret;

	while (sequitur_next(g, &at, &s))
		n++;
	ret = write_number(w, n);
	at = sequitur_walk(g, rule);
	while (!ret && sequitur_next(g, &at, &s))
		ret = write_number(w, s.is_rule ? 2 * (s.value - rule) + 1 :
						  2 * index_of(w, s.value));
	return ret;
}

int sequitur_write(const struct sequitur *g, int (*put)(void *arg, const void *data, size_t size),
		   void *arg, u64 *size)
{
	struct writer w = { .put = put, .arg = arg };
	u32 rule, n = sequitur_rules(g);
	int ret = find_symbols(g, &w);

	if (!ret)
		ret = write_symbols(&w);
	if (!ret)
		ret = write_number(&w, n);
	for (rule = 0; rule < n && !ret; rule++)
		ret = write_rule(g, &w, rule);
	free(w.symbol);
	*size = w.size;
	return ret;
}
