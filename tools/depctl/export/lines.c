// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source lines of code addresses, by the line table of each file.
 */
#include <errno.h>
#include <stdlib.h>

#include "lines.h"

int lines_begin(struct lines *l, struct dep_store *store, struct dep_symbols *symbols)
{
	l->symbols = symbols;
	l->nmodules = dep_store_modules(store, &l->module);
	l->file = calloc(l->nmodules + 1, sizeof(*l->file));
	return l->file ? 0 : -ENOMEM;
}

const struct lines_file *lines_file(struct lines *l, uint32_t image)
{
	const struct dep_module *m;
	struct dep_file_code code;
	struct lines_file *f;

	if (!image || image > l->nmodules)
		return NULL;
	f = &l->file[image];
	if (f->read)
		return f;
	f->read = true;
	m = &l->module[image - 1];
	if (dep_symbols_file_code(l->symbols, m->process, m->start, m->from_ns, &code))
		return f;
	f->code = true;
	f->bias = code.bias;
	f->text = code.text;
	f->path = code.path;
	f->build_id = code.build_id;
	f->n = dep_symbols_file_lines(l->symbols, m->process, m->start, m->from_ns, &f->row);
	return f;
}

const struct dep_file_line *lines_at(struct lines *l, uint32_t image, uint64_t pc)
{
	const struct lines_file *f = lines_file(l, image);
	size_t low = 0, high, i;
	uint64_t at;

	if (!f || !f->n)
		return NULL;
	at = pc - f->bias;
	high = f->n;
	while (low < high) {
		i = low + (high - low) / 2;
		if (f->row[i].start <= at)
			low = i + 1;
		else
			high = i;
	}
	return low && at < f->row[low - 1].end ? &f->row[low - 1] : NULL;
}

void lines_end(struct lines *l)
{
	free(l->file);
}
