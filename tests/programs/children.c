// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: children.  Rare ways to make children and to execute: execveat, fexecve,
 * execve from threads (and at once from several), vfork in several threads, a fork
 * while another thread executes, CLONE_VM without CLONE_VFORK.
 *
 *	children		run them all
 *	children killed		parents and children that are killed while they spawn
 *	children at FILE ARGS..	execveat(folder of FILE, its name)
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

extern char **environ;

static int status_of(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, __WALL) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void at(void)
{
	char *argv[] = { "false", NULL };
	int dir = open("/bin", O_PATH | O_DIRECTORY), fd = open("/bin/false", O_RDONLY);
	pid_t pid = fork();

	if (!pid) {
		syscall(SYS_execveat, dir, "false", argv, environ, 0);
		_exit(100);
	}
	CHECK(status_of(pid) == 1);
	pid = vfork();
	if (!pid) {
		syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
		_exit(100);
	}
	CHECK(status_of(pid) == 1);
	pid = fork();
	if (!pid) {
		fexecve(fd, argv, environ);
		_exit(100);
	}
	CHECK(status_of(pid) == 1);
	CHECK(syscall(SYS_execveat, fd, "", argv, environ, 0) == -1 && errno == ENOENT);
	CHECK(syscall(SYS_execveat, -1, "x", argv, environ, 0) == -1 && errno == EBADF);
	CHECK(syscall(SYS_execveat, dir, "no", argv, environ, 0) == -1 && errno == ENOENT);
	puts("at");
}

static void *execute(void *arg)
{
	char *argv[] = { "sh", "-c", "exit 21", NULL };

	(void)arg;
	execve("/bin/sh", argv, environ);
	return NULL;
}

/* Several threads execute at once: one of them wins. */
static void from_threads(void)
{
	pthread_t t[4];
	pid_t pid;

	for (int round = 0; round < 3; round++) {
		pid = fork();
		if (!pid) {
			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, execute, NULL);
			for (;;)
				pause();
		}
		CHECK(status_of(pid) == 21);
	}
	puts("threads");
}

static void *spawner(void *arg)
{
	char *argv[] = { "sh", "-c", "exit 22", NULL };

	(void)arg;
	for (int i = 0; i < 8; i++) {
		pid_t pid = 0;

		if (i % 4 == 3) {
			CHECK(posix_spawn(&pid, "/nonexistent", NULL, NULL, argv,
					  environ) == ENOENT);
			continue;
		}
		CHECK(!posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ));
		CHECK(status_of(pid) == 22);
	}
	return NULL;
}

static void *forker(void *arg)
{
	char *argv[] = { "true", NULL };

	(void)arg;
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		if (!pid) {
			execve("/bin/true", argv, environ);
			_exit(100);
		}
		CHECK(status_of(pid) == 0);
	}
	return NULL;
}

/* Requests of one slot meet, and forks take copies of what others are doing. */
static void together(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i < 3 ? spawner : forker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	puts("together");
}

static int in_clone(void *arg)
{
	execve(arg, (char *[]){ "false", NULL }, environ);
	return 23;
}

/* A child in our memory for whom nobody waits; it is not to be in our way afterwards. */
static void shared(void)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = clone(in_clone, stack + 65536, CLONE_VM | SIGCHLD, "/nonexistent");

	CHECK(status_of(pid) == 23);
	pid = clone(in_clone, stack + 65536, CLONE_VM | SIGCHLD, "/bin/false");
	CHECK(status_of(pid) == 1);
	spawner(NULL);
	puts("shared");
}

/* Killed at any moment around its execve, or its child's. */
static void killed(void)
{
	char *argv[] = { "true", NULL };

	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (!pid) {
			spawner(NULL);
			_exit(0);
		}
		usleep((unsigned int)i * 500);
		kill(pid, SIGKILL);
		CHECK(status_of(pid) % 128 % 9 == 0);
	}
	for (int i = 0; i < 400; i++) {
		pid_t pid = fork();

		if (!pid) {
			execv("/bin/true", argv);
			_exit(100);
		}
		usleep((unsigned int)i * 20);
		kill(pid, SIGKILL);
		CHECK(status_of(pid) % 128 % 9 == 0);
	}
	puts("killed");
}

int main(int argc, char **argv)
{
	char *slash;

	if (argc > 2 && !strcmp(argv[1], "at")) {
		slash = strrchr(argv[2], '/');
		CHECK(slash);
		*slash = 0;
		syscall(SYS_execveat, open(argv[2], O_PATH | O_DIRECTORY), slash + 1, argv + 2,
			environ, 0);
		return 1;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1) {
		killed();
		return 0;
	}
	at();
	from_threads();
	together();
	shared();
	return 0;
}
