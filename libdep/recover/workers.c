// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Recovery of many segments by several worker threads; the results are delivered in order.
 *
 * Workers take segments in order. Segment i has output queue i % noutputs (struct output), to which
 * its worker appends batches. The caller empties one queue after the other. At most noutputs
 * segments are in progress and a queue holds at most OUTPUT_BATCHES batches, so memory is bounded.
 * There is no deadlock: since segments are taken in order, a worker is always busy with the segment
 * whose queue the caller is emptying.
 *
 * crew.lock protects all fields that change after the workers have been started.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/recover/interp/run.h"

#define OUTPUT_BATCHES	32
#define MAX_JOBS	256

struct batch {
	struct batch *next;
	size_t n, room;		/* n: items, or formatted bytes; room: bytes after this header */
	struct dep_item item[];	/* items, then their payloads; or the bytes of sink.format() */
};

struct output {
	struct batch *first, **last;
	unsigned int queued;
	int done, err;
	struct dep_counts counts;
	char why[512];
};

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t work;	/* a queue has room, or the next segment can be taken */
	pthread_cond_t news;	/* a batch was queued, or a segment has ended */
	struct dep_store *store;
	const struct dep_segment *segs;
	size_t n, next, delivered;
	int stop;
	const struct dep_sink *sink;
	struct output *output;
	size_t noutputs;
	struct batch *spare;	/* delivered batches, for reuse */
};

/* A worker's state: @output is the queue of the segment that it is recovering. */
struct task {
	struct crew *crew;
	struct output *output;
};

/* Get a batch with room for @bytes.  Reuses a delivered batch, whose pages are already mapped. */
static struct batch *get_batch(struct crew *c, size_t bytes)
{
	struct batch *b;

	pthread_mutex_lock(&c->lock);
	b = c->spare;
	if (b)
		c->spare = b->next;
	pthread_mutex_unlock(&c->lock);
	if (b && b->room < bytes) {
		free(b);
		b = NULL;
	}
	if (!b) {
		b = malloc(sizeof(*b) + bytes);
		if (b)
			b->room = bytes;
	}
	return b;
}

static struct batch *format_batch(struct crew *c, const struct dep_segment *seg,
				  const struct dep_item *items, size_t n)
{
	struct batch *b = get_batch(c, n * c->sink->item_bytes);

	if (!b)
		return NULL;
	b->next = NULL;
	b->n = c->sink->format(c->sink->arg, seg, items, n, (char *)b->item);
	return b;
}

/* Return: the field of an item that points to its payload, or NULL; @size: of the payload. */
static const void **payload_of(struct dep_item *it, size_t *size)
{
	switch (it->kind) {
	case DEP_ITEM_EVENT:
		*size = it->event.size;
		return &it->event.payload;
	case DEP_ITEM_FUNCTION:
		*size = sizeof(*it->function.passed);
		return (const void **)&it->function.passed;
	default:
		return NULL;
	}
}

/* Payloads are aligned like the memory of malloc(). */
static size_t room_of(const struct dep_item *it)
{
	size_t size = it->kind == DEP_ITEM_EVENT    ? it->event.size :
		      it->kind == DEP_ITEM_FUNCTION ? sizeof(*it->function.passed) : 0;

	return (size + 15) & ~(size_t)15;
}

static struct batch *copy_batch(struct crew *c, const struct dep_item *items, size_t n)
{
	size_t i, size, bytes = n * sizeof(*items);
	const void **payload;
	struct batch *b;
	u8 *p;

	for (i = 0; i < n; i++)
		bytes += room_of(&items[i]);
	b = get_batch(c, bytes);
	if (!b)
		return NULL;
	b->next = NULL;
	b->n = n;
	memcpy(b->item, items, n * sizeof(*items));
	p = (u8 *)(b->item + n);
	for (i = 0; i < n; i++) {
		payload = payload_of(&b->item[i], &size);
		if (!payload)
			continue;
		*payload = memcpy(p, *payload, size);
		p += room_of(&items[i]);
	}
	return b;
}

