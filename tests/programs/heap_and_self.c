// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: exact.  brk and malloc, a program that reads its own code, big copies. */
#include <string.h>
#include <unistd.h>

#include "common.h"

static __attribute__((noinline)) int subject(int x)
{
	return x * 17 + 4;
}

int main(void)
{
	const unsigned char *code = (const unsigned char *)subject;
	char *start = sbrk(0), *p[50];
	int i;

	mix_bytes(code, 12);
	CHECK(sbrk(65536) == start);
	memset(start, 5, 65536);
	CHECK((char *)sbrk(0) == start + 65536);
	for (i = 0; i < 50; i++) {
		p[i] = malloc(i * i * 4 + 1);
		memset(p[i], i, i * i * 4 + 1);
	}
	for (i = 0; i < 50; i += 2)
		free(p[i]);
	for (i = 1; i < 50; i += 2) {
		p[i] = realloc(p[i], i * 3000);
		mix(p[i][i]);
		free(p[i]);
	}
	CHECK(sbrk(-4096) != (void *)-1 || 1);
	mix(subject(3));
	return finish("heap_and_self");
}
