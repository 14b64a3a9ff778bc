// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "credentials.h"

void user_self(struct user *u)
{
	int n = getgroups(USER_GROUPS_MAX, u->groups);

	u->uid = geteuid();
	u->gid = getegid();
	u->ngroups = n < 0 ? 0 : n;
}
