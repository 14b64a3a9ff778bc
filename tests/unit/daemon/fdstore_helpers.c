// SPDX-License-Identifier: GPL-2.0-or-later
/* A directory for each test, the fd store in it, and its holder. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_fdstore.h"

char dir[] = "/tmp/adept-keep.XXXXXX", why[512];

int memory(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

void assert_text(int fd, const char *text)
{
	char got[64] = "";

	assert_true(pread(fd, got, sizeof(got) - 1, 0) >= 0);
	assert_string_equal(got, text);
}

struct fdstore *open_keep(struct fdstore_entry **kept, size_t *n)
{
	struct fdstore *k;
	int ret = fdstore_open(&k, dir, kept, n, why, sizeof(why));

	if (ret)
		print_message("%s\n", why);
	assert_int_equal(ret, 0);
	assert_string_equal(why, "");
	return k;
}

struct fdstore *open_empty(void)
{
	struct fdstore_entry *kept;
	struct fdstore *k;
	size_t n;

	k = open_keep(&kept, &n);
	assert_int_equal(n, 0);
	free(kept);
	return k;
}

void put(struct fdstore *k, const char *name, const char *text)
{
	int fd = memory(text);

	assert_int_equal(fdstore_put(k, name, fd), 0);
	close(fd);
}

void free_kept(struct fdstore_entry *kept, size_t n)
{
	while (n--)
		close(kept[n].fd);
	free(kept);
}

pid_t holder(void)
{
	char path[64], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	assert_non_null(f);
	if (fgets(line, sizeof(line), f))
		assert_null(strchr(strchr(line, ' ') + 1, ' '));
	fclose(f);
	return atoi(line);
}

bool holder_ends(unsigned int ms)
{
	unsigned int i;

	for (i = 0; i <= ms; i += 10) {
		if (waitpid(-1, NULL, WNOHANG))
			return true;
		usleep(10000);
	}
	return false;
}

void killed(void (*what)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		what();
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int setup(void **state)
{
	(void)state;
	holder_limits = (struct holder_limits){ 10000, 600000, HOLDER_FDS_MAX };
	strcpy(dir + sizeof(dir) - sizeof("XXXXXX"), "XXXXXX");
	return !mkdtemp(dir);
}

int teardown(void **state)
{
	char command[128];
	pid_t pid;

	(void)state;
	/* Some processes still hold descriptors. */
	while ((pid = holder())) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}
