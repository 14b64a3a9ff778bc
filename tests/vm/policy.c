// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depd's rules in the guest: who is stopped and who is not, and that nobody stays so.
 *
 * What is to be looked at is started by children of this program's children, since its own
 * children are never stopped.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/pending/exec_watch.h"
#include "daemon/pending/pending.h"
#include "policy.h"

#define CGROUP "/sys/fs/cgroup/adept-test"

static int passed, failed;

static void say(const char *what, const char *fmt, va_list ap)
{
	printf("%-4s ", what);
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
}

void pass(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("ok", fmt, ap);
	va_end(ap);
	passed++;
}

void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("FAIL", fmt, ap);
	va_end(ap);
	failed++;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

/* ---- the watch, and what it tells ---- */

static struct exec_watch *watch;
static struct depd_config conf;
static struct {
	int events, matches, nth, records;
	int rule;
	bool foreground, keep, record;
	char comm[32], path[256], exe[256], cgroup[256], argv[256];
	pid_t pid;
	uid_t uid;
} seen;

static void taken(pid_t pid)
{
	exec_watch_attached(watch, pid);
}

static void on_exec(void *arg, const struct pending_exec *e)
{
	char why[512];
	bool wanted;

	(void)arg;
	seen.events++;
	seen.pid = e->pid;
	seen.uid = e->p.uid;
	seen.foreground = e->p.foreground;
	snprintf(seen.comm, sizeof(seen.comm), "%s", e->p.comm);
	snprintf(seen.path, sizeof(seen.path), "%s", e->p.path);
	snprintf(seen.exe, sizeof(seen.exe), "%s", e->p.exe);
	snprintf(seen.cgroup, sizeof(seen.cgroup), "%s", e->p.cgroup);
	snprintf(seen.argv, sizeof(seen.argv), "%s", e->p.argv);
	seen.rule = policy_match(&conf, &e->p);
	wanted = seen.rule >= 0 && !(seen.nth++ % (int)conf.rule[seen.rule].every);
	seen.matches += wanted;
	if (seen.keep)
		return;
	if (wanted && seen.record) {
		char dir[64];

		snprintf(dir, sizeof(dir), "/tmp/held.%d.dep", seen.records++);
		if (!record_held(e->pid, dir, taken, why, sizeof(why)))
			return;
		fail("recording %s: %s", seen.path, why);
	}
	exec_watch_release(watch, e->pid);
}

static void set_rules(const char *text)
{
	struct policy_error e;
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	policy_free(&conf);
	if (policy_read(&conf, f, &e))
		fail("%u:%u: %s", e.line, e.column, e.text);
	fclose(f);
	if (exec_watch_rules(watch, &conf))
		fail("rules: %s", strerror(errno));
	memset(&seen, 0, sizeof(seen));
}

static void hear(int ms)
{
	struct pollfd p = { .events = POLLIN };

	if (!watch)
		return;
	p.fd = exec_watch_fd(watch);
	if (poll(&p, 1, ms) > 0)
		exec_watch_read(watch, on_exec, NULL);
}

static struct exec_watch_counts counts(void)
{
	struct exec_watch_counts n;

	exec_watch_counts(watch, &n);
	return n;
}

/* ---- who is watched ---- */

struct job {
	const char *file;
	const char *arg[3];
	const char *cwd, *cgroup;
	uid_t uid;
	int namespaces;
	bool traced, tty, background;
};

__attribute__((noreturn))
static void execute(const struct job *j)
{
	char *argv[5] = { (char *)(uintptr_t)j->file };
	FILE *f;

	for (int i = 0; i < 3; i++)
		argv[i + 1] = (char *)(uintptr_t)j->arg[i];
	if (j->cgroup) {
		f = fopen(j->cgroup, "w");
		if (!f || fprintf(f, "%d\n", getpid()) < 0 || fclose(f))
			_exit(90);
	}
	if (j->background)
		setpgid(0, 0);
	if (j->cwd && chdir(j->cwd))
		_exit(91);
	if (j->uid && setuid(j->uid))
		_exit(92);
	if (j->traced)
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execv(j->file, argv);
	_exit(93);
}

static void take_terminal(void)
{
	int unlocked = 0, n = 0;
	char name[64];
	int m = open("/dev/ptmx", O_RDWR | O_NOCTTY), s;

	setsid();
	if (m < 0 || ioctl(m, TIOCSPTLCK, &unlocked) || ioctl(m, TIOCGPTN, &n))
		_exit(94);
	snprintf(name, sizeof(name), "/dev/pts/%d", n);
	s = open(name, O_RDWR);
	if (s < 0 || ioctl(s, TIOCSCTTY, 0) || tcsetpgrp(s, getpid()))
		_exit(95);
}

