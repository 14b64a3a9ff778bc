// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kill_at PID NUMBER [stop]: kill a process when its first thread is about to do its NUMBERth
 * system call from now on.  Says "ready" when it counts, and gives up after ten seconds.
 *
 * With stop it is stopped there instead, "stopped" is said, and it goes on when standard input
 * ends, if it still lives.  If it ends before, "ended N" says how many calls there were.
 * Suite: daemon, kills
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S	10

/* At the end of this process the other one goes on. */
static void late(int sig)
{
	(void)sig;
	_exit(0);
}

/* Until the process that started this one has done what it wants to do now. */
static void stay_stopped(pid_t pid)
{
	char c;

	puts("stopped");
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

int main(int argc, char **argv)
{
	bool stop = argc > 3 && !strcmp(argv[3], "stop");
	long left = argc > 2 ? atol(argv[2]) : 0, entry = 1, calls = 0, sig = 0;
	pid_t pid = argc > 2 ? atoi(argv[1]) : 0;
	int status;

	/* Where the test programs are run for themselves. */
	if (argc < 3)
		return puts("nobody to kill") < 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	signal(SIGALRM, late);
	alarm(LIMIT_S);
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid) {
		printf("cannot be traced: %s\n", strerror(errno));
		return 1;
	}
	puts("ready");
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, 0, sig) || waitpid(pid, &status, __WALL) != pid ||
		    !WIFSTOPPED(status)) {
			printf("ended %ld\n", calls);
			return 1;
		}
		sig = 0;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			left -= entry;
			calls += entry;
			entry = !entry;
		} else if (!(status >> 16)) {
			sig = WSTOPSIG(status);
		}
		if (left <= 0) {
			if (stop) {
				stay_stopped(pid);
				return 0;
			}
			kill(pid, SIGKILL);
			puts("was killed");
			return 0;
		}
	}
}
