/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl dump --fields: selection of the columns of a line (in JSON: members). */
#ifndef DEPCTL_STORE_FIELDS_H
#define DEPCTL_STORE_FIELDS_H

#include <dep/recover.h>
#include <dep/store.h>

#include "tools/depctl/common/output.h"

#define FIELDS_MAX	32u

/** struct fields - numbers of the chosen fields, in column order; all zero: none are chosen */
struct fields {
	unsigned char field[FIELDS_MAX];
	unsigned int n;
};

/** struct fields_line - the data from which fields_put() prints a line */
struct fields_line {
	const struct dep_process *process;	/* NULL: not known */
	const struct dep_thread *thread;	/* NULL: not known */
	uint64_t segment;
	uint64_t tsc;		/* the thread's last timestamp at or before @item; 0: none */
	const struct dep_item *item;
};

/**
 * fields_parse() - parse a list of field names separated by commas
 * @want: DEP_WANT_* flag of the kind of items that is printed
 * @bad: buffer of FIELDS_NAME bytes for the first name that is not a field of these items
 *
 * Return: 0 or -EINVAL.
 */
int fields_parse(struct fields *f, const char *list, unsigned int want, char *bad);
#define FIELDS_NAME	64u
/** fields_list() - write the names of all fields of items @want, separated by commas */
void fields_list(unsigned int want, char *text, size_t size);
/** fields_have_tsc() - true if fields_line.tsc is needed */
bool fields_have_tsc(const struct fields *f);
/** fields_put() - print the chosen fields of @l as a line */
void fields_put(struct out *o, const struct fields *f, const struct fields_line *l, bool json);

#endif
