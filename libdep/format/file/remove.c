// SPDX-License-Identifier: LGPL-2.1-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "remove.h"

int dep_store_remove(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? dep_fail(-errno, "cannot open %s", dir) : dep_store_remove_open(fd, dir);
}

int dep_store_remove_open(int fd, const char *dir)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	int err;

	if (!d) {
		err = dep_fail(-errno, "cannot open %s", dir);
		close(fd);
		return err;
	}
	/* The descriptor can be a copy of one that was read. */
	rewinddir(d);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(fd, e->d_name, 0);
	closedir(d);
	return rmdir(dir) ? dep_fail(-errno, "cannot remove %s", dir) : 0;
}
