// SPDX-License-Identifier: LGPL-2.1-or-later
/* The chunks and descriptors of a window, and their bounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "window_disk.h"

#define MAX_SPARE	4u
/* Chunks may have this part of the bound, or so much or half of it, whatever descriptors take. */
#define CHUNKS_PART	16u
#define CHUNKS_LEAST	(1ull << 20)
#define DESCRIPTORS_LEAST (64ull << 20)	/* bytes of descriptors that are allowed with any bound */
/* A trim is wanted for so many bytes that may be useless, and this part of the bound. */
#define LOOSE_LEAST	(256u << 10)
#define LOOSE_PART	16u

struct dep_window *dep_window_new(u64 bytes, u64 ns, u32 chunk_size)
{
	struct dep_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->max_bytes = bytes;
	w->max_ns = ns;
	w->block = dep_kept_memory(chunk_size);
	w->newest = &w->oldest;
	w->saving.last = &w->saving.first;
	w->dropped.max_bytes = bytes;
	w->dropped.max_ns = ns;
	return w;
}

static u64 most_descriptors(const struct dep_window *w)
{
	u64 bytes = w->disk && w->disk->max_memory ? w->disk->max_memory : w->max_bytes;

	return bytes > DESCRIPTORS_LEAST ? bytes : DESCRIPTORS_LEAST;
}

int dep_window_count_descriptors(struct dep_window *w)
{
	u64 bytes = w->descriptors.bytes + w->index_bytes + w->fates.bytes +
		    w->processes.bytes + w->threads.bytes;

	__atomic_store_n(&w->descriptor_bytes, bytes, __ATOMIC_RELAXED);
	return bytes <= most_descriptors(w) ? 0 : -E2BIG;
}

/* Bytes of memory for a chunk: those of a block if it fills most of one. */
static size_t memory_of(const struct dep_window *w, u32 fill)
{
	size_t size = dep_kept_memory(fill);

	return size <= w->block && size > w->block - w->block / 8 ? w->block : size;
}

static struct dep_kept_chunk *new_kept(struct dep_window *w, size_t size)
{
	struct dep_kept_chunk *k = w->spare;

	if (size != w->block || !k)
		return dep_kept_new(size);
	w->spare = k->next;
	w->nspare--;
	k->refs = 1;
	k->next = NULL;
	return k;
}

/* A copy of the chunk of @job. */
struct dep_kept_chunk *dep_window_copy_chunk(struct dep_window *w, const struct dep_job *job,
					     struct dep_moment now)
{
	struct dep_kept_chunk *k = new_kept(w, memory_of(w, job->chunk.fill));

	if (!k)
		return NULL;
	k->thread = job->serial;
	k->added = now;
	k->chunk = job->chunk;
	memcpy(k->body, job->body ? job->body : job->data, k->chunk.fill);
	return k;
}

/* Free a chunk that was dropped, or keep its memory for the next one. */
static void recycle(struct dep_window *w, struct dep_kept_chunk *k)
{
	/* A snapshot that still has the chunk frees it. */
	if (!dep_kept_last(k))
		return;
	if (k->size != w->block || !k->mapped || w->nspare == MAX_SPARE) {
		dep_kept_free(k);
		return;
	}
	k->next = w->spare;
	w->spare = k;
	w->nspare++;
}

void dep_window_drop_oldest(struct dep_window *w)
{
	struct dep_kept_chunk *k = w->oldest;
	struct entry *t = dep_entries_find(&w->threads, k->thread);

	w->nchunks--;
	w->oldest = k->next;
	if (!w->oldest)
		w->newest = &w->oldest;
	__atomic_store_n(&w->bytes, w->bytes - k->size, __ATOMIC_RELAXED);
	if (w->last_bytes > w->bytes)
		w->last_bytes = w->bytes;
	w->dropped.from_ns = k->added.ns;
	w->dropped.from_timestamp = k->added.timestamp;
	w->dropped.chunks++;
	w->dropped.bytes += k->chunk.fill;
	if (t) {
		t->last.first = k->chunk.seq + 1;
		t->last.chunks++;
		t->last.bytes += k->chunk.fill;
		t->dropped_ns = k->chunk.start_ns;
		t->holders--;
		if (w->disk && !t->holders && !t->end)
			dep_disk_log_dropped(w, t);
		dep_window_release_thread(w, t);
	}
	if (w->disk)
		dep_disk_dropped(w, k);
	recycle(w, k);
}

void dep_window_expire(struct dep_window *w, struct dep_moment now)
{
	while (w->max_ns && w->oldest && now.ns - w->oldest->added.ns > w->max_ns)
		dep_window_drop_oldest(w);
}

/*
 * Descriptors count in the bound, too. Those that only old chunks name go with these. Something is
 * left to chunks in any case, since code that can still be executed must stay described.
 */
u64 dep_window_least(const struct dep_window *w, u64 bytes)
{
	u64 least = bytes / 2 < CHUNKS_LEAST ? bytes / 2 : CHUNKS_LEAST;

	return least < w->max_bytes / CHUNKS_PART && w->max_bytes / CHUNKS_PART < bytes ?
	       w->max_bytes / CHUNKS_PART : least;
}

