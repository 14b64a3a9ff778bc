// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Show the progress of a long operation in one line of the terminal, which is rewritten each time.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"

static struct {
	bool on, shown;
	const char *what;
	uint64_t total;
	uint64_t next_ms;
} line;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

void progress_begin(const char *what, uint64_t total)
{
	memset(&line, 0, sizeof(line));
	/* Output on the terminal already shows that the command makes progress. */
	line.on = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO) && total;
	line.what = what;
	line.total = total;
	line.next_ms = now_ms() + 300;
}

void progress(uint64_t done)
{
	uint64_t now;

	if (!line.on)
		return;
	now = now_ms();
	if (now < line.next_ms)
		return;
	line.next_ms = now + 100;
	line.shown = true;
	fprintf(stderr, "\r%s: %3u %%  ", line.what,
		(unsigned int)(100.0 * done / line.total));
	fflush(stderr);
}

void progress_end(void)
{
	if (line.shown)
		fputs("\r\033[K", stderr);
	line.on = false;
	line.shown = false;
}
