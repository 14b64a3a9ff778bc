// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Stop a process as an attach would, and let it continue.  A separate tracer process does this, so
 * that it can be killed.
 *
 *	caller				tracer
 *	fork ------------------------->	look at the process, stop its threads, let them go
 *	wait, for 2 s, else kill it <--	results, in shared memory
 *					finish calls that were cut short; exit
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define PROBE_MS	2000

/** struct shared - results; written by the tracer, read by the caller when they are ready */
struct shared {
	pid_t pid;
	int err;
	struct dep_why why;
	u64 stop_ns;
	u32 n;
	struct dep_attach_thread thread[DEP_ATTACH_THREADS];
};

static u64 ns_since(const struct timespec *begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)(now.tv_sec - begun->tv_sec) * 1000000000u + (u64)now.tv_nsec -
	       (u64)begun->tv_nsec;
}

static int probe(struct shared *r, struct scan *s)
{
	struct timespec begun;
	int err;

	s->pid = r->pid;
	s->thread = r->thread;
	s->proc = dep_proc_open_used(s->pid);
	if (s->proc < 0)
		return dep_inject_error(&r->why, ESRCH, "There is no process %d.", s->pid);
	err = refuse_process(s->pid, s->proc, false, &r->why);
	if (err)
		return err;
	err = stop_all(s, &begun, &r->why);
	release_settle(s);
	release_all(s);
	if (begun.tv_sec)
		r->stop_ns = ns_since(&begun);
	r->n = s->n;
	return err;
}

static void run_probe(void *arg, struct scan *s)
{
	struct shared *r = arg;

	r->err = probe(r, s);
}

/* Copy the results to @p, except threads that have ended meanwhile. */
static int take_results(struct dep_attach_probe *p, const struct shared *r)
{
	u32 i;

	p->thread = calloc(r->n ? r->n : 1, sizeof(*p->thread));
	if (!p->thread)
		return -ENOMEM;
	for (i = 0; i < r->n; i++) {
		if (!r->thread[i].tid)
			continue;
		p->nstopped += r->thread[i].was_stopped == STOPPED &&
			       r->thread[i].kind != DEP_ATTACH_RETURNS;
		p->thread[p->n++] = r->thread[i];
	}
	p->stop_ns = r->stop_ns;
	return 0;
}

int dep_attach_probe(struct dep_attach_probe *p, pid_t pid, struct dep_why *why)
{
	struct shared *r;
	int err;

	memset(p, 0, sizeof(*p));
	if (pid <= 0 || pid == getpid())
		return dep_inject_error(why, EINVAL, "Invalid process number %d.", pid);
	r = tracer_memory(sizeof(*r), why);
	if (!r)
		return -ENOMEM;
	r->pid = pid;
	r->err = -EAGAIN;
	snprintf(r->why.text, sizeof(r->why.text),
		 "The threads of process %d could not be stopped in time; try again.", pid);
	err = tracer_run(run_probe, r, PROBE_MS, why);
	if (!err && r->err)
		err = dep_inject_error(why, -r->err, "%s", r->why.text);
	if (!err && take_results(p, r))
		err = dep_inject_error(why, ENOMEM, "No memory.");
	munmap(r, sizeof(*r));
	return err;
}

void dep_attach_probe_free(struct dep_attach_probe *p)
{
	free(p->thread);
	p->thread = NULL;
}
