/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The injector process, or tracer: does all ptrace work, for all sessions.
 *
 * A traced process depends on its tracer.  If the tracer dies while it injects the engine (the code
 * that records) into a program, the program dies too; a program whose execve it should follow runs
 * unrecorded.  depd can be killed at any time, so the tracer is a separate process.  When depd has
 * ended, the tracer finishes the work that it has begun, and ends.  A lock on the file "tracer" in
 * the run directory allows one tracer at a time.  The next depd adopts no session before its own
 * tracer has the lock.
 *
 * Requests and answers go over a socket (tracer_msg.h).  depd waits for the tracer only at the
 * start.  A tracer that misses its heartbeats is killed and replaced.
 */
#ifndef DEPD_INJECTOR_TRACER_H
#define DEPD_INJECTOR_TRACER_H

#include "daemon/sessions/session.h"

struct tracer;

#define TRACER_NAME	"depd-tracer"
#define TRACER_LOCK	"tracer"	/* lock file in the run directory */
#define TRACER_FINISH_MS 5000		/* time to finish work after depd's end */
#define TRACER_HEARTBEAT_MS	5000		/* interval of heartbeats */
#define TRACER_BEATS	4		/* missed heartbeats after which depd kills the tracer */

/* ---- depd's side: tracer.c ---- */

/**
 * tracer_open() - start the tracer and wait until an earlier one has ended
 * @attached: gets the result of each tracer_attach(): 0, a negative errno, or -EPIPE: the tracer
 *	      ended before it answered
 *
 * Return: 0 or a negative errno.
 */
int tracer_open(struct depd *d,
		void (*attached)(struct session *s, int ret, const char *why));
void tracer_close(struct depd *d);
/** tracer_pid() - get the pid of the tracer; 0: no tracer runs at present */
pid_t tracer_pid(const struct depd *d);
/** tracer_add() - register @s with the tracer, and with each tracer that replaces it */
int tracer_add(struct session *s);
/** tracer_remove() - unregister @s; does nothing if it is not registered */
void tracer_remove(struct session *s);
/** tracer_attach() - make the tracer attach to a process; the result comes later, by @attached */
int tracer_attach(struct session *s, const struct dep_pending *who);
/** tracer_ops() - get the operations by which the collector of @s follows execve */
struct dep_exec_ops tracer_ops(struct session *s);

/* ---- start of the tracer: tracer_start.c ---- */

/**
 * tracer_start() - start the tracer process
 * @sock: receives depd's end of the socket
 *
 * The process executes depd's file again, so that it keeps none of depd's mappings.
 * Return: its pid or a negative errno.
 */
pid_t tracer_start(const char *rundir, int *sock);
/** tracer_main() - main function of the tracer process */
void tracer_main(void) __attribute__((noreturn));

/* ---- the tracer process: tracer_serve.c ---- */

/** tracer_loop() - handle messages until depd has ended and all work is finished */
void tracer_loop(int sock);

#endif
