// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Processes in other pid namespaces than the collector's.
 *
 * A forked child writes into its slot the pid that it has in its own pid namespace. If this is not
 * the collector's namespace, the collector searches for the process: first among its parent's
 * children, then among all processes. It looks for a process that
 * - has this pid in its own namespace (NSpid in /proc/PID/status),
 * - maps the session, and
 * - has the number of the slot in its engine's memory, at the address given in the slot.
 *
 * The last condition distinguishes children of one parent that all have pid 1 in their namespaces.
 * Recorded programs can write data that makes the search fail, or find another process of the
 * session, but no process outside of the session.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/inject/inject.h"
#include "internal.h"

#define SCAN_NS		50000000ull	/* minimum interval between scans of all processes */
#define SCAN_MAX	65536

static bool has_number(u32 pid, u32 number)
{
	u32 depth;

	return dep_pidns_number(pid, &depth) == number && depth > 1;
}

static bool is_open(const struct dep_collector *c, u32 pid)
{
	u32 i;

	for (i = 0; i < c->s->layout.nprocs; i++)
		if (c->procs[i].open && c->procs[i].pid == pid)
			return true;
	return false;
}

/* Does the engine in @pid use slot @i, according to its memory? */
static bool uses_slot(struct dep_collector *c, u32 pid, u32 i)
{
	u64 self = load(&dep_session_proc(c->s, i)->self);
	struct adept_boot boot;
	char path[32];
	ssize_t n;
	int mem;

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (mem < 0)
		return false;
	/* process_vm_readv(2) could wait for ever for a page of userfaultfd(2). */
	n = pread(mem, &boot, sizeof(boot), (off_t)self);
	close(mem);
	return n == sizeof(boot) && boot.proc == i && boot.image == self && dep_image_alive(c, pid);
}

static bool is_it(struct dep_collector *c, u32 pid, u32 i, u32 number)
{
	return has_number(pid, number) && !is_open(c, pid) && uses_slot(c, pid, i);
}

/* Read the next pid in /proc/PID/task/TID/children; 0 at the end. */
static u32 next_child(FILE *f)
{
	unsigned int pid;

	return fscanf(f, "%u", &pid) == 1 ? pid : 0;
}

/* Whether process @pid, as seen by the collector, uses @slot and has pid @number for itself. */
typedef bool test_fn(struct dep_collector *c, u32 pid, u32 slot, u32 number);

/* Find the first child of @parent for which @test is true; 0 if there is none. */
static u32 find_child(struct dep_collector *c, u32 parent, u32 slot, u32 number, test_fn *test)
{
	char path[320];
	struct dirent *e;
	u32 pid = 0;
	DIR *tasks;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task", parent);
	tasks = opendir(path);
	while (tasks && !pid && (e = readdir(tasks))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/task/%s/children", parent, e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		while ((pid = next_child(f)) && !test(c, pid, slot, number))
			;
		fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return pid;
}

/* Search all processes, at most every SCAN_NS. */
static u32 find_anywhere(struct dep_collector *c, u32 slot, u32 number)
{
	u64 now = now_ns();
	struct dirent *e;
	u32 pid = 0, n = 0;
	DIR *proc;

	if (now - c->scanned_ns < SCAN_NS)
		return 0;
	c->scanned_ns = now;
	proc = opendir("/proc");
	while (proc && !pid && n++ < SCAN_MAX && (e = readdir(proc))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		pid = (u32)strtoul(e->d_name, NULL, 10);
		if (!is_it(c, pid, slot, number))
			pid = 0;
	}
	if (proc)
		closedir(proc);
	return pid;
}

u32 dep_pidns_process(struct dep_collector *c, u32 i)
{
	struct adept_proc *sh = dep_session_proc(c->s, i);
	u32 number = load(&sh->pid), parent = load(&sh->parent_serial), k, pid = 0;

	for (k = 0; k < c->s->layout.nprocs && !pid; k++)
		if (c->procs[k].open && c->procs[k].serial == parent && c->procs[k].pid)
			pid = find_child(c, c->procs[k].pid, i, number, is_it);
	return pid ? pid : find_anywhere(c, i, number);
}

/* A vfork child runs in its parent's memory, so it uses its parent's slot. */
static bool is_vfork_child(struct dep_collector *c, u32 pid, u32 i, u32 number)
{
	return has_number(pid, number) && uses_slot(c, pid, i);
}

/* Find the thread of process @pid that has tid @number in its own namespace; 0 if none. */
static u32 find_thread(u32 pid, u32 number)
{
	u32 found = 0, tid, depth;
	char path[32];
	struct dirent *e;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (e = readdir(tasks))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		tid = (u32)strtoul(e->d_name, NULL, 10);
		if (dep_pidns_number(tid, &depth) == number)
			found = tid;
	}
	if (tasks)
		closedir(tasks);
	return found;
}

void dep_pidns_exec_tid(struct dep_collector *c, u32 i)
{
	struct adept_proc *sh = dep_session_proc(c->s, i);
	u32 number = load(&sh->exec_tid), pid = c->procs[i].pid, tid;

	if (!pid)
		return;
	tid = find_thread(pid, number);
	if (!tid)
		tid = find_child(c, pid, i, number, is_vfork_child);
	if (tid)
		store(&sh->exec_tid, tid);
}
