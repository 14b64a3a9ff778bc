// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions that are unusual in the formats of the DEP paper: code whose addresses end in 0000,
 * in several regions; addresses with an offset register; repeated string instructions, also
 * backwards and for 0 bytes; addresses of 32 bits; thread-local data; several threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define REGIONS	4
#define THREADS	2

static __thread volatile int local;
static char from[64], to[64];

/* xor eax, eax; L: inc eax; cmp eax, 3; jb L; ret */
static const unsigned char loop[] = { 0x31, 0xc0, 0xff, 0xc0, 0x83, 0xf8, 0x03, 0x72, 0xf9, 0xc3 };

static void *code_at(unsigned long at)
{
	void *p = mmap((void *)at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (void *)at) {
		perror("mmap");
		return NULL;
	}
	return memcpy(p, loop, sizeof(loop));
}

static void odd_addresses(void)
{
	static unsigned long bits[8];
	static unsigned char table[256];
	unsigned long n = 8, bit = 200, dst = (unsigned long)to, src = (unsigned long)from;

	asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
	n = 0;
	asm volatile("rep stosb" : "+D"(dst), "+c"(n) : "a"(0) : "memory");
	n = 4;
	asm volatile("std; rep movsw; cld" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
	asm volatile("lodsb" : "+S"(src) : : "rax", "memory");
	asm volatile("btsq %1, %0" : "+m"(bits) : "r"(bit) : "memory");
	asm volatile("xlatb" : : "b"(table), "a"(7) : "memory");
	asm volatile("push 8(%%rsp); pop 8(%%rsp)" : : : "memory");
}

static void *run(void *arg)
{
	int i;

	for (i = 0; i < 20; i++) {
		local += i;
		((void (*)(void))arg)();
		odd_addresses();
	}
	return NULL;
}

int main(void)
{
	static const unsigned long at[REGIONS] = {
		0x5a5a0000, 0x5a5b0000, 0x5a005a5a0000, 0x5a000000000,
	};
	pthread_t t[THREADS];
	void *code;
	int i;

	for (i = 0; i < REGIONS; i++) {
		code = code_at(at[i]);
		if (!code || (i < THREADS && pthread_create(&t[i], NULL, run, code)))
			return 1;
		run(code);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	puts("done");
	return 0;
}
