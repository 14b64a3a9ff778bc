/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables behind functions.h. */
#ifndef DEPCTL_FUNCTIONS_INTERNAL_H
#define DEPCTL_FUNCTIONS_INTERNAL_H

#include "functions.h"

/** struct unit - a file, or the code without a file of one process */
struct unit {
	const char *path, *build_id;	/* "" without a file */
	uint32_t process;		/* 0 with a file */
	uint32_t any_process;		/* a process that had it mapped, with @any_image */
	uint32_t any_image;
	struct dep_file_code code;	/* no functions if the file cannot be used */
};

/** struct range - executed addresses [start, end) of @unit that belong to one function */
struct range {
	uint64_t start, end;
	uint32_t unit, function;
};

/** struct point - an executed instruction, or the entry of a function */
struct point {
	struct site site;
	uint64_t insns, refs;
	uint8_t size;
	bool entry;		/* a call goes there */
};

/** struct image_unit - the unit of an image (1 + index in dep_store_modules()) */
struct image_unit {
	uint32_t unit;
	uint64_t bias;
};

struct functions {
	struct dep_store *store;
	struct dep_symbols *symbols;
	const struct dep_profile *p;
	const struct dep_contexts *c;

	const struct dep_module *module;
	size_t nmodules;
	struct image_unit *image;	/* of images 1 to @nmodules; [0] is not used */
	struct unit *unit;		/* sorted: those without a file by process, then by path */
	size_t nunits, nanonymous;

	struct range *range;		/* sorted by unit, start */
	size_t nranges, ranges_room;
	struct function *function;
	uint32_t *function_unit;
	size_t nfunctions, functions_room;
	uint32_t *target;		/* of each function: see functions_target() */
	uint32_t *context;		/* function of each context */
	char **text;			/* names that were made up */
	size_t ntexts, texts_room;
};

/** functions_find_units() - set @f->unit and @f->image; 0 or -ENOMEM */
int functions_find_units(struct functions *f);

/** functions_find_file() - the unit of a file; NO_FUNCTION: none of its code was executed */
uint32_t functions_find_file(const struct functions *f, const char *path, const char *build_id);

/** functions_find_ranges() - set @f->range and @f->function, without names; 0 or -ENOMEM */
int functions_find_ranges(struct functions *f);

/** functions_find_calls() - find the targets of stubs, count calls and inclusive instructions */
int functions_find_calls(struct functions *f);

/** functions_text() - a text that is freed with @f; NULL: no memory */
const char *functions_text(struct functions *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** functions_grow() - room for one more element in an array; the array, or NULL: no memory */
void *functions_grow(void *array, size_t n, size_t *room, size_t size);

#endif
