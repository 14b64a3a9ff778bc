// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * May the engine be put into this process?
 *
 * Only if the process has no privileges that the first process of its session lacked: both can
 * write to the session file, which the engine uses. The file to be executed cannot answer that,
 * since it may change until the kernel reads it. So the stopped process itself is examined, through
 * one descriptor of its /proc directory, which always refers to the same process.
 *
 * No single fact is sufficient:
 * - AT_SECURE is 0 for a program that its user may not read;
 * - only ids and capabilities tell the process's user;
 * - a process with privileges from its file may look dumpable in a user namespace of its own.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#define OVERFLOW_ID 65534u /* read instead of an id that the reader's namespace lacks */
#define MAX_NAMESPACES 32 /* maximum depth of nested user namespaces, as in the kernel */

/** struct facts - what the kernel reports about a process */
struct facts {
	struct dep_base has;
	u64 effective, ambient;
	bool secure, dumpable;
};

int dep_proc_open(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The process has died, or the descriptor refers to one that has. */
static bool is_gone(int err)
{
	return err == -ESRCH || err == -ENOENT;
}

FILE *dep_proc_file(int proc, const char *name)
{
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* ---- facts ---- */

/*
 * Only AT_SECURE is used: AT_UID and the like are numbers in the process's own user namespace. The
 * vector of a 32-bit process does not have it in this form.
 */
static int read_secure(int proc, struct facts *f)
{
	FILE *file = dep_proc_file(proc, "auxv");
	int ret = -ESRCH; /* the file is empty if the process has no memory */
	u64 pair[2];

	if (!file)
		return -errno;
	while (fread(pair, sizeof(pair), 1, file) == 1) {
		if (pair[0] == AT_SECURE) {
			f->secure = pair[1];
			ret = 0;
		} else if (ret) {
			ret = -EINVAL;
		}
	}
	fclose(file);
	return ret;
}

int dep_status_read(int proc, const char *name, char text[DEP_STATUS_SIZE])
{
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC), err;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, DEP_STATUS_SIZE - 1);
	err = n < 0 ? -errno : 0;
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return err;
}

bool dep_status_numbers(const char *text, const char *key, int base, u64 *to, int n)
{
	const char *at = strstr(text, key);
	char *end;

	if (!at)
		return false;
	at += strlen(key);
	for (int i = 0; i < n; i++) {
		to[i] = strtoull(at, &end, base);
		if (end == at)
			return false;
		at = end;
	}
	return true;
}

static int parse_status(const char *text, struct facts *f)
{
	u64 uid[4], gid[4];

	if (!dep_status_numbers(text, "\nUid:", 10, uid, 4) ||
	    !dep_status_numbers(text, "\nGid:", 10, gid, 4) ||
	    !dep_status_numbers(text, "\nCapPrm:", 16, &f->has.caps, 1) ||
	    !dep_status_numbers(text, "\nCapEff:", 16, &f->effective, 1) ||
	    !dep_status_numbers(text, "\nCapAmb:", 16, &f->ambient, 1))
		return -EINVAL;
	for (int i = 0; i < 4; i++) {
		f->has.uid[i] = (u32)uid[i];
		f->has.gid[i] = (u32)gid[i];
	}
	return 0;
}

static int read_status(int proc, struct facts *f)
{
	char text[DEP_STATUS_SIZE];
	int err = dep_status_read(proc, "status", text);

	return err ? err : parse_status(text, f);
}

static bool has_memory(int proc)
{
	char text[DEP_STATUS_SIZE];

	return !dep_status_read(proc, "status", text) && strstr(text, "\nVmSize:");
}

/* The kernel assigns the /proc files of a process to root if it is not dumpable, or was killed. */
static int read_dumpable(int proc, struct facts *f)
{
	struct stat st;

	if (fstatat(proc, "environ", &st, 0))
		return -errno;
	f->dumpable = st.st_uid == f->has.uid[1];
	return f->dumpable || has_memory(proc) ? 0 : -ESRCH;
}

static int read_namespace(int proc, struct facts *f)
{
	struct stat st;

	/* A kernel without user namespaces. */
	if (fstatat(proc, "ns/user", &st, 0))
		return errno == ENOENT ? 0 : -errno;
	f->has.ns_dev = st.st_dev;
	f->has.ns_ino = st.st_ino;
	return 0;
}

/* Read the process's label of a security module; "" if there is none. */
static int read_label(int proc, const char *name, char *label, size_t size)
{
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC), err;
	ssize_t n;

	*label = '\0';
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = read(fd, label, size);
	err = errno;
	close(fd);
	if (n < 0)
		return err == EINVAL || err == EOPNOTSUPP ? 0 : -err;
	if ((size_t)n == size)
		return -E2BIG;
	label[n] = '\0';
	label[strcspn(label, "\n")] = '\0';
	return 0;
}

