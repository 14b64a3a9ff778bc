// SPDX-License-Identifier: LGPL-2.1-or-later
/* The libc functions that the compiler and the engine need. */
#include "runtime.h"

/* Size in bytes below which a loop is faster than a rep instruction. */
#define SMALL 128

typedef u64 __attribute__((may_alias, aligned(1))) word;

void *memcpy(void *dst, const void *src, size_t n)
{
	u8 *d = dst;
	const u8 *s = src;

	if (n < SMALL) {
		for (; n >= 8; n -= 8, d += 8, s += 8)
			*(word *)d = *(const word *)s;
		for (; n; n--, d++, s++)
			*(volatile u8 *)d = *s;
		return dst;
	}
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
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
	u8 *d = dst;

	if (n < SMALL) {
		word v = (u8)c * 0x0101010101010101ull;

		for (; n >= 8; n -= 8, d += 8)
			*(word *)d = v;
		for (; n; n--, d++)
			*(volatile u8 *)d = (u8)c;
		return dst;
	}
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
