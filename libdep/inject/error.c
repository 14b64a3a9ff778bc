// SPDX-License-Identifier: LGPL-2.1-or-later
/* Error messages. */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

int dep_inject_error(struct dep_why *why, int err, const char *fmt, ...)
{
	va_list ap;

	if (why) {
		va_start(ap, fmt);
		vsnprintf(why->text, sizeof(why->text), fmt, ap);
		va_end(ap);
	}
	return -err;
}
