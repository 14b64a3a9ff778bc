// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Restartable sequences (rseq) of a running process.
 *
 * In the code cache the kernel would not restart a sequence, nor one in which a stopped thread
 * makes a system call for its tracer.  So an attach is refused to processes that have sequences.
 * glibc registers each thread, but has none.
 *
 * A thread shows a sequence only from its begin until the thread is next preempted.  By convention
 * programs and libraries describe their sequences in the section __rseq_cs, so the mapped files are
 * examined, too.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
struct __ptrace_rseq_configuration {
	u64 rseq_abi_pointer;
	u32 rseq_abi_size, signature, flags, pad;
};
#endif
#define RSEQ_CS		8	/* offset of rseq_cs in struct rseq */
#define SECTION		"__rseq_cs"
#define SECTIONS_MAX	4096u	/* a file with more is not examined */

static int refuse(struct dep_why *why, const char *what, int number, const char *more)
{
	return dep_inject_error(why, ENOTSUP, "%s %d uses restartable sequences (rseq)%s, which "
				"cannot be recorded after an attach.", what, number, more);
}

/* Kernels before 5.13 cannot say. */
int dep_refuse_rseq(int mem, pid_t tid, struct dep_why *why)
{
	struct __ptrace_rseq_configuration c = { 0 };
	u64 section = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, (void *)sizeof(c), &c) <= 0 ||
	    !c.rseq_abi_pointer)
		return 0;
	if (dep_memory_read(mem, c.rseq_abi_pointer + RSEQ_CS, &section, sizeof(section)) ||
	    !section)
		return 0;
	return refuse(why, "Thread", tid, "");
}

static bool read_at(int fd, void *buf, size_t size, u64 at)
{
	return at <= INT64_MAX && pread(fd, buf, size, (off_t)at) == (ssize_t)size;
}

bool dep_has_rseq_section(int fd)
{
	char name[sizeof(SECTION)];
	Elf64_Shdr sh, names;
	Elf64_Ehdr eh;
	u32 i;

	if (!read_at(fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_shentsize != sizeof(sh) || eh.e_shnum > SECTIONS_MAX ||
	    eh.e_shoff > INT64_MAX / 2 || eh.e_shstrndx >= eh.e_shnum ||
	    !read_at(fd, &names, sizeof(names), eh.e_shoff + (u64)eh.e_shstrndx * sizeof(sh)) ||
	    names.sh_offset > INT64_MAX / 2)
		return false;
	for (i = 0; i < eh.e_shnum; i++)
		if (read_at(fd, &sh, sizeof(sh), eh.e_shoff + (u64)i * sizeof(sh)) &&
		    read_at(fd, name, sizeof(name), names.sh_offset + sh.sh_name) &&
		    !memcmp(name, SECTION, sizeof(SECTION)))
			return true;
	return false;
}

/*
 * Open the regular file @ino that the process has mapped from @path.  The name may mean something
 * else by now: nothing else is opened for reading, since that can have effects.
 */
static int open_mapped(int root, const char *path, u64 ino)
{
	int found = openat(root, path + 1, O_PATH | O_CLOEXEC), fd = -1;
	char name[32];
	struct stat st;

	if (found < 0)
		return -1;
	if (!fstat(found, &st) && S_ISREG(st.st_mode) && st.st_ino == ino) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
		fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	close(found);
	return fd;
}

/* @line: of /proc/PID/maps */
static bool line_has_section(int root, char *line)
{
	unsigned long long offset, ino;
	int path = 0, fd;
	bool has;

	line[strcspn(line, "\n")] = '\0';
	/* The first page of a file is mapped once, in general. */
	if (sscanf(line, "%*x-%*x %*4s %llx %*x:%*x %llu %n", &offset, &ino, &path) != 2 ||
	    offset || !ino || !path || line[path] != '/')
		return false;
	fd = open_mapped(root, line + path, ino);
	if (fd < 0)
		return false;
	has = dep_has_rseq_section(fd);
	close(fd);
	return has;
}

int dep_refuse_rseq_sections(int proc, pid_t pid, struct dep_why *why)
{
	FILE *f = dep_proc_file(proc, "maps");
	int root = openat(proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool has = false;
	char *line = NULL;
	size_t size = 0;

	while (f && root >= 0 && !has && getline(&line, &size, f) > 0)
		has = line_has_section(root, line);
	free(line);
	if (f)
		fclose(f);
	if (root >= 0)
		close(root);
	return has ? refuse(why, "Process", pid, ": a file that it has mapped has the section "
			    SECTION) : 0;
}
