// SPDX-License-Identifier: LGPL-2.1-or-later
/* Processes that cannot be attached to, and why. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#define PF_KTHREAD 0x00200000u

/** struct facts - lines of /proc/PID/status and stat that matter */
struct facts {
	char state;
	long tracer, threads, parent;
	unsigned long flags;
	unsigned int seccomp, uid[2];
	unsigned long long permitted;	/* capabilities */
};

static bool read_stat(int proc, struct facts *f)
{
	FILE *file = dep_proc_file(proc, "stat");
	char buf[512], *p;
	size_t n;

	if (!file)
		return false;
	n = fread(buf, 1, sizeof(buf) - 1, file);
	fclose(file);
	buf[n] = '\0';
	p = strrchr(buf, ')');
	return p && sscanf(p, ") %c %*d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
			   " %ld", &f->state, &f->flags, &f->threads) == 3;
}

static bool read_status(int proc, const char *name, struct facts *f)
{
	FILE *file = dep_proc_file(proc, name);
	char line[256];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "TracerPid: %ld", &f->tracer);
		sscanf(line, "PPid: %ld", &f->parent);
		sscanf(line, "Seccomp: %u", &f->seccomp);
		sscanf(line, "Uid: %u %u", &f->uid[0], &f->uid[1]);
		sscanf(line, "CapPrm: %llx", &f->permitted);
	}
	fclose(file);
	return true;
}

/* The type of its auxiliary vector's entries: 32-bit ones are half as large. */
static bool is_32bit(int proc)
{
	FILE *file = dep_proc_file(proc, "auxv");
	Elf64_auxv_t a;
	bool found = false, any = false;

	if (!file)
		return false;
	while (fread(&a, sizeof(a), 1, file) == 1 && a.a_type != AT_NULL) {
		any = true;
		found |= a.a_type == AT_PAGESZ && a.a_un.a_val == 4096;
	}
	fclose(file);
	return any && !found;
}

/* Is a session of Adept mapped? */
static bool is_recorded(int proc)
{
	FILE *file = dep_proc_file(proc, "maps");
	bool found = false;
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return false;
	while (!found && getline(&line, &room, file) > 0)
		found = strstr(line, " /memfd:" ADEPT_SESSION_NAME " (deleted)") != NULL;
	free(line);
	fclose(file);
	return found;
}

/* Has the word @word a place in the list @list, which has commas? */
static bool in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; list; list = strchr(list, ','), list += list != NULL)
		if (!strncmp(list, word, n) && (list[n] == ',' || !list[n]))
			return true;
	return false;
}

/* Find where control groups are mounted: version 2, or with @v1 the freezer of version 1. */
static bool find_groups(bool v1, char mount[256])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], at[256], type[32], options[256], *end;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		end = strstr(line, " - ");
		found = end && sscanf(line, "%*s %*s %*s / %255s", at) == 1 &&
			sscanf(end, " - %31s %*s %255s", type, options) == 2 &&
			(v1 ? !strcmp(type, "cgroup") && in_list(options, "freezer")
			    : !strcmp(type, "cgroup2"));
	}
	if (f)
		fclose(f);
	if (found)
		memcpy(mount, at, sizeof(at));
	return found;
}

/* Is the control group @group frozen? */
static bool group_is_frozen(bool v1, const char *group)
{
	char mount[256], path[4096 + 512], line[64];
	bool frozen = false;
	FILE *f;

	if (!find_groups(v1, mount))
		return false;
	snprintf(path, sizeof(path), "%s%s/%s", mount, group,
		 v1 ? "freezer.state" : "cgroup.events");
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		frozen |= v1 ? strcmp(line, "THAWED\n") != 0 : !strcmp(line, "frozen 1\n");
	if (f)
		fclose(f);
	return frozen;
}

