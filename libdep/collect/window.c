// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "window.h"

#define MAP_LEAST	(64u << 10)	/* larger chunks are mapped: freeing returns their memory */
#define MAX_SPARE	4u

/* A chunk, with its memory. */
struct kept {
	struct kept *next;
	size_t size;		/* bytes of memory; dep_window.block for most chunks */
	u32 thread;
	bool mapped;
	struct dep_moment added;
	struct adept_chunk chunk;
	u8 body[];
};

/*
 * Entry of a process or thread in a list sorted by serial. A process is held by its threads and by
 * the processes that it forked, which have its mappings.
 */
struct entry {
	u32 serial;
	u32 owner;		/* of a thread: its process; of a process: the one that forked it */
	u64 holders;		/* of a thread: its chunks; of a process: entries with this owner */
	struct dep_job *begin, *end;
	struct dep_last_thread last;	/* of a thread */
};

struct entries {
	struct entry *row;
	size_t n, room;
};

struct dep_window {
	u64 max_bytes, max_ns;
	struct kept *oldest, **newest;
	u64 bytes;		/* of all chunks */
	/* bytes for a full chunk; such memory is used again, since new memory costs page faults */
	size_t block;
	struct kept *spare;
	u32 nspare;
	u32 last_of;		/* as in the job of the newest chunk */
	u64 last_bytes;		/* of the newest chunks, with that @last_of: not in the bound */
	struct entries processes, threads;
	struct dep_last dropped;
};

static size_t whole_pages(size_t size)
{
	return (size + 4095) & ~(size_t)4095;
}

struct dep_window *dep_window_new(u64 bytes, u64 ns, u32 chunk_size)
{
	struct dep_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->max_bytes = bytes;
	w->max_ns = ns;
	w->block = whole_pages(sizeof(struct kept) + chunk_size);
	w->newest = &w->oldest;
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

/* Forget process @serial, and those that it was forked from, if nothing holds them any more. */
static void release_process(struct dep_window *w, u32 serial)
{
	struct entry *p;

	while ((p = find(&w->processes, serial)) && p->end && !p->holders) {
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
	} else if (job->kind == DEP_JOB_THREAD_END) {
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
	if (job->kind == DEP_JOB_PROCESS)
		return begin(e, job, e, job->process.cause == ADEPT_BY_FORK ?
					job->process.parent : 0);
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

static void free_kept(struct kept *k)
{
	if (k->mapped)
		munmap(k, k->size);
	else
		free(k);
}

/* Bytes of memory for a chunk: those of a block if it fills most of one. */
static size_t memory_of(const struct dep_window *w, u32 fill)
{
	size_t size = sizeof(struct kept) + fill;

	if (size < MAP_LEAST)
		return size;
	return size <= w->block && size > w->block - w->block / 8 ? w->block : whole_pages(size);
}

static struct kept *new_kept(struct dep_window *w, size_t size)
{
	struct kept *k = w->spare;

	if (size == w->block && k) {
		w->spare = k->next;
		w->nspare--;
	} else if (size < MAP_LEAST) {
		k = malloc(size);
	} else {
		k = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (k == MAP_FAILED)
			k = NULL;
	}
	if (k)
		*k = (struct kept){ .size = size, .mapped = size >= MAP_LEAST };
	return k;
}

/* Free a chunk that was dropped, or keep its memory for the next one. */
static void recycle(struct dep_window *w, struct kept *k)
{
	if (k->size != w->block || !k->mapped || w->nspare == MAX_SPARE) {
		free_kept(k);
		return;
	}
	k->next = w->spare;
	w->spare = k;
	w->nspare++;
}

static void drop_oldest(struct dep_window *w)
{
	struct kept *k = w->oldest;
	struct entry *t = find(&w->threads, k->thread);

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

int dep_window_chunk(struct dep_window *w, const struct dep_job *job, struct dep_moment now)
{
	size_t size = memory_of(w, job->chunk.fill);
	struct entry *t;
	struct kept *k;

	if (!job->last_of || job->last_of != w->last_of)
		w->last_bytes = 0;
	w->last_of = job->last_of;
	dep_window_expire(w, now);
	while (w->oldest &&
	       w->bytes - w->last_bytes + (job->last_of ? 0 : size) > w->max_bytes)
		drop_oldest(w);
	k = new_kept(w, size);
	if (!k)
		return -ENOMEM;
	k->thread = job->serial;
	k->added = now;
	k->chunk = job->chunk;
	memcpy(k->body, job->body ? job->body : job->data, k->chunk.fill);
	t = find(&w->threads, job->serial);
	if (t)
		t->holders++;
	*w->newest = k;
	w->newest = &k->next;
	__atomic_store_n(&w->bytes, w->bytes + size, __ATOMIC_RELAXED);
	w->last_bytes += job->last_of ? size : 0;
	return 0;
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
	free_kept(job->owner);
}

static int put_chunk(struct dep_queue *q, struct kept *k)
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

static int put_dropped(struct dep_window *w, struct dep_queue *q)
{
	struct dep_job *job = dep_queue_job(q, DEP_JOB_LAST,
					    w->threads.n * sizeof(struct dep_last_thread));
	struct dep_last_thread *t;
	size_t i;

	if (!job)
		return -ENOMEM;
	t = (struct dep_last_thread *)job->data;
	job->last = w->dropped;
	job->last.thread = t;
	job->last.nthreads = w->threads.n;
	for (i = 0; i < w->threads.n; i++) {
		t[i] = w->threads.row[i].last;
		t[i].thread = w->threads.row[i].serial;
		if (w->threads.row[i].end)
			t[i].tid_address = w->threads.row[i].end->tid_address;
	}
	dep_queue_put(q, job);
	return 0;
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
	struct kept *k;
	int err;

	put_entries(&w->processes, q, false);
	put_entries(&w->threads, q, false);
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

static void free_list(struct kept *k)
{
	struct kept *next;

	for (; k; k = next) {
		next = k->next;
		free_kept(k);
	}
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

void dep_window_free(struct dep_window *w)
{
	if (!w)
		return;
	free_list(w->oldest);
	free_list(w->spare);
	free_entries(&w->processes);
	free_entries(&w->threads);
	free(w);
}
