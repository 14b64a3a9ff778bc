// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Take all that depd gives to one user, and ask for more.
 *
 *	attack_flood SECONDS SEED SOCKET WANTED DIR PROCESSES
 *	attack_flood hold PROCESSES WANTED
 *
 * Processes of their own flood the socket with half requests, garbage and questions; ask to stop,
 * watch and end sessions of others; begin sessions up to the limits and fill all their slots with
 * processes of others; and execute WANTED, this program under a name that a rule wants, in so many
 * PROCESSES, as often as they can.
 *
 * With `hold' as many PROCESSES execute WANTED once, and stay for a minute.
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "attack.h"

#define HELD	24	/* connections of each process */

static const char *path, *wanted, *dir;
static uint64_t end_ms;
static unsigned long processes;

static void say(int sock, const char *text, size_t n)
{
	if (sock >= 0 && send(sock, text, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0;
}

static void say_garbage(int sock)
{
	static char text[300000];
	size_t n = below(4) ? below(2000) : sizeof(text);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(below(2) ? rnd() : (uint64_t)"{\"}[],:0v\n"[below(10)]);
	say(sock, text, n);
}

static void say_request(int sock)
{
	static const char *const op[] = { "status", "sessions", "users", "policy", "reload",
					  "watch", "stop", "ended", "launched", "follow",
					  "open" };
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "{\"v\":1,\"op\":\"%s\",\"session\":%llu,\"status\":%llu,\"pid\":%llu}\n",
			 op[below(11)], (unsigned long long)below(300) + 1,
			 (unsigned long long)below(3) * 256, (unsigned long long)below(40000) + 1);

	/* Sometimes only half of it. */
	say(sock, text, below(3) ? (size_t)n : below((uint64_t)n));
	/* Most of these numbers are invalid or belong to others. */
	n = snprintf(text, sizeof(text), "{\"v\":1,\"op\":\"%s\",\"session\":%llu}\n",
		     below(2) ? "stop" : "watch", (unsigned long long)below(300) + 1);
	say(sock, text, (size_t)n);
}

static void flood(void)
{
	int sock[HELD];
	size_t i;

	memset(sock, -1, sizeof(sock));
	while (now_ms() < end_ms) {
		i = below(HELD);
		if (sock[i] < 0 || !below(4)) {
			if (sock[i] >= 0)
				close(sock[i]);
			sock[i] = attack_connect(path);
		}
		if (below(3))
			say_request(sock[i]);
		else
			say_garbage(sock[i]);
		nap_ms(below(4));
	}
}

/* ---- sessions and their slots ---- */

/* Pids of existing processes, of any user. */
static size_t list_processes(uint32_t *pid, size_t most)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	while (d && n < most && (e = readdir(d)))
		if (atoi(e->d_name) > 0)
			pid[n++] = (uint32_t)atoi(e->d_name);
	if (d)
		closedir(d);
	return n;
}

/* Fill each slot with a process of any user that claims to call execve. */
static void fill(int fd)
{
	static uint32_t pid[1024];
	size_t size, n = list_processes(pid, 1024);
	struct adept_session *s = attack_map(fd, &size), l;
	struct adept_thread *t;
	struct adept_proc *p;

	if (!s)
		return;
	l = *s;
	p = (struct adept_proc *)((char *)s + l.proc_off);
	t = (struct adept_thread *)((char *)s + l.thread_off);
	for (uint32_t i = 0; i < l.nprocs; i++) {
		p[i].serial = i + 1;
		p[i].pid = p[i].exec_tid = pid[below(n)];
		p[i].exec_state = below(2) ? ADEPT_EXEC_REQUEST : ADEPT_EXEC_NONE;
		p[i].desc_head = below(2) ? l.desc_size : 0;
		__atomic_store_n(&p[i].state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	}
	for (uint32_t i = 0; i < l.nthreads; i++) {
		t[i].serial = i + 1;
		t[i].proc = (uint32_t)below(l.nprocs);
		t[i].proc_serial = t[i].proc + 1;
		t[i].tid = pid[below(n)];
		t[i].head = (uint32_t)below(3);
		__atomic_store_n(&t[i].state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	}
	__atomic_fetch_add(&s->next_serial, l.nthreads, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&s->wakeup, 1, __ATOMIC_SEQ_CST);
	munmap(s, size);
}

static void sessions(void)
{
	int sock[40], fd[40];
	unsigned int id, n = 0;
	char text[256], store[4096];

	memset(sock, -1, sizeof(sock));
	memset(fd, -1, sizeof(fd));
	while (now_ms() < end_ms) {
		size_t i = below(40);

		if (sock[i] >= 0 && below(2)) {
			close(sock[i]);
			sock[i] = -1;
			if (fd[i] >= 0)
				close(fd[i]);
			fd[i] = -1;
		}
		if (sock[i] < 0) {
			sock[i] = attack_connect(path);
			snprintf(store, sizeof(store), "%s/flood-%d-%u.dep", dir, getpid(), n++);
			fd[i] = sock[i] < 0 ? -1 : attack_session(sock[i], store, &id);
			/* The launched process is another one than reported. */
			if (fd[i] >= 0 && below(2))
				say(sock[i], text, (size_t)snprintf(text, sizeof(text),
				    "{\"v\":1,\"op\":\"launched\",\"session\":%u,\"pid\":%llu}\n",
				    id, (unsigned long long)below(40000) + 1));
		}
		if (fd[i] >= 0 && below(2))
			fill(fd[i]);
		nap_ms(below(50));
	}
}

/* ---- processes that match a rule ---- */

/* Each executes itself repeatedly: it is stopped, attached to or continued, and so on. */
static void execute(void)
{
	char number[32];
	char *argv[] = { (char *)(uintptr_t)wanted, (char *)"again", number, NULL };
	unsigned long i;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)end_ms);
	for (i = 0; i < processes && now_ms() < end_ms; i++) {
		if (!fork()) {
			execv(wanted, argv);
			_exit(1);
		}
		if (i % 8 == 7)
			nap_ms(5);
	}
	while (now_ms() < end_ms)
		nap_ms(50);
}

#define HOLD_MS		60000

static int hold(unsigned long n)
{
	char *argv[] = { (char *)(uintptr_t)wanted, (char *)"stay", NULL };

	while (n--) {
		if (fork())
			continue;
		execv(wanted, argv);
		_exit(1);
	}
	puts("all are there");
	fflush(stdout);
	nap_ms(HOLD_MS);
	kill_descendants();
	return 0;
}

int main(int argc, char **argv)
{
	static void (*const all[])(void) = { flood, flood, sessions, execute };
	struct rlimit most = { 2500, 2500 };
	size_t i;

	if (argc == 2 && !strcmp(argv[1], "stay")) {
		nap_ms(HOLD_MS);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "again")) {
		if (now_ms() < strtoull(argv[2], NULL, 0))
			execv(argv[0], argv);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "hold")) {
		wanted = argv[3];
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		return hold(strtoul(argv[2], NULL, 0));
	}
	if (argc < 7)
		return 98;
	printf("attack_flood: seed %s\n", argv[2]);
	fflush(stdout);
	attack_state = strtoull(argv[2], NULL, 0);
	path = argv[3];
	wanted = argv[4];
	dir = argv[5];
	processes = strtoul(argv[6], NULL, 0);
	end_ms = now_ms() + strtoull(argv[1], NULL, 0) * 1000;
	setrlimit(RLIMIT_NPROC, &most);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint64_t seed = rnd();

		if (!fork()) {
			attack_state = seed;
			all[i]();
			_exit(0);
		}
	}
	while (now_ms() < end_ms)
		nap_ms(50);
	kill_descendants();
	return 0;
}
