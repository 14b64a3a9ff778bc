// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory of a traced process, through /proc/PID/mem.
 *
 * process_vm_readv(2) and process_vm_writev(2) wait for pages that userfaultfd(2) handles in
 * another process; only SIGKILL ends that.  The file fails with EIO there.  After an execve a
 * descriptor that was opened before it reads and writes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "internal.h"

int dep_memory_open(int proc)
{
	int fd = openat(proc, "mem", O_RDWR | O_CLOEXEC);

	/* Every process has this file, so ENOENT says that the process has just ended. */
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

static int failure(ssize_t n)
{
	return n < 0 && errno != EIO ? -errno : -EFAULT;
}

int dep_memory_read(int mem, u64 addr, void *buf, size_t len)
{
	size_t have = 0;
	ssize_t n;

	for (; have < len; have += (size_t)n) {
		n = pread(mem, (char *)buf + have, len - have, (off_t)(addr + have));
		if (n <= 0)
			return failure(n);
	}
	return 0;
}

int dep_memory_write(int mem, u64 addr, const void *buf, size_t len)
{
	size_t have = 0;
	ssize_t n;

	for (; have < len; have += (size_t)n) {
		n = pwrite(mem, (const char *)buf + have, len - have, (off_t)(addr + have));
		if (n <= 0)
			return failure(n);
	}
	return 0;
}