static int queue_batch(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		       size_t n)
{
	struct task *t = arg;
	struct crew *c = t->crew;
	struct batch *b = c->sink->format ? format_batch(c, seg, items, n) :
					    copy_batch(c, items, n);
	int stop;

	if (!b)
		return dep_fail(-ENOMEM, "buffer for recovered items");
	pthread_mutex_lock(&c->lock);
	while (t->output->queued >= OUTPUT_BATCHES && !c->stop)
		pthread_cond_wait(&c->work, &c->lock);
	stop = c->stop;
	if (!stop) {
		*t->output->last = b;
		t->output->last = &b->next;
		t->output->queued++;
		if (t->output == &c->output[c->delivered % c->noutputs])
			pthread_cond_signal(&c->news);
	}
	pthread_mutex_unlock(&c->lock);
	if (stop)
		free(b);
	return stop ? -ECANCELED : 0;
}

static void *worker(void *arg)
{
	struct task t = { .crew = arg };
	struct crew *c = arg;
	struct dep_sink sink = { .want = c->sink->want, .batch = queue_batch, .arg = &t };
	struct dep_columns columns = { 0 };
	struct dep_counts counts;
	struct dep_interp r;
	size_t i;
	int err;

	dep_interp_init(&r, &columns, &sink, NULL);
	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->stop && c->next < c->n && c->next >= c->delivered + c->noutputs)
			pthread_cond_wait(&c->work, &c->lock);
		if (c->stop || c->next >= c->n)
			break;
		i = c->next++;
		t.output = &c->output[i % c->noutputs];
		pthread_mutex_unlock(&c->lock);
		memset(&counts, 0, sizeof(counts));
		err = dep_recover_traced(c->store, &c->segs[i], &r, &counts);
		pthread_mutex_lock(&c->lock);
		t.output->err = err;
		t.output->counts = counts;
		if (err) {
			strncpy(t.output->why, dep_error(), sizeof(t.output->why) - 1);
			t.output->why[sizeof(t.output->why) - 1] = 0;
		}
		t.output->done = 1;
		pthread_cond_signal(&c->news);
	}
	pthread_mutex_unlock(&c->lock);
	dep_interp_free(&r);
	dep_columns_free(&columns);
	return NULL;
}

static void output_reset(struct output *l)
{
	memset(l, 0, sizeof(*l));
	l->last = &l->first;
}

static void free_batches(struct batch *b)
{
	struct batch *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
}

/* Keep delivered batches for reuse. */
static void give_back(struct crew *c, struct batch *first)
{
	struct batch *last = first;

	if (!first)
		return;
	while (last->next)
		last = last->next;
	pthread_mutex_lock(&c->lock);
	last->next = c->spare;
	c->spare = first;
	pthread_mutex_unlock(&c->lock);
}

static int deliver_batch(const struct dep_sink *sink, const struct dep_segment *seg,
			 const struct batch *b)
{
	if (sink->format)
		return sink->bytes(sink->arg, seg, (const char *)b->item, b->n);
	return sink->batch ? sink->batch(sink->arg, seg, b->item, b->n) : 0;
}

/* Deliver all batches of segment @i, waiting for its worker.  Return: the sink's last result. */
static int deliver(struct crew *c, size_t i, const struct dep_sink *sink)
{
	struct output *l = &c->output[i % c->noutputs];
	struct batch *b, *first;
	int stop = 0, done;

	do {
		pthread_mutex_lock(&c->lock);
		while (!l->first && !l->done)
			pthread_cond_wait(&c->news, &c->lock);
		first = l->first;
		done = l->done;
		l->first = NULL;
		l->last = &l->first;
		if (l->queued >= OUTPUT_BATCHES)
			pthread_cond_broadcast(&c->work);
		l->queued = 0;
		pthread_mutex_unlock(&c->lock);
		for (b = first; b && !stop; b = b->next)
			stop = deliver_batch(sink, &c->segs[i], b);
		give_back(c, first);
	} while (!done && !stop);
	return stop;
}

