// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dep/store.h"
#include "error.h"

static _Thread_local char message[512];

const char *dep_error(void)
{
	return message[0] ? message : "no error";
}

int dep_fail(int err, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	/* Messages with these error numbers describe the store completely without strerror(). */
	if (err != -EBADMSG && err != -EUCLEAN && err != -EBUSY && err != -EALREADY &&
	    err != -EPROTONOSUPPORT && n >= 0 &&
	    (size_t)n < sizeof(message))
		snprintf(message + n, sizeof(message) - n, ": %s", strerror(-err));
	return err;
}

int dep_fail_again(int err, const char *why)
{
	snprintf(message, sizeof(message), "%s", why);
	return err;
}
