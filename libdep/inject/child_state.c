// SPDX-License-Identifier: LGPL-2.1-or-later
/* Process state that a launched program must find. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int add_fd(struct dep_caller_state *n, int fd)
{
	int *fds = realloc(n->fds, (n->nfds + 1) * sizeof(*fds));

	if (!fds)
		return -ENOMEM;
	n->fds = fds;
	n->fds[n->nfds++] = fd;
	return 0;
}

static int save_fds(struct dep_caller_state *n)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(dir))
			err = add_fd(n, atoi(e->d_name));
	closedir(dir);
	if (n->nfds)
		qsort(n->fds, n->nfds, sizeof(*n->fds), by_number);
	return err;
}

/* The kernel's structure: libc hides the signals that it reserves. */
struct kernel_sigaction {
	u64 handler, flags, restorer, mask;
};

bool dep_signal_ignored(int sig)
{
	struct kernel_sigaction sa;

	return !syscall(SYS_rt_sigaction, sig, NULL, &sa, sizeof(sa.mask)) &&
	       sa.handler == (u64)(uintptr_t)SIG_IGN;
}

void dep_signal_set(int sig, bool ignored)
{
	const struct kernel_sigaction sa = {
		.handler = (u64)(uintptr_t)(ignored ? SIG_IGN : SIG_DFL),
	};

	syscall(SYS_rt_sigaction, sig, &sa, NULL, sizeof(sa.mask));
}

int dep_caller_state_save(struct dep_caller_state *n)
{
	int err;

	memset(n, 0, sizeof(*n));
	sigprocmask(SIG_SETMASK, NULL, &n->mask);
	for (int sig = 1; sig < NSIG; sig++)
		if (dep_signal_ignored(sig))
			n->ignored |= 1ull << (sig - 1);
	if (getrlimit(RLIMIT_NOFILE, &n->nofile))
		return -errno;
	err = save_fds(n);
	if (err)
		dep_caller_state_free(n);
	return err;
}

void dep_caller_state_free(struct dep_caller_state *n)
{
	free(n->fds);
	n->fds = NULL;
	n->nfds = 0;
}
