// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Thread slots: take published chunks, and the last chunk of a thread that was killed.
 *
 * A chunk's header is copied before it is checked. A writer thread copies the body; when the chunk
 * is in the store, it zeroes the chunk and returns it to the ring. So a chunk that a killed
 * collector had not stored is still in the ring for the next collector.
 */
#include <string.h>

#include "internal.h"

#define LONG_CALL	10u	/* multiple of a trigger's time after which a call is looked at */

static struct adept_thread *shared(const struct dep_collector *c, u32 slot)
{
	return dep_session_thread(c->s, slot);
}

static u32 nchunks(const struct dep_collector *c)
{
	return c->s->layout.nchunks;
}

static void look_at(struct dep_collector *c, u32 slot, u32 state)
{
	c->threads[slot].state = state;
	c->threads[slot].head = load(&shared(c, slot)->head);
	c->used[c->nused++] = slot;
}

static bool is_held(const struct thread_slot *t)
{
	return t->open || t->closing;
}

/* Why a thread is closed. */
enum thread_close {
	CLOSE_ENDED,		/* the thread has ended, or its process is gone */
	CLOSE_LEFT,		/* the thread continues, unrecorded */
	CLOSE_UNTAKEN,		/* as CLOSE_LEFT, but its last records could not be taken */
};

/* Keep slots in c->used that the collector has not finished, whatever their shared state is. */
static void look_at_held(struct dep_collector *c)
{
	u32 i, slot, n = c->nused;

	c->nused = 0;
	for (i = 0; i < n; i++) {
		slot = c->used[i];
		if (is_held(&c->threads[slot]))
			look_at(c, slot, load(&shared(c, slot)->state));
	}
}

/* Skip holes of the file: slots that were never used have no memory, and reading allocates it. */
void dep_threads_snapshot(struct dep_collector *c)
{
	const u64 start = c->s->layout.thread_off, size = sizeof(struct adept_thread);
	const u64 n = c->s->layout.nthreads, end = start + n * size;
	u64 i, data, hole = start;
	u32 state;

	if (c->s->module)
		dep_module_chunks_collect(c);
	look_at_held(c);
	for (i = 0; i < n; i++) {
		if (start + i * size >= hole) {
			data = dep_table_seek(c, start + i * size, end, SEEK_DATA);
			if (data >= end)
				break;
			hole = dep_table_seek(c, data, end, SEEK_HOLE);
			/* Continue with the first slot that begins in [data, hole), if any. */
			i = (data - start + size - 1) / size;
			if (start + i * size >= hole) {
				i--;
				continue;
			}
		}
		state = load(&shared(c, i)->state);
		if (state != ADEPT_SLOT_FREE && !is_held(&c->threads[i]))
			look_at(c, (u32)i, state);
	}
}

/* How the stream of a thread ends in the store. */
static u32 how_ended(struct dep_collector *c, u32 slot, enum thread_close close)
{
	struct thread_slot *t = &c->threads[slot];

	if (t->broken)
		return DEP_END_CORRUPT;
	if (!c->w || c->s->layout.flags & ADEPT_S_NULL || load(&shared(c, slot)->discarding) ||
	    dep_queue_stopped(c->queue))
		return DEP_END_STOPPED;
	if (close == CLOSE_UNTAKEN)
		return DEP_END_UNTAKEN;
	if (load(&shared(c, slot)->left))
		return DEP_END_DETACHED;
	if (close == CLOSE_LEFT)
		return DEP_END_LEFT;
	/* A thread that exits is at a safepoint, between records; a killed one may not be. */
	return load(&shared(c, slot)->at_safepoint) ? DEP_END_WHOLE : DEP_END_UNFINISHED;
}

void dep_threads_fill(struct dep_collector *c, u32 slot, struct dep_job *job)
{
	struct thread_slot *t = &c->threads[slot];
	struct adept_thread *sh = shared(c, slot);

	job->serial = t->serial;
	job->tid_address = load(&sh->tid_address);
	job->thread = (struct dep_thread){
		.serial = t->serial,
		.tid = t->tid,
		.process = c->procs[t->proc].serial,
		.parent = load(&sh->parent_serial),
		.start_ns = t->start_ns,
		.flushes = t->flushes,
		.null_bytes = t->null_bytes,
		.end = t->end,
	};
	if (job->kind != DEP_JOB_THREAD) {
		job->thread.end_ns = now_ns();
		memcpy(job->data, sh->name, ADEPT_THREAD_NAME);
		job->data[ADEPT_THREAD_NAME - 1] = '\0';
		job->thread.name = *job->data ? (char *)job->data : NULL;
	}
}

