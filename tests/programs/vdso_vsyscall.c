// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: output.  Calls into the vdso, and into the vsyscall page where it is mapped. */
#include <sched.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "common.h"

static int vsyscall_mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[256];
	int found = 0;

	while (f && fgets(line, sizeof(line), f))
		found |= !!strstr(line, "[vsyscall]");
	if (f)
		fclose(f);
	return found;
}

int main(void)
{
	time_t (*vtime)(time_t *) = (time_t (*)(time_t *))0xffffffffff600400;
	int (*vgtod)(struct timeval *, void *) =
		(int (*)(struct timeval *, void *))0xffffffffff600000;
	long (*vgetcpu)(unsigned int *, unsigned int *, void *) =
		(long (*)(unsigned int *, unsigned int *, void *))0xffffffffff600800;
	struct timespec a, b;
	struct timeval tv;
	unsigned int cpu;
	time_t t, t2;
	int i;

	for (i = 0; i < 100; i++) {
		CHECK(!clock_gettime(CLOCK_MONOTONIC, &a) && !clock_gettime(CLOCK_MONOTONIC, &b));
		CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
		CHECK(!gettimeofday(&tv, NULL) && time(NULL) - tv.tv_sec <= 1);
		CHECK(sched_getcpu() >= 0);
		CHECK(!clock_getres(CLOCK_REALTIME, &a));
	}
	for (i = 0; i < 20 && vsyscall_mapped(); i++) {
		t = vtime(&t2);
		CHECK(t == t2 && time(NULL) - t <= 1);
		CHECK(!vgtod(&tv, NULL) && tv.tv_sec - t <= 1);
		CHECK(!vgetcpu(&cpu, NULL, NULL));
	}
	return finish("vdso_vsyscall");
}
