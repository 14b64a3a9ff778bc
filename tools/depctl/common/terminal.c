// SPDX-License-Identifier: GPL-2.0-or-later
/* Width of the terminal, and whether to use color. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal.h"

#define WIDTH_DEFAULT	80u
#define WIDTH_MIN	20u
#define WIDTH_MAX	1000u

static enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } mode;

bool color_when(const char *when)
{
	static const char *const names[] = { "auto", "always", "never" };
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(when, names[i])) {
			mode = i;
			return true;
		}
	}
	return false;
}

bool color_on(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (mode != COLOR_AUTO)
		return mode == COLOR_ALWAYS;
	return isatty(fd) && !(no_color && *no_color) && term && *term && strcmp(term, "dumb");
}

unsigned int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long width;
	char *end;

	if (!isatty(fd))
		return 0;
	width = columns ? strtoul(columns, &end, 10) : 0;
	if (columns && *end)
		width = 0;
	if (!width && !ioctl(fd, TIOCGWINSZ, &size))
		width = size.ws_col;
	if (!width)
		width = WIDTH_DEFAULT;
	return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}
