/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer: a process that does all that takes ptrace, for all sessions.
 *
 * Who is traced depends on its tracer: while the engine is put into an image the image dies with
 * it, and an execve that it was to follow runs natively.  So it is not depd, which may be killed:
 * when depd is gone the tracer finishes what is under way, and ends.  There is one at a time, by
 * a lock on the file "tracer" in the directory; the next depd adopts nothing before it has its
 * own.
 *
 * It is asked and answers over a socket (tracer_msg.h); depd never waits for it but at the start.
 * One that does not answer any more is killed, and another one is made.
 */
#ifndef DEPD_INJECTOR_TRACER_H
#define DEPD_INJECTOR_TRACER_H

#include "daemon/sessions/session.h"

struct tracer;

#define TRACER_NAME	"depd-tracer"
#define TRACER_LOCK	"tracer"	/* in the directory */
#define TRACER_FINISH_MS 5000		/* without depd; what is left then runs natively */
#define TRACER_HEARTBEAT_MS	5000		/* it is asked whether it goes round.. */
#define TRACER_BEATS	4		/* ..and is killed if it has not answered so often */

/* ---- tracer.c: as depd sees it ---- */

/**
 * tracer_open() - start it, when no other one is left
 *
 * Return: 0 or a negative errno.
 */
int tracer_open(struct depd *d);
void tracer_close(struct depd *d);
/** tracer_pid() - 0: there is none at present */
pid_t tracer_pid(const struct depd *d);
/** tracer_add() - it may be asked for @s from now on; and so may those after it */
int tracer_add(struct session *s);
/** tracer_remove() - harmless if it was not added */
void tracer_remove(struct session *s);
/** tracer_attach() - dep_attach(); rules_attached() is called when it is done, unless this fails */
int tracer_attach(struct session *s, const struct dep_pending *who);
/** tracer_ops() - for the collector of @s */
struct dep_exec_ops tracer_ops(struct session *s);

/* ---- tracer_start.c ---- */

/**
 * tracer_start() - make the process
 * @sock: receives depd's end of the socket
 *
 * It executes depd again: whatever depd has mapped shall not stay mapped with it.
 * Return: its pid or a negative errno.
 */
pid_t tracer_start(const char *rundir, int *sock);
/** tracer_main() - what it executes: never returns */
void tracer_main(void) __attribute__((noreturn));

/* ---- tracer_serve.c ---- */

/** tracer_loop() - until depd is gone and everything is finished */
void tracer_loop(int sock);

#endif
