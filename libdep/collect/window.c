// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "internal.h"
#include "kept_chunk.h"
#include "kept_descriptors.h"
#include "window.h"

#define MAX_SPARE	4u
/* Chunks may have this part of the bound, or so much or half of it, whatever descriptors take. */
#define CHUNKS_PART	16u
#define CHUNKS_LEAST	(1ull << 20)
#define DESCRIPTORS_LEAST (64ull << 20)	/* bytes of descriptors that are allowed with any bound */
/* A trim is wanted for so many bytes that may be useless, and this part of the bound. */
#define LOOSE_LEAST	(256u << 10)
#define LOOSE_PART	16u

/*
 * Entry of a process or thread in a list sorted by serial. A process is held by its threads and by
 * the processes that it forked, which have its mappings.
 */
struct entry {
	u32 serial;
	u32 owner;		/* of a thread: its process; of a process: the one that forked it */
	u64 holders;		/* of a thread: its chunks; of a process: entries with this owner */
	struct dep_job *begin, *end;
	/* The following fields are for threads. */
	struct dep_last_thread last;
	u64 dropped_ns;		/* when the last chunk that was dropped had begun; 0: none */
	/* During a trim: when the chunk before the next one began; when it was in a system call. */
	u64 before_ns, idle_ns;
};

struct entries {
	struct entry *row;
	size_t n, room;
};

/* What a snapshot has besides what the window keeps: of threads that go on. */
struct saving {
	struct dep_kept_chunk *first, **last;	/* their unfinished chunks */
	struct dep_job **end;			/* how their streams end */
	size_t nend, room;
	size_t nchunks;
	bool failed;				/* there was no memory */
};

struct dep_window {
	u64 max_bytes, max_ns;
	struct dep_kept_chunk *oldest, **newest;
	size_t nchunks;
	u64 bytes;		/* of all chunks */
	/* bytes for a full chunk; such memory is used again, since new memory costs page faults */
	size_t block;
	struct dep_kept_chunk *spare;
	u32 nspare;
	u32 last_of;		/* as in the job of the newest chunk */
	u64 index_bytes;	/* of the writer's index, when descriptors came last */
	u64 descriptor_bytes;	/* of @descriptors, @fates and that index */
	u64 last_bytes;		/* of the newest chunks, with that @last_of: not in the bound */
	struct entries processes, threads;
	struct dep_batches descriptors;
	struct dep_fates fates;
	struct dep_trim *trim;
	bool wants_trim;
	struct dep_last dropped;
	struct saving saving;
};

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

/* ---- entries of processes and threads ---- */

