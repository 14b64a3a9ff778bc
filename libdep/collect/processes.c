// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Process slots: liveness, descriptor rings, and the end of an image.
 *
 * Exit ids are unique in the session, and a forked child uses its parent's fragments. So a chunk
 * may need the descriptors of any process. Therefore all descriptor rings are emptied after the
 * numbers of published chunks were read and before any chunk is taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/inject/inject.h"
#include "chunk_end.h"
#include "internal.h"

#define CLAIM_GRACE_NS	1000000000ull	/* a slot claimed for longer belongs to a failed fork */
/* time limit of the search for the pid of a process in another pid namespace */
#define RESOLVE_NS	2000000000ull
/* time to wait for a process with unknown pid when no other process lives */
#define UNKNOWN_NS	5000000000ull
/* minimum interval of tests for ended processes: each takes a system call per process */
#define POLL_NS		1000000ull
#define IMAGE_CHECK_NS	250000000ull	/* minimum interval of reading /proc/PID/maps */
#define CMDLINE_MAX	8192u	/* maximum bytes of a command line that are stored */

static struct adept_proc *shared(const struct dep_collector *c, u32 i)
{
	return dep_session_proc(c->s, i);
}

static bool is_taken(u32 state)
{
	return state == ADEPT_SLOT_LIVE || state == ADEPT_SLOT_ENDED;
}

/* True if process slot @i has a thread that has not ended. */
static bool has_thread(struct dep_collector *c, u32 i)
{
	struct adept_thread *sh;
	u32 k;

	for (k = 0; k < c->nused; k++) {
		sh = dep_session_thread(c->s, c->used[k]);
		if (load(&sh->state) != ADEPT_SLOT_ENDED && load(&sh->proc) == i &&
		    load(&sh->proc_serial) == c->procs[i].serial)
			return true;
	}
	return false;
}

static bool others_live(struct dep_collector *c)
{
	u32 i;

	for (i = 0; i < c->s->layout.nprocs; i++)
		if (c->procs[i].open && c->procs[i].pid)
			return true;
	return false;
}

/*
 * A process with unknown pid has ended when all its threads have ended. If it was killed, the slots
 * of its threads do not show it: so when no other process is left, wait for UNKNOWN_NS and then
 * count the process as lost.
 */
static bool unknown_gone(struct dep_collector *c, struct proc_slot *p)
{
	u64 now = now_ns();

	if (!has_thread(c, (u32)(p - c->procs)))
		return now - p->checked_ns > CLAIM_GRACE_NS;
	if (others_live(c)) {
		p->native_ns = 0;
		return false;
	}
	if (!p->native_ns)
		p->native_ns = now;
	if (now - p->native_ns < UNKNOWN_NS)
		return false;
	c->loss.lost_processes++;
	dep_collector_message(c,
			      "process %u: its pid is unknown, so its end cannot be noticed; it is "
			      "not recorded from now on",
			      p->serial);
	return true;
}

static bool process_gone(struct dep_collector *c, struct proc_slot *p)
{
	struct pollfd pfd = { .fd = p->pidfd, .events = POLLIN };

	if (load(&shared(c, (u32)(p - c->procs))->leave) == ADEPT_LEAVE_LEFT)
		return true;
	if (!p->pid)
		return unknown_gone(c, p);
	if (c->child_gone && p->pid == (u32)c->child)
		return true;
	if (p->pidfd >= 0)
		return poll(&pfd, 1, 0) == 1;
	return kill(p->pid, 0) && errno == ESRCH;
}

/* True if the process no longer maps the session: a native image with the same pid replaced it. */
static bool image_gone(struct dep_collector *c, struct proc_slot *p)
{
	u64 now, every = IMAGE_CHECK_NS;

	if (!p->pid || (!p->native && !c->child_gone))
		return false;
	now = now_ns();
	/* Most execves of native images complete at once: check often at first. */
	if (p->native && (now - p->native_ns) / 4 < every)
		every = (now - p->native_ns) / 4;
	if (now - p->checked_ns < every)
		return false;
	p->checked_ns = now;
	return !dep_image_alive(c, p->pid);
}

