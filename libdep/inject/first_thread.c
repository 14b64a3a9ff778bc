// SPDX-License-Identifier: LGPL-2.1-or-later
/* Processes whose first thread may have ended while others run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Is the directory that of a thread of process @pid which has memory? */
static bool is_alive(int proc, pid_t pid)
{
	char text[DEP_STATUS_SIZE];
	u64 tgid = 0;

	return !dep_status_read(proc, "status", text) &&
	       dep_status_numbers(text, "\nTgid:", 10, &tgid, 1) && tgid == (u64)pid &&
	       strstr(text, "\nVmSize:");
}

/* Open the /proc directory of a thread of @proc that has not ended; negative: there is none. */
static int open_other(int proc, pid_t pid)
{
	int fd = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -ESRCH;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -ESRCH;
	}
	while (found < 0 && (e = readdir(dir))) {
		if (atoi(e->d_name) <= 0)
			continue;
		found = dep_proc_open((pid_t)atoi(e->d_name));
		if (found >= 0 && !is_alive(found, pid)) {
			close(found);
			found = -ESRCH;
		}
	}
	closedir(dir);
	return found;
}

int dep_proc_open_used(pid_t pid)
{
	int proc = dep_proc_open(pid), other;

	if (proc < 0 || is_alive(proc, pid))
		return proc;
	other = open_other(proc, pid);
	if (other < 0)
		return proc;
	close(proc);
	return other;
}
