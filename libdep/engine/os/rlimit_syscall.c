// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rlimit_syscall.h"
#include "syscall.h"
#include "libdep/engine/base/rlimit.h"

s64 rlimit_syscall(struct tls *t, u64 nr, const u64 a[6])
{
	int by_pid = nr == __NR_prlimit64;
	u64 resource = a[by_pid];
	u64 to = nr == __NR_getrlimit ? a[1] : by_pid ? a[3] : 0;
	u64 from = nr == __NR_setrlimit ? a[1] : by_pid ? a[2] : 0;
	struct rlimit_pair new, old;
	s64 ret = 0;

	if (!rlimit_is_ours(resource) || (by_pid && a[0] && a[0] != (u64)sys0(__NR_getpid)))
		return app_syscall(t, nr, a);
	if ((from || nr == __NR_setrlimit) &&
	    rt_copy_in(&new, (void *)from, sizeof(new)) != sizeof(new))
		return -E_FAULT;
	/*
	 * Without new limits, make the call, which may fail.  The limits that it stores are
	 * replaced below.
	 */
	if (!from)
		ret = app_syscall(t, nr, a);
	if (ret)
		return ret;
	ret = rlimit_change(resource, nr, from ? &new : NULL, &old);
	if (!ret && to && rt_copy_in((void *)to, &old, sizeof(old)) != sizeof(old))
		return -E_FAULT;
	return ret;
}
