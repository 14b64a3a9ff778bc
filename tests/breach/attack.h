/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the three attackers: random numbers from a printed seed, time, killing all descendants,
 * and requesting a session of depd as a client.
 */
#ifndef TESTS_BREACH_ATTACK_H
#define TESTS_BREACH_ATTACK_H

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../libdep/abi/boot.h"
#include "../programs/session_map.h"

/* Each thread and child has its own sequence. */
static __thread uint64_t attack_state;

/* splitmix64 */
static inline uint64_t rnd(void)
{
	uint64_t z = attack_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* 0 to @n - 1 */
static inline uint64_t below(uint64_t n)
{
	return n ? rnd() % n : 0;
}

static inline uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static inline void nap_ms(uint64_t ms)
{
	struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

/* Field @nr of /proc/PID/stat, counted from 3 after the name; -1: the process has ended. */
static inline long stat_field(int pid, int nr)
{
	char path[32], text[1024], *p;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int i = 2; p && i < nr; i++)
		p = strchr(p + 1, ' ');
	return p ? atol(p + 1) : -1;
}

/* Send SIGKILL to all children of this process; return their number. */
static inline int kill_children(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		int pid = atoi(e->d_name);

		if (pid <= 1 || stat_field(pid, 4) != getpid())
			continue;
		kill(pid, SIGKILL);
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

/*
 * Kill all descendants of this process, which is their reaper.  Set-uid programs cannot be killed,
 * but end by themselves.
 */
static inline void kill_descendants(void)
{
	uint64_t until = now_ms() + 5000;

	while (kill_children() && now_ms() < until) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nap_ms(2);
	}
}

/* Run @argv for @ms, then kill it with its descendants. */
static inline void one_run(char **argv, uint64_t ms)
{
	uint64_t until = now_ms() + ms;
	pid_t pid = fork();

	if (!pid) {
		execv(argv[0], argv);
		_exit(127);
	}
	while (pid > 0 && now_ms() < until && waitpid(pid, NULL, WNOHANG) != pid)
		nap_ms(5);
	kill_descendants();
}

/* Range of this process's session mappings: [0] the first byte, [1] the end of the last one. */
static inline int session_range(unsigned long range[2])
{
	unsigned long from, to;
	char line[4352];
	FILE *f = fopen("/proc/self/maps", "re");

	range[0] = range[1] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (!is_session_map(line) || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		if (!range[0])
			range[0] = from;
		range[1] = to;
	}
	if (f)
		fclose(f);
	return range[0] ? 0 : -1;
}

static inline int attack_connect(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval limit = { 5, 0 };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (sock >= 0 && !connect(sock, (struct sockaddr *)&a, sizeof(a)))
		return sock;
	if (sock >= 0)
		close(sock);
	return -1;
}

/*
 * Request a session of depd as depctl does; returns its file, and its number in *@id; -1: refused.
 * The session ends with @sock.
 */
static inline int attack_session(int sock, const char *store, unsigned int *id)
{
	char control[CMSG_SPACE(4 * sizeof(int))], text[8192], *at;
	struct iovec iov = { text, sizeof(text) - 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	ssize_t n;
	int fd;

	snprintf(text, sizeof(text), "{\"v\":1,\"op\":\"record\",\"argv\":[\"attack\"],"
		 "\"cwd\":\"/\",\"store\":\"%s\",\"options\":{\"transport\":\"shm\"}}\n", store);
	if (send(sock, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		return -1;
	n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -1;
	text[n] = '\0';
	at = strstr(text, "\"session\":");
	*id = at ? (unsigned int)atoi(at + 10) : 0;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Map the whole file of a session; NULL: it cannot be mapped.  *@size: its bytes. */
static inline struct adept_session *attack_map(int fd, size_t *size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	void *p = end > 0 ? mmap(NULL, (size_t)end, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_NORESERVE, fd, 0) : MAP_FAILED;

	*size = (size_t)end;
	return p == MAP_FAILED ? NULL : p;
}

/*
 * A number that is likely to cause errors: a limit, a distant position, a valid one of another
 * process, or any.
 */
static inline uint64_t hostile(uint64_t was)
{
	switch (below(12)) {
	case 0: return 0;
	case 1: return ~0ull;
	case 2: return 1;
	case 3: return 0x7fffffff;
	case 4: return 0x80000000u;
	case 5: return 0x414100000000ull;
	case 6: return (uint64_t)getpid();
	case 7: return was + 1 + below(64);
	case 8: return was - 1 - below(64);
	case 9: return was ^ 1ull << below(64);
	case 10: return below(5);
	default: return rnd();
	}
}

#endif
