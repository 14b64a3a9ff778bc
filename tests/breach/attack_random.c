// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recorded program that does at random what changes processes.
 *
 *	attack_random SECONDS SEED SOCKET DEPCTL DIR SETUID
 *
 * It forks, vforks, executes (itself, a shell, scripts, SETUID, what cannot be executed), freezes
 * itself and its children, changes ids, unshares name spaces, changes its root, makes itself
 * undumpable, and dies by signals.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "attack.h"

#define RUN_MS	2000
#define DEPTH	4

static char *self, *privileged;
static int depth;
static uint64_t end_ms;
static pid_t children[8];

static void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);

	/* A refused request is no error. */
	if (fd >= 0) {
		if (write(fd, text, strlen(text)) < 0)
			errno = 0;
		close(fd);
	}
}

static void namespaces(void)
{
	static const int more[] = { 0, CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC,
				    CLONE_NEWUTS, CLONE_NEWPID | CLONE_NEWNS, CLONE_FILES };
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare((below(4) ? CLONE_NEWUSER : 0) | more[below(8)]))
		return;
	if (below(2)) {
		write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", uid);
		write_file("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "0 %u 1", gid);
		write_file("/proc/self/gid_map", map);
	}
	/* In an empty root directory execve always fails. */
	if (!below(3) && chroot("/proc/self/fdinfo"))
		return;
	if (!below(2) && chdir("/"))
		return;
}

static void ids(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	switch (below(4)) {
	case 0: if (setuid(uid)) nap_ms(1); break;
	case 1: if (setresuid(uid, (uid_t)-1, uid)) nap_ms(1); break;
	case 2: if (setresgid(gid, gid, (gid_t)-1)) nap_ms(1); break;
	default: setfsuid(uid); if (setuid((uid_t)below(70000))) nap_ms(1);
	}
}

static void execute(void)
{
	char number[32], level[16];
	char *again[] = { self, (char *)"inside", number, level, privileged, NULL };
	char *sh[] = { (char *)"/bin/sh", (char *)"-c", (char *)"/bin/true | /bin/cat; kill -9 $$",
		       NULL };
	char *gone[] = { (char *)"x", NULL }, *raised[] = { privileged, (char *)"attack", NULL };
	int fd;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)rnd());
	snprintf(level, sizeof(level), "%d", depth);
	switch (below(7)) {
	case 0: execv(sh[0], sh); break;
	case 1: execv(privileged, raised); break;
	case 2: execv("/etc/shadow", gone); break;
	case 3: execv("/no/such/file", gone); break;
	case 4:
		fd = open(self, O_RDONLY);
		syscall(SYS_execveat, fd, "", again, environ, 0x1000 /* AT_EMPTY_PATH */);
		break;
	default: execv(self, again);
	}
}

static void start_vfork(void)
{
	char *argv[] = { (char *)"true", NULL };
	const char *what = below(2) ? "/bin/true" : privileged;
	pid_t pid = vfork();

	if (!pid) {
		execv(what, argv);
		_exit(1);
	}
}

static void start_fork(void)
{
	uint64_t seed = rnd();
	size_t i = below(8);
	pid_t pid;

	if (depth >= DEPTH)
		return;
	pid = fork();
	if (!pid) {
		attack_state = seed;
		depth++;
		memset(children, 0, sizeof(children));
	} else if (pid > 0) {
		children[i] = pid;
	}
}

static void freeze(void)
{
	pid_t pid = children[below(8)];

	switch (below(4)) {
	case 0:
		/* Another process continues it, or none. */
		if (!below(4))
			raise(SIGSTOP);
		break;
	case 1: if (pid) kill(pid, SIGSTOP); break;
	case 2: if (pid) kill(pid, SIGCONT); break;
	default: if (pid) kill(pid, SIGKILL);
	}
}

static void *thread(void *arg)
{
	attack_state = (uint64_t)(uintptr_t)arg;
	if (!below(4))
		execute();
	for (volatile int i = 0; i < 100000; i++)
		;
	return NULL;
}

static void start_thread(void)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, thread, (void *)(uintptr_t)rnd()))
		pthread_detach(t);
}

static void attributes(void)
{
	struct rlimit r = { 64, 64 };

	switch (below(6)) {
	case 0: prctl(PR_SET_DUMPABLE, 0); break;
	case 1: prctl(PR_SET_DUMPABLE, 1); break;
	case 2: prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); break;
	case 3: prctl(PR_SET_PDEATHSIG, SIGSTOP); break;
	case 4: setrlimit(RLIMIT_NOFILE, &r); break;
	default: prctl(PR_SET_NAME, "depd-tracer"); close_range(3, ~0u, 0);
	}
}

static void die(void)
{
	static const int signals[] = { SIGKILL, SIGSEGV, SIGABRT, SIGTERM, SIGILL, SIGTRAP,
				       SIGXCPU };

	if (!below(2))
		_exit((int)below(256));
	raise(signals[below(7)]);
}

static int inside(void)
{
	struct rlimit most = { 300, 300 };

	setrlimit(RLIMIT_NPROC, &most);
	end_ms = now_ms() + RUN_MS;
	while (now_ms() < end_ms) {
		switch (below(12)) {
		case 0: case 1: case 2: start_fork(); break;
		case 3: start_vfork(); break;
		case 4: freeze(); break;
		case 5: ids(); break;
		case 6: if (depth && !below(2)) namespaces(); break;
		case 7: attributes(); break;
		case 8: start_thread(); break;
		case 9: if (depth && !below(2)) execute(); break;
		case 10: if (depth && !below(3)) die(); break;
		default:
			while (waitpid(-1, NULL, WNOHANG | WUNTRACED) > 0)
				;
			nap_ms(below(3));
		}
	}
	return 7;
}

int main(int argc, char **argv)
{
	char number[32], store[4096];
	uint64_t until;
	unsigned int n;

	self = argv[0];
	if (argc == 5 && !strcmp(argv[1], "inside")) {
		attack_state = strtoull(argv[2], NULL, 0);
		depth = atoi(argv[3]);
		privileged = argv[4];
		return inside();
	}
	if (argc < 7)
		return 98;
	printf("attack_random: seed %s\n", argv[2]);
	fflush(stdout);
	attack_state = strtoull(argv[2], NULL, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	until = now_ms() + strtoull(argv[1], NULL, 0) * 1000;
	for (n = 0; now_ms() < until; n++) {
		char *run[] = { argv[4], (char *)"record", (char *)"-q", (char *)"-o", store,
				(char *)"--ring-size=1M", (char *)"--", argv[0], (char *)"inside",
				number, (char *)"0", argv[6], NULL };

		snprintf(store, sizeof(store), "%s/random-%u.dep", argv[5], n);
		snprintf(number, sizeof(number), "%llu", (unsigned long long)rnd());
		one_run(run, RUN_MS + 1000);
	}
	printf("attack_random: %u rounds\n", n);
	return 0;
}
