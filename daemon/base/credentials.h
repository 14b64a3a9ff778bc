/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Credentials: of whom depd is, and whom it serves. */
#ifndef DEPD_BASE_CREDENTIALS_H
#define DEPD_BASE_CREDENTIALS_H

#include <stdbool.h>
#include <sys/types.h>

#define USER_GROUPS_MAX 64

/** struct user - a uid, a gid, and other groups, sorted */
struct user {
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX];
	int ngroups;
};

/** user_self() - depd itself, with its first groups */
void user_self(struct user *u);

#endif
