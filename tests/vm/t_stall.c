// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A writer that gets its memory slowly delays itself and nobody else.
 *
 * The hostile writer is in a memory cgroup whose memory.high its ring exceeds, so the kernel
 * makes it sleep up to two seconds for each few pages.  The same process is the consumer of its
 * session and of a victim's, as depd is.
 */
#include <setjmp.h>
#include <sys/stat.h>

#include "vm.h"

#define GROUP	"/sys/fs/cgroup/adept-stall"
#define BIG	(16 * MIB)
#define PATIENCE_S	20	/* after that the hostile writer is killed, and all waits end */
#define LIMIT_NS	1000000000ull
#define ROUNDS	40
#define NOISE_MS	100	/* an emulator's */

static struct session hostile, victim;
static struct progress *progress;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* While a thread waits for the lock of the address space, readers do not get it. */
static void *remap(void *arg)
{
	for (;;) {
		void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		must(p != MAP_FAILED && !munmap(p, 4096));
		usleep(1000);
	}
	return arg;
}

static int hostile_writer(void *arg)
{
	pthread_t t;

	(void)arg;
	must(!pthread_create(&t, NULL, remap, NULL));
	put(GROUP "/cgroup.procs", "0");
	progress[0].started = 1;
	store_r15((u64)session_enrol(&hostile), 4, 1);
	progress[0].ended = 1;
	pause();
	return 0;
}

static int kill_later(void *arg)
{
	sleep(PATIENCE_S);
	kill((pid_t)(long)arg, SIGKILL);
	return 0;
}

/* The longest time of each operation, and the times of all recordings of the victim; in ns. */
struct latency {
	u64 view, victim_view, command, create, adopt, list, maps, map, status;
	u64 record[ROUNDS];
};

static int compare(const void *a, const void *b)
{
	return *(const u64 *)a < *(const u64 *)b ? -1 : *(const u64 *)a > *(const u64 *)b;
}

/* The 95th percentile, in ms. */
static u64 p95(u64 *ns)
{
	qsort(ns, ROUNDS, sizeof(*ns), compare);
	return ns[ROUNDS * 95 / 100] / 1000000;
}

static u64 took(u64 since, u64 *longest)
{
	u64 ns = now_ns() - since;

	if (ns > *longest)
		*longest = ns;
	return ns;
}

static __thread sigjmp_buf back;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static bool touch(const volatile u8 *p)
{
	if (sigsetjmp(back, 1))
		return false;
	(void)*p;
	return true;
}

static volatile bool go, stop;

/* The thread of a consumer that queries the hostile slot. */
static void *look(void *arg)
{
	struct latency *l = arg;
	u64 t;

	while (!go)
		sleep_ms(1);
	while (!stop) {
		t = now_ns();
		touch(hostile.data);
		touch(hostile.chunk_info);
		took(t, &l->view);
		sleep_ms(5);
	}
	return NULL;
}

static void *command(void *arg)
{
	struct latency *l = arg;
	u64 t;

	while (!go)
		sleep_ms(1);
	while (!stop) {
		t = now_ns();
		slot_cmd(&hostile, ADEPT_IOC_FLUSH, 0, 1000, 0);
		slot_cmd(&hostile, ADEPT_IOC_RESET, 0, 1000, 0);
		took(t, &l->command);
		sleep_ms(5);
	}
	return NULL;
}

static struct adept_session_create config = {
	.version = ADEPT_ABI_VERSION, .chunk_size = 64 * KIB, .nchunks = 2, .nslots = 2,
	.orphan_wait_ms = 60000, .orphan_keep_ms = 60000,
};

static int one_ring(void *arg)
{
	store_r15((u64)session_enrol(arg), 4, 1);
	return 0;
}

/* Create a session, leave it, adopt it; list all sessions. */
static void sessions(struct latency *l)
{
	struct adept_session_info info[8];
	struct adept_session_list list = { .sessions = (u64)info, .room = 8 };
	struct adept_session_adopt a = { 0 };
	struct session s;
	u64 t = now_ns();
	int fd;

	errno = -session_try(&s, &config);
	took(t, &l->create);
	must(s.fd >= 0);
	must(!wait_for(spawn(one_ring, &s)));
	a.id = s.info.id;
	close(s.fd);
	t = now_ns();
	must(!device_call(ADEPT_IOC_SESSION_LIST, &list));
	took(t, &l->list);
	t = now_ns();
	fd = device_call(ADEPT_IOC_SESSION_ADOPT, &a);
	took(t, &l->adopt);
	must(fd >= 0);
	session_fd(&s, fd);
	slot_cmd(&s, ADEPT_IOC_RESET, 0, 0, ADEPT_RESET_FORCE);
	close(fd);
}

