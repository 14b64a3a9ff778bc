// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The image of a process: whether it is still recorded, and the handshake before an execve.
 *
 *	process: REQUEST  ->  collector: READY (traced) or NATIVE  ->  execve
 *	                                                 execve failed: process: FAILED
 *
 * The collector resets the state to NONE when it has detached. For a vfork child's execve the
 * parent may reset it as well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "internal.h"

/*
 * True if the process is younger than the session. The age is all that can be read of a process
 * that is not dumpable. A process older than the session is not part of it, whatever its slot says.
 */
static bool is_younger(struct dep_collector *c, u32 pid)
{
	unsigned long long start = 0;
	char path[64], text[1024];
	const char *p;
	size_t n;
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* The name in parentheses may contain anything; starttime is the 20th field after it. */
	p = strrchr(text, ')');
	for (i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &start) != 1)
		return false;
	return start + 1 >= c->s->start_boot_ns / (1000000000ull / sysconf(_SC_CLK_TCK));
}

bool dep_image_alive(struct dep_collector *c, u32 pid)
{
	unsigned int major, minor;
	unsigned long inode;
	char path[64], *line = NULL;
	bool found = false, any = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return errno != ENOENT && errno != ESRCH && is_younger(c, pid);
	errno = 0;
	while (!found && getline(&line, &room, f) > 0) {
		any = true;
		found = sscanf(line, "%*x-%*x %*4s %*x %x:%x %lu", &major, &minor, &inode) == 3 &&
			inode == c->s->ino && makedev(major, minor) == c->s->dev;
	}
	/* If reading failed at once, the process is not dumpable. */
	if (!any && ferror(f) && errno != ESRCH)
		found = is_younger(c, pid);
	free(line);
	fclose(f);
	return found;
}

bool dep_image_of_other(struct dep_collector *c, u32 tid, u32 pid, u32 *tgid)
{
	char path[64], line[256];
	FILE *f;

	*tgid = 0;
	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!*tgid && fgets(line, sizeof(line), f))
		sscanf(line, "Tgid: %u", tgid);
	fclose(f);
	return *tgid && *tgid != pid && *tgid != (u32)getpid() && dep_image_alive(c, *tgid);
}

/*
 * Change exec_state from @from to @to. Return: false, with no effect, if it has another value: a
 * vfork child's parent may have reset it.
 */
static bool answer(struct adept_proc *sh, u32 from, u32 to)
{
	if (!__atomic_compare_exchange_n(&sh->exec_state, &from, to, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return false;
	futex_wake(&sh->exec_state);
	return true;
}

/* Record that the process's execve is not followed and runs natively. */
static void refused(struct proc_slot *p, bool counted)
{
	p->native = true;
	p->native_ns = now_ns();
	p->counted = counted;
}

static void begin(struct dep_collector *c, u32 i)
{
	struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh = dep_session_proc(c->s, i);
	bool never = c->s->layout.flags & ADEPT_S_NO_FOLLOW || c->unfollow;
	int err = -EPERM;

	if (load(&sh->ns) & ADEPT_NS_TIDS)
		dep_pidns_exec_tid(c, i);
	p->exec_tid = load(&sh->exec_tid);
	p->native = p->counted = false;
	if (c->ops.begin && !never)
		err = c->ops.begin(c->ops.arg, c->s, i);
	if (!err) {
		p->following = true;
		c->nfollowing++;
		return;
	}
	refused(p, !never && err != -ESRCH);
	if (c->ops.begin && !never)
		return;
	store(&sh->exec_native, ADEPT_NATIVE_BY_DESIGN);
	if (answer(sh, ADEPT_EXEC_REQUEST, ADEPT_EXEC_NATIVE) && !never)
		adept_native_add(c->s->map, ADEPT_NATIVE_BY_DESIGN);
}

static void follow(struct dep_collector *c, u32 i)
{
	struct proc_slot *p = &c->procs[i];
	enum dep_exec_outcome out = c->ops.poll(c->ops.arg, c->s, i);

	if (out == DEP_EXEC_PENDING)
		return;
	p->following = false;
	c->nfollowing--;
	if (out == DEP_EXEC_REFUSED || out == DEP_EXEC_DEAD)
		refused(p, out == DEP_EXEC_REFUSED);
	if (out == DEP_EXEC_FOLLOWED || out == DEP_EXEC_RUNS_NATIVE)
		p->dying = true;
	/* The tracer may have followed the execve, but ended before it reported success. */
	if (out == DEP_EXEC_CANCELLED && dep_proc_replaced(c, i))
		p->dying = true;
}

void dep_exec_step(struct dep_collector *c, u32 i)
{
	struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh = dep_session_proc(c->s, i);

	if (p->following) {
		follow(c, i);
		return;
	}
	switch (load(&sh->exec_state)) {
	case ADEPT_EXEC_REQUEST:
		begin(c, i);
		break;
	case ADEPT_EXEC_FAILED:
		if (p->counted)
			adept_native_sub(c->s->map, load(&sh->exec_native));
		p->native = p->counted = false;
		answer(sh, ADEPT_EXEC_FAILED, ADEPT_EXEC_NONE);
		break;
	case ADEPT_EXEC_NONE:
		/* After a vfork child's execve the parent has reset the state and continues. */
		p->native = p->counted = false;
		break;
	}
}