/* In a child: start the job, wait for it as a shell would not: without WUNTRACED. */
__attribute__((noreturn))
static void starter(const struct job *j)
{
	int status;
	pid_t pid;

	if (j->tty)
		take_terminal();
	if (j->namespaces && unshare(j->namespaces))
		_exit(96);
	pid = fork();
	if (!pid)
		execute(j);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static pid_t begin(const struct job *j)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		starter(j);
	return pid;
}

/* Hear until @pid has ended, for @ms at most; its exit status, -1: it has not. */
static int until_ended(pid_t pid, int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;
	int status;

	while (now_ms() < end) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
		if (watch)
			hear(10);
		else
			sleep_ms(10);
	}
	return -1;
}

static int run(const struct job *j)
{
	int status = until_ended(begin(j), 20000);

	hear(0);
	return status;
}

static void expect(const char *name, const char *rules, const struct job *j, int events,
		   int matches)
{
	int status;

	set_rules(rules);
	status = run(j);
	check(!status && seen.events == events && seen.matches == matches,
	      "%s: status %d, %d held, %d wanted (%s, %s, %s, %s, %s)", name, status, seen.events,
	      seen.matches, seen.comm, seen.path, seen.exe, seen.cgroup, seen.argv);
}

/* ---- cases ---- */

static const struct job job_true = { .file = "/bin/true" };

static void make_file(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		fail("%s: %s", path, strerror(errno));
	fchmod(fd, 0755);
	close(fd);
}

static void test_names(void)
{
	static const struct job relative = { .file = "./true", .cwd = "/bin" },
		script = { .file = "/tmp/script" }, bare = { .file = "script", .cwd = "/tmp" },
		deep = { .file = "/tmp/a/b/c/prog", .arg = { "needle in", "hay" } };

	make_file("/tmp/script", "#!/bin/sh\nexit 0\n", 17);
	if (system("mkdir -p /tmp/a/b/c && cp /w/hello_static /tmp/a/b/c/prog && "
		   "printf '#!/bin/sh\\n:\\n' >/tmp/a/b/c/prog"))
		fail("mkdir");
	expect("no rule", "", &job_true, 0, 0);
	expect("comm", "[rule a]\ncomm = true\n", &job_true, 1, 1);
	expect("other comm", "[rule a]\ncomm = tru\n[rule b]\ncomm=truee\n", &job_true, 0, 0);
	expect("comm pattern", "[rule a]\ncomm = t*e\n", &job_true, 1, 1);
	expect("comm pattern that nearly fits", "[rule a]\ncomm = t*x\n", &job_true, 1, 0);
	expect("comm, second rule", "[rule a]\ncomm = x\n[rule b]\ncomm = t?ue\n", &job_true, 1, 1);
	expect("path: link", "[rule a]\npath = /bin/true\n", &job_true, 1, 1);
	expect("path: file", "[rule a]\npath = /bin/busybox\n", &job_true, 1, 1);
	expect("path: folder", "[rule a]\npath = /bin/*\n", &job_true, 1, 1);
	expect("path: other folder", "[rule a]\npath = /usr/bin/*\n", &job_true, 0, 0);
	expect("path: end", "[rule a]\npath = */true\n", &job_true, 1, 1);
	expect("path: other end", "[rule a]\npath = */truer\n", &job_true, 0, 0);
	expect("path: relative", "[rule a]\npath = /bin/true\n", &relative, 1, 1);
	expect("path: relative, other end", "[rule a]\npath = /bin/false\n", &relative, 0, 0);
	expect("path: relative, other folder", "[rule a]\npath = /sbin/true\n", &relative, 1, 0);
	expect("path: script", "[rule a]\npath = /tmp/script\n", &script, 1, 1);
	expect("path: relative script", "[rule a]\npath = /tmp/script\n", &bare, 1, 1);
	expect("path: deep", "[rule a]\npath = /tmp/a/*\n", &deep, 1, 1);
	expect("path: every", "[rule a]\npath = *\n", &job_true, 1, 1);
	expect("argv", "[rule a]\nargv = */prog *needle in hay\n", &deep, 1, 1);
	expect("other argv", "[rule a]\nargv = *needle in\n", &deep, 1, 0);
	expect("comm and path", "[rule a]\ncomm = true\npath = /usr/*\n", &job_true, 0, 0);
}

