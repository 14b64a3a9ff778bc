/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl dump --fields: which columns, or members in JSON, a line has. */
#ifndef DEPCTL_STORE_FIELDS_H
#define DEPCTL_STORE_FIELDS_H

#include <dep/recover.h>
#include <dep/store.h>

#include "tools/depctl/common/output.h"

#define FIELDS_MAX	32u

/** struct fields - numbers of fields, in the order of the columns; zeroed: none were chosen */
struct fields {
	unsigned char field[FIELDS_MAX];
	unsigned int n;
};

/** struct fields_line - the data of a line */
struct fields_line {
	const struct dep_process *process;	/* NULL: not known */
	const struct dep_thread *thread;	/* NULL: not known */
	uint64_t segment;
	uint64_t tsc;		/* the thread's last time stamp, at or before the item; 0: none */
	const struct dep_item *item;
};

/**
 * fields_parse() - read a list of names with commas between
 * @want: DEP_WANT_ flag of the items that are printed
 * @bad: FIELDS_NAME bytes; receives the name of a field that these items do not have
 *
 * Return: 0 or -EINVAL.
 */
int fields_parse(struct fields *f, const char *list, unsigned int want, char *bad);
#define FIELDS_NAME	64u
/** fields_list() - write the names of the fields of these items, with commas between */
void fields_list(unsigned int want, char *text, size_t size);
/** fields_have_tsc() - true if fields_line.tsc is needed */
bool fields_have_tsc(const struct fields *f);
/** fields_put() - print a line */
void fields_put(struct out *o, const struct fields *f, const struct fields_line *l, bool json);

#endif
