// SPDX-License-Identifier: GPL-2.0-or-later
#include "syscall_names.h"
#include "tools/depctl/depctl.h"

const char *syscall_name(uint64_t nr)
{
	static const char *const names[] = { SYSCALL_NAMES };

	return nr < sizeof(names) / sizeof(names[0]) ? names[nr] : NULL;
}
