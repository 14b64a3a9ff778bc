// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * timecmd FILE COMMAND...: run COMMAND and write the user and system seconds of it
 * and of all that it waited for to FILE, and in a second line how many bytes were
 * resident at most of one of them.
 *
 * It is recorded together with its command, so that the collector's time, which is
 * outside of the recording, is not counted; its own few thousand instructions do
 * not matter.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage ru;
	int status;
	FILE *f;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &ru) != pid) {
		perror("timecmd");
		return 126;
	}
	f = fopen(argv[1], "w");
	if (!f) {
		perror(argv[1]);
		return 126;
	}
	fprintf(f, "%ld.%06ld %ld.%06ld\n%ld\n", ru.ru_utime.tv_sec, ru.ru_utime.tv_usec,
		ru.ru_stime.tv_sec, ru.ru_stime.tv_usec, ru.ru_maxrss * 1024);
	if (fclose(f))
		return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