static u64 room_for_chunks(const struct dep_window *w)
{
	u64 least = dep_window_least(w, w->max_bytes);

	if (w->disk)
		return dep_disk_room(w);
	return w->descriptor_bytes > w->max_bytes - least ? least :
	       w->max_bytes - w->descriptor_bytes;
}

/* Bytes that count in the bound of bytes: those of a file go when nothing of it is left. */
static u64 bytes_of_chunks(const struct dep_window *w)
{
	return (w->disk ? w->disk->file_bytes : w->bytes) - w->last_bytes;
}

/* Does a window on the disk have more in memory than it may, with a part left to its chunks? */
static bool is_short_of_memory(const struct dep_window *w)
{
	u64 chunks = w->nchunks * sizeof(struct dep_kept_chunk);
	u64 most = w->disk ? w->disk->max_memory : 0;

	return most && chunks > most / CHUNKS_PART && chunks + w->descriptor_bytes > most;
}

static int keep_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now,
		      struct dep_kept_chunk **out)
{
	if (w->disk)
		return dep_disk_add(w, job, now, out);
	*out = dep_window_copy_chunk(w, job, now);
	return *out ? 0 : -ENOMEM;
}

void dep_window_append(struct dep_window *w, struct dep_kept_chunk *k)
{
	struct entry *t = dep_entries_find(&w->threads, k->thread);

	if (t) {
		t->holders++;
		t->chunks++;
		t->bytes += k->chunk.fill;
	}
	*w->newest = k;
	w->newest = &k->next;
	w->nchunks++;
	__atomic_store_n(&w->bytes, w->bytes + k->size, __ATOMIC_RELAXED);
}

void dep_window_fit(struct dep_window *w, u64 more)
{
	while (w->oldest && (bytes_of_chunks(w) + more > room_for_chunks(w) ||
			     is_short_of_memory(w)))
		dep_window_drop_oldest(w);
}

int dep_window_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now)
{
	u64 size = w->disk ? dep_window_file_size(job->chunk.fill) : memory_of(w, job->chunk.fill);
	struct dep_kept_chunk *k;
	int err = 0;

	if (!job->last_of || job->last_of != w->last_of)
		w->last_bytes = 0;
	w->last_of = job->last_of;
	dep_window_expire(w, now);
	dep_window_fit(w, job->last_of ? 0 : size);
	/* What was dropped has made the log longer. */
	if (w->disk)
		err = dep_disk_log_trim(w);
	if (!err)
		err = keep_chunk(w, job, now, &k);
	if (err)
		return err;
	dep_window_append(w, k);
	w->last_bytes += job->last_of ? k->size : 0;
	return 0;
}

int dep_window_descriptors(struct dep_window *w, u32 process, const u8 *data, size_t size,
			   u64 index_bytes)
{
	const struct adept_desc *h;
	size_t at, from = 0;
	int keep, big, err = 0;

	/* Add those that are kept, as many at once as follow each other. */
	for (at = 0; at < size && !err; at += h->size) {
		h = (const void *)(data + at);
		if (!dep_desc_next(h, size - at))
			return -EBADMSG;
		keep = dep_fates_note(&w->fates, process, h);
		if (keep == 1)
			continue;
		err = keep ? keep : dep_batches_add(&w->descriptors, process, data + from,
						    at - from);
		from = at + h->size;
	}
	if (!err)
		err = dep_batches_add(&w->descriptors, process, data + from, size - from);
	w->index_bytes = index_bytes;
	if (!err && w->disk)
		err = dep_disk_log_descriptors(w, process, data, size);
	big = dep_window_count_descriptors(w);
	if (w->fates.loose > LOOSE_LEAST && w->fates.loose > w->max_bytes / LOOSE_PART)
		__atomic_store_n(&w->wants_trim, true, __ATOMIC_RELEASE);
	return err ? err : big;
}

u64 dep_window_descriptor_bytes(const struct dep_window *w)
{
	return __atomic_load_n(&w->descriptor_bytes, __ATOMIC_RELAXED);
}

void dep_window_reason(struct dep_window *w, const struct dep_kept *kept)
{
	w->dropped.kept = *kept;
}

bool dep_window_is_empty(const struct dep_window *w)
{
	return !w->oldest;
}

u64 dep_window_bytes(const struct dep_window *w)
{
	return __atomic_load_n(&w->bytes, __ATOMIC_RELAXED);
}

void dep_window_dropped(const struct dep_window *w, struct dep_last *out)
{
	*out = w->dropped;
}

static void free_spare(struct dep_kept_chunk *k)
{
	struct dep_kept_chunk *next;

	for (; k; k = next) {
		next = k->next;
		dep_kept_free(k);
	}
}

void dep_window_free(struct dep_window *w)
{
	if (!w)
		return;
	dep_window_clear_saving(&w->saving);
	dep_kept_put_list(w->oldest);
	free_spare(w->spare);
	dep_trim_free(w->trim);
	dep_fates_free(&w->fates);
	dep_batches_drop(&w->descriptors);
	dep_entries_free(&w->processes);
	dep_entries_free(&w->threads);
	dep_disk_free(w->disk);
	free(w);
}