static void put_thread(struct dep_collector *c, u32 slot, struct dep_job *job)
{
	dep_threads_fill(c, slot, job);
	dep_queue_put(c->queue, job);
}

/* Register a new thread. Its process was registered by dep_procs_drain() in this pass. */
static void open_thread(struct dep_collector *c, u32 slot)
{
	struct thread_slot *t = &c->threads[slot];
	struct adept_thread *sh = shared(c, slot);
	u32 proc = load(&sh->proc), serial = load(&sh->serial);
	struct dep_job *job;

	if (proc >= c->s->layout.nprocs || !c->procs[proc].open ||
	    c->procs[proc].serial != load(&sh->proc_serial))
		return;
	if (!dep_domain_thread(c, slot, proc, serial) || !dep_serial_take(c, serial)) {
		if (!t->complained) {
			dep_collector_message(c, "thread slot %u: invalid serial %u; the thread is "
					      "not recorded", slot, serial);
			c->loss.corrupt++;
		}
		t->complained = true;
		return;
	}
	job = dep_queue_job(c->queue, DEP_JOB_THREAD, 0);
	if (!job)
		return;
	t->open = true;
	t->broken = false;
	t->complained = false;
	t->serial = serial;
	t->proc = proc;
	t->tid = load(&sh->tid);
	t->start_ns = load(&sh->start_ns);
	t->end = DEP_END_UNKNOWN;
	t->taken = t->given = t->returned = 0;
	t->stored = t->adopted = false;
	t->next_seq = 0;
	t->dropped_chunks = 0;
	t->dropped_bytes = 0;
	t->absent_chunks = t->absent_bytes = 0;
	t->flushes = 0;
	t->null_bytes = 0;
	t->last_taken = false;
	t->noted_call = 0;
	t->unreadable_chunks = 0;
	t->unreadable_bytes = 0;
	c->nthreads_seen++;
	put_thread(c, slot, job);
}

/*
 * Whether to wake the thread that waits for a free chunk: only when half of the ring is free, since
 * otherwise the thread would soon wait again.
 */
static bool may_go_on(const struct adept_thread *sh, u32 upto, u32 nchunks)
{
	return (__atomic_load_n(&sh->head, __ATOMIC_RELAXED) - upto) * 2 <= nchunks;
}

/* Called by a writer thread when the store has all chunks before @job->upto: return them. */
static void give_chunks(struct dep_job *job)
{
	struct dep_collector *c = job->owner;
	struct thread_slot *t = &c->threads[job->slot];
	struct adept_thread *sh = shared(c, job->slot);

	if (job->dirty)
		memset((u8 *)job->body, 0, job->dirty);
	store(&t->given, (u32)job->upto);
	__atomic_store_n(&sh->tail, (u32)job->upto, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&sh->tail_waits, __ATOMIC_SEQ_CST) &&
	    may_go_on(sh, (u32)job->upto, c->s->layout.nchunks))
		futex_wake(&sh->tail);
}

/* Queue @job for the chunks before @upto. */
static void put_chunks(struct dep_collector *c, u32 slot, struct dep_job *job, u32 upto)
{
	job->done = give_chunks;
	job->owner = c;
	job->slot = slot;
	job->upto = upto;
	c->threads[slot].taken = upto;
	dep_queue_put(c->queue, job);
}

/* From now on discard the chunks of a corrupt ring, so that its thread can continue. */
static bool break_ring(struct dep_collector *c, u32 slot, const char *why)
{
	struct thread_slot *t = &c->threads[slot];
	struct dep_job *job = dep_queue_job(c->queue, DEP_JOB_NOTHING, 0);

	if (!job)
		return false;
	if (!t->broken) {
		dep_collector_message(c, "thread %u (tid %u): %s; it is not recorded from now on",
			     t->serial, t->tid, why);
		t->broken = true;
		c->broken++;
		c->loss.corrupt++;
	}
	put_chunks(c, slot, job, t->head);
	return true;
}

static bool chunk_is_sane(struct dep_collector *c, struct thread_slot *t,
			  const struct adept_chunk *k)
{
	return k->fill <= c->s->layout.chunk_size && k->tail_at <= k->fill &&
	       (k->seq >= t->next_seq || t->adopted) && k->seq != UINT64_MAX;
}

