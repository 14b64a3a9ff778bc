// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function that ends with a jump to another one (a tail call) leaves no return address, but is in
 * the stack.
 */
#include <string.h>

#include "races.h"

#define SIZE	256

static char data[2 * SIZE];
static volatile size_t size = SIZE;

static NOINLINE void *clear(char *from)
{
	return memset(from, 0, size); /* RACE: data variable=data */
}

static NOINLINE char *half(int which)
{
	return data + which * SIZE;
}

static void *first(void *arg)
{
	USE(arg);
	return clear(half(0));
}

static void *second(void *arg)
{
	USE(arg);
	return memset(half(RACY_ONLY(0) RIGHT_ONLY(1)), 1, size); /* RACE: data */
}

int main(void)
{
	return both(first, second);
}
