// SPDX-License-Identifier: LGPL-2.1-or-later
#include "runtime.h"

struct adept_proc unslotted;

u64 rt_now(void)
{
	s64 ts[2];

	sys2(__NR_clock_gettime, 1, (u64)ts);
	return (u64)ts[0] * 1000000000ull + (u64)ts[1];
}
