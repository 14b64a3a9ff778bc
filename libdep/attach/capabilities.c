// SPDX-License-Identifier: LGPL-2.1-or-later
/* Capabilities, and which of them the caller lacks to trace a process. */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

static const char *const names[] = {
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID",
	"SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW",
	"IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT",
	"SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD",
	"LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG",
	"WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE",
};

static u64 permitted(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &head, data))
		return 0;
	return (u64)data[1].permitted << 32 | data[0].permitted;
}

bool capability_to_trace(void)
{
	return permitted() >> CAP_SYS_PTRACE & 1;
}

u64 capabilities_missing(u64 of)
{
	return of & ~permitted();
}

void capabilities_name(u64 set, char *text, size_t size)
{
	size_t n = 0, more = 0, i;

	text[0] = '\0';
	for (i = 0; i < 64; i++) {
		if (!(set >> i & 1))
			continue;
		/* " and 12 more" must fit, too. */
		if (i >= ARRAY_SIZE(names) || n + strlen(names[i]) + 24 > size) {
			more++;
			continue;
		}
		n += (size_t)snprintf(text + n, size - n, "%sCAP_%s", n ? ", " : "", names[i]);
	}
	if (more)
		snprintf(text + n, size - n, " and %zu more", more);
}
