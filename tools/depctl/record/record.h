/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl record: its options, and the signals that pass through it. */
#ifndef DEPCTL_RECORD_RECORD_H
#define DEPCTL_RECORD_RECORD_H

#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <dep/store.h>

#include "libdep/inject/inject.h"
#include "tools/depctl/races/races.h"

/** struct record_options - the command line of depctl record */
struct record_options {
	const char *dir;	/* NULL: named after the command */
	uint64_t ring_size, max_size;
	uint32_t flags;		/* ADEPT_S_* */
	int level;
	bool temporary;		/* the store is, so it is compressed quickly */
	bool shared;		/* @group may read it, too */
	gid_t group;
	enum transport { TRANSPORT_AUTO, TRANSPORT_KMOD, TRANSPORT_SHM } transport;
	bool no_aslr, quiet;
	bool alone;		/* without depd */
	const char *socket;	/* of depd, NULL: where it usually is */
	bool races;		/* search for races.. */
	bool live;		/* ..report each at once.. */
	struct races_options how;	/* ..with these options */
	struct record_races *live_races; /* gets the store and the session when they exist */
	char **argv;		/* the command */
	int argc;
};

void record_options_parse(struct record_options *o, int argc, char **argv);

/**
 * share_group() - the group of --share
 * @arg: a name or a number; NULL: the first group of this process
 *
 * Does not return if there is no such group, or this user is not in it.
 */
gid_t share_group(const char *arg, struct argp_state *state);

/**
 * engine_log_flags() - flags of the session for DEP_LOG in the environment
 *
 * Does not return if that names an area that does not exist.
 */
uint32_t engine_log_flags(struct argp_state *state);

struct client;

/** struct recorded - what a recording amounts to */
struct recorded {
	uint32_t processes, threads;
	uint64_t raw_bytes, stored_bytes, null_bytes;
	struct dep_loss loss;
	bool failed, stopped;	/* the store; or at its --max-size */
	int status;		/* of the command, as wait() gives it */
	int not_run;		/* exit status, as of env(1): the command could not be run; or 0 */
};

#define EXIT_CANNOT_RUN	126	/* the command is there, and cannot be executed or recorded */
#define EXIT_NOT_FOUND	127

/**
 * record_here() - collect without depd, in a process of its own: see recorder.h
 *
 * Return: 0, 1: it could not be started, -1: the store is not complete.
 */
int record_here(const struct record_options *o, const struct dep_caller_state *native,
		struct recorded *out);
#define RECORD_ELSEWHERE	2

/**
 * record_by_depd() - let depd, to which @c is a connection, collect
 *
 * Return: as record_here(), or RECORD_ELSEWHERE: this depd cannot, and that has been said.
 */
int record_by_depd(const struct record_options *o, const struct dep_caller_state *native,
		   struct client *c, struct recorded *out);

/* ---- launch.c ---- */

/** struct record_launch - the command, and the session that it is launched into */
struct record_launch {
	struct adept_session *map;
	size_t size;
	struct dep_target target;
	struct dep_injected child;
	struct dep_why native;	/* why the child is, if it is */
	int not_run;		/* see struct recorded */
};

/**
 * record_launch() - launch the command
 * @fd: the session file; @ring_fd: of the kernel module's rings, or -1; both are closed
 * @ptracer: of struct dep_target
 *
 * Nothing of the session is left in this process.  Return: 0, or it has been said what failed.
 */
int record_launch(struct record_launch *l, const struct record_options *o,
		  const struct dep_caller_state *native, int fd, int ring_fd, pid_t ptracer);

/** record_dir() - the store's name: -o, or one made of the command's */
void record_dir(const struct record_options *o, char *dir, size_t size);
/** record_summary() - losses, and unless --quiet what there is */
void record_summary(const struct record_options *o, const char *dir, const struct recorded *r);

/* ---- live_races.c ---- */

/** struct record_races - depctl record --races */
struct record_races {
	struct races_options *how;
	struct races_report *report;
	bool live;
	pid_t child;		/* looks for races during the recording, or 0.. */
	int over;		/* ..until this is closed */
	int lock;		/* of the folder of a temporary store, -1: there is none */
	char tmp[PATH_MAX], store[PATH_MAX + 16];	/* "": the store is to be kept */
};

/**
 * record_races_begin() - before the command runs
 *
 * Names a store in @o if that does not.  Return: 0, or -1 and it has been said why.
 */
int record_races_begin(struct record_races *r, struct record_options *o);
/**
 * record_races_tail() - there is a store, and a session that is recorded into
 *
 * Another process looks for races from here on, and prints them.  To be called before this
 * one has threads or a command; what it cannot do is done at the end.
 */
void record_races_tail(struct record_races *r, int session);
/** record_races_report() - the exit status, which is @status unless races change it */
int record_races_report(struct record_races *r, int status);
void record_races_end(struct record_races *r);

/* ---- signals.c ---- */

/**
 * signals_catch() - from here on signals to depctl are the recorded command's
 *
 * Return: 0, or a negative errno and it has been said what failed.
 */
int signals_catch(void);
/** signals_default() - and from here on they are depctl's own again */
void signals_default(void);
/** signals_end() - nothing is passed on any more; what comes stays blocked */
void signals_end(void);
/** signals_fd() - to poll: readable when signals_pass() has something to do */
int signals_fd(void);
/** signals_ignore() - ignore all signals for good, blocking none */
void signals_ignore(void);

/**
 * signals_pass() - pass on what arrived; stop and continue together with the command
 * @child: 0 when it has ended
 *
 * Return: 1 if the user wants depctl itself to end, since the command already has.
 */
int signals_pass(pid_t child);

/** signals_die() - end by the signal that the command ended by; returns if it cannot */
void signals_die(int sig);

#endif
