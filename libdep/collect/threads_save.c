// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * For a snapshot: copy what living threads have written to their unfinished chunks.
 *
 * The threads are not stopped and notice nothing. A copy has all records that a thread had finished
 * when it was made, as the read of a killed thread's last chunk has. The copies are made one after
 * the other, so one thread's copy can have events that another one's is too early for. The merge
 * (libdep/analyze/merge) takes the end of such a stream for a gap, so that orders nothing wrongly.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define PAGE_WORDS	(ADEPT_PAGE / 8u)
#define TRIES		4	/* copies of a chunk that a thread begins again meanwhile */

static struct adept_thread *shared(const struct dep_collector *c, u32 slot)
{
	return dep_session_thread(c->s, slot);
}

static bool is_zero(const u64 *page)
{
	u64 any = 0;
	u32 i;

	for (i = 0; i < PAGE_WORDS; i++)
		any |= __atomic_load_n(&page[i], __ATOMIC_RELAXED);
	return !any;
}

/*
 * Bytes of the chunk that have records. A record has an id that is not zero and is shorter than a
 * page, so the records end before a page of zeros. Pages behind it are not touched: that would
 * allocate their memory.
 */
static u32 used_bytes(const u8 *body, u32 size)
{
	u32 at = 0;

	while (at + ADEPT_PAGE <= size && !is_zero((const u64 *)(body + at)))
		at += ADEPT_PAGE;
	return at;
}

/* Do both headers describe the same use of the chunk? Its end may have been set meanwhile. */
static bool is_same(const struct adept_chunk *a, const struct adept_chunk *b)
{
	return a->seq == b->seq && !memcmp(&a->head, &b->head, sizeof(a->head)) &&
	       a->start_ns == b->start_ns && a->timestamp == b->timestamp &&
	       a->fs_base == b->fs_base && a->gs_base == b->gs_base &&
	       !memcmp(a->regs, b->regs, sizeof(a->regs));
}

static bool has_begun(const struct thread_slot *t, const struct adept_chunk *k)
{
	return k->seq >= t->next_seq && k->seq != UINT64_MAX;
}

int dep_threads_copy(struct dep_collector *c, u32 slot, enum dep_job_kind kind,
		     struct dep_job **job)
{
	const struct thread_slot *t = &c->threads[slot];
	u32 index = t->taken % c->s->layout.nchunks, size, tries;
	const struct adept_chunk *header = &shared(c, slot)->chunk[index];
	const u8 *body = dep_session_chunk(c->s, slot, index);
	struct adept_chunk k, after;

	*job = NULL;
	for (tries = 0; tries < TRIES; tries++) {
		memcpy(&k, header, sizeof(k));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		size = has_begun(t, &k) ? used_bytes(body, c->s->layout.chunk_size) : 0;
		if (!size)
			return 0;
		*job = dep_queue_job(c->queue, kind, size);
		if (!*job)
			return -ENOMEM;
		dep_copy_upwards((*job)->data, body, size);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		memcpy(&after, header, sizeof(after));
		if (is_same(&k, &after))
			break;
		dep_queue_cancel(c->queue, *job);
		*job = NULL;
	}
	if (!*job)
		return -EAGAIN;
	(*job)->serial = t->serial;
	(*job)->size = size;
	(*job)->chunk = k;
	memset(&(*job)->chunk.tail, 0, sizeof(k.tail));
	return 0;
}

/* struct save - jobs for one thread */
struct save {
	struct dep_job *chunk, *end;	/* @chunk may be NULL */
};

static int save_thread(struct dep_collector *c, u32 slot, struct save *s, struct dep_loss *loss)
{
	struct thread_slot *t = &c->threads[slot];
	struct adept_thread *sh = shared(c, slot);
	u64 dropped_chunks = t->dropped_chunks, dropped_bytes = t->dropped_bytes;
	u32 end = DEP_END_LEFT;
	int err = 0;

	s->end = dep_queue_job(c->queue, DEP_JOB_SAVE_END, ADEPT_THREAD_NAME);
	if (!s->end)
		return -ENOMEM;
	if (t->broken)
		end = DEP_END_CORRUPT;
	else if (load(&sh->discarding))
		end = DEP_END_STOPPED;
	else
		err = dep_threads_copy(c, slot, DEP_JOB_SAVE_SCAN, &s->chunk);
	if (err == -EAGAIN) {
		end = DEP_END_UNTAKEN;
		loss->untaken_threads++;
		err = 0;
	}
	if (s->chunk) {
		dropped_chunks = s->chunk->chunk.dropped_chunks;
		dropped_bytes = s->chunk->chunk.dropped_bytes;
	}
	loss->dropped_chunks += dropped_chunks;
	loss->dropped_bytes += dropped_bytes;
	loss->absent_chunks += load(&sh->absent_chunks);
	loss->absent_bytes += load(&sh->absent_bytes);
	if (!(c->s->layout.flags & ADEPT_S_NULL))
		loss->discarded_bytes += load(&sh->null_bytes);
	dep_threads_fill(c, slot, s->end);
	s->end->thread.end = end;
	return err;
}

static void cancel(struct dep_collector *c, struct save *s)
{
	if (s->chunk)
		dep_queue_cancel(c->queue, s->chunk);
	if (s->end)
		dep_queue_cancel(c->queue, s->end);
}

int dep_threads_save(struct dep_collector *c, struct dep_loss *loss)
{
	struct save *save = calloc(c->nused + 1, sizeof(*save));
	u32 i, n = 0;
	int err = save ? 0 : -ENOMEM;
	bool did;

	for (i = 0; i < c->nused && !err; i++)
		if (c->threads[c->used[i]].open)
			err = save_thread(c, c->used[i], &save[n++], loss);
	/* Code that the copies are of may have been translated since descriptors were taken. */
	if (!err && !dep_procs_drain(c, &did))
		err = -EAGAIN;
	for (i = 0; i < n; i++) {
		if (err) {
			cancel(c, &save[i]);
			continue;
		}
		if (save[i].chunk)
			dep_queue_put(c->queue, save[i].chunk);
		dep_queue_put(c->queue, save[i].end);
	}
	free(save);
	return err;
}