/* Mark the slot as ended without delay: other processes may be waiting for a free slot. */
static void tell_ended(struct dep_collector *c, u32 i)
{
	u32 live = ADEPT_SLOT_LIVE;

	if (!dep_threads_left_alive(c, i))
		__atomic_compare_exchange_n(&shared(c, i)->state, &live, ADEPT_SLOT_ENDED, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void dep_procs_poll(struct dep_collector *c)
{
	u64 now = now_ns();
	bool ask = now - c->polled_ns >= POLL_NS;
	u32 i;

	if (ask)
		c->polled_ns = now;
	for (i = 0; i < c->s->layout.nprocs; i++) {
		struct proc_slot *p = &c->procs[i];

		/* Do this for a killed process, too: its vfork child may still request execve. */
		if (p->open)
			dep_exec_step(c, i);
		if (!p->open || p->dying || !(ask || p->gone))
			continue;
		p->dying = p->gone || process_gone(c, p) ||
			   (!p->following && image_gone(c, p));
		if (p->dying && !p->following)
			tell_ended(c, i);
	}
}

/*
 * Open /proc/@pid. A process may have written any pid into its slot, so the directory is opened
 * only if process @pid has no privileges that the session lacks: the user who records could read
 * this directory as well.
 */
static int open_member(const struct dep_collector *c, u32 pid)
{
	int proc = dep_proc_open((pid_t)pid);

	if (proc < 0 || !c->base || !c->base->known || !dep_judge_member(proc, c->base, NULL))
		return proc;
	close(proc);
	return -EACCES;
}

/*
 * Read the command line: arguments that each end with a NUL byte. If it is longer than CMDLINE_MAX,
 * it is cut and ends with "...". Return: its size; 0: not known.
 */
static size_t read_cmdline(int proc, u8 *text)
{
	int fd = proc < 0 ? -1 : openat(proc, "cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd >= 0) {
		n = read(fd, text, CMDLINE_MAX);
		close(fd);
	}
	if (n <= 0)
		return 0;
	if (n == CMDLINE_MAX)
		memcpy(text + n - 4, "...", 4);
	else if (text[n - 1])
		text[n++] = '\0';
	return (size_t)n;
}

/* Get the path of the executable. @proc: descriptor or error from open_member(). */
static char *find_exe(const struct dep_collector *c, int proc, u32 cause, u32 parent)
{
	ssize_t n = -1;
	char exe[4096];
	u32 i;

	if (proc >= 0)
		n = readlinkat(proc, "exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	/*
	 * If the process has ended, use its parent's executable: a forked child runs its parent's
	 * image until its execve.
	 */
	for (i = 0; !*exe && cause == ADEPT_BY_FORK && i < c->s->layout.nprocs; i++)
		if (c->procs[i].open && c->procs[i].serial == parent)
			return strdup(c->procs[i].exe);
	return strdup(exe);
}

char *dep_find_exe(struct dep_collector *c, u32 pid, u32 cause, u32 parent)
{
	int proc = open_member(c, pid);
	char *exe = find_exe(c, proc, cause, parent);

	if (proc >= 0)
		close(proc);
	return exe;
}

bool dep_proc_replaced(struct dep_collector *c, u32 i)
{
	const struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh;
	u32 k;

	for (k = 0; k < c->nslots; k++) {
		sh = shared(c, k);
		if (k != i && dep_domain(c, k) == dep_domain(c, i) && is_taken(load(&sh->state)) &&
		    load(&sh->cause) == ADEPT_BY_EXEC && p->pid && load(&sh->pid) == p->pid &&
		    load(&sh->parent_serial) == p->serial)
			return true;
	}
	return false;
}

/*
 * Find the pid of the process in slot @i; 0 if it is in another pid namespace and not found.
 * Return: false to try again later.
 */
static bool find_pid(struct dep_collector *c, u32 i, u32 *pid)
{
	struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh = shared(c, i);

	*pid = load(&sh->pid);
	if (!(load(&sh->ns) & ADEPT_NS_PID))
		return true;
	*pid = dep_pidns_process(c, i);
	if (*pid) {
		/* Store the result for later readers, such as the next collector. */
		store(&sh->pid, *pid);
		__atomic_fetch_and(&sh->ns, ~ADEPT_NS_PID, __ATOMIC_SEQ_CST);
		return true;
	}
	if (!p->unresolved_ns)
		p->unresolved_ns = now_ns();
	return now_ns() - p->unresolved_ns > RESOLVE_NS;
}

/* Set the path of the executable and, except after fork, the command line. */
static void put_texts(int proc, struct dep_job *job, const char *exe)
{
	struct dep_process *p = &job->process;
	char *text = (char *)job->data;
	size_t n = strlen(exe) + 1;

	memcpy(text, exe, n);
	p->exe = n > 1 ? text : NULL;
	p->cmdline_size = p->cause == ADEPT_BY_FORK ? 0 : read_cmdline(proc, job->data + n);
	p->cmdline = p->cmdline_size ? text + n : NULL;
}

static void open_process(struct dep_collector *c, u32 i)
{
	struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh = shared(c, i);
	u32 serial = load(&sh->serial), pid;
	u32 parent = load(&sh->parent_serial), cause = load(&sh->cause);
	struct dep_job *job;
	char *exe;
	int proc;

	/* Look again at a rejected slot only when its serial has changed. */
	if (p->serial == serial && p->broken)
		return;
	if (!find_pid(c, i, &pid))
		return;
	proc = open_member(c, pid);
	exe = find_exe(c, proc, cause, parent);
	if (!exe)
		goto out_close;
	job = dep_queue_job(c->queue, DEP_JOB_PROCESS, strlen(exe) + 1 + CMDLINE_MAX);
	if (!job)
		goto out_free;
	if (!dep_domain_process(c, i, serial) || !dep_serial_take(c, serial) ||
	    (!pid && !p->unresolved_ns) ||
	    pid > 0x7fffffff || pid == (u32)getpid()) {
		dep_queue_cancel(c->queue, job);
		dep_collector_message(c, "process slot %u: invalid serial %u or pid %u; the "
				      "process is not recorded", i, serial, pid);
		p->serial = serial;
		p->broken = true;
		c->loss.corrupt++;
		goto out_free;
	}
	memset(p, 0, sizeof(*p));
	p->open = true;
	p->exe = exe;
	p->serial = serial;
	p->pid = pid;
	p->pidfd = pid ? syscall(SYS_pidfd_open, pid, 0) : -1;
	p->gone = (pid && p->pidfd < 0 && errno == ESRCH) || dep_proc_replaced(c, i);
	p->checked_ns = now_ns();
	c->nopen++;
	c->nprocs_seen++;

	job->serial = serial;
	job->process = (struct dep_process){
		.serial = serial,
		.pid = pid,
		.parent = parent,
		.cause = cause <= ADEPT_BY_ATTACH ? cause : ADEPT_BY_LAUNCH,
		.start_ns = load(&sh->start_ns),
	};
	put_texts(proc, job, exe);
	dep_queue_put(c->queue, job);
	goto out_close;

out_free:
	free(exe);
out_close:
	if (proc >= 0)
		close(proc);
}

/*
 * Copy the descriptors of a contiguous part of the descriptor ring of process slot @i. The part
 * begins after the first @pos bytes that were ever written to this ring. Return: false if the
 * descriptors are corrupt.
 */
static bool copy_descriptors(struct dep_collector *c, struct dep_job *job, u32 i, u64 pos,
			     const u8 *from, size_t size)
{
	struct adept_desc d;
	size_t at, len;

	for (at = 0; at < size; at += len) {
		if (size - at < sizeof(d))
			return false;
		memcpy(&d, from + at, sizeof(d));
		if (d.type == ADEPT_DESC_PAD)
			return true;
		len = d.size;
		if (len < sizeof(d) || len % 8 || len > size - at)
			return false;
		memcpy(job->data + job->size, from + at, len);
		/* Keep the header that was checked: the shared copy may have changed. */
		memcpy(job->data + job->size, &d, sizeof(d));
		if (!dep_domain_describes(c, i, pos + at, job->data + job->size))
			return false;
		job->size += len;
	}
	return true;
}

/*
 * Free the descriptor ring up to position @head, and wake threads that wait for room in it. Called
 * by a writer thread, or by the loop if no job of the process is queued.
 */
static void consumed(struct dep_collector *c, u32 i, u64 head)
{
	struct adept_proc *sh = shared(c, i);

	__atomic_store_n(&sh->desc_tail, head, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&sh->desc_space, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&sh->desc_waits, __ATOMIC_SEQ_CST))
		futex_wake(&sh->desc_space);
}

static void descriptors_stored(struct dep_job *job)
{
	struct dep_collector *c = job->owner;
	struct proc_slot *p = &c->procs[job->slot];
	struct adept_desc_mark *mark = shared(c, job->slot)->mark;
	u64 tail = load(&shared(c, job->slot)->desc_tail);

	if (job->kind == DEP_JOB_DESCRIPTORS)
		p->desc_stored += job->size;
	mark += mark[0].tail == tail;
	store(&mark->stored, p->desc_stored);
	store(&mark->tail, job->upto);
	consumed(c, job->slot, job->upto);
}

static void break_process(struct dep_collector *c, struct proc_slot *p)
{
	dep_collector_message(c, "process %u (pid %u): its descriptors are invalid; code that it "
			      "translates from now on cannot be recovered", p->serial, p->pid);
	p->broken = true;
	c->broken++;
	c->loss.corrupt++;
}

/* Queue new descriptors of slot @i. Return: 1: some, 0: none, -1: no room in the queue. */
static int drain(struct dep_collector *c, u32 i)
{
	struct proc_slot *p = &c->procs[i];
	u64 size = c->s->layout.desc_size, head = load(&shared(c, i)->desc_head);
	u64 n = head - p->desc_taken, at = p->desc_taken & (size - 1), first;
	const u8 *ring = dep_session_desc(c->s, i);
	struct dep_job *job;

	if (!n)
		return 0;
	if (!c->w) {
		p->desc_taken = head;
		consumed(c, i, head);
		return 1;
	}
	if (!p->broken && (n > size || n % 8))
		break_process(c, p);
	if (p->broken)
		job = dep_queue_job(c->queue, DEP_JOB_NOTHING, 0);
	else
		job = dep_queue_job(c->queue, DEP_JOB_DESCRIPTORS, n);
	if (!job)
		return -1;
	if (!p->broken) {
		job->serial = p->serial;
		first = n < size - at ? n : size - at;
		if (!copy_descriptors(c, job, i, p->desc_taken, ring + at, first) ||
		    !copy_descriptors(c, job, i, p->desc_taken + first, ring, n - first))
			break_process(c, p);
		if (p->skip) {
			n = dep_adopt_skip(p, job->data, job->size);
			job->size -= n;
			memmove(job->data, job->data + n, job->size);
		}
		if (c->cuts && dep_cuts_add(c->cuts, job->data, job->size))
			dep_queue_stop(c->queue);
	}
	job->done = descriptors_stored;
	job->owner = c;
	job->slot = i;
	job->upto = p->desc_taken = head;
	dep_queue_put(c->queue, job);
	return 1;
}

int dep_procs_drain(struct dep_collector *c, bool *did)
{
	u64 now = now_ns();
	u32 i;
	int ret, all = 1;

	c->nclaimed = 0;
	for (i = 0; i < c->nslots; i++) {
		struct proc_slot *p = &c->procs[i];
		u32 state;

		if (p->closing)
			continue;
		if (!p->open) {
			state = load(&shared(c, i)->state);
			if (state == ADEPT_SLOT_CLAIMED) {
				if (!p->claimed_ns)
					p->claimed_ns = now;
				if (now - p->claimed_ns < CLAIM_GRACE_NS)
					c->nclaimed++;
			} else {
				p->claimed_ns = 0;
			}
			/* The slot is free, perhaps freed by an earlier collector. */
			if (!is_taken(state)) {
				p->unresolved_ns = 0;
				continue;
			}
			open_process(c, i);
			/* While its pid is searched for, a process counts as being created. */
			c->nclaimed += !p->open && p->unresolved_ns && !p->broken;
			if (!p->open)
				continue;
			*did = true;
		}
		ret = drain(c, i);
		if (ret > 0)
			*did = true;
		if (ret < 0)
			all = 0;
	}
	return all;
}

/* Called by a writer thread when the store has the process's end: the loop may free the slot. */
static void process_stored(struct dep_job *job)
{
	struct dep_collector *c = job->owner;

	store(&c->procs[job->slot].stored, true);
	dep_queue_wake(job->queue);
}

static bool end_slot(struct dep_collector *c, u32 i)
{
	struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh = shared(c, i);
	struct dep_job *job;
	bool ended;

	/*
	 * Wait until the traced thread of an execve is detached, which happens soon after the
	 * process has ended, and until a vfork child has left the process's memory.
	 */
	if (p->following || dep_threads_left_alive(c, i))
		return false;
	store(&sh->state, ADEPT_SLOT_ENDED);
	if (load(&sh->desc_head) != p->desc_taken && !p->broken)
		return false;
	c->last_of = p->serial;
	ended = dep_threads_end_slot(c, i);
	c->last_of = 0;
	if (!ended)
		return false;
	job = dep_queue_job(c->queue, DEP_JOB_PROCESS_END, 0);
	if (!job)
		return false;
	job->serial = p->serial;
	job->process = (struct dep_process){
		.serial = p->serial,
		.end_ns = now_ns(),
		.built = load(&sh->built),
		.translate_ns = dep_session_tsc_ns(c->s, load(&sh->translate_tsc)),
	};
	job->done = process_stored;
	job->owner = c;
	job->slot = i;
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p->exe);
	memset(p, 0, sizeof(*p));
	p->closing = true;
	c->nopen--;
	c->nclosing++;
	dep_queue_put(c->queue, job);
	return true;
}

static bool free_if_stored(struct dep_collector *c, u32 i)
{
	const struct adept_session *l = &c->s->layout;
	struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh = shared(c, i);

	if (!load(&p->stored))
		return false;
	memset(p, 0, sizeof(*p));
	c->nclosing--;
	dep_punch(c, l->desc_off + (u64)i * l->desc_size, l->desc_size);
	/* Keep @own, which the founder's domain uses even after the founder has ended. */
	memset((char *)sh + sizeof(sh->state), 0,
	       offsetof(struct adept_proc, own) - sizeof(sh->state));
	store(&sh->state, ADEPT_SLOT_FREE);
	return true;
}

bool dep_procs_end_slot(struct dep_collector *c)
{
	bool did = false;
	u32 i;

	for (i = 0; i < c->s->layout.nprocs; i++) {
		struct proc_slot *p = &c->procs[i];

		if (p->closing ? free_if_stored(c, i) : p->open && p->dying && end_slot(c, i))
			did = true;
	}
	return did;
}

void dep_procs_release(struct dep_collector *c)
{
	u32 i;

	for (i = 0; i < c->s->layout.nprocs; i++)
		if (c->procs[i].open)
			futex_wake(&shared(c, i)->desc_space);
}

void dep_procs_close(struct dep_collector *c)
{
	u32 i;

	for (i = 0; i < c->s->layout.nprocs; i++) {
		if (!c->procs[i].open)
			continue;
		if (c->procs[i].pidfd >= 0)
			close(c->procs[i].pidfd);
		free(c->procs[i].exe);
	}
}
