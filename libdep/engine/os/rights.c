// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rights.h"
#include "libdep/engine/record/isolate.h"

#define CAP_VERSION_3	0x20080522u
#define CAP_SETGID	6
#define CAP_SETUID	7

void rights_begin(struct rights *r)
{
	struct { u32 version, pid; } head = { CAP_VERSION_3, 0 };
	struct { u32 effective, permitted, inheritable; } cap[2] = { { 0 } };

	memset(r, 0, sizeof(*r));
	sys3(__NR_getresuid, (u64)&r->uid[0], (u64)&r->uid[1], (u64)&r->uid[2]);
	sys3(__NR_getresgid, (u64)&r->gid[0], (u64)&r->gid[1], (u64)&r->gid[2]);
	/* With the invalid id -1 these calls only return the current id. */
	r->uid[3] = (u32)sys1(__NR_setfsuid, ~0u);
	r->gid[3] = (u32)sys1(__NR_setfsgid, ~0u);
	sys2(__NR_capget, (u64)&head, (u64)cap);
	r->permitted = (u64)cap[1].permitted << 32 | cap[0].permitted;
}

/* Whether each id of @had is still among the real, effective and saved ids of @has. */
static int has_all(const u32 had[4], const u32 has[4])
{
	for (u32 i = 0; i < 4; i++)
		if (had[i] != has[0] && had[i] != has[1] && had[i] != has[2])
			return 0;
	return 1;
}

static int can_take_back(const struct rights *before, const struct rights *now)
{
	if (before->permitted & ~now->permitted)
		return 0;
	if (!(now->permitted & 1ull << CAP_SETUID) && !has_all(before->uid, now->uid))
		return 0;
	return now->permitted & 1ull << CAP_SETGID || has_all(before->gid, now->gid);
}

void rights_end(const struct tls *t, const struct rights *before)
{
	struct rights now;

	rights_begin(&now);
	if (!t->own_process && !can_take_back(before, &now))
		isolate(0);
}

void rights_new_namespace(const struct tls *t)
{
	if (!t->own_process)
		isolate(ADEPT_ISOLATED_PROCS);
}
