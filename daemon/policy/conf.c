// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "conf.h"

int conf_error(struct conf *p, size_t column, const char *fmt, ...)
{
	va_list ap;

	p->e->line = p->line;
	p->e->column = (unsigned int)column;
	va_start(ap, fmt);
	vsnprintf(p->e->text, sizeof(p->e->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}
