// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: exact.  Deep calls, longjmp out of them, coroutines, function pointers. */
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include "common.h"

static jmp_buf env;
static ucontext_t main_ctx, co[3];
static char stacks[3][16384];
static int turn;

static __attribute__((noinline)) uint64_t deep(int n, int leave)
{
	volatile char pad[48];

	pad[n % 48] = n;
	if (n == leave)
		longjmp(env, n + 1);
	if (!n)
		return pad[0] + 1;
	return deep(n - 1, leave) * 3 + pad[n % 48];
}

static void coroutine(int self)
{
	int i;

	for (i = 0; i < 30; i++) {
		mix(self * 100 + i);
		turn = (turn + 1) % 3;
		swapcontext(&co[self], i == 29 ? &main_ctx : &co[turn]);
	}
}

static uint64_t f0(uint64_t x)
{
	return x + 1;
}

static uint64_t f1(uint64_t x)
{
	return x * 5;
}

static uint64_t f2(uint64_t x)
{
	return x ^ x >> 7;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* An interpreter's switch, large enough for a jump table. */
static uint64_t interpret(const uint8_t *code, int n)
{
	uint64_t a = 1, b = 2;
	int i;

	for (i = 0; i < n; i++) {
		switch (code[i] % 11) {
		case 0: a += b; break;
		case 1: b ^= a; break;
		case 2: a <<= 3; break;
		case 3: b = b * 7 + a; break;
		case 4: a = ~a; break;
		case 5: b >>= 1; break;
		case 6: a -= b * 3; break;
		case 7: b += i; break;
		case 8: a ^= a >> 5; break;
		case 9: b = a; break;
		default: a++; break;
		}
	}
	return a ^ b;
}

static void big_stack(void)
{
	volatile char big[1 << 20];
	unsigned int i;

	for (i = 0; i < sizeof(big); i += 4096)
		big[i] = i >> 12;
	for (i = 0; i < sizeof(big); i += 4096)
		mix(big[i]);
}

static void pointers(void)
{
	static uint64_t (*const fns[])(uint64_t) = { f0, f1, f2 };
	static uint32_t table[300];
	static uint8_t code[3000];
	uint64_t x = 1;
	int i;

	for (i = 0; i < 500; i++)
		x = fns[rnd() % 3](x);
	mix(x);
	for (i = 0; i < 300; i++)
		table[i] = rnd();
	qsort(table, 300, sizeof(*table), compare);
	mix_bytes(table, sizeof(table));
	for (i = 0; i < 3000; i++)
		code[i] = rnd();
	mix(interpret(code, sizeof(code)));
}

int main(void)
{
	volatile int i;
	int got;

	mix(deep(3000, -1));
	for (i = 0; i < 40; i++) {
		got = setjmp(env);
		if (!got)
			deep(100 + i, i);
		CHECK(got == i + 1);
	}
	for (i = 0; i < 3; i++) {
		getcontext(&co[i]);
		co[i].uc_stack.ss_sp = stacks[i];
		co[i].uc_stack.ss_size = sizeof(stacks[i]);
		co[i].uc_link = &main_ctx;
		makecontext(&co[i], (void (*)(void))coroutine, 1, i);
	}
	swapcontext(&main_ctx, &co[0]);
	pointers();
	big_stack();
	return finish("calls");
}