/* A small program of the victim: recorded, read, its ring returned. */
static void record(struct latency *l, u32 round)
{
	struct job j = { &victim, progress, 1, 2000 };
	struct consumer c;
	u64 t = now_ns();
	pid_t pid;

	consumer_init(&c, &victim);
	progress[1].done = 0;
	pid = spawn(job_run, &j);
	must(consumer_until_last(&c, 1, 1, 60000) && !wait_for(pid) && c.st[1].next == 2000);
	must(!slot_cmd(&victim, ADEPT_IOC_RESET, 1, c.st[1].ring, 0));
	took(t, &l->record[round]);
}

static void read_all(const char *path)
{
	char buf[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
}

static void others(struct latency *l, pid_t pid)
{
	char path[64];
	u64 t;
	u32 i;

	for (i = 0; i < ROUNDS; i++) {
		void *p;

		t = now_ns();
		touch(victim.data);
		touch(victim.chunk_info);
		took(t, &l->victim_view);
		/* Any allocation of the consumer that has to map memory. */
		t = now_ns();
		p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(p != MAP_FAILED && !munmap(p, MIB));
		took(t, &l->map);
		t = now_ns();
		read_all("/proc/self/maps");
		took(t, &l->maps);
		t = now_ns();
		snprintf(path, sizeof(path), "/proc/%d/maps", pid);
		read_all(path);
		took(t, &l->status);
		sessions(l);
		record(l, i);
	}
}

static pid_t writer_pid;

static void *others_thread(void *arg)
{
	while (!go)
		sleep_ms(1);
	others(arg, writer_pid);
	return NULL;
}

/* Sessions created and left by a process in the full memory cgroup. */
static int hostile_sessions(void *arg)
{
	(void)arg;
	config.orphan_keep_ms = 500;
	put(GROUP "/cgroup.procs", "0");
	for (;;) {
		struct session s;
		struct adept_session_adopt a = { 0 };
		int fd;

		if (session_try(&s, &config) < 0)
			continue;
		one_ring(&s);
		a.id = s.info.id;
		close(s.fd);
		fd = device_call(ADEPT_IOC_SESSION_ADOPT, &a);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static void report(const char *name, u64 ns)
{
	check(ns < LIMIT_NS, "%s: at most %lu ms", name, ns / 1000000);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_bus, .sa_flags = SA_NODEFER };
	struct latency before = { 0 }, with = { 0 };
	pthread_t t[3];
	pid_t pid, killer, maker;

	if (mkdir(GROUP, 0755) || access(GROUP "/memory.high", W_OK)) {
		skip("no memory cgroup");
		return finish();
	}
	put(GROUP "/memory.high", "1M");
	must(!sigaction(SIGBUS, &sa, NULL));
	progress = progress_make();
	session_make(&hostile, BIG, 2, 1, ADEPT_POLICY_WAIT);
	session_make(&victim, 64 * KIB, 4, 2, ADEPT_POLICY_WAIT);
	others(&before, getpid());
	/* Create the threads now, since a thread's stack is a mapping. */
	must(!pthread_create(&t[0], NULL, look, &with));
	must(!pthread_create(&t[1], NULL, command, &with));
	must(!pthread_create(&t[2], NULL, others_thread, &with));
	writer_pid = pid = spawn(hostile_writer, NULL);
	maker = spawn(hostile_sessions, NULL);
	killer = spawn(kill_later, (void *)(long)pid);
	while (!progress[0].started)
		sleep_ms(1);
	sleep_ms(1500);
	check(!progress[0].ended, "the hostile writer waits for its memory");
	go = true;
	pthread_join(t[2], NULL);
	stop = true;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	check(!progress[0].ended, "and still does when all others are done");
	report("a look at its slot", with.view);
	report("a command for its slot", with.command);
	report("a look at a victim's slot", with.victim_view);
	report("a mapping of the consumer's", with.map);
	report("/proc/self/maps of the consumer's", with.maps);
	report("/proc/PID/maps of the writer's", with.status);
	report("create", with.create);
	report("adopt", with.adopt);
	report("list", with.list);
	check(p95(with.record) < 2 * p95(before.record) + NOISE_MS,
	      "a victim's recording: %lu ms (95th percentile), %lu ms without the others",
	      p95(with.record), p95(before.record));
	kill(maker, SIGKILL);
	wait_for(maker);
	kill(pid, SIGKILL);
	check(wait_for(pid) == 128 + SIGKILL, "it can be killed");
	kill(killer, SIGKILL);
	wait_for(killer);
	session_close(&hostile);
	session_close(&victim);
	check(counter_becomes("sessions", 0) && !counter("pages"), "nothing is left");
	rmdir(GROUP);
	return finish();
}