static bool is_kept(struct dep_collector *c)
{
	return c->w && !dep_queue_stopped(c->queue);
}

/* Queue the next published chunk. Return: false without memory. */
static bool take_chunk(struct dep_collector *c, u32 slot)
{
	struct thread_slot *t = &c->threads[slot];
	u32 index = t->taken % nchunks(c), size = c->s->layout.chunk_size;
	bool kept = is_kept(c), sane, again;
	struct dep_job *job;
	struct adept_chunk k;

	memcpy(&k, &shared(c, slot)->chunk[index], sizeof(k));
	sane = chunk_is_sane(c, t, &k);
	again = sane && k.seq < t->next_seq;
	job = dep_queue_job(c->queue, sane && kept && !again ? DEP_JOB_SEGMENT : DEP_JOB_NOTHING,
			    0);
	if (!job)
		return false;
	job->body = dep_session_chunk(c->s, slot, index);
	job->dirty = size;
	if (!sane) {
		if (!t->complained) {
			dep_collector_message(c, "thread %u (tid %u): discarding a chunk with an "
					      "invalid header", t->serial, t->tid);
			c->loss.corrupt++;
		}
		t->complained = true;
		c->loss.discarded_bytes += k.fill <= size ? k.fill : size;
	} else if (!again) {
		t->adopted = false;
		t->next_seq = k.seq + 1;
		t->dropped_chunks = k.dropped_chunks;
		t->dropped_bytes = k.dropped_bytes;
		if (c->w && !kept)
			c->loss.discarded_bytes += k.fill;
		c->raw_bytes += k.fill;
		c->nchunks++;
		job->serial = t->serial;
		job->last_of = c->last_of;
		job->chunk = k;
		job->size = k.fill;
		/* Values of a record that was begun and abandoned may follow the last record. */
		if (size - k.fill > ADEPT_MAX_RECORD)
			job->dirty = k.fill + ADEPT_MAX_RECORD;
	}
	put_chunks(c, slot, job, t->taken + 1);
	return true;
}

/* Note that a trigger of number @number was met, which a thread has written: it can be anything. */
static void note_trigger(struct dep_collector *c, u32 slot, u32 number, u32 reason, u64 us)
{
	const struct adept_triggers *g = &c->s->layout.triggers;
	struct dep_kept *k;

	if (number >= ADEPT_TRIGGERS || !*g->of[number].glob || c->ntriggered == ADEPT_TRIGGERS)
		return;
	k = &c->triggered[c->ntriggered++];
	*k = (struct dep_kept){ .reason = reason, .tid = c->threads[slot].tid };
	if (g->of[number].slow_ns)
		k->value = us * 1000;
	else
		k->reason = DEP_KEEP_CALL;
	memcpy(k->what, g->of[number].glob, sizeof(g->of[number].glob));
}

static u32 number_of(u64 word)
{
	return (u32)(word & ((1u << ADEPT_TRIGGER_BITS) - 1)) - 1;
}

/* Look once at a call that has not returned for much longer than its trigger allows. */
static void look_at_call(struct dep_collector *c, u32 slot, u64 word)
{
	const struct adept_triggers *g = &c->s->layout.triggers;
	u64 now = now_ns() / 1000, since = word >> ADEPT_TRIGGER_BITS;
	u32 number = number_of(word);

	if (number >= ADEPT_TRIGGERS || !g->of[number].slow_ns || since > now ||
	    now - since < g->of[number].slow_ns / 1000 * LONG_CALL)
		return;
	c->threads[slot].noted_call = word;
	note_trigger(c, slot, number, DEP_KEEP_LONG, now - since);
}

/* Take the trigger that a thread has met. */
static void take_trigger(struct dep_collector *c, u32 slot)
{
	struct adept_thread *sh = shared(c, slot);
	u64 word;

	if (load(&sh->trigger)) {
		word = __atomic_exchange_n(&sh->trigger, 0, __ATOMIC_ACQUIRE);
		note_trigger(c, slot, number_of(word), DEP_KEEP_SLOW, word >> ADEPT_TRIGGER_BITS);
	}
	word = load(&sh->calling);
	if (word && word != c->threads[slot].noted_call)
		look_at_call(c, slot, word);
}

