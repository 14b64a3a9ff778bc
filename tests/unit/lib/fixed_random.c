// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/types.h>
#include <unistd.h>

#include "fixed_random.h"

static unsigned long next;
static pid_t reset_by;

void fixed_random_reset(void)
{
	next = 0;
	reset_by = getpid();
}

/*
 * Names of temporary files come from here, too.  A child process that is killed may leave such a
 * file, so each child that does not reset the sequence has one of its own.
 */
ssize_t getrandom(void *buf, size_t size, unsigned int flags)
{
	pid_t self = getpid();
	unsigned long seed = self == reset_by ? 0 : (unsigned long)self << 32, x;
	unsigned char *p = buf;
	size_t i;

	(void)flags;
	for (i = 0; i < size; i++) {
		x = (++next + seed) * 0x9e3779b97f4a7c15ul;
		p[i] = (unsigned char)(x >> 56);
	}
	return (ssize_t)size;
}
