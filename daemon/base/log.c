// SPDX-License-Identifier: GPL-2.0-or-later
/* Write log lines to the journal, to stderr, or through a pipe to the front process. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "sd_notify.h"
#include "log.h"

static bool journal, prefix, piped;
static const char *(*store_of)(uint32_t session);

void log_open(const char *(*store)(uint32_t session))
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	store_of = store;
	journal = stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
		  !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
	/* stderr goes to a log that is not the journal: begin lines with the priority, "<N>". */
	prefix = !journal && notify_is_service() && !isatty(STDERR_FILENO);
}

void log_through_pipe(void)
{
	piped = true;
}

static bool to_journal(int priority, uint32_t session, const char *text)
{
	const char *store = session && store_of ? store_of(session) : NULL;
	char message[1100], level[16], number[32], *dir = NULL;
	struct iovec v[4];
	int ret, n = 0;

	v[n++] = (struct iovec){ message, snprintf(message, sizeof(message), "MESSAGE=%s", text) };
	v[n++] = (struct iovec){ level, snprintf(level, sizeof(level), "PRIORITY=%d", priority) };
	if (session)
		v[n++] = (struct iovec){ number, snprintf(number, sizeof(number),
							  "ADEPT_SESSION=%u", session) };
	if (store) {
		ret = asprintf(&dir, "ADEPT_STORE=%s", store);
		if (ret > 0)
			v[n++] = (struct iovec){ dir, ret };
		else
			dir = NULL;
	}
	ret = sd_journal_sendv(v, n);
	free(dir);
	return !ret;
}

void log_msg(int priority, uint32_t session, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n = 0;

	if (session && !piped)
		n = snprintf(text, sizeof(text), "session %u: ", session);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	if (piped) {
		/* One write() for the line, so that writes of other processes cannot split it. */
		dprintf(STDERR_FILENO, "<%d>%u %s\n", priority, session, text);
		return;
	}
	if (journal && to_journal(priority, session, text))
		return;
	if (prefix)
		fprintf(stderr, "<%d>", priority);
	fprintf(stderr, "depd: %s\n", text);
}
