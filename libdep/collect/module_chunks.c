// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Chunks of the kernel module's rings.
 *
 * The position in the code at which a chunk ends is known only when the record that continues in
 * the next chunk has its id. A chunk is queued when this id is known. Writer threads read the chunk
 * in place; it is returned to the module when the store has it.
 */
#include <stdlib.h>
#include <string.h>

#include "chunk_end.h"
#include "internal.h"

#define TAKE	64u

/* Called by a writer thread when the store has all chunks before @job->upto. */
static void module_chunk_stored(struct dep_job *job)
{
	struct dep_collector *c = job->owner;

	store(&c->threads[job->slot].given, (u32)job->upto);
	dep_queue_wake(job->queue);
}

/* Queue @job, which is for the first chunk of the slot that is not queued yet. */
static void put_module_chunk(struct dep_collector *c, u32 slot, struct dep_job *job)
{
	struct thread_slot *t = &c->threads[slot];

	job->done = module_chunk_stored;
	job->owner = c;
	job->slot = slot;
	job->upto = ++t->taken;
	t->nqueued++;
	dep_queue_put(c->queue, job);
}

/* Return stored chunks to the module, which gets them with the next dep_module_take(). */
static bool give_stored(struct dep_collector *c, u32 slot)
{
	struct thread_slot *t = &c->threads[slot];
	u32 i, n = load(&t->given) - t->returned;

	for (i = 0; i < n; i++)
		dep_module_give(c->s->module, &t->filled[i]);
	t->returned += n;
	t->nfilled -= n;
	t->nqueued -= n;
	memmove(t->filled, t->filled + n, t->nfilled * sizeof(*t->filled));
	return n;
}

void dep_module_chunks_collect(struct dep_collector *c)
{
	struct dep_module_chunks f[TAKE];
	u32 i, n;

	if (dep_queue_stopped(c->queue))
		dep_module_discard(c->s->module);
	do {
		n = dep_module_take(c->s->module, f, TAKE);
		for (i = 0; i < n; i++) {
			struct thread_slot *t = &c->threads[f[i].slot];

			if (!t->filled)
				t->filled = calloc(c->s->layout.nchunks, sizeof(*t->filled));
			if (t->filled && t->nfilled < c->s->layout.nchunks) {
				t->filled[t->nfilled++] = f[i];
				continue;
			}
			c->loss.discarded_bytes += f[i].end;
			dep_module_give(c->s->module, &f[i]);
		}
	} while (n == TAKE);
}

/*
 * Find the record that was begun at the end of the slot's first chunk that is not queued. id 0: no
 * record was begun. Return: false if this is not known yet.
 */
static bool begun_after(struct dep_collector *c, u32 slot, struct dep_begun *out)
{
	const struct thread_slot *t = &c->threads[slot];
	const struct dep_module_chunks *f = &t->filled[t->nqueued];
	const struct dep_module_chunks *next = t->nfilled > t->nqueued + 1 ? f + 1 : NULL;
	struct dep_ring_state before, after;
	struct dep_module_chunks current;

	*out = (struct dep_begun){ 0 };
	if (next) {
		if (next->seq == f->seq + 1)
			*out = dep_begun(next->body);
		return true;
	}
	dep_module_state(c->s->module, slot, &before);
	if (!before.there || before.ring != f->ring)
		return true;
	/* The next chunk was filled, and the next dep_module_take() gets it; or it was lost. */
	if (before.seq != f->seq + 1)
		return !before.filled;
	dep_module_current(c->s->module, slot, &before, &current);
	*out = dep_begun(current.body);
	dep_module_state(c->s->module, slot, &after);
	/* If the thread has begun another chunk meanwhile, the id may belong to another record. */
	return after.seq == before.seq && (out->id || before.ended);
}

/* Use the engine's description of the end of a chunk that the engine itself has ended. */
static void engines_tail(struct dep_collector *c, const struct dep_module_chunks *f,
			 struct adept_chunk *k)
{
	struct adept_chunk e;

	memcpy(&e, &dep_session_thread(c->s, f->slot)->chunk[f->index], sizeof(e));
	if (e.tail_at != f->end || e.fill < e.tail_at || e.fill - e.tail_at > ADEPT_MAX_RECORD ||
	    e.fill > c->s->layout.chunk_size)
		return;
	k->tail = e.tail;
	k->fill = e.fill;
}

enum outlook {
	CLEAR,
	LATER,		/* wait: a descriptor or record id that is needed is not known yet */
	UNREADABLE,	/* the registers at the beginning of the chunk will never be known */
};

/*
 * True if a descriptor that is needed to interpret @b may still arrive. @settled: all descriptors
 * of the ring's thread have been taken.
 */
