// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: paths.  paths_cover ABC...: each argument is digits, which say which branches of cover()
 * are taken.
 *
 * With ALONE, nothing else is executed: no C library.  MOVED: the functions have other addresses.
 * CHANGED: the code of one branch is another one.
 */
#ifndef ALONE
#include <stdio.h>
#endif

static volatile int sum;

#ifdef CHANGED
#define THREE	7
#else
#define THREE	3
#endif

#ifdef MOVED
__attribute__((used)) static void moves(void)
{
	sum = 1;
}
#endif

/* Three decisions, so 8 paths. */
__attribute__((noinline)) static void cover(const char *s)
{
	if (s[0] == '1')
		sum += 1;
	if (s[1] == '1')
		sum += 2;
	if (s[2] == '1')
		sum += THREE;
	sum += 4;
}

/* A loop: from the entry or from its head, once more or to the end, by either way. */
__attribute__((noinline)) static void around(const char *s)
{
	do {
		if (*s == '1')
			sum += 5;
		else
			sum -= 6;
	} while (*++s);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		cover(argv[i]);
		around(argv[i]);
	}
#ifndef ALONE
	printf("%d\n", sum);
#endif
	return 0;
}

#ifdef ALONE
__asm__(".globl _start\n"
	"_start:\n"
	"	mov	%rsp, %rdi\n"
	"	call	start\n"
	"	mov	$60, %eax\n"
	"	xor	%edi, %edi\n"
	"	syscall");

void start(long *sp);

void start(long *sp)
{
	main((int)*sp, (char **)(sp + 1));
}
#endif