static void test_who(void)
{
	static const struct job nobody = { .file = "/bin/true", .uid = 65534 };
	struct job inside = { .file = "/bin/true", .cgroup = CGROUP "/deep/cgroup.procs" };

	expect("uid", "[rule a]\nuid = nobody\n", &nobody, 1, 1);
	check(seen.uid == 65534, "uid is %u", seen.uid);
	expect("other uid", "[rule a]\nuid = 65534\n", &job_true, 0, 0);
	mkdir(CGROUP, 0755);
	mkdir(CGROUP "/deep", 0755);
	expect("cgroup", "[rule a]\ncgroup = /adept-test/*\n", &inside, 1, 1);
	expect("cgroup, exact", "[rule a]\ncgroup = /adept-test/deep\n", &inside, 1, 1);
	check(!strcmp(seen.cgroup, "/adept-test/deep"), "cgroup is %s", seen.cgroup);
	expect("other cgroup", "[rule a]\ncgroup = /adept-test/*\n", &job_true, 0, 0);
	expect("root cgroup", "[rule a]\ncgroup = /\n", &job_true, 1, 1);
	set_rules("[rule a]\ncomm = true\nevery = 3\n");
	for (int i = 0; i < 7; i++)
		run(&job_true);
	check(seen.events == 7 && seen.matches == 3, "every third: %d of %d", seen.matches,
	      seen.events);
}

static const unsigned char elf32[] = {
	0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	2, 0, 3, 0, 1, 0, 0, 0, 0x54, 0x80, 0x04, 0x08, 52, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08,
	0x60, 0, 0, 0, 0x60, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0,
	/* mov $1, %eax; xor %ebx, %ebx; int $0x80 */
	0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80, 0, 0, 0,
};

static void test_never(void)
{
	static const struct job traced = { .file = "/bin/true", .traced = true },
		other = { .file = "/bin/true", .namespaces = CLONE_NEWPID },
		suid = { .file = "/tmp/suid", .arg = { "true" }, .uid = 65534 },
		thirtytwo = { .file = "/tmp/elf32" };
	struct exec_watch_counts a, b;
	int status;
	pid_t pid;

	a = counts();
	expect("traced", "[rule a]\ncomm = true\n", &traced, 0, 0);
	expect("other namespace", "[rule a]\ncomm = true\n", &other, 0, 0);
	if (system("cp /bin/busybox /tmp/suid && chmod 4755 /tmp/suid"))
		fail("cp");
	set_rules("[rule a]\ncomm = suid\n");
	status = run(&suid);
	check(status >= 0 && !seen.events, "set-uid: %d held", seen.events);
	make_file("/tmp/elf32", (const char *)elf32, sizeof(elf32));
	expect("32-bit", "[rule a]\ncomm = elf32\n", &thirtytwo, 0, 0);
	b = counts();
	check(b.traced - a.traced == 1 && b.other_namespace - a.other_namespace == 1 &&
	      b.privileged - a.privileged == 1 && b.image32 - a.image32 == 1,
	      "counted: %d traced, %d elsewhere, %d privileged, %d of 32 bits",
	      (int)(b.traced - a.traced), (int)(b.other_namespace - a.other_namespace),
	      (int)(b.privileged - a.privileged), (int)(b.image32 - a.image32));
	set_rules("[rule a]\ncomm = true\n");
	pid = fork();
	if (!pid)
		execute(&job_true);
	status = until_ended(pid, 20000);
	check(!status && !seen.events, "depd's own child: %d held", seen.events);
}

static void test_terminal(void)
{
	static const struct job front = { .file = "/bin/true", .tty = true },
		back = { .file = "/bin/true", .tty = true, .background = true };
	uint64_t n = counts().terminal;

	mkdir("/dev/pts", 0755);
	mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=666");
	expect("foreground", "[rule a]\ncomm = true\n", &front, 0, 0);
	check(counts().terminal == n + 1, "%d counted", (int)(counts().terminal - n));
	expect("foreground wanted", "[rule a]\ncomm = true\nterminal = yes\n", &front, 1, 1);
	check(seen.foreground, "it is in the foreground");
	expect("background", "[rule a]\ncomm = true\n", &back, 1, 1);
}

/* Held, and then killed before anybody looked. */
static void test_ended(void)
{
	struct exec_watch_counts a = counts(), b;
	pid_t pid;
	int status;

	set_rules("[rule a]\ncomm = true\n");
	seen.keep = true;
	pid = begin(&job_true);
	for (int i = 0; i < 500 && !seen.events; i++)
		hear(10);
	kill(seen.pid, SIGKILL);
	status = until_ended(pid, 20000);
	b = counts();
	check(status == 99 && b.ended == a.ended + 1 &&
	      exec_watch_release(watch, seen.pid) == -ESRCH,
	      "killed while it was held: status %d, %d counted", status, (int)(b.ended - a.ended));
}

