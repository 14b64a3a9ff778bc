// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdarg.h>
#include "runtime.h"

static size_t put_number(char *buf, size_t at, size_t size, u64 v, unsigned int base)
{
	char digits[24];
	size_t n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n && at + 1 < size)
		buf[at++] = digits[--n];
	return at;
}

size_t rt_vformat(char *buf, size_t size, const char *fmt, va_list ap)
{
	size_t at = 0;

	for (; *fmt && at + 1 < size; fmt++) {
		int wide = 0;

		if (*fmt != '%') {
			buf[at++] = *fmt;
			continue;
		}
		fmt++;
		while (*fmt == 'l') {
			wide = 1;
			fmt++;
		}
		if (*fmt == 's') {
			const char *s = va_arg(ap, const char *);

			while (*s && at + 1 < size)
				buf[at++] = *s++;
		} else if (*fmt == 'd') {
			s64 v = wide ? va_arg(ap, s64) : va_arg(ap, int);

			if (v < 0)
				buf[at++] = '-';
			at = put_number(buf, at, size, v < 0 ? -(u64)v : (u64)v, 10);
		} else {
			u64 v = wide ? va_arg(ap, u64) : va_arg(ap, unsigned int);

			at = put_number(buf, at, size, v, *fmt == 'x' ? 16 : 10);
		}
	}
	buf[at] = 0;
	return at;
}

size_t rt_format(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = rt_vformat(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

void fatal(const char *fmt, ...)
{
	char buf[512] = "adept: internal error: ";
	size_t n = strlen(buf);
	u64 unblock = ~0ull;
	u64 dfl[4] = { 0 };
	va_list ap;

	va_start(ap, fmt);
	n += rt_vformat(buf + n, sizeof(buf) - n - 1, fmt, ap);
	va_end(ap);
	buf[n++] = '\n';
	sys3(__NR_write, 2, (u64)buf, n);
	sys4(__NR_rt_sigaction, 6, (u64)dfl, 0, 8);
	sys4(__NR_rt_sigprocmask, 1, (u64)&unblock, 0, 8);
	sys3(__NR_tgkill, sys0(__NR_getpid), sys0(__NR_gettid), 6);
	for (;;)
		sys1(__NR_exit_group, 134);
}
