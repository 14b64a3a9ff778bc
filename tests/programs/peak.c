// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peak FILE COMMAND...: run COMMAND and write the largest resident set, in KiB, that it
 * or one of its children had to FILE.
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
	pid = vfork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &ru) != pid)
		return 126;
	f = fopen(argv[1], "w");
	if (!f)
		return 126;
	fprintf(f, "%ld\n", ru.ru_maxrss);
	return fclose(f) || !WIFEXITED(status) ? 126 : WEXITSTATUS(status);
}
