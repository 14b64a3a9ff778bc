// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that sym_c loads, made twice, with NAME different. */
#include "sym_print.h"

#define SAY2(name) #name
#define SAY(name) SAY2(name)
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

int JOIN(NAME, _data)[10];

__attribute__((noinline)) int JOIN(NAME, _work)(int n)
{
	mark(SAY(NAME) "_work");	/* MARK work */
	no_jump();
	show(SAY(NAME) "_data", &JOIN(NAME, _data)[4]);
	return n + 1;
}

void call(void)
{
	JOIN(NAME, _data)[1] = JOIN(NAME, _work)(1);
}
