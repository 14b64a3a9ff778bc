// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write a file under a temporary name, and rename it when it is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "save.h"

static int cannot(const char *path)
{
	warn("cannot write %s: %s", path, strerror(errno));
	return 1;
}

/* The permissions that open() would give. */
static mode_t mode_of_new_file(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/*
 * Give @fd the permissions of a new file, or those of @older and its group.  If the group cannot be
 * kept, its permissions are not kept either: another group would have them.
 */
static int set_mode(int fd, const struct stat *older)
{
	mode_t mode = older ? older->st_mode & 0777 : mode_of_new_file();

	if (older && fchown(fd, (uid_t)-1, older->st_gid))
		mode &= ~(mode_t)070;
	return fchmod(fd, mode);
}

/* Make the temporary file next to s->path; @older: NULL, or a file whose permissions are kept. */
static int open_temporary(struct save *s, const struct stat *older)
{
	const char *name = base_name(s->path);

	if (asprintf(&s->temporary, "%.*s.%s.XXXXXX", (int)(name - s->path), s->path, name) < 0) {
		s->temporary = NULL;
		errno = ENOMEM;
		return cannot(s->path);
	}
	s->fd = mkostemp(s->temporary, O_CLOEXEC);
	if (s->fd < 0 || set_mode(s->fd, older))
		return cannot(s->path);
	return 0;
}

int save_begin(struct save *s, const char *path)
{
	const struct stat *older = NULL;
	struct stat st;
	int status = 1;

	*s = (struct save){ .fd = STDOUT_FILENO };
	if (!path)
		return 0;
	if (!stat(path, &st)) {
		if (!S_ISREG(st.st_mode)) {
			s->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
			return s->fd < 0 ? cannot(path) : 0;
		}
		s->path = realpath(path, NULL);
		/* By those of another user's file, that user could read and change the new one. */
		if (st.st_uid == geteuid())
			older = &st;
	} else if (!lstat(path, &st)) {
		warn("cannot write %s: it is a symbolic link to a file that does not exist", path);
		return 1;
	} else {
		s->path = strdup(path);
	}
	if (s->path)
		status = open_temporary(s, older);
	else
		cannot(path);
	if (status)
		save_end(s, 1);
	return status;
}

int save_end(struct save *s, int failed)
{
	if (s->fd > STDERR_FILENO && close(s->fd) && !failed)
		failed = cannot(s->path ? s->path : "the output");
	if (s->temporary) {
		if (!failed && rename(s->temporary, s->path))
			failed = cannot(s->path);
		if (failed)
			unlink(s->temporary);
	}
	free(s->temporary);
	free(s->path);
	*s = (struct save){ .fd = -1 };
	return failed;
}