/* Queue all published chunks of a slot. Return: false without memory; *did: queued some. */
static bool take_chunks(struct dep_collector *c, u32 slot, bool *did)
{
	struct thread_slot *t = &c->threads[slot];

	take_trigger(c, slot);
	if (c->s->module) {
		dep_module_chunks_take(c, slot, did);
		return true;
	}
	if (t->broken)
		return t->head == t->taken || break_ring(c, slot, "");
	if (t->head - load(&t->given) > nchunks(c) || t->head - t->taken > nchunks(c))
		return break_ring(c, slot, "its ring is invalid");
	while (t->taken != t->head) {
		if (!take_chunk(c, slot))
			return false;
		*did = true;
	}
	return true;
}

/*
 * Take the unpublished chunk that a thread was filling when it was killed or called execve, or that
 * it is still filling (@living). Whole records up to the first zero id are stored.
 */
static bool take_unpublished(struct dep_collector *c, u32 slot, bool living)
{
	struct thread_slot *t = &c->threads[slot];
	u32 index = t->taken % nchunks(c), size = c->s->layout.chunk_size;
	struct dep_job *job;
	struct adept_chunk k;
	bool did;

	if (c->s->module)
		return dep_module_chunks_finish(c, slot, living);
	if (t->broken || !c->w || c->s->layout.flags & (ADEPT_S_NULL | ADEPT_S_NO_RECORD))
		return true;
	memcpy(&k, &shared(c, slot)->chunk[index], sizeof(k));
	/* If the thread has not begun the chunk, its header is that of the previous use. */
	if (k.seq < t->next_seq || k.seq == UINT64_MAX || load(&shared(c, slot)->discarding))
		return true;
	job = dep_queue_job(c->queue, DEP_JOB_SCAN, living ? size : 0);
	if (!job)
		return false;
	job->serial = t->serial;
	job->last_of = c->last_of;
	job->chunk = k;
	memset(&job->chunk.tail, 0, sizeof(job->chunk.tail));
	job->size = size;
	job->body = dep_session_chunk(c->s, slot, index);
	/* A living thread continues to write: copy first, then take descriptors of new code. */
	if (living) {
		dep_copy_upwards(job->data, job->body, size);
		job->body = NULL;
		if (!dep_procs_drain(c, &did)) {
			dep_queue_cancel(c->queue, job);
			return false;
		}
	}
	t->next_seq = k.seq + 1;
	dep_queue_put(c->queue, job);
	return true;
}

static void free_slot(struct dep_collector *c, u32 slot)
{
	const struct adept_session *l = &c->s->layout;
	struct adept_thread *sh = shared(c, slot);

	c->threads[slot].complained = false;
	c->threads[slot].closing = false;
	if (c->s->module)
		dep_module_chunks_free(c, slot);
	else
		dep_punch(c, adept_chunk_off(l, slot, 0), l->nchunks * adept_chunk_stride(l));
	memset((char *)sh + sizeof(sh->state), 0, sizeof(*sh) - sizeof(sh->state));
	store(&sh->state, ADEPT_SLOT_FREE);
}

/* Read the ring's final counters. */
static void tally(struct dep_collector *c, u32 slot)
{
	struct thread_slot *t = &c->threads[slot];

	if (c->s->module) {
		dep_module_chunks_tally(c, slot);
		return;
	}
	t->absent_chunks = load(&shared(c, slot)->absent_chunks);
	t->absent_bytes = load(&shared(c, slot)->absent_bytes);
	t->flushes = load(&shared(c, slot)->flushes);
	t->null_bytes = load(&shared(c, slot)->null_bytes);
}

/* Called by a writer thread when the store has the thread's end: the loop may free the slot. */
static void thread_stored(struct dep_job *job)
{
	struct dep_collector *c = job->owner;

	store(&c->threads[job->slot].stored, true);
	dep_queue_wake(job->queue);
}

/* Queue the end of the thread's stream. An ended thread's slot is freed when it is stored. */
static bool close_thread(struct dep_collector *c, u32 slot, enum thread_close close)
{
	struct thread_slot *t = &c->threads[slot];
	struct dep_job *job = dep_queue_job(c->queue, DEP_JOB_THREAD_END,
					    ADEPT_THREAD_NAME);

	if (!job)
		return false;
	tally(c, slot);
	c->loss.dropped_chunks += t->dropped_chunks;
	c->loss.dropped_bytes += t->dropped_bytes;
	/* Chunks whose first registers are not known cannot be recovered; see module_chunks.c. */
	c->loss.discarded_bytes += t->unreadable_bytes;
	c->loss.absent_chunks += t->absent_chunks;
	c->loss.absent_bytes += t->absent_bytes;
	c->null_bytes += t->null_bytes;
	if (!(c->s->layout.flags & ADEPT_S_NULL))
		c->loss.discarded_bytes += t->null_bytes;
	t->end = how_ended(c, slot, close);
	c->loss.unfinished_threads += t->end == DEP_END_UNFINISHED;
	c->loss.untaken_threads += t->end == DEP_END_UNTAKEN;
	t->open = false;
	if (close == CLOSE_ENDED) {
		t->closing = true;
		c->nclosing++;
		job->done = thread_stored;
		job->owner = c;
		job->slot = slot;
	}
	put_thread(c, slot, job);
	return true;
}

