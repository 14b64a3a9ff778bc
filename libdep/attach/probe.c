// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Stop a process as an attach would, and let it go: in a tracer of its own, which can be killed.
 *
 *	caller				tracer
 *	fork ------------------------->	look at the process, stop its threads, let them go
 *	wait, for 2 s, else kill it <--	results, in memory that both have
 *					finish calls that were cut short; exit
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

#define PROBE_MS	2000

/** struct shared - results; written by the tracer, read by the caller when they are ready */
struct shared {
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

	s->proc = dep_proc_open(s->pid);
	if (s->proc < 0)
		return dep_inject_error(&r->why, ESRCH, "There is no process %d.", s->pid);
	err = refuse_process(s->pid, s->proc, &r->why);
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

static void run_tracer(struct shared *r, pid_t pid, pid_t caller, int ready)
{
	struct scan s = { .pid = pid, .thread = r->thread };
	sigset_t none;

	/* It may outlive the caller, whose output somebody may read to its end. */
	for (int fd = 0, null = open("/dev/null", O_RDWR); fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	/* The caller's signals are not ours. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != caller)
		_exit(1);
	r->err = probe(r, &s);
	if (release_is_long(&s)) {
		/* The caller does not wait for this. */
		prctl(PR_SET_PDEATHSIG, 0);
		setsid();
		if (write(ready, "", 1) != 1)
			_exit(1);
	}
	release_finish(&s);
	_exit(0);
}

/*
 * Wait for the tracer's end, or for a byte which says that its results are there; kill it if
 * neither comes in time.
 */
static void await(pid_t tracer, int ready)
{
	struct pollfd p = { .fd = ready, .events = POLLIN };
	bool goes_on;
	char byte;
	int n;

	do
		n = poll(&p, 1, PROBE_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		kill(tracer, SIGKILL);
	/* One that still has calls to finish becomes a zombie until the caller ends. */
	goes_on = n > 0 && read(ready, &byte, 1) == 1;
	while (!goes_on && waitpid(tracer, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Threads that ended meanwhile are left out. */
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
	pid_t caller = getpid(), tracer;
	int err, ready[2];
	struct shared *r;

	memset(p, 0, sizeof(*p));
	if (pid <= 0 || pid == caller)
		return dep_inject_error(why, EINVAL, "Invalid process number %d.", pid);
	r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r == MAP_FAILED)
		return dep_inject_error(why, errno, "No memory: %m.");
	r->err = -EAGAIN;
	snprintf(r->why.text, sizeof(r->why.text),
		 "The threads of process %d could not be stopped in time; try again.", pid);
	if (pipe2(ready, O_CLOEXEC)) {
		err = dep_inject_error(why, errno, "No tracer can be made: %m.");
		goto unmap;
	}
	tracer = fork();
	if (!tracer)
		run_tracer(r, pid, caller, ready[1]);
	close(ready[1]);
	if (tracer < 0) {
		err = dep_inject_error(why, errno, "No tracer can be made: %m.");
	} else {
		await(tracer, ready[0]);
		err = r->err ? dep_inject_error(why, -r->err, "%s", r->why.text) : 0;
		if (!err && take_results(p, r))
			err = dep_inject_error(why, ENOMEM, "No memory.");
	}
	close(ready[0]);
unmap:
	munmap(r, sizeof(*r));
	return err;
}

void dep_attach_probe_free(struct dep_attach_probe *p)
{
	free(p->thread);
	p->thread = NULL;
}