/* Index of @serial, or where it would be. Serials mostly ascend, so look at the end first. */
static size_t place_of(const struct entries *e, u32 serial)
{
	size_t low = 0, high = e->n, half;

	if (!e->n || e->row[e->n - 1].serial < serial)
		return e->n;
	while (low < high) {
		half = low + (high - low) / 2;
		if (e->row[half].serial < serial)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

static struct entry *find(const struct entries *e, u32 serial)
{
	size_t i = place_of(e, serial);

	return i < e->n && e->row[i].serial == serial ? &e->row[i] : NULL;
}

static struct entry *insert(struct entries *e, u32 serial)
{
	size_t i = place_of(e, serial), room = e->room ? 2 * e->room : 64;
	struct entry *more;

	if (i < e->n && e->row[i].serial == serial)
		return &e->row[i];
	if (e->n == e->room) {
		more = realloc(e->row, room * sizeof(*more));
		if (!more)
			return NULL;
		e->row = more;
		e->room = room;
	}
	memmove(&e->row[i + 1], &e->row[i], (e->n++ - i) * sizeof(*e->row));
	memset(&e->row[i], 0, sizeof(e->row[i]));
	e->row[i].serial = serial;
	return &e->row[i];
}

static void delete(struct entries *e, struct entry *row)
{
	free(row->begin);
	free(row->end);
	e->n--;
	memmove(row, row + 1, (size_t)(e->row + e->n - row) * sizeof(*row));
}

static void count_descriptors(struct dep_window *w)
{
	__atomic_store_n(&w->descriptor_bytes, w->descriptors.bytes + w->index_bytes +
			 dep_fates_bytes(&w->fates), __ATOMIC_RELAXED);
}

/* Forget process @serial, and those that it was forked from, if nothing holds them any more. */
static void release_process(struct dep_window *w, u32 serial)
{
	struct entry *p;

	while ((p = find(&w->processes, serial)) && p->end && !p->holders) {
		dep_batches_forget(&w->descriptors, serial);
		dep_fates_forget(&w->fates, serial);
		count_descriptors(w);
		serial = p->owner;
		delete(&w->processes, p);
		w->dropped.processes++;
		p = find(&w->processes, serial);
		if (p)
			p->holders--;
	}
}

static void release_thread(struct dep_window *w, struct entry *t)
{
	struct entry *p = find(&w->processes, t->owner);

	if (!t->end || t->holders)
		return;
	delete(&w->threads, t);
	w->dropped.threads++;
	if (!p)
		return;
	p->holders--;
	release_process(w, p->serial);
}

/* A text of job @from, at the same place in its copy @to. */
static const char *moved(const char *text, const struct dep_job *from, struct dep_job *to)
{
	return text ? (const char *)to->data + (text - (const char *)from->data) : NULL;
}

static struct dep_job *copy_job(const struct dep_job *from)
{
	struct dep_job *job = malloc(sizeof(*job) + from->room);

	if (!job)
		return NULL;
	memcpy(job, from, sizeof(*job) + from->room);
	job->next = NULL;
	job->done = NULL;
	job->state = 0;
	if (job->kind == DEP_JOB_PROCESS) {
		job->process.exe = moved(from->process.exe, from, job);
		job->process.cmdline = moved(from->process.cmdline, from, job);
	} else if (job->kind == DEP_JOB_THREAD_END || job->kind == DEP_JOB_SAVE_END) {
		job->thread.name = moved(from->thread.name, from, job);
	}
	return job;
}

/* Begin the entry of @job, held by no one, which holds @owner in @owners. */
static int begin(struct entries *e, const struct dep_job *job, struct entries *owners, u32 owner)
{
	struct entry *row = insert(e, job->serial), *o;

	if (!row)
		return -ENOMEM;
	row->owner = owner;
	row->begin = copy_job(job);
	o = owner ? find(owners, owner) : NULL;
	if (o)
		o->holders++;
	else
		row->owner = 0;
	return row->begin ? 0 : -ENOMEM;
}

int dep_window_entry(struct dep_window *w, const struct dep_job *job)
{
	bool thread = job->kind == DEP_JOB_THREAD || job->kind == DEP_JOB_THREAD_END;
	struct entries *e = thread ? &w->threads : &w->processes;
	struct entry *row;

	if (job->kind == DEP_JOB_THREAD)
		return begin(e, job, &w->processes, job->thread.process);
	if (job->kind == DEP_JOB_PROCESS && job->process.cause != ADEPT_BY_FORK)
		return begin(e, job, e, 0);
	if (job->kind == DEP_JOB_PROCESS)
		return dep_fates_inherits(&w->fates, job->serial) ? -ENOMEM :
		       begin(e, job, e, job->process.parent);
	row = find(e, job->serial);
	if (!row || row->end)
		return 0;
	row->end = copy_job(job);
	if (!row->end)
		return -ENOMEM;
	if (thread)
		release_thread(w, row);
	else
		release_process(w, job->serial);
	return 0;
}

/* ---- chunks ---- */

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
static struct dep_kept_chunk *copy_chunk(struct dep_window *w, const struct dep_job *job,
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

static void drop_oldest(struct dep_window *w)
{
	struct dep_kept_chunk *k = w->oldest;
	struct entry *t = find(&w->threads, k->thread);

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
		release_thread(w, t);
	}
	recycle(w, k);
}

void dep_window_expire(struct dep_window *w, struct dep_moment now)
{
	while (w->max_ns && w->oldest && now.ns - w->oldest->added.ns > w->max_ns)
		drop_oldest(w);
}

/*
 * Descriptors count in the bound, too. Those that only old chunks name go with these. Something is
 * left to chunks in any case, since code that can still be executed must stay described.
 */
static u64 room_for_chunks(const struct dep_window *w)
{
	u64 least = w->max_bytes / 2 < CHUNKS_LEAST ? w->max_bytes / 2 : CHUNKS_LEAST;

	if (least < w->max_bytes / CHUNKS_PART)
		least = w->max_bytes / CHUNKS_PART;
	return w->descriptor_bytes > w->max_bytes - least ? least :
	       w->max_bytes - w->descriptor_bytes;
}

int dep_window_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now)
{
	size_t size = memory_of(w, job->chunk.fill);
	struct dep_kept_chunk *k;
	struct entry *t;

	if (!job->last_of || job->last_of != w->last_of)
		w->last_bytes = 0;
	w->last_of = job->last_of;
	dep_window_expire(w, now);
	while (w->oldest &&
	       w->bytes - w->last_bytes + (job->last_of ? 0 : size) > room_for_chunks(w))
		drop_oldest(w);
	k = copy_chunk(w, job, now);
	if (!k)
		return -ENOMEM;
	t = find(&w->threads, job->serial);
	if (t)
		t->holders++;
	*w->newest = k;
	w->newest = &k->next;
	w->nchunks++;
	__atomic_store_n(&w->bytes, w->bytes + size, __ATOMIC_RELAXED);
	w->last_bytes += job->last_of ? size : 0;
	return 0;
}

static u64 most_descriptors(const struct dep_window *w)
{
	return w->max_bytes > DESCRIPTORS_LEAST ? w->max_bytes : DESCRIPTORS_LEAST;
}

int dep_window_descriptors(struct dep_window *w, u32 process, const u8 *data, size_t size,
			   u64 index_bytes)
{
	const struct adept_desc *h;
	size_t at, from = 0;
	int keep, err = 0;

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
	count_descriptors(w);
	if (w->fates.loose > LOOSE_LEAST && w->fates.loose > w->max_bytes / LOOSE_PART)
		__atomic_store_n(&w->wants_trim, true, __ATOMIC_RELEASE);
	return err || w->descriptor_bytes <= most_descriptors(w) ? err : -E2BIG;
}

/* ---- trims ---- */

bool dep_window_wants_trim(const struct dep_window *w)
{
	return __atomic_load_n(&w->wants_trim, __ATOMIC_ACQUIRE);
}

int dep_window_trim_begin(struct dep_window *w, u64 ns, const struct dep_trim_ops *ops)
{
	size_t i;

	__atomic_store_n(&w->wants_trim, false, __ATOMIC_RELEASE);
	dep_trim_free(w->trim);
	w->trim = dep_trim_begin(&w->fates, ns, ops);
	for (i = 0; i < w->threads.n; i++)
		w->threads.row[i].idle_ns = 0;
	return w->trim ? 0 : -ENOMEM;
}

void dep_window_trim_thread(struct dep_window *w, const struct dep_job *job)
{
	struct entry *t = find(&w->threads, job->serial);

	if (!t || !w->trim)
		return;
	t->idle_ns = job->upto;
	dep_trim_mark(w->trim, job->data, (u32)job->size, job->chunk.head.frag, 0);
}

/*
 * Mark what the chunks name. A chunk names nothing that was removed before the one before it began,
 * since a thread takes a record of a removed fragment at most to the next chunk.
 */
static void mark_chunks(struct dep_window *w)
{
	struct dep_kept_chunk *k;
	struct entry *t;

	for (k = w->oldest; k; k = k->next) {
		t = find(&w->threads, k->thread);
		if (!t || t->before_ns <= w->trim->last_ns)
			dep_trim_mark(w->trim, k->body, k->chunk.fill, k->chunk.head.frag,
				      k->chunk.tail.frag);
		if (t)
			t->before_ns = k->chunk.start_ns;
	}
}

void dep_window_trim_end(struct dep_window *w)
{
	struct entry *t;
	size_t i;
	u64 cutoff;

	if (!w->trim)
		return;
	for (i = 0; i < w->threads.n; i++)
		w->threads.row[i].before_ns = w->threads.row[i].dropped_ns;
	mark_chunks(w);
	for (i = 0; i < w->threads.n; i++) {
		t = &w->threads.row[i];
		/* What it names later was removed after this time, or before it began. */
		cutoff = t->end ? w->trim->begin_ns : t->before_ns;
		if (!t->end && t->idle_ns > cutoff)
			cutoff = t->idle_ns;
		if (t->begin && t->begin->thread.start_ns > cutoff)
			cutoff = t->begin->thread.start_ns;
		dep_trim_thread(w->trim, t->owner, cutoff);
	}
	dep_trim_end(w->trim, &w->descriptors);
	w->trim = NULL;
	count_descriptors(w);
}

u64 dep_window_descriptor_bytes(const struct dep_window *w)
{
	return __atomic_load_n(&w->descriptor_bytes, __ATOMIC_RELAXED);
}

void dep_window_reason(struct dep_window *w, const struct dep_kept *kept)
{
	w->dropped.kept = *kept;
}

u64 dep_window_bytes(const struct dep_window *w)
{
	return __atomic_load_n(&w->bytes, __ATOMIC_RELAXED);
}

void dep_window_dropped(const struct dep_window *w, struct dep_last *out)
{
	*out = w->dropped;
}

/* ---- the end ---- */

/* Called by a writer thread when the chunk is in the store. */
static void chunk_stored(struct dep_job *job)
{
	dep_kept_put(job->owner);
}

static int put_chunk(struct dep_queue *q, struct dep_kept_chunk *k)
{
	struct dep_job *job = dep_queue_job(q, DEP_JOB_SEGMENT, 0);

	if (!job)
		return -ENOMEM;
	job->serial = k->thread;
	job->chunk = k->chunk;
	job->size = k->chunk.fill;
	job->body = k->body;
	job->owner = k;
	job->done = chunk_stored;
	dep_queue_put(q, job);
	return 0;
}

/* Fill in what was dropped, and the table @t of all threads. */
static void fill_dropped(const struct dep_window *w, struct dep_last *last,
			 struct dep_last_thread *t)
{
	size_t i;

	*last = w->dropped;
	last->thread = t;
	last->nthreads = w->threads.n;
	for (i = 0; i < w->threads.n; i++) {
		t[i] = w->threads.row[i].last;
		t[i].thread = w->threads.row[i].serial;
		if (w->threads.row[i].end)
			t[i].tid_address = w->threads.row[i].end->tid_address;
	}
}

static int put_dropped(struct dep_window *w, struct dep_queue *q)
{
	struct dep_job *job = dep_queue_job(q, DEP_JOB_LAST,
					    w->threads.n * sizeof(struct dep_last_thread));

	if (!job)
		return -ENOMEM;
	fill_dropped(w, &job->last, (struct dep_last_thread *)job->data);
	dep_queue_put(q, job);
	return 0;
}

/* Called by a writer thread when the descriptors are in the store. */
static void batch_stored(struct dep_job *job)
{
	dep_batch_put(job->owner);
}

static int put_batch(struct dep_queue *q, struct dep_batch *batch)
{
	struct dep_job *job;
	size_t at, size;

	for (at = 0; (size = dep_batch_run(batch, &at)); at += size) {
		job = dep_queue_job(q, DEP_JOB_LOG, 0);
		if (!job)
			return -ENOMEM;
		job->serial = batch->process;
		job->body = batch->data + at;
		job->size = size;
		job->owner = batch;
		job->done = batch_stored;
		__atomic_fetch_add(&batch->refs, 1, __ATOMIC_RELAXED);
		dep_queue_put(q, job);
	}
	return 0;
}

static int put_descriptors(struct dep_window *w, struct dep_queue *q)
{
	struct dep_batches *b = &w->descriptors;
	size_t i;
	int err = 0;

	for (i = 0; i < b->n && !err; i++)
		err = put_batch(q, b->row[i]);
	if (!err)
		dep_batches_drop(b);
	return err;
}

/* Put the first or last jobs of all entries into @q, which then owns them. */
static void put_entries(struct entries *e, struct dep_queue *q, bool last)
{
	struct dep_job **job;
	size_t i;

	for (i = 0; i < e->n; i++) {
		job = last ? &e->row[i].end : &e->row[i].begin;
		if (*job)
			dep_queue_put(q, *job);
		*job = NULL;
	}
}

int dep_window_empty(struct dep_window *w, struct dep_queue *q)
{
	struct dep_kept_chunk *k;
	int err;

	put_entries(&w->processes, q, false);
	err = put_descriptors(w, q);
	put_entries(&w->threads, q, false);
	if (!err)
		err = put_dropped(w, q);
	while (!err && (k = w->oldest)) {
		w->oldest = k->next;
		err = put_chunk(q, k);
		if (err)
			w->oldest = k;
	}
	w->newest = &w->oldest;
	put_entries(&w->threads, q, true);
	put_entries(&w->processes, q, true);
	return err;
}

/* ---- snapshots ---- */

int dep_window_save_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now)
{
	struct saving *s = &w->saving;
	struct dep_kept_chunk *k = copy_chunk(w, job, now);

	if (!k) {
		s->failed = true;
		return -ENOMEM;
	}
	*s->last = k;
	s->last = &k->next;
	s->nchunks++;
	return 0;
}