/* Read everything but AT_SECURE. */
static int read_has(int proc, struct facts *f)
{
	int err = read_status(proc, f);

	if (!err)
		err = read_dumpable(proc, f);
	if (!err)
		err = read_namespace(proc, f);
	if (!err)
		err = read_label(proc, "attr/current", f->has.label, sizeof(f->has.label));
	f->has.known = !err;
	return err;
}

static int read_facts(int proc, struct facts *f)
{
	int err;

	memset(f, 0, sizeof(*f));
	err = read_secure(proc, f);
	return err ? err : read_has(proc, f);
}

/* ---- checks ---- */

static int privileged(struct dep_why *why, const char *what)
{
	return dep_inject_error(why, EACCES, "privileged: %s", what);
}

/* Are some user or group ids not mapped here? */
static bool ids_are_ambiguous(void)
{
	unsigned int inside, outside, count;
	FILE *f = fopen("/proc/self/uid_map", "re");
	bool all;

	if (!f)
		return true;
	all = fscanf(f, "%u %u %u", &inside, &outside, &count) == 3 && count == ~0u;
	fclose(f);
	return !all;
}

static int check_alone(const struct facts *f, struct dep_why *why)
{
	const struct dep_base *h = &f->has;
	bool overflow = false;
	int i;

	if (f->secure)
		return privileged(why, "set-uid, set-gid or file capabilities");
	for (i = 0; i < 4; i++) {
		if (h->uid[i] != h->uid[1] || h->gid[i] != h->gid[1])
			return privileged(why, "several user or group ids");
		overflow |= h->uid[i] == OVERFLOW_ID || h->gid[i] == OVERFLOW_ID;
	}
	if (!f->dumpable)
		return privileged(why, "a file that its user may not read");
	if (overflow && ids_are_ambiguous())
		return privileged(why, "a user or group without a number here");
	return 0;
}

/*
 * Is the process's user namespace that of @base, or a descendant owned by the user of @base? The
 * owner has all capabilities in such a namespace anyway.
 */
static int check_namespace(int proc, const struct facts *f, const struct dep_base *base,
			   bool *below, struct dep_why *why)
{
	int ns, up, i;
	struct stat st;
	uid_t owner;

	*below = false;
	if (f->has.ns_dev == base->ns_dev && f->has.ns_ino == base->ns_ino)
		return 0;
	ns = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
	for (i = 0; ns >= 0 && i < MAX_NAMESPACES; i++) {
		if (fstat(ns, &st))
			break;
		if (st.st_dev == base->ns_dev && st.st_ino == base->ns_ino) {
			*below = true;
			break;
		}
		if (ioctl(ns, NS_GET_OWNER_UID, &owner) || owner != base->uid[1])
			break;
		up = ioctl(ns, NS_GET_PARENT);
		close(ns);
		ns = up;
	}
	if (ns >= 0)
		close(ns);
	return *below ? 0 : privileged(why, "another user namespace");
}

/* Has the process privileges that @base lacks? *@fewer: it lacks some privileges of @base. */
static int check_against(int proc, const struct facts *f, const struct dep_base *base, bool *fewer,
			 struct dep_why *why)
{
	const struct dep_base *h = &f->has;
	bool below;
	int err;

	if (memcmp(h->uid, base->uid, sizeof(h->uid)) || memcmp(h->gid, base->gid, sizeof(h->gid)))
		return privileged(why, "another user or group");
	err = check_namespace(proc, f, base, &below, why);
	if (err)
		return err;
	if (!below && (h->caps | f->effective | f->ambient) & ~base->caps)
		return privileged(why, "capabilities");
	if (strcmp(h->label, base->label))
		return privileged(why, "a security module confines it differently");
	*fewer = below || base->caps & ~h->caps;
	return 0;
}

/* Facts that cannot be read count as privileges. */
static int unreadable(int err, struct dep_why *why)
{
	if (is_gone(err))
		return dep_inject_error(why, ESRCH, "the process has ended");
	return dep_inject_error(why, EACCES, "privileged: its privileges cannot be read: %s",
				strerror(-err));
}

int dep_judge(int proc, const struct dep_base *base, bool isolated, struct dep_base *found,
	      struct dep_why *why)
{
	bool fewer = false;
	struct facts f;
	int err = read_facts(proc, &f);

	if (err)
		return unreadable(err, why);
	err = check_alone(&f, why);
	if (!err && base->known)
		err = check_against(proc, &f, base, &fewer, why);
	if (!err && fewer && !isolated)
		err = privileged(why, "the others of the session: it has fewer rights than they");
	if (!err && found)
		*found = f.has;
	return err;
}

