// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: exact.  Code after calls: written again by what was called, on a page of its
 * own, and after a call that never returns another function's first instruction, which
 * is called, too.  Targets of jumps that are written again.
 */
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

static uint8_t *page;
static uint8_t *constant;	/* what the callback writes */
static uint32_t value;
static jmp_buf out;

typedef uint32_t (*code_fn)(void (*)(void));

static void rewrite(void)
{
	memcpy(constant, &value, 4);
}

static void leave(void)
{
	longjmp(out, 1);
}

static void nothing(void)
{
}

static uint8_t *put(uint8_t *at, const char *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}

/* call to; mov $0, %eax.  Returns where that constant is. */
static uint8_t *put_call(uint8_t *at, const uint8_t *to)
{
	int32_t rel = (int32_t)(to - (at + 5));

	*at++ = 0xe8;
	memcpy(at, &rel, 4);
	at = put(at + 4, "\xb8\0\0\0\0", 5);
	return at - 4;
}

#define RETURN		"\x59\xc3"		/* pop %rcx; ret */

static void run(void *code, void (*callback)(void), uint32_t want)
{
	uint32_t got = ((code_fn)code)(callback);

	CHECK(got == want);
	mix(got);
}

/* push %rdi; call *%rdi; mov $value, %eax; pop %rcx; ret */
static void behind_indirect(size_t at)
{
	uint8_t *code = page + at;

	constant = put(put(code, "\x57\xff\xd7", 3), "\xb8\0\0\0\0", 5) - 4;
	put(constant + 4, RETURN, 2);
	for (value = 1; value < 40; value++) {
		run(code, rewrite, value);
		run(code, nothing, value);
	}
}

static void behind_direct(size_t at)
{
	uint8_t *code = page + at, *thunk = page + 2048;

	put(thunk, "\xff\xe7", 2);		/* jmp *%rdi */
	code[0] = 0x57;				/* push %rdi */
	constant = put_call(code + 1, thunk);
	put(constant + 4, RETURN, 2);
	for (value = 100; value < 140; value++) {
		run(code, rewrite, value);
		run(code, nothing, value);
	}
}

/* Where the first call does not come back from, a function begins that others call. */
static void never_returns(void)
{
	uint8_t *first = page + 3000, *second = first + 3, *caller = page + 3100;
	volatile uint32_t i;

	put(put(first, "\x57\xff\xd7", 3), "\xb8\x2a\0\0\0\xc3", 6);
	caller[0] = 0x57;
	/* call second; mov $7, %eax; pop %rcx; ret: its own eax shows that it came back */
	put(put_call(caller + 1, second) - 1, "\x8d\x40\x07\x90\x90" RETURN, 7);
	for (i = 0; i < 20; i++) {
		if (!setjmp(out))
			((code_fn)first)(leave);
		run(second, nothing, 42);
		run(caller, nothing, 49);
	}
}

/* jmp *%rsi to code that changes */
static void jump_target(void)
{
	uint8_t *code = page + 3300, *target = page + 3400;
	uint32_t i;

	put(code, "\x48\x8d\x35\x5d\0\0\0\xff\xe6", 9);	/* lea target(%rip), %rsi; jmp *%rsi */
	for (i = 1; i < 40; i++) {
		put(target, "\xb8\0\0\0\0\xc3", 6);
		memcpy(target + 1, &i, 4);
		run(code, nothing, i);
		run(code, nothing, i);
		run(target, nothing, i);
	}
}

int main(void)
{
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	CHECK(page != MAP_FAILED);
	behind_indirect(100);
	/* the call ends with the page, and in the middle of the next one's code */
	behind_indirect(4096 - 3);
	behind_direct(300);
	behind_direct(4096 - 6);
	never_returns();
	jump_target();
	return finish("code_behind");
}
