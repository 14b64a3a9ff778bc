// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user.h"

void user_self(struct user *u)
{
	int n = getgroups(USER_GROUPS_MAX, u->groups);

	u->uid = geteuid();
	u->gid = getegid();
	u->ngroups = n < 0 ? 0 : n;
}

/* The C library would change all threads. */
void user_become(const struct user *u)
{
	if (geteuid())
		return;
	/* Up first: the others need root's rights. */
	setfsuid(0);
	syscall(SYS_setgroups, u->ngroups, u->groups);
	setfsgid(u->gid);
	setfsuid(u->uid);
}