static bool may_come(const struct dep_begun *b, bool settled)
{
	return !settled && (b->id >= ADEPT_FIRST_EXIT || b->id == ADEPT_EV_PARTIAL);
}

static enum outlook describe(struct dep_collector *c, u32 slot, const struct dep_module_chunks *f,
			     bool settled, struct adept_chunk *k)
{
	struct dep_begun b = dep_begun(f->body);
	struct dep_chunk_end x;

	memset(k, 0, sizeof(*k));
	k->seq = f->seq;
	k->start_ns = f->head.clock_ns;
	k->fs_base = f->head.fs_base;
	k->fill = k->tail_at = f->end;
	/* A thread's first chunk begins with events and continues no earlier record. */
	if (!f->seq && f->head.valid)
		k->gs_base = f->head.words[ADEPT_GS_GSBASE];
	if (f->seq && dep_chunk_end(c->cuts, &f->head, &b, &x)) {
		k->head = x.head;
		k->gs_base = x.gs_base;
		memcpy(k->regs, x.regs, sizeof(k->regs));
	} else if (f->seq && b.id) {
		return f->head.valid && may_come(&b, settled) ? LATER : UNREADABLE;
	}
	if (f->unfinished)
		return CLEAR;
	if (dep_chunk_end_by_engine(&f->tail)) {
		engines_tail(c, f, k);
		return CLEAR;
	}
	if (!begun_after(c, slot, &b))
		return LATER;
	if (!b.id)
		return CLEAR;
	/*
	 * If the end of this chunk will never be known, queue the chunk without it. The next chunk
	 * is left out later, because its beginning will not be known, either.
	 */
	if (!dep_chunk_end(c->cuts, &f->tail, &b, &x))
		return f->tail.valid && may_come(&b, settled) ? LATER : CLEAR;
	k->tail = x.tail;
	if (x.tail.frag && f->end + x.have <= c->s->layout.chunk_size)
		k->fill = f->end + x.have;
	return CLEAR;
}

static void count_losses(struct thread_slot *t, const struct dep_module_chunks *f)
{
	if (f->absent) {
		t->absent_chunks += f->lost_chunks;
		t->absent_bytes += f->lost_bytes;
	} else {
		t->dropped_chunks += f->lost_chunks;
		t->dropped_bytes += f->lost_bytes;
	}
}

/* Count chunk @f, and the losses before it, as not recorded. */
static void leave_out(struct dep_collector *c, struct thread_slot *t,
		      const struct dep_module_chunks *f)
{
	count_losses(t, f);
	if (!t->unreadable_chunks)
		dep_collector_message(c, "thread %u: a chunk is left out, because the registers at "
				      "its beginning are unknown", t->serial);
	t->unreadable_chunks++;
	t->unreadable_bytes += f->unfinished ? 0 : f->end;
}

static bool wanted(struct dep_collector *c, const struct thread_slot *t)
{
	return c->w && !t->broken && !dep_queue_stopped(c->queue) &&
	       !(c->s->layout.flags & (ADEPT_S_NULL | ADEPT_S_NO_RECORD));
}

/*
 * Check that the ring's thread was still writing chunk @f when the copy was complete, and take the
 * descriptors of code that the thread may have just run.
 */
static bool was_still(struct dep_collector *c, u32 slot, const struct dep_module_chunks *f)
{
	struct dep_ring_state s;
	bool did;

	dep_module_state(c->s->module, slot, &s);
	return s.there && s.seq == f->seq && dep_procs_drain(c, &did);
}

/* Make the job for chunk @f, which is complete, or to which a @living thread may still write. */
static struct dep_job *chunk_job(struct dep_collector *c, u32 slot,
				 const struct dep_module_chunks *f, struct adept_chunk *k,
				 bool living)
{
	struct thread_slot *t = &c->threads[slot];
	size_t size = f->unfinished ? c->s->layout.chunk_size : k->fill;
	struct dep_job *job = dep_queue_job(c->queue, f->unfinished ? DEP_JOB_SCAN :
					    DEP_JOB_SEGMENT, living ? size : 0);

	if (!job)
		return NULL;
	job->size = size;
	job->body = f->body;
	if (living) {
		dep_copy_upwards(job->data, f->body, size);
		job->body = NULL;
		if (!was_still(c, slot, f)) {
			dep_queue_cancel(c->queue, job);
			return NULL;
		}
	}
	count_losses(t, f);
	k->dropped_chunks = t->dropped_chunks + t->unreadable_chunks;
	k->dropped_bytes = t->dropped_bytes + t->unreadable_bytes;
	job->serial = t->serial;
	job->chunk = *k;
	if (!f->unfinished)
		c->raw_bytes += k->fill;
	c->nchunks++;
	return job;
}

