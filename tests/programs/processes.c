// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  fork, vfork, posix_spawn, clone3, execve; failing execve; execve
 * from a thread that is not the leader.  With an argument it is one of the children.
 */
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

extern char **environ;
static volatile int shared;

static int status_of(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void forks(void)
{
	pid_t pid = fork();
	int i;

	if (!pid) {
		pid = fork();
		if (!pid)
			_exit(5);
		_exit(status_of(pid) + 1);
	}
	mix(status_of(pid));
	for (i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			for (i = 0; i < 1000; i++)
				mix(i);
			_exit(sum & 63);
		}
		mix(status_of(pid));
	}
}

static void vforks(void)
{
	char *argv[] = { "self", "child", "9", NULL };
	pid_t pid = vfork();

	if (!pid) {
		shared = 3;
		execve("/proc/self/exe", argv, environ);
		_exit(1);
	}
	CHECK(shared == 3);
	mix(status_of(pid));
	pid = vfork();
	if (!pid) {
		execve("/nonexistent/program", argv, environ);
		shared = errno;
		_exit(6);
	}
	CHECK(shared == ENOENT);
	mix(status_of(pid));
}

static void spawns(void)
{
	char *argv[] = { "self", "child", "11", NULL };
	pid_t pid;

	CHECK(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
	mix(status_of(pid));
	CHECK(posix_spawn(&pid, "/nonexistent/program", NULL, NULL, argv, environ) == ENOENT);
	CHECK(system("exit 12") >> 8 == 12);
}

static void clones(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid)
		_exit(13);
	mix(status_of(pid));
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(14);
	mix(status_of(pid));
}

static void *exec_here(void *arg)
{
	char *argv[] = { "self", "child", "15", NULL };

	(void)arg;
	usleep(1000);
	execve("/proc/self/exe", argv, environ);
	_exit(1);
}

static void *spin(void *arg)
{
	(void)arg;
	while (shared >= 0)
		shared = (shared + 1) & 0xffff;
	return NULL;
}

static void exec_from_thread(void)
{
	pthread_t t;
	pid_t pid = fork();

	if (!pid) {
		pthread_create(&t, NULL, spin, NULL);
		pthread_create(&t, NULL, exec_here, NULL);
		for (;;)
			pause();
	}
	mix(status_of(pid));
}

static void fails(void)
{
	char *argv[] = { "x", NULL };

	CHECK(execve("/nonexistent", argv, environ) == -1 && errno == ENOENT);
	CHECK(execve("/", argv, environ) == -1 && errno == EACCES);
	CHECK(execve("/proc/self/status", argv, environ) == -1 && errno == EACCES);
	CHECK(syscall(SYS_execve, "/proc/self/exe", 1, environ) == -1 && errno == EFAULT);
}

int main(int argc, char **argv)
{
	char *self[] = { argv[0], "last", NULL };

	if (argc > 2)
		return atoi(argv[2]);
	if (argc > 1) {
		puts("processes: exec'd");
		return 0;
	}
	forks();
	vforks();
	spawns();
	clones();
	exec_from_thread();
	fails();
	finish("processes");
	fflush(stdout);
	execve("/proc/self/exe", self, environ);
	return 1;
}
