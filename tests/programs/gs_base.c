// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  The gs base set again and again, by the system call and, where that is
 * allowed, by the instruction: at every place in a chunk, its end included.
 */
#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common.h"

#define HWCAP2_FSGSBASE	2

static uint64_t words[64];

static uint64_t read_gs(void)
{
	uint64_t v;

	asm volatile("mov %%gs:0, %0" : "=r"(v));
	return v;
}

int main(void)
{
	int may = !!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE);
	unsigned int i, k;
	uint64_t *p;

	for (i = 0; i < 64; i++)
		words[i] = i * 77;
	for (i = 0; i < 20000; i++) {
		p = &words[i % 61];
		if (may && i % 3)
			asm volatile("wrgsbase %0" : : "r"(p));
		else
			CHECK(!syscall(SYS_arch_prctl, ARCH_SET_GS, p));
		for (k = 0; k < i % 7; k++)
			mix(words[k]);
		CHECK(read_gs() == *p);
		mix(read_gs());
	}
	return finish("gs_base");
}
