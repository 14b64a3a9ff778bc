/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fold lines that are wider than the terminal.
 *
 * A line is broken at a space; the rest is indented by four columns more than the line.  A word
 * that is wider than what is left of an indented line is broken where the line ends.  Lines that
 * fit are unchanged.
 */
#ifndef DEPCTL_COMMON_FOLD_H
#define DEPCTL_COMMON_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#define FOLD_WORD	4096u

/** struct fold - state between two calls; initialise with { .width, .write, .arg } */
struct fold {
	unsigned int width;	/* columns */
	void (*write)(void *arg, const char *data, size_t size);
	void *arg;

	bool started;		/* the line has a word */
	unsigned int indent, column, spaces;
	unsigned int word_columns;
	size_t word_size;
	char word[FOLD_WORD];	/* bytes that are not written yet, escape sequences included */
};

void fold_put(struct fold *f, const char *data, size_t size);
/** fold_end() - write what is left of an unfinished line */
void fold_end(struct fold *f);

#endif
