// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ways to execute a program that gets privileges: judge_exec HOW ROUNDS FILE [OTHER]
 *
 *	path	by its name
 *	fd	execveat() of a descriptor
 *	opath	the same, of one that cannot be read from
 *	zero	by its name, while a thread writes to the requests of all process slots
 *	swap	by a symbolic link that leads to OTHER and to FILE by turns
 *	memfd	a copy in memory
 *	nnp	with no_new_privs
 *	userns	in a user namespace of its own, in which it is root
 *	vfork	in a user namespace that a vfork child enters
 *
 * Each round is a forked child.  The status is that of the last one.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../libdep/abi/session_file.h"
#include "../programs/session_map.h"

static const char *how, *file, *other;

static void die(const char *what)
{
	fprintf(stderr, "judge_exec %s: %s: %s\n", how, what, strerror(errno));
	_exit(99);
}

static struct adept_session *find_session(void)
{
	unsigned long start;
	char line[4352];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (is_session_map(line) && sscanf(line, "%lx-", &start) == 1)
			return (struct adept_session *)start;
	return NULL;
}

static void *scribble(void *arg)
{
	struct adept_session *s = find_session();
	struct adept_proc *p;
	unsigned int i;

	(void)arg;
	if (!s)
		return NULL;
	p = (struct adept_proc *)((char *)s + s->proc_off);
	for (;;)
		for (i = 0; i < 8; i++)
			__atomic_store_n(&p[i].exec_path, 0, __ATOMIC_RELAXED);
}

static void exec_fd(int fd, char **argv)
{
	if (fd < 0)
		die(file);
	syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
}

static int copy_to_memory(void)
{
	int from = open(file, O_RDONLY), to = memfd_create("copy", 0);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) || fchmod(to, 04777) ||
	    sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size)
		die("a copy in memory");
	close(from);
	return to;
}

static void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(name);
	close(fd);
}

static void become_root_of_a_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER))
		die("unshare");
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

/* The child shares the memory of this process, which does not enter the namespace. */
static void vfork_into_namespace(char **argv)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		if (unshare(CLONE_NEWUSER))
			_exit(98);
		execv(file, argv);
		_exit(97);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		die("vfork");
	_exit(WEXITSTATUS(status));
}

static void child(void)
{
	char *argv[] = { (char *)(uintptr_t)how, (char *)(uintptr_t)how, NULL };
	pthread_t thread;

	if (!strcmp(how, "fd"))
		exec_fd(open(file, O_RDONLY), argv);
	else if (!strcmp(how, "opath"))
		exec_fd(open(file, O_PATH), argv);
	else if (!strcmp(how, "memfd"))
		exec_fd(copy_to_memory(), argv);
	else if (!strcmp(how, "zero") && pthread_create(&thread, NULL, scribble, NULL))
		die("a thread");
	else if (!strcmp(how, "nnp") && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("no_new_privs");
	else if (!strcmp(how, "userns"))
		become_root_of_a_namespace();
	else if (!strcmp(how, "vfork"))
		vfork_into_namespace(argv);
	execv(file, argv);
	die(file);
}

/* Alternate the link @file between its original target and @other. */
static void *swap(void *arg)
{
	const char *to[2] = { arg, other };
	char next[4096];
	unsigned int i;

	snprintf(next, sizeof(next), "%s.next", file);
	for (i = 0;; i++) {
		unlink(next);
		if (symlink(to[i % 2], next) || rename(next, file))
			die("a link");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[2]) : 0, status = 0;
	char link[4096];
	pthread_t thread;
	pid_t pid;

	if (rounds < 1)
		return 98;
	how = argv[1];
	file = argv[3];
	other = argv[4];
	if (!strcmp(how, "swap")) {
		snprintf(link, sizeof(link), "link-%d", getpid());
		if (symlink(other, link))
			die("a link");
		file = link;
		if (pthread_create(&thread, NULL, swap, argv[3]))
			die("a thread");
	}
	while (rounds--) {
		pid = fork();
		if (!pid)
			child();
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			die("a child");
	}
	if (!strcmp(how, "swap"))
		unlink(link);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