/* Is its control group frozen?  The lines are "NUMBER:CONTROLLERS:GROUP"; version 2 is number 0. */
static bool is_frozen(int proc)
{
	FILE *file = dep_proc_file(proc, "cgroup");
	char line[4096 + 64], *controllers, *group;
	bool frozen = false, v1;

	while (file && !frozen && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		controllers = strchr(line, ':');
		group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		v1 = in_list(controllers + 1, "freezer");
		if (v1 || !strcmp(line, "0:"))
			frozen = group_is_frozen(v1, group);
	}
	if (file)
		fclose(file);
	return frozen;
}

static bool shares_memory(pid_t pid, long other)
{
	return other > 0 && !syscall(SYS_kcmp, pid, (pid_t)other, KCMP_VM, 0, 0);
}

/* Call @f for each thread until it returns another number than 0.  Return: that, or 0. */
static long each_thread(int proc, long (*f)(pid_t pid, int proc, pid_t tid), pid_t pid)
{
	int fd = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	long found = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!found && (e = readdir(dir)))
		if (atoi(e->d_name) > 0)
			found = f(pid, proc, (pid_t)atoi(e->d_name));
	closedir(dir);
	return found;
}

/* The child of a thread that runs in the thread's memory; 0: none. */
static long sharing_child(pid_t pid, int proc, pid_t tid)
{
	long child, found = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "task/%d/children", tid);
	f = dep_proc_file(proc, path);
	while (f && !found && fscanf(f, "%ld", &child) == 1)
		found = shares_memory(pid, child) ? child : 0;
	if (f)
		fclose(f);
	return found;
}

/*
 * A parent or child that runs in the process's memory, by clone(2) with CLONE_VM; 0: none.  It
 * would meet changed code without being traced.  A vfork child is waited for when threads are
 * stopped.
 */
static long sharing_process(pid_t pid, int proc, long parent)
{
	return shares_memory(pid, parent) ? parent : each_thread(proc, sharing_child, pid);
}

static long filtered(pid_t pid, int proc, pid_t tid)
{
	(void)pid;
	return scan_has_filter(proc, tid) ? tid : 0;
}

/* The process or thread that was created last in this pid namespace; 0: not known. */
static long last_created(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	long last = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%*s %*s %*s %*s %ld", &last) != 1)
		last = 0;
	fclose(f);
	return last;
}

int refuse_sharing(pid_t pid, int proc, long *last, struct dep_why *why)
{
	struct facts f = { 0 };
	long other, now = last_created();

	if (now && now == *last)
		return 0;
	*last = now;
	if (!read_status(proc, "status", &f))
		return dep_inject_error(why, ESRCH, "There is no process %d.", pid);
	other = sharing_process(pid, proc, f.parent);
	if (!other)
		return 0;
	return dep_inject_error(why, EAGAIN, "Process %d runs in the same memory as process %ld; "
				"only one that has its memory for itself can be recorded.", pid,
				other);
}

static int traced(pid_t pid, long tracer, struct dep_why *why)
{
	return dep_inject_error(why, EBUSY,
				"Process %d is traced by process %ld; a process has one tracer at "
				"a time.", pid, tracer);
}

int refuse_process(pid_t pid, int proc, bool recorded, struct dep_why *why)
{
	struct facts f = { 0 };
	long tid;

	if (!read_stat(proc, &f) || !read_status(proc, "status", &f))
		return dep_inject_error(why, ESRCH, "There is no process %d.", pid);
	if (f.flags & PF_KTHREAD)
		return dep_inject_error(why, EINVAL, "Process %d is a thread of the kernel.", pid);
	/* If only its first thread has ended, it is a zombie until the others have. */
	if (f.state == 'X' || (f.state == 'Z' && f.threads <= 1))
		return dep_inject_error(why, ESRCH, "Process %d has ended.", pid);
	if (f.tracer)
		return traced(pid, f.tracer, why);
	if (f.seccomp == 1)
		return dep_inject_error(why, EACCES,
					"Process %d is in seccomp's strict mode, in which the "
					"engine's system calls would end it.", pid);
	tid = each_thread(proc, filtered, pid);
	if (tid)
		return dep_inject_error(why, EACCES,
					"Thread %ld of process %d has a seccomp filter, which may "
					"end the process if it is attached to.", tid, pid);
	if (is_32bit(proc))
		return dep_inject_error(why, ENOTSUP,
					"Process %d runs a 32-bit program; only 64-bit ones can "
					"be recorded.", pid);
	if (!recorded && is_recorded(proc))
		return dep_inject_error(why, EALREADY, "Process %d is being recorded.", pid);
	if (is_frozen(proc))
		return dep_inject_error(why, EBUSY,
					"Process %d is in a frozen control group; thaw it first.",
					pid);
	return 0;
}

