// SPDX-License-Identifier: LGPL-2.1-or-later
/* The same file at the same address is one, however often and in which process it is mapped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "pass.h"

static int compare_files(const struct dep_module *a, const struct dep_module *b)
{
	u64 x = a->start - a->offset, y = b->start - b->offset;
	int by;

	if (x != y)
		return x < y ? -1 : 1;
	by = strcmp(a->build_id, b->build_id);
	return by ? by : strcmp(a->path, b->path);
}

/* By file; the first one of the store comes first. */
static int compare(const void *pa, const void *pb, void *arg)
{
	const struct dep_module *module = arg;
	u32 a = *(const u32 *)pa, b = *(const u32 *)pb;
	int by = compare_files(module + a, module + b);

	return by ? by : a < b ? -1 : a > b;
}

int dep_path_files(struct dep_path_pass *p)
{
	const struct dep_module *module;
	size_t n = dep_store_modules(p->store, &module), i;
	int err = dep_path_charge(p, (n + 1) * sizeof(*p->file));
	u32 *order, first = 0;

	if (err)
		return err;
	order = calloc(n + 1, sizeof(*order));
	p->file = calloc(n + 1, sizeof(*p->file));
	if (!order || !p->file) {
		free(order);
		return dep_fail(-ENOMEM, "paths");
	}
	for (i = 0; i < n; i++)
		order[i] = (u32)i;
	qsort_r(order, n, sizeof(*order), compare, (void *)module);
	for (i = 0; i < n; i++) {
		if (!i || compare_files(module + first, module + order[i]))
			first = order[i];
		p->file[order[i] + 1] = first + 1;
	}
	free(order);
	return 0;
}
