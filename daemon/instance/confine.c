// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Credentials and limits of an instance, which is a user's depd process under root's depd.
 *
 * An instance reads data that its user's programs have written, so a malicious user could take
 * control of it.  This must gain the user nothing: an instance has only its user's permissions and
 * limited resources.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/base/account.h"
#include "confine.h"

/* Capabilities of root's instance: to trace recorded processes, and for stores of users. */
#define ROOT_KEEPS	(1u << CAP_SYS_PTRACE | 1u << CAP_DAC_OVERRIDE | 1u << CAP_KILL | \
			 1u << CAP_DAC_READ_SEARCH | 1u << CAP_CHOWN | 1u << CAP_FOWNER)

#define LOCKED_MAX	(64ull << 20)	/* bytes; older kernels count io_uring's memory as locked */

static int limit(int what, uint64_t most)
{
	struct rlimit r;

	if (getrlimit(what, &r))
		return -errno;
	if (r.rlim_max > most)
		r.rlim_max = most;
	r.rlim_cur = r.rlim_max;
	return setrlimit(what, &r) ? -errno : 0;
}

/* Reset oom_score_adj: unlike root's depd, an instance is not protected from the OOM killer. */
static void be_usual_victim(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* An error is harmless: the instance stays protected from the OOM killer. */
	if (write(fd, "0", 1) < 0)
		errno = 0;
	close(fd);
}

/* While a snapshot is stored, it may have as much memory as its window. */
static int limits(uint32_t sessions, uint64_t last)
{
	int ret = limit(RLIMIT_NOFILE, ACCOUNT_FDS_MAX);

	if (!ret)
		ret = limit(RLIMIT_MEMLOCK, LOCKED_MAX);
	if (!ret)
		ret = limit(RLIMIT_DATA, ACCOUNT_MEMORY_BASE +
					 sessions * ACCOUNT_MEMORY_SESSION + 2 * last);
	return ret;
}

static int take_credentials(const struct user *u)
{
	if (setgroups((size_t)u->ngroups, u->groups) || setresgid(u->gid, u->gid, u->gid) ||
	    setresuid(u->uid, u->uid, u->uid))
		return -errno;
	return 0;
}

static int drop_capabilities(uint32_t keep)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct c[2];

	if (syscall(SYS_capget, &h, c))
		return -errno;
	c[0].permitted &= keep;
	c[0].effective = c[0].permitted;
	c[0].inheritable = 0;
	c[1] = (struct __user_cap_data_struct){ 0 };
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	return syscall(SYS_capset, &h, c) ? -errno : 0;
}

/* Check that the kernel has set the credentials: the instance's safety relies on them. */
static int check(const struct user *u)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;

	if (getresuid(&r, &e, &s) || getresgid(&rg, &eg, &sg))
		return -errno;
	if (r != u->uid || e != u->uid || s != u->uid || rg != u->gid || eg != u->gid ||
	    sg != u->gid)
		return -EPERM;
	/* It must be impossible to become root again. */
	if (u->uid && (!setuid(0) || !seteuid(0)))
		return -EPERM;
	return 0;
}

int confine(const struct user *u, uint32_t sessions, uint64_t last)
{
	struct rlimit none = { 0, 0 };
	int ret;

	be_usual_victim();
	/* No core dump: it would contain data of recorded programs. */
	if (setrlimit(RLIMIT_CORE, &none))
		return -errno;
	ret = u->uid ? limits(sessions, last) : 0;
	if (!ret)
		ret = take_credentials(u);
	if (!ret)
		ret = drop_capabilities(u->uid ? 0 : ROOT_KEEPS);
	if (!ret)
		ret = check(u);
	if (ret)
		return ret;
	/* execve must not give root's capabilities back to children of root's instance. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return confine_calls();
}
