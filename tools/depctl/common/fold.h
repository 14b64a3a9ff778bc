/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fold lines that are wider than the terminal.
 *
 * A long line is broken at a space, and its continuation lines are indented by four more columns.
 * A word that is wider than a continuation line is broken at the terminal's edge.  Lines that fit
 * are unchanged.
 */
#ifndef DEPCTL_COMMON_FOLD_H
#define DEPCTL_COMMON_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#define FOLD_WORD	4096u

/** struct fold - state between calls of fold_put(); initialise with { .width, .write, .arg } */
struct fold {
	unsigned int width;	/* columns of the terminal */
	void (*write)(void *arg, const char *data, size_t size);
	void *arg;

	bool started;		/* a word has been written to the current line */
	unsigned int indent, column, spaces;
	unsigned int word_columns;
	size_t word_size;
	char word[FOLD_WORD];	/* the unfinished word, with escape sequences; not written yet */
};

void fold_put(struct fold *f, const char *data, size_t size);
/** fold_end() - write the unfinished word, if any */
void fold_end(struct fold *f);

#endif