int dep_window_save_end(struct dep_window *w, const struct dep_job *job)
{
	struct saving *s = &w->saving;
	size_t room = s->room ? 2 * s->room : 16;
	struct dep_job **more;

	if (s->nend == s->room) {
		more = realloc(s->end, room * sizeof(*more));
		if (!more)
			goto fail;
		s->end = more;
		s->room = room;
	}
	s->end[s->nend] = copy_job(job);
	if (!s->end[s->nend])
		goto fail;
	s->nend++;
	return 0;

fail:
	s->failed = true;
	return -ENOMEM;
}

/* Append copies of the first or last jobs of all entries. */
static int copy_entries(const struct entries *e, bool last, struct dep_job **to, size_t *n)
{
	const struct dep_job *job;
	size_t i;

	for (i = 0; i < e->n; i++) {
		job = last ? e->row[i].end : e->row[i].begin;
		if (!job)
			continue;
		to[*n] = copy_job(job);
		if (!to[*n])
			return -ENOMEM;
		++*n;
	}
	return 0;
}

/* The ends of threads, those that go on included, and of processes. */
static int save_ends(struct dep_window *w, struct dep_saved *out)
{
	struct saving *s = &w->saving;
	int err;

	out->end = calloc(w->processes.n + w->threads.n + s->nend + 1, sizeof(*out->end));
	if (!out->end)
		return -ENOMEM;
	err = copy_entries(&w->threads, true, out->end, &out->nend);
	if (err)
		return err;
	memcpy(out->end + out->nend, s->end, s->nend * sizeof(*s->end));
	out->nend += s->nend;
	s->nend = 0;
	return copy_entries(&w->processes, true, out->end, &out->nend);
}