static long yama_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	long scope = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%ld", &scope) != 1)
		scope = 0;
	fclose(f);
	return scope;
}

/* The capability CAP_SYS_PTRACE is missing. */
static int needs_ptrace(pid_t pid, const char *reason, struct dep_why *why)
{
	const char *how = geteuid() ? "run depctl as root" :
			  "root has lost it, as in a container, which can be started with it, for "
			  "example by docker run --cap-add=SYS_PTRACE";

	return dep_inject_error(why, EPERM, "Process %d %s; to attach to it takes the capability "
				"CAP_SYS_PTRACE: %s.", pid, reason, how);
}

static int restricted_by_yama(pid_t pid, long scope, struct dep_why *why)
{
	char reason[96];

	if (scope >= 3)
		return dep_inject_error(why, EPERM, "The system lets nobody attach to processes "
					"until it is started again (kernel.yama.ptrace_scope is "
					"%ld).", scope);
	snprintf(reason, sizeof(reason), "is no child of depctl, and kernel.yama.ptrace_scope is "
		 "%ld", scope);
	return needs_ptrace(pid, reason, why);
}

static int has_more(pid_t pid, u64 missing, struct dep_why *why)
{
	char text[160];

	capabilities_name(missing, text, sizeof(text));
	return dep_inject_error(why, EPERM, "Process %d has capabilities that depctl lacks: %s; "
				"run depctl with the same ones.", pid, text);
}

/* The kernel has refused to let the caller trace process @pid with these facts. */
static int refuse_rights(pid_t pid, int proc, const struct facts *f, struct dep_why *why)
{
	u64 missing = capabilities_missing(f->permitted);
	struct stat st;

	if (!capability_to_trace()) {
		if (f->uid[0] != getuid())
			return dep_inject_error(why, EPERM, "Process %d belongs to another user, "
						"and depctl lacks the capability CAP_SYS_PTRACE: "
						"run depctl as the user with the number %u.", pid,
						f->uid[0]);
		if (missing)
			return has_more(pid, missing, why);
		/* The files of a process that is not dumpable belong to root. */
		if (!fstat(proc, &st) && st.st_uid != f->uid[1])
			return needs_ptrace(pid, "is protected from being traced, as it has or had "
					    "privileges or called prctl(PR_SET_DUMPABLE)", why);
	}
	if (yama_scope() >= 3 || (yama_scope() > 0 && !capability_to_trace()))
		return restricted_by_yama(pid, yama_scope(), why);
	/* EAGAIN: a tracer may just have left it, or it executes another program. */
	return dep_inject_error(why, EAGAIN,
				"Process %d cannot be traced: it is in another user namespace, or "
				"a security module forbids it.", pid);
}

int refuse_seize(const struct scan *s, pid_t tid, int err, struct dep_why *why)
{
	struct dep_attach_thread now;
	struct facts f = { 0 };
	pid_t pid = s->pid;
	char name[48];

	snprintf(name, sizeof(name), "task/%d/status", tid);
	if (err == ESRCH)
		return dep_inject_error(why, ESRCH, "Process %d has ended.", pid);
	/* EPERM is also the error for a thread that is ending. */
	if (err == EPERM && scan_look(s, tid, &now))
		return dep_inject_error(why, EAGAIN, "Thread %d of process %d has ended; try "
					"again.", tid, pid);
	if (err != EPERM || !read_status(s->proc, name, &f))
		return dep_inject_error(why, err, "Process %d cannot be traced: %s.", pid,
					strerror(err));
	if (f.tracer)
		return traced(pid, f.tracer, why);
	return refuse_rights(pid, s->proc, &f, why);
}
