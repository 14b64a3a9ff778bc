/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that make a struct source_profile. */
#ifndef DEPCTL_EXPORT_SOURCE_PARTS_H
#define DEPCTL_EXPORT_SOURCE_PARTS_H

#include "source_profile.h"

/** struct source_code - an instruction of the program, in all processes that executed it */
struct source_code {
	uint64_t linked, pc, count;
	uint32_t process, image;	/* with @pc: one of the processes */
	uint8_t size;
};

/** struct source_row - an instruction's share in a line */
struct source_row {
	uint32_t function;
	struct source_at at;
	uint32_t copy;		/* index of the function in struct functions that has it */
	uint64_t count;
};

#define SOURCE_KNOWN	251u

/** struct source_known - the number of a name, by the addresses of its texts */
struct source_known {
	const char *symbol, *plain;	/* as in struct dep_place; both NULL: none */
	uint32_t number;
};

/** struct source_maker - a profile under construction */
struct source_maker {
	struct export *x;
	struct source_profile *s;
	struct program program;
	enum source_compiler compiler;
	struct numbering functions;
	size_t functions_room;
	struct source_code *code;	/* executed, sorted by @linked */
	size_t ncode;
	struct source_row *row;
	size_t nrows, rows_room;
	size_t targets_room;
	struct source_known known[SOURCE_KNOWN];	/* names that were used last */
	bool *located;		/* by function of struct functions: it has a line */
};

/**
 * source_locate() - find function and place of an address
 * @image: must be of the program
 * @function: receives its number in @m->s, where it is made if it is new; SOURCE_NONE: not known
 * @factor: receives by how much a count is to be multiplied
 *
 * Return: 0 or -ENOMEM.
 */
int source_locate(struct source_maker *m, uint32_t process, uint32_t image, uint64_t pc,
		  uint32_t *function, struct source_at *at, uint32_t *factor);

/** source_name_of() - number the name of function @i of struct functions; 0 or -ENOMEM */
int source_name_of(struct source_maker *m, uint32_t i, uint32_t *name);

/** source_find_code() - set @m->code; 0 or -ENOMEM */
int source_find_code(struct source_maker *m);

/** source_code_at() - the first instruction at @linked or behind it */
size_t source_code_at(const struct source_maker *m, uint64_t linked);

/** source_add_rows(), source_add_targets() - 0 or -ENOMEM */
int source_add_rows(struct source_maker *m);
int source_add_targets(struct source_maker *m);

/** source_join() - make lines out of rows, and connect everything; 0 or -ENOMEM */
int source_join(struct source_maker *m);

int source_compare(const struct source_at *a, const struct source_at *b);

#endif
