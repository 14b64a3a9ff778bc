// SPDX-License-Identifier: LGPL-2.1-or-later
/* The few libc functions that the compiler and the blob need. */
#include "rt.h"

void *memcpy(void *dst, const void *src, size_t n)
{
	void *d = dst;

	__asm__ volatile("rep movsb" : "+D"(d), "+S"(src), "+c"(n) : : "memory");
	return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
	u8 *d = dst;
	const u8 *s = src;

	if (d <= s || d >= s + n)
		return memcpy(dst, src, n);
	while (n--) {
		d[n] = s[n];
		__asm__ volatile("" : : : "memory");
	}
	return dst;
}

void *memset(void *dst, int c, size_t n)
{
	void *d = dst;

	__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

u64 rt_now(void)
{
	s64 ts[2];

	sys2(__NR_clock_gettime, 1, (u64)ts);
	return (u64)ts[0] * 1000000000ull + (u64)ts[1];
}