static bool free_if_stored(struct dep_collector *c, u32 slot)
{
	if (!load(&c->threads[slot].stored))
		return false;
	free_slot(c, slot);
	c->nclosing--;
	return true;
}

bool dep_threads_consume(struct dep_collector *c)
{
	bool did = false;
	u32 i, slot;

	for (i = 0; i < c->nused; i++) {
		struct thread_slot *t;

		slot = c->used[i];
		t = &c->threads[slot];
		if (t->closing) {
			if (free_if_stored(c, slot))
				did = true;
			continue;
		}
		if (!t->open && (t->state == ADEPT_SLOT_LIVE || t->state == ADEPT_SLOT_ENDED))
			open_thread(c, slot);
		if (!t->open || !take_chunks(c, slot, &did))
			continue;
		if (t->state == ADEPT_SLOT_ENDED && take_unpublished(c, slot, false) &&
		    close_thread(c, slot, CLOSE_ENDED))
			did = true;
	}
	return did;
}

bool dep_threads_end_slot(struct dep_collector *c, u32 proc)
{
	bool did, all = true;
	u32 i, slot;

	for (i = 0; i < c->nused; i++) {
		struct thread_slot *t;

		slot = c->used[i];
		t = &c->threads[slot];
		if (t->closing)
			continue;
		if (t->open ? t->proc != proc :
			      load(&shared(c, slot)->proc) != proc ||
			      load(&shared(c, slot)->proc_serial) != c->procs[proc].serial)
			continue;
		if (!t->open) {
			/* The slot was only claimed, or open_thread() rejected it. */
			if (load(&shared(c, slot)->state) != ADEPT_SLOT_FREE)
				free_slot(c, slot);
			continue;
		}
		if (!take_chunks(c, slot, &did) || !take_unpublished(c, slot, false) ||
		    !close_thread(c, slot, CLOSE_ENDED))
			all = false;
	}
	return all;
}

/* True if process @pid has an open slot: then it has executed another image. */
static bool has_slot(const struct dep_collector *c, u32 pid)
{
	u32 i;

	for (i = 0; i < c->s->layout.nprocs; i++)
		if (c->procs[i].open && c->procs[i].pid == pid)
			return true;
	return false;
}

bool dep_threads_left_alive(struct dep_collector *c, u32 proc)
{
	u32 i, tgid;

	for (i = 0; i < c->nused; i++) {
		struct adept_thread *sh = shared(c, c->used[i]);

		if (load(&dep_session_proc(c->s, proc)->ns) & ADEPT_NS_TIDS)
			break;
		if (load(&sh->state) == ADEPT_SLOT_LIVE && load(&sh->proc) == proc &&
		    load(&sh->proc_serial) == c->procs[proc].serial &&
		    dep_image_of_other(c, load(&sh->tid), c->procs[proc].pid, &tgid) &&
		    !has_slot(c, tgid))
			return true;
	}
	return false;
}

bool dep_threads_leave(struct dep_collector *c)
{
	bool did, all = true;
	u32 i, slot;

	for (i = 0; i < c->nused; i++) {
		slot = c->used[i];
		if (c->threads[slot].open &&
		    (!take_chunks(c, slot, &did) || !take_unpublished(c, slot, true) ||
		     !close_thread(c, slot, CLOSE_LEFT)))
			all = false;
	}
	return all;
}

void dep_threads_give_up(struct dep_collector *c)
{
	u32 i;

	for (i = 0; i < c->nused; i++)
		if (c->threads[c->used[i]].open)
			close_thread(c, c->used[i], CLOSE_UNTAKEN);
}

void dep_threads_release(struct dep_collector *c)
{
	u32 i;

	for (i = 0; i < c->nused; i++)
		futex_wake(&shared(c, c->used[i])->tail);
}
