// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * killed FILE: a child writes one byte after the other of a file until it is killed.
 * How far it came can be read from the file, whatever became of its recording.  Not
 * run by the suites for all programs: crash.sh builds it.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define SIZE	(1u << 20)

static __attribute__((noinline)) void put(volatile char *p, unsigned int i)
{
	p[i] = (char)(i | 1);
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "", O_RDWR | O_CREAT | O_TRUNC, 0600);
	volatile char *p;
	unsigned int i;
	int status;
	pid_t pid;

	CHECK(fd >= 0 && !ftruncate(fd, SIZE));
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	pid = fork();
	if (!pid) {
		for (i = 0; i < SIZE; i++)
			put(p, i);
		pause();
	}
	while (!p[SIZE / 4])
		;
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	printf("%lx\n", (unsigned long)p);
	return 0;
}