__attribute__((noreturn))
static void storm_child(int n)
{
	char *argv[] = { (char *)"/bin/true", NULL };
	int bad = 0, status;
	pid_t pid;

	for (int i = 0; i < n; i++) {
		/* By vfork, where the parent waits for the execve. */
		bad += posix_spawn(&pid, argv[0], NULL, NULL, argv, NULL) ||
		       waitpid(pid, &status, 0) != pid || status;
	}
	_exit(bad ? 1 : 0);
}

static void test_storm(void)
{
	enum { STARTERS = 4 };
	int each = getenv("LONG") && atoi(getenv("LONG")) ? 5000 : 500, bad = 0;
	struct exec_watch_counts a = counts(), b;
	pid_t pid[STARTERS];
	uint64_t held;

	set_rules("[rule a]\ncomm = true\nargv = never\n");
	fflush(stdout);
	for (int i = 0; i < STARTERS; i++) {
		pid[i] = fork();
		if (!pid[i])
			storm_child(each);
	}
	for (int i = 0; i < STARTERS; i++)
		bad += until_ended(pid[i], 1000000) != 0;
	hear(0);
	b = counts();
	held = b.stopped - a.stopped;
	check(!bad && held + b.missed - a.missed == (uint64_t)(STARTERS * each) &&
	      held == b.released - a.released && (int)held == seen.events && !b.given_up,
	      "storm: %d held, %d let go, %d missed, %d read, %d given up, %d failed", (int)held,
	      (int)(b.released - a.released), (int)(b.missed - a.missed), seen.events,
	      (int)b.given_up, bad);
}

static void test_overflow(void)
{
	enum { MANY = 900 };
	struct exec_watch_counts a = counts(), b;
	static pid_t pid[MANY];
	int bad = 0;

	set_rules("[rule a]\ncomm = true\n");
	for (int i = 0; i < MANY; i++)
		pid[i] = begin(&job_true);
	for (int i = 0; i < 300; i++) {
		b = counts();
		if (b.stopped + b.missed - a.stopped - a.missed == MANY)
			break;
		sleep_ms(100);
	}
	check(b.stopped + b.missed - a.stopped - a.missed == MANY && b.missed > a.missed,
	      "nobody reads: %d held, %d missed", (int)(b.stopped - a.stopped),
	      (int)(b.missed - a.missed));
	/* Make room for the next test.  Below, nothing is read if all have ended already. */
	hear(0);
	for (int i = 0; i < MANY; i++)
		bad += until_ended(pid[i], 20000) != 0;
	check(!bad && exec_watch_missed(watch) == b.missed, "all %d came to their end", MANY);
}

/* ---- depd's death ---- */

/* Enough for a busy machine, and too soon for a watchdog that only gives up. */
#define SOON_MS	(PENDING_MS - 2000)

static bool open_watch(void)
{
	char why[512];
	int err = exec_watch_open(&watch, why, sizeof(why));

	if (err)
		fail("exec_watch_open: %s (%s)", why, strerror(-err));
	return !err;
}

/* A depd that holds and never decides. */
static pid_t lazy_depd(void)
{
	int fd[2];
	char c = 1;
	pid_t pid;

	if (pipe(fd))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (!open_watch())
			_exit(1);
		set_rules("[rule a]\ncomm = true\n");
		if (write(fd[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(fd[0], &c, 1) != 1)
		fail("pipe");
	close(fd[0]);
	close(fd[1]);
	return pid;
}

/* How many processes of that name are in that state; '.': in any one. */
static int find(const char *comm, char state, bool kill_it)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "for p in /proc/[0-9]*; do grep -q '^[0-9]* (%s) %c' $p/stat && %s; done "
		 "2>/dev/null; exit $(cat /tmp/n | wc -l)", comm, state,
		 kill_it ? "kill -9 ${p#/proc/}" : "echo >>/tmp/n");
	unlink("/tmp/n");
	close(open("/tmp/n", O_CREAT | O_WRONLY, 0644));
	return WEXITSTATUS(system(command));
}