static int save_chunks(struct dep_window *w, struct dep_saved *out)
{
	struct saving *s = &w->saving;
	struct dep_kept_chunk *k;

	out->chunk = calloc(w->nchunks + s->nchunks + 1, sizeof(*out->chunk));
	if (!out->chunk)
		return -ENOMEM;
	for (k = w->oldest; k; k = k->next) {
		dep_kept_get(k);
		out->chunk[out->nchunks++] = k;
	}
	for (k = s->first; k; k = k->next)
		out->chunk[out->nchunks++] = k;
	s->first = NULL;
	return 0;
}

static void free_list(struct dep_kept_chunk *k)
{
	struct dep_kept_chunk *next;

	for (; k; k = next) {
		next = k->next;
		dep_kept_put(k);
	}
}

/* Forget what was collected for a snapshot and is not in it. */
static void clear_saving(struct saving *s)
{
	free_list(s->first);
	while (s->nend)
		free(s->end[--s->nend]);
	free(s->end);
	*s = (struct saving){ .last = &s->first };
}

int dep_window_save(struct dep_window *w, struct dep_saved *out)
{
	int err = w->saving.failed ? -ENOMEM : 0;
	struct dep_last_thread *t;

	*out = (struct dep_saved){ 0 };
	t = calloc(w->threads.n + 1, sizeof(*t));
	out->begin = calloc(w->processes.n + w->threads.n + 1, sizeof(*out->begin));
	if (!t || !out->begin)
		err = -ENOMEM;
	if (t)
		fill_dropped(w, &out->last, t);
	if (!err)
		err = copy_entries(&w->processes, false, out->begin, &out->nbegin);
	if (!err)
		err = copy_entries(&w->threads, false, out->begin, &out->nbegin);
	if (!err)
		err = dep_batches_share(&w->descriptors, &out->descriptors);
	if (!err)
		err = save_ends(w, out);
	if (!err)
		err = save_chunks(w, out);
	clear_saving(&w->saving);
	if (err)
		dep_saved_free(out);
	return err;
}

static void free_jobs(struct dep_job **job, size_t n)
{
	while (n)
		free(job[--n]);
	free(job);
}

void dep_saved_free(struct dep_saved *s)
{
	free_jobs(s->begin, s->nbegin);
	free_jobs(s->end, s->nend);
	while (s->nchunks)
		if (s->chunk[--s->nchunks])
			dep_kept_put(s->chunk[s->nchunks]);
	free(s->chunk);
	dep_batches_drop(&s->descriptors);
	free((void *)s->last.thread);
	*s = (struct dep_saved){ 0 };
}

static void free_entries(struct entries *e)
{
	size_t i;

	for (i = 0; i < e->n; i++) {
		free(e->row[i].begin);
		free(e->row[i].end);
	}
	free(e->row);
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
	clear_saving(&w->saving);
	free_list(w->oldest);
	free_spare(w->spare);
	dep_trim_free(w->trim);
	dep_fates_free(&w->fates);
	dep_batches_drop(&w->descriptors);
	free_entries(&w->processes);
	free_entries(&w->threads);
	free(w);
}
