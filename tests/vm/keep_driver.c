// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stand-in for depd: starts, keeps, reloads and ends as depd does, and records nothing.
 *
 * keep_driver [RUNDIR]			the daemon; KEEP_DRIVER_DELAY: ms until it is ready
 * keep_driver ask SOCKET WORD...	send it a request, print the answer
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/fdstore/fdstore.h"
#include "daemon/fdstore/holder.h"
#include "daemon/base/sd_notify.h"
#include "daemon/base/rundir.h"
#include "daemon/base/log.h"

#define HELD_MAX 5000

static struct fdstore *fdstore;
static struct fdstore_entry held[HELD_MAX];
static size_t nheld;
static unsigned int reloads;

static struct fdstore_entry *find(const char *name)
{
	size_t i;

	for (i = 0; i < nheld; i++)
		if (!strcmp(held[i].name, name))
			return &held[i];
	return NULL;
}

static int put(const char *name, const char *text)
{
	int ret, fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || nheld == HELD_MAX || write(fd, text, strlen(text)) < 0)
		return -errno;
	ret = fdstore_put(keep, name, fd);
	if (ret) {
		close(fd);
		return ret;
	}
	snprintf(held[nheld].name, FDSTORE_NAME_MAX, "%s", name);
	held[nheld++].fd = fd;
	return 0;
}

static int get(const char *name, FILE *out)
{
	struct fdstore_entry *h = find(name);
	char text[256];
	ssize_t n;

	if (!h)
		return -ENOENT;
	n = pread(h->fd, text, sizeof(text), 0);
	if (n < 0)
		return -errno;
	fprintf(out, "%.*s\n", (int)n, text);
	return 0;
}

static int forget(const char *name)
{
	struct fdstore_entry *h = find(name);
	int ret = fdstore_remove(keep, name);

	if (!ret && h) {
		close(h->fd);
		*h = held[--nheld];
	}
	return ret;
}

/* Can depd do here what it has to? */
static int can(const char *what, const char *arg)
{
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4,
			       .max_entries = 1 };
	struct io_uring_params p = { 0 };
	pid_t pid = atoi(arg);
	int fd, ret;

	if (!strcmp(what, "seize")) {
		/* A process left in this state continues when its tracer has ended. */
		ret = ptrace(PTRACE_SEIZE, pid, NULL, NULL) ? -errno : 0;
		if (!ret && !ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) &&
		    waitpid(pid, NULL, __WALL) == pid)
			ret = ptrace(PTRACE_DETACH, pid, NULL, NULL) ? -errno : 0;
		return ret;
	}
	if (!strcmp(what, "write"))
		fd = open(arg, O_RDWR | O_CREAT, 0600);
	else if (!strcmp(what, "open"))
		fd = open(arg, O_RDWR);
	else if (!strcmp(what, "bpf"))
		fd = syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map));
	else if (!strcmp(what, "uring"))
		fd = syscall(SYS_io_uring_setup, 8, &p);
	else
		return -EINVAL;
	ret = fd < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return ret;
}

static int obey(char *line, FILE *out)
{
	char *word[4] = { "", "", "", "" }, *save = NULL;
	size_t i;

	line[strcspn(line, "\n")] = 0;
	for (i = 0; i < 4; i++)
		word[i] = strtok_r(i ? NULL : line, " ", &save) ?: "";
	if (!strcmp(word[0], "put"))
		return put(word[1], word[2]);
	if (!strcmp(word[0], "putdie")) {
		put(word[1], word[2]);
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(word[0], "get"))
		return get(word[1], out);
	if (!strcmp(word[0], "remove"))
		return forget(word[1]);
	if (!strcmp(word[0], "can"))
		return can(word[1], word[2]);
	if (!strcmp(word[0], "say")) {
		say(LOG_WARNING, atoi(word[1]), "%s", word[2]);
		return 0;
	}
	if (!strcmp(word[0], "status")) {
		fprintf(out, "pid=%d held=%zu reloads=%u\n", getpid(), nheld, reloads);
		return 0;
	}
	return -EINVAL;
}

static void serve(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), ret;
	char line[512];
	FILE *f;

	if (fd < 0)
		return;
	f = fdopen(fd, "r+");
	if (f && fgets(line, sizeof(line), f)) {
		ret = obey(line, f);
		fprintf(f, "%s\n", ret ? strerrorname_np(-ret) : "ok");
		fclose(f);
	} else {
		close(fd);
	}
}

static const char *store_of(uint32_t session)
{
	return session == 7 ? "/stores/seven" : NULL;
}

static int start(const char *wish)
{
	char dir[PATH_MAX], why[512];
	struct fdstore_entry *kept;
	size_t n;
	int fd;

	if (rundir_open(dir, sizeof(dir), wish, why, sizeof(why)) < 0 ||
	    fdstore_open(&keep, dir, &kept, &n, why, sizeof(why))) {
		say(LOG_ERR, 0, "%s", why);
		return -1;
	}
	for (nheld = 0; nheld < n && nheld < HELD_MAX; nheld++)
		held[nheld] = kept[nheld];
	free(kept);
	fd = fdstore_listen(keep, "control");
	if (fd < 0)
		fd = rundir_listen(dir, "depd.sock", 0666);
	if (fd < 0)
		say(LOG_ERR, 0, "depd.sock: %s", strerror(-fd));
	return fd;
}

static int run(const char *wish)
{
	const char *delay = getenv("KEEP_DRIVER_DELAY");
	uint64_t period;
	struct signalfd_siginfo s;
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	sigset_t set;

	log_open(store_of);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
	p[0].fd = start(wish);
	if (p[0].fd < 0)
		return 1;
	usleep(delay ? atoi(delay) * 1000 : 0);
	period = notify_watchdog_ns();
	notify_ready();
	for (;;) {
		notify_status("%zu kept", nheld);
		notify_alive();
		if (poll(p, 2, period ? (int)(period / 1000000) : -1) <= 0)
			continue;
		if (p[0].revents)
			serve(p[0].fd);
		if (!p[1].revents || read(p[1].fd, &s, sizeof(s)) != sizeof(s))
			continue;
		if (s.ssi_signo == SIGTERM)
			break;
		notify_reloading();
		reloads++;
		notify_ready();
	}
	notify_stopping();
	notify_extend(1000000000);
	fdstore_close(keep);
	return 0;
}

static int ask(int argc, char **argv)
{
	char dir[PATH_MAX], line[4096], last[4096] = "";
	char *slash;
	FILE *f;
	int i, fd;

	snprintf(dir, sizeof(dir), "%s", argv[2]);
	slash = strrchr(dir, '/');
	if (!slash)
		return 2;
	*slash = 0;
	fd = rundir_connect(dir, slash + 1, SOCK_STREAM, 20000);
	f = fd < 0 ? NULL : fdopen(fd, "r+");
	if (!f) {
		printf("%s\n", strerrorname_np(fd < 0 ? -fd : errno));
		return 1;
	}
	for (i = 3; i < argc; i++)
		fprintf(f, "%s%s", argv[i], i + 1 < argc ? " " : "\n");
	fflush(f);
	while (fgets(line, sizeof(line), f)) {
		fputs(line, stdout);
		strcpy(last, line);
	}
	return strcmp(last, "ok\n") != 0;
}

int main(int argc, char **argv)
{
	if (argc && !strcmp(argv[0], HOLDER_NAME))
		holder_main(argc, argv);
	if (argc > 3 && !strcmp(argv[1], "ask"))
		return ask(argc, argv);
	return run(argc > 1 ? argv[1] : NULL);
}
