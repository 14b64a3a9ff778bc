// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Load the BPF programs, set their rules, read their events, and release pending processes.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec_watch.h"
#include "pending.h"

#include "bpf/exec.skel.h"	/* generated from exec.bpf.c; needs the type u32 */

struct exec_watch {
	struct exec_bpf *bpf;
	struct ring_buffer *ring;
	int watchdog;
	char pin[128];
	uint64_t released, attached;

	/* Callback and buffers for exec_watch_read() */
	void (*exec)(void *arg, const struct pending_exec *e);
	void *arg;
	int read;
	char comm[EXEC_COMM + 1], exe[PATH_MAX], path[2 * PATH_MAX], cgroup[PATH_MAX];
	char argv[EXEC_ARGV + 1];
};

/* First warning of libbpf, which names the cause; later warnings are its consequences. */
static __thread char complaint[256];

static int listen_to_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level != LIBBPF_WARN || *complaint)
		return 0;
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	complaint[strcspn(complaint, "\n")] = '\0';
	return 0;
}

static int pending_fd(const struct exec_watch *w)
{
	return bpf_map__fd(w->bpf->maps.held);
}

static int refused(int err, char *why, size_t size)
{
	if (err == -EPERM || err == -EACCES)
		snprintf(why, size, "rules need BPF, which depd is not permitted to use: run depd "
			 "as root or with CAP_BPF, CAP_PERFMON and CAP_KILL (%s)",
			 *complaint ? complaint : strerror(-err));
	else
		snprintf(why, size, "rules need BPF: the kernel has refused depd's BPF programs, "
			 "which need Linux 5.13 or later with CONFIG_BPF_EVENTS (%s; %s)",
			 strerror(-err), *complaint ? complaint : "no message of libbpf");
	return err;
}

static int load(struct exec_watch *w, char *why, size_t size)
{
	struct stat ns;
	int err;

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		err = -errno;
		snprintf(why, size, "rules need BPF with type information, but "
			 "/sys/kernel/btf/vmlinux cannot be read: %s (the kernel must have "
			 "CONFIG_DEBUG_INFO_BTF)", strerror(-err));
		return err;
	}
	if (stat("/proc/self/ns/pid", &ns)) {
		err = -errno;
		snprintf(why, size, "rules need /proc, which cannot be read: %s", strerror(-err));
		return err;
	}
	w->bpf = exec_bpf__open();
	if (!w->bpf)
		return refused(-errno, why, size);
	w->bpf->rodata->self_pid = (u32)getpid();
	w->bpf->rodata->self_ns = (u32)ns.st_ino;
	err = exec_bpf__load(w->bpf);
	return err ? refused(err, why, size) : 0;
}

static int on_event(void *ctx, void *data, size_t size);

/* No process is stopped before rules are set, so the order here does not matter. */
static int start(struct exec_watch *w, char *why, size_t size)
{
	int err;

	w->ring = ring_buffer__new(bpf_map__fd(w->bpf->maps.events), on_event, w, NULL);
	if (!w->ring)
		return refused(-errno, why, size);
	pending_recover();
	pending_pin(pending_fd(w), w->pin, sizeof(w->pin));
	w->watchdog = watchdog_start(pending_fd(w), w->pin);
	if (w->watchdog < 0) {
		err = w->watchdog;
		snprintf(why, size, "rules need a watchdog process, which cannot be started: %s",
			 strerror(-err));
		return err;
	}
	err = exec_bpf__attach(w->bpf);
	return err ? refused(err, why, size) : 0;
}

int exec_watch_open(struct exec_watch **out, char *why, size_t why_size)
{
	struct exec_watch *w = calloc(1, sizeof(*w));
	libbpf_print_fn_t print;
	int err;

	*out = NULL;
	if (!w) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	w->watchdog = -1;
	*complaint = '\0';
	print = libbpf_set_print(listen_to_libbpf);
	err = load(w, why, why_size);
	if (!err)
		err = start(w, why, why_size);
	libbpf_set_print(print);
	if (err) {
		exec_watch_close(w);
		return err;
	}
	*out = w;
	return 0;
}

int exec_watch_rules(struct exec_watch *w, const struct depd_config *c)
{
	int fd = bpf_map__fd(w->bpf->maps.rules);
	u32 n = c ? c->nrules : 0;
	struct exec_rule r;

	/* Disable all rules while they are written: no half-written rule must be applied. */
	w->bpf->bss->nrules = 0;
	for (u32 i = 0; i < n; i++) {
		exec_rule_compile(&r, &c->rule[i]);
		if (bpf_map_update_elem(fd, &i, &r, BPF_ANY))
			return -errno;
	}
	w->bpf->bss->nrules = n;
	return 0;
}

int exec_watch_fd(const struct exec_watch *w)
{
	return ring_buffer__epoll_fd(w->ring);
}

