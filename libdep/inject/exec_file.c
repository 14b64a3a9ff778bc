// SPDX-License-Identifier: LGPL-2.1-or-later
/* Files to be executed: find them as execvp(3) does, and find out what execve will execute. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "internal.h"

#define MAX_SCRIPTS 5	/* limit of #! lines, as in the kernel */

/* Can the file be executed? Return: 0, or the negative errno that execve would return. */
static int executable(const char *path, struct stat *st)
{
	if (stat(path, st))
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? -errno : 0;
}

static int not_executable(const char *path, const struct stat *st, int err, struct dep_why *why)
{
	if (err == -EACCES && S_ISDIR(st->st_mode))
		return dep_inject_error(why, EACCES, "%s is a directory.", path);
	if (err == -EACCES && st->st_mode && !S_ISREG(st->st_mode))
		return dep_inject_error(why, EACCES, "%s is not a regular file.", path);
	if (err == -EACCES && st->st_mode)
		return dep_inject_error(why, EACCES, "%s may not be executed: permission denied.",
					path);
	return dep_inject_error(why, -err, "%s cannot be executed: %s.", path, strerror(-err));
}

/**
 * dep_image_find() - look up a command as execvp(3) does
 * @path: receives the file's name
 */
int dep_image_find(const char *name, char *path, size_t size, struct dep_why *why)
{
	const char *dirs = getenv("PATH"), *end;
	struct stat st = { 0 }, denied_st = { 0 };
	char denied[4096] = "";
	int err;

	if (strchr(name, '/')) {
		if ((size_t)snprintf(path, size, "%s", name) >= size)
			return dep_inject_error(why, ENAMETOOLONG,
						"The command's name is too long.");
		err = executable(path, &st);
		return err ? not_executable(path, &st, err, why) : 0;
	}
	if (!*name)
		return dep_inject_error(why, ENOENT, "The command's name is empty.");
	for (dirs = dirs ? dirs : "/bin:/usr/bin"; dirs; dirs = *end ? end + 1 : NULL) {
		end = strchrnul(dirs, ':');
		if ((size_t)snprintf(path, size, "%.*s%s%s", (int)(end - dirs), dirs,
				     end == dirs ? "" : "/", name) >= size)
			continue;
		memset(&st, 0, sizeof(st));
		err = executable(path, &st);
		if (!err)
			return 0;
		/* Directories without search permission do not count. */
		if (err == -EACCES && st.st_mode && !*denied) {
			snprintf(denied, sizeof(denied), "%s", path);
			denied_st = st;
		}
	}
	if (*denied)
		return not_executable(denied, &denied_st, -EACCES, why);
	return dep_inject_error(why, ENOENT, "%s: command not found.", name);
}

/**
 * dep_image_raises() - does execve of this file raise the privileges of @who?
 *
 * Return: 1, 0 or a negative errno.
 */
int dep_image_raises(int fd, const struct dep_cred *who)
{
	struct statvfs fs;
	char path[64];
	struct stat st;

	if (who->no_new_privs)
		return 0;
	if (fstat(fd, &st) || fstatvfs(fd, &fs))
		return -errno;
	if (fs.f_flag & ST_NOSUID)
		return 0;
	if ((st.st_mode & S_ISUID) && (st.st_uid != who->euid || st.st_uid != who->uid))
		return 1;
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
	    (st.st_gid != who->egid || st.st_gid != who->gid))
		return 1;
	if (who->euid == 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return getxattr(path, "security.capability", NULL, 0) > 0;
}

static int fd_privileged(int fd)
{
	const struct dep_cred own = {
		.uid = getuid(), .euid = geteuid(), .gid = getgid(), .egid = getegid(),
		.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
	};

	return dep_image_raises(fd, &own);
}

int dep_image_privileged(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_PATH | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = fd_privileged(fd);
	close(fd);
	return ret;
}

static enum dep_image_kind classify(const unsigned char *buf, size_t n)
{
	Elf64_Ehdr eh;
	u16 machine;

	if (n < 4 || memcmp(buf, ELFMAG, SELFMAG)) {
		const unsigned char *nl = memchr(buf, '\n', n);

		/* The test by which shells recognise scripts. */
		return memchr(buf, 0, nl ? (size_t)(nl - buf) : n) ? DEP_IMAGE_OTHER :
								     DEP_IMAGE_TEXT;
	}
	if (n < sizeof(Elf32_Ehdr))
		return DEP_IMAGE_BAD_ELF;
	/* For another machine: binfmt_misc may know it (qemu). */
	memcpy(&machine, buf + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
	if (machine != EM_X86_64 && machine != EM_386)
		return DEP_IMAGE_OTHER;
	if (buf[EI_CLASS] == ELFCLASS32)
		return DEP_IMAGE_ELF32;
	if (n < sizeof(eh))
		return DEP_IMAGE_BAD_ELF;
	memcpy(&eh, buf, sizeof(eh));
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(Elf64_Phdr) ||
	    !eh.e_phnum || (eh.e_type != ET_EXEC && eh.e_type != ET_DYN))
		return DEP_IMAGE_BAD_ELF;
	return DEP_IMAGE_ELF64;
}

/* The interpreter in a #! line; false if there is none. */
bool dep_image_interpreter(char *line, char *path, size_t size)
{
	char *p = line + 2;

	p += strspn(p, " \t");
	p[strcspn(p, " \t\n")] = '\0';
	return *p && (size_t)snprintf(path, size, "%s", p) < size;
}

/**
 * dep_image_examine() - find out what execve of a file executes
 *
 * Follows #! lines as the kernel does.
 */
int dep_image_examine(const char *path, struct dep_image *img, struct dep_why *why)
{
	unsigned char buf[257];
	struct stat st = { 0 };
	ssize_t n;
	int fd, err;

	if ((size_t)snprintf(img->file, sizeof(img->file), "%s", path) >= sizeof(img->file))
		return dep_inject_error(why, ENAMETOOLONG, "The command's name is too long.");
	for (int depth = 0; depth <= MAX_SCRIPTS; depth++) {
		fd = open(img->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0)
			return dep_inject_error(why, errno, "%s cannot be read: %m.", img->file);
		n = read(fd, buf, sizeof(buf) - 1);
		if (n < 0) {
			err = errno;
			close(fd);
			return dep_inject_error(why, err, "%s cannot be read: %s.", img->file,
					strerror(err));
		}
		img->privileged = fd_privileged(fd) == 1;
		close(fd);
		buf[n] = '\0';
		if (n < 2 || buf[0] != '#' || buf[1] != '!') {
			img->kind = classify(buf, (size_t)n);
			return 0;
		}
		if (!dep_image_interpreter((char *)buf, img->file, sizeof(img->file)))
			return dep_inject_error(why, ENOEXEC,
						"%s names no interpreter in its #! line.", path);
		err = executable(img->file, &st);
		if (err)
			return dep_inject_error(why, -err, "%s needs the interpreter %s: %s.", path,
					img->file, strerror(-err));
	}
	return dep_inject_error(why, ELOOP, "%s has too many nested #! interpreters.", path);
}
