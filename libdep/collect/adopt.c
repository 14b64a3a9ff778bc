// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Take over a session from a collector that has ended.
 *
 * A collector returns memory of the session file only after the store has the data. So all data is
 * in the store or in the session file. Some data is in both, because it was stored just before the
 * earlier collector ended: at most one batch of descriptors for each process and one chunk for each
 * thread. The memory of such data is returned without storing the data again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/write/resume.h"
#include "chunk_end.h"
#include "internal.h"

static const struct dep_resume_process *find_process(const struct dep_resume *r, u32 serial)
{
	size_t i;

	for (i = 0; i < r->nprocesses; i++)
		if (r->process[i].serial == serial)
			return &r->process[i];
	return NULL;
}

static const struct dep_resume_thread *find_thread(const struct dep_resume *r, u32 serial)
{
	size_t i;

	for (i = 0; i < r->nthreads; i++)
		if (r->thread[i].serial == serial)
			return &r->thread[i];
	return NULL;
}

size_t dep_adopt_skip(struct proc_slot *p, const u8 *data, size_t size)
{
	struct adept_desc d;
	size_t at;

	for (at = 0; p->skip && at < size; at += d.size) {
		memcpy(&d, data + at, sizeof(d));
		if (d.size > p->skip) {
			p->skip = 0;
			break;
		}
		p->skip -= d.size;
	}
	return at;
}

/*
 * Find how many bytes at the tail of the process's descriptor ring are stored already. The process
 * could change the positions in its slot, so they are checked.
 */
static void find_descriptors(struct dep_collector *c, u32 i, u64 logged)
{
	struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh = dep_session_proc(c->s, i);
	u64 tail = load(&sh->desc_tail), stored = 0;
	int k;

	for (k = 0; k < 2; k++)
		if (load(&sh->mark[k].tail) == tail)
			stored = load(&sh->mark[k].stored);
	p->desc_taken = tail;
	p->desc_stored = logged;
	if (stored <= logged && logged - stored <= c->s->layout.desc_size) {
		p->skip = logged - stored;
		return;
	}
	dep_collector_message(c, "process %u (pid %u): cannot find out which of its descriptors "
			      "are stored; code that it translates from now on cannot be "
			      "recovered", p->serial, p->pid);
	p->broken = true;
	c->broken++;
	c->loss.corrupt++;
}

/*
 * Handle an execve that the earlier collector answered: assume that the new image runs natively and
 * is counted already. This also holds in the states READY and FAILED: either the process that
 * followed the execve has ended with the earlier collector, or the answer was NATIVE.
 */
static void settle_exec(struct dep_collector *c, u32 i)
{
	struct proc_slot *p = &c->procs[i];
	u32 *at = &dep_session_proc(c->s, i)->exec_state, state = ADEPT_EXEC_READY;

	if (!__atomic_compare_exchange_n(at, &state, ADEPT_EXEC_NATIVE, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED) &&
	    state != ADEPT_EXEC_NATIVE && state != ADEPT_EXEC_FAILED)
		return;
	p->native = p->counted = true;
	p->native_ns = now_ns();
}

static void adopt_process(struct dep_collector *c, u32 i, const struct dep_resume_process *r)
{
	struct proc_slot *p = &c->procs[i];
	struct adept_proc *sh = dep_session_proc(c->s, i);

	memset(p, 0, sizeof(*p));
	p->serial = r->serial;
	if (r->ended) {
		p->closing = p->stored = true;
		c->nclosing++;
		return;
	}
	/* Use the pid in the store, which was checked; the process can change the slot's pid. */
	p->pid = r->pid;
	p->exe = dep_find_exe(c, p->pid, ADEPT_BY_LAUNCH, 0);
	p->open = p->exe;
	if (!p->open)
		return;
	p->pidfd = syscall(SYS_pidfd_open, p->pid, 0);
	p->gone = p->pidfd < 0 && errno == ESRCH;
	/* Another process may have got the pid: check that it maps the session. */
	if (!p->gone && load(&sh->exec_state) == ADEPT_EXEC_NONE && !dep_image_alive(c, p->pid))
		p->gone = true;
	p->gone |= dep_proc_replaced(c, i);
	p->checked_ns = now_ns();
	c->nopen++;
	find_descriptors(c, i, r->desc_bytes);
	settle_exec(c, i);
}

static void adopt_thread(struct dep_collector *c, u32 slot, const struct dep_resume_thread *r)
{
	struct thread_slot *t = &c->threads[slot];
	struct adept_thread *sh = dep_session_thread(c->s, slot);
	u32 proc = load(&sh->proc);
	struct adept_chunk k;

	if (r->ended) {
		t->closing = t->stored = true;
		c->nclosing++;
		return;
	}
	if (proc >= c->s->layout.nprocs || !c->procs[proc].open ||
	    c->procs[proc].serial != load(&sh->proc_serial))
		return;
	t->open = t->adopted = true;
	t->serial = r->serial;
	t->tid = r->tid;
	t->proc = proc;
	t->start_ns = load(&sh->start_ns);
	t->next_seq = r->next_seq;
	if (c->s->module)
		return;
	t->taken = t->given = load(&sh->tail);
	/* The header of the chunk that was returned last still counts the dropped chunks. */
	memcpy(&k, &sh->chunk[(t->taken - 1) % c->s->layout.nchunks], sizeof(k));
	if (t->taken) {
		t->dropped_chunks = k.dropped_chunks;
		t->dropped_bytes = k.dropped_bytes;
	}
}

static void mark_serials(struct dep_collector *c, const struct dep_resume *r)
{
	size_t i;

	for (i = 0; i < r->nprocesses; i++)
		dep_serial_take(c, r->process[i].serial);
	for (i = 0; i < r->nthreads; i++)
		dep_serial_take(c, r->thread[i].serial);
	c->nprocs_seen = r->nprocesses;
	c->nthreads_seen = r->nthreads;
}

static int add_cuts(void *arg, const void *data, size_t size)
{
	struct dep_collector *c = arg;

	return c->cuts ? dep_cuts_add(c->cuts, data, size) : 0;
}

static void adopt_slots(struct dep_collector *c, const struct dep_resume *r)
{
	const struct dep_resume_process *p;
	const struct dep_resume_thread *t;
	u32 i, slot, state;

	mark_serials(c, r);
	dep_slots_count(c);
	for (i = 0; i < c->nslots; i++) {
		state = load(&dep_session_proc(c->s, i)->state);
		if (state != ADEPT_SLOT_LIVE && state != ADEPT_SLOT_ENDED)
			continue;
		p = find_process(r, load(&dep_session_proc(c->s, i)->serial));
		if (p && p->pid)
			adopt_process(c, i, p);
	}
	dep_threads_snapshot(c);
	for (i = 0; i < c->nused; i++) {
		slot = c->used[i];
		t = find_thread(r, load(&dep_session_thread(c->s, slot)->serial));
		if (t && (t->process || t->ended))
			adopt_thread(c, slot, t);
	}
}

int dep_collector_adopt(struct dep_collector *c, const char *dir, int level)
{
	struct dep_writer *w;
	struct dep_resume r;
	int ret;

	ret = dep_writer_resume(&w, dir, level, add_cuts, c, &r);
	if (ret)
		return ret;
	c->w = w;
	dep_queue_write_to(c->queue, w);
	if (load(&c->s->map->stop))
		dep_queue_stop(c->queue);
	dep_collector_message(c, "another collector continued the recording");
	adopt_slots(c, &r);
	dep_resume_free(&r);
	return 0;
}
