/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Credentials of depd itself and of session owners. */
#ifndef DEPD_BASE_CREDENTIALS_H
#define DEPD_BASE_CREDENTIALS_H

#include <stdbool.h>
#include <sys/types.h>

#define USER_GROUPS_MAX 64

/** struct user - a uid, a gid and supplementary groups */
struct user {
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX];
	int ngroups;
};

/** user_self() - get this process's credentials; no groups if there are over USER_GROUPS_MAX */
void user_self(struct user *u);

#endif