/* Deliver all segments in order. */
static int deliver_all(struct crew *c, const struct dep_sink *sink,
		       const struct dep_recover_options *o)
{
	struct output *l;
	int stop = 0;
	size_t i;

	for (i = 0; i < c->n && !stop; i++) {
		l = &c->output[i % c->noutputs];
		stop = deliver(c, i, sink);
		if (stop)
			break;
		if (o->counts)
			dep_counts_add(o->counts, &l->counts);
		if (l->err && o->failed)
			o->failed(o->arg, &c->segs[i], l->why);
		pthread_mutex_lock(&c->lock);
		output_reset(l);
		c->delivered++;
		pthread_cond_broadcast(&c->work);
		pthread_mutex_unlock(&c->lock);
	}
	return stop;
}

static int recover_serially(struct dep_store *s, const struct dep_segment *segs, size_t n,
			    const struct dep_sink *sink, const struct dep_recover_options *o)
{
	struct dep_columns c = { 0 };
	struct dep_interp r;
	int err = 0;
	size_t i;

	dep_interp_init(&r, &c, sink, NULL);
	for (i = 0; i < n && !r.out.stopped; i++) {
		err = dep_recover_traced(s, &segs[i], &r, o->counts);
		if (err && !r.out.stopped && o->failed)
			o->failed(o->arg, &segs[i], dep_error());
	}
	err = r.out.stopped;
	dep_interp_free(&r);
	dep_columns_free(&c);
	return err;
}

/* Return: the number of workers to start for the @n segments; @jobs 0: one for each processor. */
static unsigned int jobs_of(struct dep_store *s, const struct dep_segment *segs, size_t n,
			    unsigned int jobs)
{
	long cpus;

	if (!jobs) {
		cpus = sysconf(_SC_NPROCESSORS_ONLN);
		jobs = cpus > 0 ? cpus : 1;
	}
	if (jobs > MAX_JOBS)
		jobs = MAX_JOBS;
	if (jobs > n)
		jobs = n;
	return dep_store_jobs(s, segs, n, jobs);
}

int dep_recover(struct dep_store *s, const struct dep_segment *segs, size_t n,
		const struct dep_sink *sink, const struct dep_recover_options *options)
{
	static const struct dep_recover_options defaults;
	static const struct dep_sink nowhere;
	const struct dep_recover_options *o = options ? options : &defaults;
	struct crew c = { .store = s, .segs = segs, .n = n };
	unsigned int jobs = jobs_of(s, segs, n, o->jobs);
	pthread_t *thread;
	unsigned int i, started;
	int err = -ENOMEM;

	if (!sink)
		sink = &nowhere;
	if (jobs <= 1)
		return recover_serially(s, segs, n, sink, o);
	c.sink = sink;
	c.noutputs = 2 * jobs;
	c.output = calloc(c.noutputs, sizeof(*c.output));
	thread = calloc(jobs, sizeof(*thread));
	if (!c.output || !thread) {
		dep_fail(err, "recovery threads");
		goto out_free;
	}
	for (i = 0; i < c.noutputs; i++)
		output_reset(&c.output[i]);
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.work, NULL);
	pthread_cond_init(&c.news, NULL);
	for (started = 0; started < jobs; started++)
		if (pthread_create(&thread[started], NULL, worker, &c))
			break;
	if (started)
		err = deliver_all(&c, sink, o);
	else
		err = recover_serially(s, segs, n, sink, o);
	pthread_mutex_lock(&c.lock);
	c.stop = 1;
	pthread_cond_broadcast(&c.work);
	pthread_mutex_unlock(&c.lock);
	for (i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < c.noutputs; i++)
		free_batches(c.output[i].first);
	free_batches(c.spare);
	pthread_cond_destroy(&c.news);
	pthread_cond_destroy(&c.work);
	pthread_mutex_destroy(&c.lock);
out_free:
	free(thread);
	free(c.output);
	return err;
}
