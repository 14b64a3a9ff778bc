// SPDX-License-Identifier: GPL-2.0-or-later
/* depd's directory, its lock, and its sockets. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/base/rundir.h"

static char base[64], dir[80], path[PATH_MAX], why[512];

static int setup(void **state)
{
	(void)state;
	strcpy(base, "/tmp/adept-rundir.XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(dir, sizeof(dir), "%s/run", base);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	return system(command);
}

static int open_it(const char *wish)
{
	why[0] = 0;
	return rundir_open(path, sizeof(path), wish, why, sizeof(why));
}

static mode_t mode_of(const char *name)
{
	char file[128];
	struct stat st;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	assert_int_equal(lstat(file, &st), 0);
	return st.st_mode & 07777;
}

static void made_and_locked(void **state)
{
	char text[64];
	int fd;

	(void)state;
	fd = open_it(dir);
	assert_true(fd >= 0);
	assert_string_equal(path, dir);
	assert_int_equal(mode_of("."), geteuid() ? 0700 : 0755);
	assert_int_equal(mode_of("lock"), 0600);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(open_it(dir), -EBUSY);
	snprintf(text, sizeof(text), "process %d", getpid());
	assert_non_null(strstr(why, text));
	close(fd);
	/* exists already, with another mode */
	chmod(dir, 0777);
	fd = open_it(dir);
	assert_true(fd >= 0);
	assert_int_equal(mode_of("."), geteuid() ? 0700 : 0755);
	close(fd);
}

static void lock_ends_with_the_process(void **state)
{
	int fd, status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		open_it(dir);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	fd = open_it(dir);
	assert_true(fd >= 0);
	close(fd);
}

/* A child that was just forked by the process and has not executed another program yet. */
static void lock_outlasts_the_process(void **state)
{
	int fd, status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		open_it(dir);
		if (!fork()) {
			usleep(300000);
			_exit(0);
		}
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	fd = open_it(dir);
	assert_true(fd >= 0);
	close(fd);
}

/* A process that was killed and has not ended yet. */
static void owner_is_ending(void **state)
{
	int fd, status, ready[2];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		open_it(dir);
		if (write(ready[1], "", 1) == 1)
			usleep(300000);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	fd = open_it(dir);
	assert_true(fd >= 0);
	close(fd);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void not_to_be_trusted(void **state)
{
	char other[80], file[128];

	(void)state;
	snprintf(other, sizeof(other), "%s/other", base);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(symlink(other, dir), 0);
	assert_true(open_it(dir) < 0);
	assert_non_null(strstr(why, dir));
	unlink(dir);
	close(creat(dir, 0600));
	assert_int_equal(open_it(dir), -ENOTDIR);
	unlink(dir);
	assert_int_equal(open_it("/proc/nothing"), -ENOENT);
	/* a lock file that is a link */
	snprintf(file, sizeof(file), "%s/lock", other);
	assert_int_equal(symlink("/tmp/somewhere", file), 0);
	assert_int_equal(open_it(other), -ELOOP);
	if (geteuid())
		return;
	assert_int_equal(chown(other, 65534, 65534), 0);
	assert_int_equal(open_it(other), -EPERM);
	assert_non_null(strstr(why, "65534"));
}

static void chosen(void **state)
{
	char small[4];
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(rundir_open(small, sizeof(small), dir, why, sizeof(why)), -ENAMETOOLONG);
	if (geteuid())
		return;
	/* /run/adept itself may be in use */
	chmod(base, 0777);
	snprintf(dir, sizeof(dir), "%s/given", base);
	setenv("ADEPT_RUNDIR", dir, 1);
	assert_true(open_it(NULL) >= 0);
	assert_string_equal(path, dir);
	setenv("ADEPT_RUNDIR", "", 1);
	pid = fork();
	if (!pid) {
		if (setuid(65534))
			_exit(1);
		unsetenv("XDG_RUNTIME_DIR");
		if (open_it(NULL) != -ENOENT || !strstr(why, "XDG_RUNTIME_DIR"))
			_exit(2);
		setenv("XDG_RUNTIME_DIR", "relative", 1);
		if (open_it(NULL) != -ENOENT)
			_exit(3);
		setenv("XDG_RUNTIME_DIR", base, 1);
		if (open_it(NULL) < 0)
			_exit(4);
		snprintf(dir, sizeof(dir), "%s/adept", base);
		_exit(strcmp(path, dir) ? 5 : mode_of(".") != 0700 ? 6 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void sockets(void **state)
{
	char file[128];
	int fd, to;

	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(rundir_connect(dir, "a", SOCK_STREAM, 100), -ENOENT);
	fd = rundir_listen(dir, "a", 0666);
	assert_true(fd >= 0);
	assert_int_equal(mode_of("a"), 0666);
	to = rundir_connect(dir, "a", SOCK_STREAM, 100);
	assert_true(to >= 0);
	close(to);
	/* in use, by a socket of any type */
	assert_int_equal(rundir_listen(dir, "a", 0600), -EADDRINUSE);
	assert_int_equal(rundir_socket(dir, "a", SOCK_SEQPACKET, 0600), -EADDRINUSE);
	close(fd);
	/* stale */
	assert_int_equal(rundir_connect(dir, "a", SOCK_STREAM, 100), -ECONNREFUSED);
	fd = rundir_listen(dir, "a", 0600);
	assert_true(fd >= 0);
	assert_int_equal(mode_of("a"), 0600);
	close(fd);
	fd = rundir_socket(dir, "a", SOCK_SEQPACKET, 0660);
	assert_true(fd >= 0);
	assert_int_equal(mode_of("a"), 0660);
	close(fd);
	/* not a socket */
	snprintf(file, sizeof(file), "%s/b", dir);
	close(creat(file, 0600));
	assert_int_equal(rundir_listen(dir, "b", 0600), -EEXIST);
	memset(file, 'x', sizeof(file) - 1);
	file[sizeof(file) - 1] = 0;
	assert_int_equal(rundir_listen(dir, file, 0600), -ENAMETOOLONG);
	assert_int_equal(rundir_connect(dir, file, SOCK_STREAM, 100), -ENAMETOOLONG);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(made_and_locked), T(lock_ends_with_the_process),
		T(lock_outlasts_the_process), T(owner_is_ending), T(not_to_be_trusted), T(chosen),
		T(sockets),
	};

	return cmocka_run_group_tests_name("rundir", tests, NULL, NULL);
}
