/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which mapped file has the code at an address of a process, at some time. */
#ifndef ADEPT_FOLD_IMAGES_H
#define ADEPT_FOLD_IMAGES_H

#include "dep/store.h"
#include "libdep/abi/types.h"

/**
 * struct dep_images - the rows of dep_store_modules(), sorted for lookups
 * @last: result of the last lookup, which is often the result of the next one
 * @steps: rows that lookups may still compare; in a forged store many rows can overlap
 */
struct dep_images {
	const struct dep_module *module;
	struct dep_images_row {
		const struct dep_module *m;
		u64 reach;	/* largest end of this and all previous rows of the process */
	} *row;
	size_t n;
	const struct dep_module *last;
	u64 steps;
};

/** dep_images_make() - 0 or -ENOMEM; the store must stay open */
int dep_images_make(struct dep_images *im, struct dep_store *store);
void dep_images_free(struct dep_images *im);

/**
 * dep_images_find() - find the file that @process had mapped at @pc at @time_ns
 *
 * Return: 1 + its index in dep_store_modules(); 0: none.
 */
u32 dep_images_find(struct dep_images *im, u32 process, u64 pc, u64 time_ns);

#endif
