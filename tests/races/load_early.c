// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A load that the source makes only under a condition, which is false, and that is executed anyway,
 * as compilers do for "condition ? value : 0".
 * tsan: racy only, because it does not look into assembly
 */
#include "races.h"

static int value;
static volatile int condition;

static void *writer(void *arg)
{
	value = 1; /* RACE: value variable=value */
	tell(1);
	return arg;
}

static void *reader(void *arg)
{
	int got = 0;

	await(1);
	RIGHT_ONLY(__asm__ volatile("test %1, %1\n\tcmovne %2, %0"
				    : "+r"(got) : "r"(condition), "m"(value) : "cc"));
	RACY_ONLY(got = condition + value); /* RACE: value */
	USE(got);
	return arg;
}

int main(void)
{
	return both(writer, reader);
}
