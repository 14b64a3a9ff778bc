/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal that depctl writes to: its width, and whether to use color. */
#ifndef DEPCTL_COMMON_TERMINAL_H
#define DEPCTL_COMMON_TERMINAL_H

#include <stdbool.h>

/* Escape sequences (ECMA-48, "select graphic rendition"). */
#define COLOR_HEADING	"\033[1m"	/* bold */
#define COLOR_ERROR	"\033[1;31m"	/* bold red */
#define COLOR_LOCATION	"\033[36m"	/* cyan */
#define COLOR_END	"\033[m"

/** color_when() - apply --color=@when; false: @when is not "auto", "always" or "never" */
bool color_when(const char *when);

/**
 * color_on() - should text written to @fd be colored?
 *
 * With --color=auto, true if @fd is a terminal, TERM is set and not "dumb", and NO_COLOR is unset
 * or empty (https://no-color.org).
 */
bool color_on(int fd);

/** terminal_width() - columns of the terminal @fd ($COLUMNS if set); 0: @fd is not a terminal */
unsigned int terminal_width(int fd);

#endif