static void copy(char *to, size_t size, const char *from, size_t n)
{
	if (n >= size)
		n = size - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

static bool read_link(pid_t pid, const char *what, char *to, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/%s", pid, what);
	n = readlink(link, to, size - 1);
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Make the name given to execve absolute: it can be relative to the working directory. */
static void absolute_name(struct exec_watch *w, pid_t pid, const char *name)
{
	char cwd[PATH_MAX];

	*cwd = '\0';
	if (*name != '/') {
		while (!strncmp(name, "./", 2))
			name += 2 + strspn(name + 2, "/");
		if (!read_link(pid, "cwd", cwd, sizeof(cwd)))
			name = "";
		else if (strcmp(cwd, "/"))
			strncat(cwd, "/", sizeof(cwd) - strlen(cwd) - 1);
	}
	snprintf(w->path, sizeof(w->path), "%s%s", cwd, name);
}

static void read_cgroup(pid_t pid, char *to, size_t size)
{
	char path[64], line[PATH_MAX + 64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::", 3))
			copy(to, size, line + 3, strcspn(line + 3, "\n"));
	if (f)
		fclose(f);
}

static void read_texts(struct exec_watch *w, const struct exec_event *e)
{
	char name[EXEC_TEXT + 1];
	size_t n;

	copy(w->comm, sizeof(w->comm), e->comm, strnlen(e->comm, EXEC_COMM));
	copy(w->exe, sizeof(w->exe), e->exe, e->exe_len);
	copy(name, sizeof(name), e->name, e->name_len);
	copy(w->cgroup, sizeof(w->cgroup), e->cgroup, e->cgroup_len);
	if (e->flags & EXEC_EXE_CUT)
		read_link((pid_t)e->pid, "exe", w->exe, sizeof(w->exe));
	if (e->flags & EXEC_CGROUP_CUT)
		read_cgroup((pid_t)e->pid, w->cgroup, sizeof(w->cgroup));
	absolute_name(w, (pid_t)e->pid, name);
	n = e->argv_len < EXEC_ARGV ? e->argv_len : EXEC_ARGV;
	while (n && !e->argv[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		w->argv[i] = e->argv[i] ? e->argv[i] : ' ';
	w->argv[n] = '\0';
}

static int on_event(void *ctx, void *data, size_t size)
{
	const struct exec_event *e = data;
	struct exec_watch *w = ctx;
	struct pending_exec x;
	struct exec_pending h;

	/* Without an entry the process has ended, or the watchdog has resumed it. */
	if (size < sizeof(*e) || bpf_map_lookup_elem(pending_fd(w), &e->pid, &h))
		return 0;
	read_texts(w, e);
	x = (struct pending_exec){
		.pid = (pid_t)e->pid,
		.exec_ns = e->ns,
		.start_ns = e->start,
		.p = {
			.pid = (pid_t)e->pid, .uid = e->uid, .comm = w->comm, .path = w->path,
			.exe = w->exe, .cgroup = w->cgroup, .argv = w->argv,
			.foreground = e->flags & EXEC_FOREGROUND,
		},
	};
	w->read++;
	w->exec(w->arg, &x);
	return 0;
}

int exec_watch_read(struct exec_watch *w, void (*exec)(void *arg, const struct pending_exec *e),
		    void *arg)
{
	int ret;

	w->exec = exec;
	w->arg = arg;
	w->read = 0;
	ret = ring_buffer__consume(w->ring);
	return ret < 0 ? ret : w->read;
}

int exec_watch_release(struct exec_watch *w, pid_t pid)
{
	u32 key = (u32)pid;

	if (bpf_map_delete_elem(pending_fd(w), &key))
		return -errno == -ENOENT ? -ESRCH : -errno;
	w->released++;
	/* If the process has not stopped yet, SIGCONT removes the pending SIGSTOP. */
	return kill(pid, SIGCONT) ? -errno : 0;
}

void exec_watch_attached(struct exec_watch *w, pid_t pid)
{
	u32 key = (u32)pid;

	if (!bpf_map_delete_elem(pending_fd(w), &key))
		w->attached++;
}

static uint64_t counted(const struct exec_watch *w, u32 what)
{
	uint64_t n[1024] = { 0 }, sum = 0;
	int cpus = libbpf_num_possible_cpus();

	if (cpus <= 0 || cpus > 1024 ||
	    bpf_map_lookup_elem(bpf_map__fd(w->bpf->maps.counts), &what, n))
		return 0;
	for (int i = 0; i < cpus; i++)
		sum += n[i];
	return sum;
}

uint64_t exec_watch_missed(const struct exec_watch *w)
{
	return counted(w, EXEC_FULL);
}

void exec_watch_counts(const struct exec_watch *w, struct exec_watch_counts *n)
{
	uint64_t gone;

	*n = (struct exec_watch_counts){
		.execs = counted(w, EXEC_SEEN), .stopped = counted(w, EXEC_STOPPED),
		.released = w->released, .attached = w->attached, .ended = counted(w, EXEC_ENDED),
		.missed = counted(w, EXEC_FULL), .failed = counted(w, EXEC_FAILED),
		.other_namespace = counted(w, EXEC_OTHER_NS),
		.image32 = counted(w, EXEC_IMAGE32), .privileged = counted(w, EXEC_PRIVILEGED),
		.traced = counted(w, EXEC_TRACED), .terminal = counted(w, EXEC_TERMINAL),
	};
	gone = n->released + n->attached + n->ended + pending_count(pending_fd(w));
	n->given_up = n->stopped > gone ? n->stopped - gone : 0;
}

void exec_watch_close(struct exec_watch *w)
{
	if (!w)
		return;
	if (w->bpf && w->watchdog >= 0) {
		w->bpf->bss->nrules = 0;
		exec_bpf__detach(w->bpf);
		pending_resume_all(pending_fd(w));
		watchdog_end(w->watchdog);
	}
	if (*w->pin)
		unlink(w->pin);
	ring_buffer__free(w->ring);
	exec_bpf__destroy(w->bpf);
	free(w);
}
