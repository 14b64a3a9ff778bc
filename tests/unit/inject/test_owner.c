// SPDX-License-Identifier: LGPL-2.1-or-later
/* Programs notice the death of the process that a word of the session file names. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libdep/abi/session_file.h"
#include "libdep/inject/owner.h"

#define COLLECTOR	offsetof(struct adept_session, collector)
#define HOLDER		offsetof(struct adept_session, holder)
#define MANY		1000

static struct adept_session *page[MANY];
static int fd[MANY];

static int make_session(struct adept_session **map, int seals)
{
	int f = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(f >= 0);
	assert_int_equal(ftruncate(f, ADEPT_PAGE), 0);
	*map = mmap(NULL, ADEPT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	assert_true(*map != MAP_FAILED);
	(*map)->magic = ADEPT_SESSION_MAGIC;
	assert_int_equal(fcntl(f, F_ADD_SEALS, seals), 0);
	return f;
}

static void make_sessions(int n)
{
	int i;

	for (i = 0; i < n; i++)
		fd[i] = make_session(&page[i], F_SEAL_SHRINK);
}

static void end_sessions(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		munmap(page[i], ADEPT_PAGE);
		close(fd[i]);
	}
}

/* Start a process that owns @word of @n sessions except number @not, and waits. */
static pid_t start_owner(int n, size_t word, int not)
{
	struct dep_owner *o[MANY];
	int ready[2], i;
	pid_t pid;
	char c = 0;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		for (i = 0; i < n; i++)
			o[i] = dep_owner_new(fd[i], word);
		for (i = 0; i < n; i++)
			if (!o[i])
				_exit(1);
		if (not >= 0)
			dep_owner_free(o[not]);
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	assert_true(pid > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void kill_owner(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void test_killed(void **state)
{
	pid_t collector, holder;

	(void)state;
	make_sessions(1);
	assert_false(adept_session_lost(page[0]));
	collector = start_owner(1, COLLECTOR, -1);
	holder = start_owner(1, HOLDER, -1);
	assert_int_equal(page[0]->collector, collector);
	assert_int_equal(page[0]->holder, holder);
	assert_false(adept_session_lost(page[0]));
	kill_owner(collector);
	assert_true(adept_owner_died(&page[0]->collector));
	assert_false(adept_session_lost(page[0]));
	/* The next one. */
	collector = start_owner(1, COLLECTOR, -1);
	assert_false(adept_owner_died(&page[0]->collector));
	kill_owner(holder);
	assert_false(adept_session_lost(page[0]));
	kill_owner(collector);
	assert_true(adept_session_lost(page[0]));
	end_sessions(1);
}

static void test_many(void **state)
{
	static const int not[] = { 0, 1, MANY / 2, MANY - 1 };
	unsigned int k;
	pid_t pid;
	int i;

	(void)state;
	for (k = 0; k < sizeof(not) / sizeof(not[0]); k++) {
		make_sessions(MANY);
		pid = start_owner(MANY, COLLECTOR, not[k]);
		/* Its programs have written there: only they are affected. */
		page[7]->collector = 0xffffffff;
		kill_owner(pid);
		for (i = 0; i < MANY; i++) {
			if (i == not[k])
				assert_int_equal(page[i]->collector, 0);
			else if (i != 7)
				assert_true(adept_owner_died(&page[i]->collector));
		}
		end_sessions(MANY);
	}
}

/* The word has another owner by that time. */
static void test_late_free(void **state)
{
	struct dep_owner *o;

	(void)state;
	make_sessions(1);
	o = dep_owner_new(fd[0], COLLECTOR);
	assert_non_null(o);
	assert_int_equal(page[0]->collector, gettid());
	page[0]->collector = 12345;
	dep_owner_free(o);
	assert_int_equal(page[0]->collector, 12345);
	end_sessions(1);
	dep_owner_free(NULL);
}

static void test_no_session(void **state)
{
	struct adept_session *map;
	int f, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_null(dep_owner_new(null, COLLECTOR));
	assert_null(dep_owner_new(-1, COLLECTOR));
	close(null);
	/* A file that could be truncated. */
	f = make_session(&map, F_SEAL_GROW);
	assert_null(dep_owner_new(f, COLLECTOR));
	close(f);
	munmap(map, ADEPT_PAGE);
	f = make_session(&map, F_SEAL_SHRINK);
	map->magic++;
	assert_null(dep_owner_new(f, COLLECTOR));
	assert_int_equal(map->collector, 0);
	close(f);
	munmap(map, ADEPT_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* This test is first, so that forked processes have separate lists. */
		cmocka_unit_test(test_late_free),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_no_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
