/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose rights a thread uses files with. */
#ifndef DEPD_USER_H
#define DEPD_USER_H

#include <stdbool.h>
#include <sys/types.h>

#define USER_GROUPS_MAX 64

/** struct user - somebody that depd writes files for */
struct user {
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX];
	int ngroups;
};

/** user_self() - depd itself, with its first groups */
void user_self(struct user *u);
/**
 * user_become() - this thread's use of files is @u's from now on, and nothing else of it
 *
 * Without root's rights nothing changes: depd serves its own user then.
 */
void user_become(const struct user *u);

#endif