int dep_judge_thread(int proc, pid_t tid, const struct dep_base *first, struct dep_why *why)
{
	char name[48], text[DEP_STATUS_SIZE], label[DEP_LABEL_SIZE];
	u64 seccomp = 1;
	struct facts f;
	int err;

	snprintf(name, sizeof(name), "task/%d/status", tid);
	err = dep_status_read(proc, name, text);
	if (!err)
		err = parse_status(text, &f);
	if (err)
		return unreadable(err, why);
	if (memcmp(f.has.uid, first->uid, sizeof(f.has.uid)) ||
	    memcmp(f.has.gid, first->gid, sizeof(f.has.gid)) || f.has.caps != first->caps)
		return privileged(why, "its threads have different rights");
	/* A process without a security module has no labels. */
	if (*first->label) {
		snprintf(name, sizeof(name), "task/%d/attr/current", tid);
		err = read_label(proc, name, label, sizeof(label));
		if (err || strcmp(label, first->label))
			return privileged(why, "a security module confines its threads "
					  "differently");
	}
	/* The engine's system calls could end the process. */
	if (!dep_status_numbers(text, "\nSeccomp:", 10, &seccomp, 1) || seccomp)
		return dep_inject_error(why, ENOTSUP, "Thread %d has a seccomp filter, which may "
					"end the process if it is attached to.", tid);
	return 0;
}

int dep_judge_member(int proc, const struct dep_base *base, struct dep_why *why)
{
	char next[DEP_LABEL_SIZE];
	struct facts f;
	bool fewer;
	int err;

	if (!base->known)
		return dep_inject_error(why, EACCES, "nothing is recorded in this session yet");
	err = read_facts(proc, &f);
	if (!err)
		err = read_label(proc, "attr/exec", next, sizeof(next));
	if (err)
		return unreadable(err, why);
	err = check_against(proc, &f, base, &fewer, why);
	if (!err && *next)
		err = privileged(why, "a security module is to confine it");
	return err;
}

bool dep_judge_confined(void)
{
	char next[DEP_LABEL_SIZE];

	return read_label(AT_FDCWD, "/proc/thread-self/attr/exec", next, sizeof(next)) || *next;
}

bool dep_judge_raises(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	return !syscall(SYS_capget, &head, data) && data[0].effective & (1u << CAP_SYS_PTRACE);
}

/* ---- the base that others are compared with ---- */

int dep_base_self(struct dep_base *base, struct dep_why *why)
{
	int proc = dep_proc_open(getpid()), err;
	struct facts f;

	memset(base, 0, sizeof(*base));
	if (proc < 0)
		return dep_inject_error(why, -proc,
					"the process's own privileges cannot be read: %s",
					strerror(-proc));
	/*
	 * A process that is not dumpable cannot read its own auxiliary vector, which is not needed.
	 */
	memset(&f, 0, sizeof(f));
	err = read_has(proc, &f);
	close(proc);
	if (err)
		return dep_inject_error(why, -err,
					"the process's own privileges cannot be read: %s",
					strerror(-err));
	*base = f.has;
	return 0;
}

/* The pid is not reused while the process of @pidfd has not been reaped. */
static bool is_alive(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

int dep_base_peer(struct dep_base *base, const struct dep_peer *peer, struct dep_why *why)
{
	const struct dep_base none = { 0 };
	int proc, pidfd, err;

	memset(base, 0, sizeof(*base));
	proc = dep_proc_open(peer->pid);
	pidfd = peer->pidfd >= 0 ? peer->pidfd : (int)syscall(SYS_pidfd_open, peer->pid, 0);
	if (proc < 0 || pidfd < 0)
		err = unreadable(-ESRCH, why);
	else
		err = dep_judge(proc, &none, false, base, why);
	if (!err && !is_alive(pidfd))
		err = unreadable(-ESRCH, why);
	/* The process may have executed another program since it connected. */
	if (!err && (base->uid[1] != peer->uid || base->gid[1] != peer->gid))
		err = privileged(why, "another user or group than it connected with");
	/* Without SO_PEERPIDFD the pid may have been reused before it was opened. */
	if (!err && peer->pidfd < 0 && base->uid[1])
		base->caps = 0;
	if (err)
		memset(base, 0, sizeof(*base));
	if (proc >= 0)
		close(proc);
	if (pidfd >= 0 && pidfd != peer->pidfd)
		close(pidfd);
	return err;
}

bool dep_base_covers(const struct dep_base *has, const struct dep_base *needs)
{
	return has->known && needs->known && !memcmp(has->uid, needs->uid, sizeof(has->uid)) &&
	       !memcmp(has->gid, needs->gid, sizeof(has->gid)) && has->ns_dev == needs->ns_dev &&
	       has->ns_ino == needs->ns_ino && !(needs->caps & ~has->caps) &&
	       !strcmp(has->label, needs->label);
}
