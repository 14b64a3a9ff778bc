// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A client of depd that gets privileges after it connected: judge_client SOCKET STORE PROGRAM...
 *
 * The process that connected executes PROGRAM, which is set-uid; a child of its that has the socket
 * asks depd for a session then, and prints the answer.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int has_executed(pid_t pid, const char *name)
{
	char path[64], comm[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "r");
	if (f && !fgets(comm, sizeof(comm), f))
		*comm = '\0';
	if (f)
		fclose(f);
	return !strncmp(comm, name, strlen(name));
}

static int ask(int sock, const char *store, pid_t parent, const char *program)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	const char *name = strrchr(program, '/');
	char text[4096];
	ssize_t n;

	while (!has_executed(parent, name ? name + 1 : program))
		nanosleep(&ms, NULL);
	snprintf(text, sizeof(text), "{\"v\":1,\"op\":\"record\",\"argv\":[\"client\"],"
		 "\"cwd\":\"/\",\"store\":\"%s\"}\n", store);
	if (write(sock, text, strlen(text)) != (ssize_t)strlen(text))
		return 1;
	n = read(sock, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	printf("%s", text);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t parent = getpid(), pid;

	if (argc < 4)
		return 98;
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", argv[1]);
	if (connect(sock, (struct sockaddr *)&a, sizeof(a)))
		return 97;
	pid = fork();
	if (pid < 0)
		return 96;
	if (!pid)
		return ask(sock, argv[2], parent, argv[3]);
	execv(argv[3], argv + 3);
	return 95;
}
