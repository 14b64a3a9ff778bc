// SPDX-License-Identifier: GPL-2.0-or-later
/* Reporting, waiting, counters, processes. */
#include <stdarg.h>

#include "vm.h"

int passed, failed, skipped;

static void say(const char *what, const char *fmt, va_list ap)
{
	char line[512];

	vsnprintf(line, sizeof(line), fmt, ap);
	printf("%-4s %s\n", what, line);
	fflush(stdout);
}

#define REPORT(name, word, count)		\
	void name(const char *fmt, ...)		\
	{					\
		va_list ap;			\
						\
		va_start(ap, fmt);		\
		say(word, fmt, ap);		\
		va_end(ap);			\
		count++;			\
	}

REPORT(pass, "ok", passed)
REPORT(fail, "FAIL", failed)
REPORT(skip, "SKIP", skipped)

void die(const char *file, int line, const char *what)
{
	printf("FAIL %s:%d: %s (%s)\n", file, line, what, strerror(errno));
	fflush(stdout);
	_exit(3);
}

int finish(void)
{
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}

u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

static long read_number(const char *path)
{
	char buf[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0);
	must(read(fd, buf, sizeof(buf) - 1) > 0);
	close(fd);
	return atol(buf);
}

long counter(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/misc/adept/%s", name);
	return read_number(path);
}

long param(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/adept/parameters/%s", name);
	return read_number(path);
}

void set_param(const char *name, long value)
{
	char path[128], buf[32];
	int fd, n = snprintf(buf, sizeof(buf), "%ld", value);

	snprintf(path, sizeof(path), "/sys/module/adept/parameters/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && write(fd, buf, n) == n);
	close(fd);
}

bool counter_becomes(const char *name, long value)
{
	int i;

	for (i = 0; i < 2000 && counter(name) != value; i++)
		sleep_ms(10);
	return counter(name) == value;
}

pid_t spawn(int (*fn)(void *), void *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(arg));
	}
	return pid;
}

int wait_for(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int dies_by(int (*fn)(void *), void *arg)
{
	int status = wait_for(spawn(fn, arg));

	return status > 128 ? status - 128 : 0;
}
