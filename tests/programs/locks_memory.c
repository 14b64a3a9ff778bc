// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: first-engine.  locks_memory [FILE]: what mlockall() and its relatives return goes to
 * standard output, which must be as natively; how much is locked and resident after each, in KiB,
 * goes to FILE.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define MIB (1ul << 20)

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif

static FILE *sizes;

static long status_kib(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	CHECK(f);
	while (kib < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			kib = atol(line + strlen(name));
	fclose(f);
	return kib;
}

static void result(const char *what, long ret)
{
	int error = ret < 0 ? errno : 0;
	long locked = status_kib("VmLck:");

	printf("%s: %ld %s\n", what, ret < 0 ? -1 : ret, error ? strerror(error) : "");
	if (sizes)
		fprintf(sizes, "%s: %ld %ld\n", what, locked, status_kib("VmRSS:"));
}

/* A mapping made now, which MCL_FUTURE may lock or refuse. */
static void map(const char *what, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	result(what, p == MAP_FAILED ? -1 : 0);
	if (p != MAP_FAILED)
		munmap(p, size);
}

static void lock_all(const char *what, int flags)
{
	char name[80];
	pid_t pid;
	int status;

	result(what, mlockall(flags));
	snprintf(name, sizeof(name), "%s, map 1 MiB", what);
	map(name, MIB);
	snprintf(name, sizeof(name), "%s, map 64 MiB", what);
	map(name, 64 * MIB);
	snprintf(name, sizeof(name), "%s, sbrk 1 MiB", what);
	result(name, sbrk(MIB) == (void *)-1 ? -1 : 0);
	/* Nothing of it is inherited. */
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		map("in a child, map 1 MiB", MIB);
		result("in a child, munlockall", munlockall());
		fflush(NULL);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	result("munlockall", munlockall());
	map("munlockall, map 64 MiB", 64 * MIB);
}

static void lock_what_maps_shows(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[4096];

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2)
			mlock((void *)start, end - start);
	fclose(f);
	result("mlock of what maps shows", 0);
	result("munlockall", munlockall());
}

static void ranges(void)
{
	char *p = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	result("mlock", mlock(p + 100, 4096));
	result("mlock2", syscall(SYS_mlock2, p, 8 * 4096, 1));
	result("mlock2 with unknown flags", syscall(SYS_mlock2, p, 4096, 8));
	result("munlock", munlock(p, 8 * 4096));
	munmap(p + 4 * 4096, 4096);
	result("mlock across a hole", mlock(p, 8 * 4096));
	result("mlock of nothing", mlock(p, 0));
	result("mlock beyond the end", mlock(p, -8192ul));
	result("mlock of all", mlock(p, 0x7ffffffff000ul - (unsigned long)p));
	result("mlock far away", mlock((void *)0x550000000000ul, 4096));
	result("munlock far away", munlock((void *)0x550000000000ul, 4096));
	result("munlockall", munlockall());
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		sizes = fopen(argv[1], "w");
		CHECK(sizes);
	}
	setvbuf(stdout, NULL, _IOFBF, 65536);
	result("at first", 0);
	lock_all("MCL_CURRENT", MCL_CURRENT);
	lock_all("MCL_FUTURE", MCL_FUTURE);
	lock_all("MCL_CURRENT|MCL_FUTURE", MCL_CURRENT | MCL_FUTURE);
	lock_all("MCL_CURRENT|MCL_ONFAULT", MCL_CURRENT | MCL_ONFAULT);
	lock_all("MCL_FUTURE|MCL_ONFAULT", MCL_FUTURE | MCL_ONFAULT);
	lock_all("MCL_CURRENT|MCL_FUTURE|MCL_ONFAULT", MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	result("MCL_FUTURE", mlockall(MCL_FUTURE));
	lock_all("MCL_CURRENT after MCL_FUTURE", MCL_CURRENT);
	result("MCL_ONFAULT alone", mlockall(MCL_ONFAULT));
	result("no flags", mlockall(0));
	result("unknown flags", mlockall(MCL_CURRENT | 8));
	ranges();
	lock_what_maps_shows();
	return finish("locks_memory");
}
