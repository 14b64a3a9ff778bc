// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tsc.h"

#define PR_GET_TSC	25
#define PR_SET_TSC	26
#define PR_TSC_ENABLE	1
#define PR_TSC_SIGSEGV	2

static void set(u64 mode)
{
	sys6(__NR_prctl, PR_SET_TSC, mode, 0, 0, 0, 0);
}

u32 tsc_permit(void)
{
	u32 mode = 0;

	if (sys6(__NR_prctl, PR_GET_TSC, (u64)&mode, 0, 0, 0, 0) || mode != PR_TSC_SIGSEGV)
		return 0;
	set(PR_TSC_ENABLE);
	return 1;
}

void tsc_give_back(u32 forbidden)
{
	if (unlikely(forbidden))
		set(PR_TSC_SIGSEGV);
}

void tsc_take_again(u32 forbidden)
{
	if (unlikely(forbidden))
		set(PR_TSC_ENABLE);
}

int tsc_forbids(const u64 a[6])
{
	return a[0] == PR_SET_TSC && a[1] == PR_TSC_SIGSEGV;
}

s64 tsc_prctl(struct tls *t, const u64 a[6], s64 ret)
{
	u32 mode = PR_TSC_SIGSEGV;

	if (ret || !t->tsc_forbidden)
		return ret;
	if (a[0] == PR_SET_TSC)
		t->tsc_forbidden = 0;
	else if (a[0] == PR_GET_TSC && rt_copy_in((void *)a[1], &mode, 4) != 4)
		return -E_FAULT;
	return 0;
}
