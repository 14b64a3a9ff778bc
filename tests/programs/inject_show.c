// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints all that a program can see of how it was started.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

static void show_file(const char *path, const char *key)
{
	char line[4096];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			printf("%s", line);
	if (f)
		fclose(f);
}

static void show_auxv(char **envp)
{
	Elf64_auxv_t *a;

	while (*envp)
		envp++;
	for (a = (Elf64_auxv_t *)(envp + 1); a->a_type != AT_NULL; a++)
		printf("auxv %lu %lx\n", a->a_type, a->a_un.a_val);
}

static void show_signals(void)
{
	struct sigaction sa;
	sigset_t mask, pending;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigpending(&pending);
	for (int s = 1; s < 65; s++) {
		if (sigaction(s, NULL, &sa))
			sa.sa_handler = SIG_DFL;
		printf("signal %d %d %d %d\n", s, sa.sa_handler != SIG_DFL,
		       sigismember(&mask, s), sigismember(&pending, s));
	}
}

int main(int argc, char **argv, char **envp)
{
	struct rlimit lim;
	void *p;

	for (int i = 0; i < argc; i++)
		printf("arg %s\n", argv[i]);
	for (char **e = envp; *e; e++)
		printf("env %s\n", *e);
	show_auxv(envp);
	show_signals();
	for (int fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	getrlimit(RLIMIT_NOFILE, &lim);
	printf("nofile %lu personality %x pgrp %d sid %d\n", lim.rlim_cur,
	       personality(0xffffffff), getpgrp(), getsid(0));
	printf("sbrk %p malloc %p\n", sbrk(0), malloc(100));
	p = mmap(NULL, 8u << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("mmap %p\n", p);
	show_file("/proc/self/status", "TracerPid");
	fflush(stdout);
	show_file("/proc/self/maps", "");
	return 42;
}