static void test_killed(bool with_guard)
{
	enum { MANY = 5 };
	pid_t depd = lazy_depd(), pid[MANY];
	int bad = 0, held = 0;

	for (int i = 0; i < MANY; i++)
		pid[i] = begin(&job_true);
	for (int i = 0; i < 50 && held < MANY; i++) {
		sleep_ms(100);
		held = find("true", 'T', false);
	}
	check(held == MANY, "%d are held", held);
	if (with_guard)
		find("depd-guard", '.', true);
	kill(depd, SIGKILL);
	waitpid(depd, NULL, 0);
	if (with_guard) {
		sleep_ms(1500);
		check(find("true", 'T', false) == MANY, "without a guard they stay so");
		if (!open_watch())
			return;
	}
	for (int i = 0; i < MANY; i++)
		bad += until_ended(pid[i], SOON_MS) != 0;
	check(!bad, with_guard ? "the next depd lets them go" : "the guard lets them go");
	if (with_guard) {
		exec_watch_close(watch);
		watch = NULL;
	}
	for (int i = 0; i < 100 && find("depd-guard", 'S', false); i++)
		sleep_ms(100);
	check(!find("depd-guard", 'S', false), "no guard is left");
	check(!system("test -z \"$(ls /sys/fs/bpf/adept)\""), "no table is left");
	check(!run(&job_true), "nothing is held any more");
}

/* Many processes: some end before the watchdog has removed the entry of what it resumed. */
static void test_slow(void)
{
	enum { MANY = 64 };
	uint64_t n = counts().given_up, end = now_ms() + SOON_MS;
	int early = 0, bad = 0;
	pid_t pid[MANY];

	set_rules("[rule a]\ncomm = true\n");
	seen.keep = true;
	for (int i = 0; i < MANY; i++)
		pid[i] = begin(&job_true);
	while (now_ms() < end)
		hear(10);
	for (int i = 0; i < MANY; i++)
		if (waitpid(pid[i], NULL, WNOHANG)) {
			early++;
			pid[i] = 0;
		}
	check(!early && seen.events == MANY, "a slow depd holds them: %d of %d ended, %d held",
	      early, MANY, seen.events);
	for (int i = 0; i < MANY; i++)
		bad += pid[i] && until_ended(pid[i], 20000);
	n = counts().given_up - n;
	check(!bad && n == MANY, "not for ever: %d still live, %d given up", bad, (int)n);
}

static void test_close(void)
{
	pid_t pid;

	set_rules("[rule a]\ncomm = true\n");
	seen.keep = true;
	pid = begin(&job_true);
	for (int i = 0; i < 500 && !seen.events; i++)
		hear(10);
	exec_watch_close(watch);
	watch = NULL;
	check(!until_ended(pid, SOON_MS), "closing lets go");
	check(!run(&job_true), "nothing is held when it is closed");
}

static void test_record(void)
{
	static const struct job jobs[] = {
		{ .file = "/w/hello_static" }, { .file = "/w/hello_nopie" },
		{ .file = "/w/hello_static_pie" }, { .file = "/w/calls", .arg = { "1" } },
		{ .file = "/bin/sh", .arg = { "-c", "/bin/echo one; /bin/echo two" } },
		{ .file = "/w/calls", .arg = { "1" }, .uid = 65534 },
	};
	char command[128];
	int n;

	set_rules("[rule w]\npath = /w/*\n[rule sh]\nargv = /bin/sh -c /bin/echo*\n");
	seen.record = true;
	for (n = 0; n < (int)(sizeof(jobs) / sizeof(jobs[0])); n++) {
		int status = run(&jobs[n]);

		snprintf(command, sizeof(command), "depctl verify -q /tmp/held.%d.dep", n);
		check(!status && seen.records == n + 1 && !system(command),
		      "recorded %s: status %d", jobs[n].file, status);
	}
	/* Its two would be held, and nobody would hear of it. */
	set_rules("");
	check(!system("depctl ls /tmp/held.4.dep | grep -q 'exec .*busybox'"),
	      "what a recorded shell starts is recorded");
}

static void test_not_allowed(void)
{
	char why[512] = "";
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setuid(65534))
			_exit(9);
		status = exec_watch_open(&watch, why, sizeof(why));
		printf("     %s\n", why);
		fflush(stdout);
		_exit(status == -EPERM && strstr(why, "CAP_BPF") ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	check(!status, "without privileges it says so");
}

int main(int argc, char **argv)
{
	if (argc && !strcmp(argv[0], WATCHDOG_NAME))
		watchdog_main(argc, argv);
	mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL);
	test_not_allowed();
	if (open_watch()) {
		test_names();
		test_who();
		test_never();
		test_terminal();
		test_ended();
		test_record();
		test_storm();
		test_overflow();
		test_slow();
		test_close();
		test_killed(false);
		test_killed(true);
	}
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed != 0;
}
