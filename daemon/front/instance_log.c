// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Log lines of instances: "<PRIORITY>SESSION TEXT" over a pipe.
 *
 * The lines are untrusted: their number per second is limited, control characters are replaced.
 */
#include <ctype.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "front.h"

#define LINES_SECOND	100u	/* limit of log lines of one instance in a second */
#define BYTES_SECOND	(256u << 10)
#define READS		4

static void show(struct instance *i, char *line)
{
	unsigned int priority, session;
	int used = 0;
	char *c;

	if (sscanf(line, "<%u>%u %n", &priority, &session, &used) != 2 || !used || priority > 7) {
		priority = LOG_WARNING;
		session = 0;
		used = 0;
	}
	/* A user's instance cannot log with a priority above LOG_ERR. */
	if (i->user.uid && priority < LOG_ERR)
		priority = LOG_ERR;
	for (c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	if (i->nlines++ >= LINES_SECOND)
		i->lines_lost++;
	else if (i->user.uid)
		log_msg((int)priority, session, "user %u: %s", i->user.uid, line + used);
	else
		log_msg((int)priority, session, "%s", line + used);
}

static void take_lines(struct instance *i)
{
	char *line = i->line, *end;

	i->line[i->nline] = '\0';
	while ((end = memchr(line, '\n', i->nline - (size_t)(line - i->line)))) {
		*end = '\0';
		if (!i->cut)
			show(i, line);
		i->cut = false;
		line = end + 1;
	}
	i->nline -= (size_t)(line - i->line);
	memmove(i->line, line, i->nline);
	if (i->nline < sizeof(i->line) - 1)
		return;
	i->line[i->nline] = '\0';
	if (!i->cut)
		show(i, i->line);
	i->cut = true;
	i->nline = 0;
}

static ssize_t read_some(struct instance *i)
{
	ssize_t n = read(i->log, i->line + i->nline, sizeof(i->line) - 1 - i->nline);

	if (n > 0) {
		i->nline += (size_t)n;
		take_lines(i);
	}
	return n;
}

void log_ready(struct loop_watch *w, short revents)
{
	struct instance *i = (struct instance *)((char *)w - offsetof(struct instance, says));
	ssize_t n = 1;
	int k;

	/* Above the limit of bytes, stop reading until log_second() continues. */
	if (i->nbytes > BYTES_SECOND) {
		loop_watch_change(i->front->loop, w, 0);
		return;
	}
	for (k = 0; k < READS && n > 0; k++) {
		n = read_some(i);
		i->nbytes += n > 0 ? (uint32_t)n : 0;
	}
	if (!n || (n < 0 && revents & POLLERR))
		loop_remove(i->front->loop, w);
}

void log_flush(struct instance *i)
{
	int k;

	/* Bounded: another process can have the pipe open and continue to write. */
	for (k = 0; i->log >= 0 && k < 64 && read_some(i) > 0; k++)
		;
}

void log_second(struct instance *i)
{
	if (i->lines_lost)
		log_msg(LOG_WARNING, 0,
			"user %u: %llu log lines of this user's instance were dropped", i->user.uid,
			(unsigned long long)i->lines_lost);
	i->lines_lost = 0;
	i->nlines = 0;
	i->nbytes = 0;
	loop_watch_change(i->front->loop, &i->says, POLLIN);
}