/* Queue the next chunk. Return: false if it cannot be queued yet. */
static bool take_next(struct dep_collector *c, u32 slot, bool settled)
{
	struct thread_slot *t = &c->threads[slot];
	struct dep_module_chunks *f = &t->filled[t->nqueued];
	bool again = f->seq < t->next_seq;	/* an earlier collector has stored the chunk */
	bool want = wanted(c, t) && !again;
	enum outlook look = CLEAR;
	struct dep_job *job;
	struct adept_chunk k;

	if (want)
		look = describe(c, slot, f, settled || c->procs[t->proc].broken, &k);
	if (look == LATER)
		return false;
	if (want && look == CLEAR)
		job = chunk_job(c, slot, f, &k, false);
	else
		job = dep_queue_job(c->queue, DEP_JOB_NOTHING, 0);
	if (!job)
		return false;
	if (look == UNREADABLE)
		leave_out(c, t, f);
	else if (!want && !again && c->w)
		c->loss.discarded_bytes += f->unfinished ? 0 : f->end;
	if (!again)
		t->next_seq = f->seq + 1;
	t->last_taken |= f->unfinished;
	put_module_chunk(c, slot, job);
	return true;
}

/* Queue all chunks that can be queued now; *did: there was something to do. */
static void take(struct dep_collector *c, u32 slot, bool settled, bool *did)
{
	struct thread_slot *t = &c->threads[slot];

	if (give_stored(c, slot))
		*did = true;
	while (t->nqueued < t->nfilled && take_next(c, slot, settled))
		*did = true;
}

void dep_module_chunks_take(struct dep_collector *c, u32 slot, bool *did)
{
	take(c, slot, false, did);
}

/*
 * Take a copy of the chunk that a living thread is writing. Do not flush the ring to get the chunk:
 * the thread would overwrite the chunk while it is read.
 */
static bool take_current(struct dep_collector *c, u32 slot)
{
	struct thread_slot *t = &c->threads[slot];
	struct dep_ring_state s;
	struct dep_module_chunks f;
	struct adept_chunk k;
	enum outlook look;
	struct dep_job *job;

	dep_module_state(c->s->module, slot, &s);
	if (s.filled)
		return false;
	dep_module_current(c->s->module, slot, &s, &f);
	look = describe(c, slot, &f, true, &k);
	if (look == UNREADABLE)
		leave_out(c, t, &f);
	if (look != CLEAR)
		return look == UNREADABLE;
	job = chunk_job(c, slot, &f, &k, true);
	if (job)
		dep_queue_put(c->queue, job);
	return job;
}

bool dep_module_chunks_finish(struct dep_collector *c, u32 slot, bool living)
{
	struct thread_slot *t = &c->threads[slot];
	struct dep_ring_state s;
	bool did;

	dep_module_state(c->s->module, slot, &s);
	if (!s.there)
		return true;
	living = living && !s.ended;
	if (!living && !s.ended)
		dep_module_flush(c->s->module, slot, s.ring);
	dep_module_chunks_collect(c);
	/* Take the newest descriptors, since the thread may have just run new code. */
	if (!dep_procs_drain(c, &did))
		return false;
	take(c, slot, true, &did);
	if (t->nqueued != t->nfilled)
		return false;
	if (living)
		return !wanted(c, t) || take_current(c, slot);
	return t->last_taken;
}

void dep_module_chunks_tally(struct dep_collector *c, u32 slot)
{
	struct thread_slot *t = &c->threads[slot];
	struct dep_ring_state s;

	dep_module_state(c->s->module, slot, &s);
	if (!s.there)
		return;
	t->flushes = s.seq;
	/* The thread has counted the discarded bytes of its last chunk, which is not full. */
	t->null_bytes = __atomic_load_n(&dep_session_thread(c->s, slot)->null_bytes,
					__ATOMIC_RELAXED);
	if (c->s->layout.flags & ADEPT_S_NULL || dep_queue_stopped(c->queue)) {
		t->null_bytes += s.lost_bytes - t->dropped_bytes - t->absent_bytes;
	} else {
		t->dropped_chunks = s.lost_chunks - t->absent_chunks;
		t->dropped_bytes = s.lost_bytes - t->absent_bytes;
	}
}

void dep_module_chunks_free(struct dep_collector *c, u32 slot)
{
	struct thread_slot *t = &c->threads[slot];
	struct dep_ring_state s;

	dep_module_state(c->s->module, slot, &s);
	if (s.there)
		dep_module_reset(c->s->module, slot, s.ring);
	free(t->filled);
	t->filled = NULL;
	t->nfilled = t->nqueued = 0;
}
