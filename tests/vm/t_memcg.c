// SPDX-License-Identifier: GPL-2.0-or-later
/* Rings are charged to the writer's memory cgroup, and the writer can be killed for it. */
#include <sys/stat.h>

#include "vm.h"

#define GROUP "/sys/fs/cgroup/adept-test"

static struct session s;
static struct progress *progress;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static long current_kib(void)
{
	char buf[32] = "";
	int fd = open(GROUP "/memory.current", O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && read(fd, buf, sizeof(buf) - 1) > 0);
	close(fd);
	return atol(buf) / 1024;
}

static int in_group(void *arg)
{
	struct writer w = { .stream = 0, .records = (u64)arg, .progress = progress };

	put(GROUP "/cgroup.procs", "0");
	w.window = session_enrol(&s);
	close(s.fd);
	writer_run(&w);
	progress[0].ended = 1;
	pause();
	return 0;
}

int main(void)
{
	struct consumer c;
	long before, with;
	pid_t pid;

	if (mkdir(GROUP, 0755) || access(GROUP "/memory.max", W_OK)) {
		skip("no memory cgroup");
		return finish();
	}
	progress = progress_make();
	session_make(&s, MIB, 8, 1, ADEPT_POLICY_WAIT);
	consumer_init(&c, &s);
	before = current_kib();
	pid = spawn(in_group, (void *)(u64)(7 * MIB / 210));
	while (!progress[0].ended)
		sleep_ms(5);
	with = current_kib();
	check(with > before + 5 * 1024, "%ld KiB more in the writer's group", with - before);
	kill(pid, SIGKILL);
	wait_for(pid);
	check(current_kib() > before + 5 * 1024, "they stay there while it is unread");
	check(consumer_until_last(&c, 0, 1, 5000) && c.st[0].next == 7 * MIB / 210,
	      "all of it is read %s", c.error);
	must(!slot_cmd(&s, ADEPT_IOC_RESET, 0, c.st[0].ring, 0));
	session_close(&s);
	must(counter_becomes("sessions", 0));
	check(current_kib() < before + 1024, "and is given back: %ld KiB", current_kib() - before);

	/* Not enough for the ring: the writer is killed, and what it wrote is delivered. */
	put(GROUP "/memory.max", "6M");
	progress[0].done = progress[0].ended = 0;
	session_make(&s, MIB, 16, 1, ADEPT_POLICY_WAIT);
	consumer_init(&c, &s);
	pid = spawn(in_group, (void *)(u64)(40 * MIB / 210));
	check(wait_for(pid) == 128 + SIGKILL, "killed for want of memory");
	check(consumer_until_last(&c, 0, 1, 5000) && c.st[0].next >= progress[0].done &&
	      c.st[0].next <= progress[0].done + 1 && progress[0].done > 1000,
	      "%lu records until then are there %s", c.st[0].next, c.error);
	session_close(&s);
	check(counter_becomes("sessions", 0) && !counter("pages"), "nothing is left");
	rmdir(GROUP);
	return finish();
}
