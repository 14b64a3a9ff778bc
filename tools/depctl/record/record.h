/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interfaces of the files of depctl record. */
#ifndef DEPCTL_RECORD_RECORD_H
#define DEPCTL_RECORD_RECORD_H

#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <dep/store.h>

#include "libdep/attach/attach.h"
#include "libdep/collect/keep_if.h"
#include "tools/depctl/races/races.h"

#define PERF_EVENTS	4u
#define SNAPSHOTS_DEFAULT 10u

struct burst;

/** struct record_options - the command line of depctl record */
struct record_options {
	const char *dir;	/* name of the store; NULL: make it from the command's name */
	uint64_t ring_size, max_size;
	uint64_t last_bytes;	/* keep only the newest chunks, of so many bytes; 0: keep all */
	uint64_t last_ns;	/* with @last_bytes: and not older than this; 0: no limit */
	bool last_on_disk;	/* with @last_bytes: in files of the store, not in memory */
	bool last_default;	/* @last_bytes was not given; depd has a default for its memory */
	enum dep_keep_if keep_if;
	uint32_t snapshots;	/* with @last_bytes: most snapshots of triggers; 0: the default */
	struct adept_triggers triggers;	/* --on-call and --on-slow */
	uint32_t ntriggers;
	struct {
		uint32_t event;
		uint64_t period;
	} perf[PERF_EVENTS];	/* --on-perf */
	uint32_t nperf;
	uint32_t flags;		/* ADEPT_S_* */
	uint32_t chaos_seed;	/* of ADEPT_S_CHAOS_*; 0: 1 */
	int level;
	bool temporary;		/* the store is deleted at the end, so it is compressed quickly */
	bool shared;		/* @group may read the store, too */
	gid_t group;
	enum transport { TRANSPORT_AUTO, TRANSPORT_KMOD, TRANSPORT_SHM } transport;
	bool no_aslr, quiet;
	bool alone;		/* do not use depd */
	bool background;	/* with @pid: return when depd records it; needs depd */
	const char *socket;	/* socket of depd; NULL: the default */
	bool races;		/* search for races; @how has the options of the search */
	bool report;		/* print the report of depctl report at the end */
	bool live;		/* with @races: also report each suspected race at once */
	struct races_options how;
	struct record_races *live_races; /* with @races: argument of record_races_tail() */
	char **argv;		/* the command to record */
	int argc;
	pid_t pid;		/* process to attach to; 0: start the command */
	uint64_t for_ns;	/* with @pid: maximum time of recording; 0: no limit */
	struct burst *burst;	/* with @pid: record in bursts; NULL: all the time */
};

void record_options_parse(struct record_options *o, int argc, char **argv);

/**
 * share_group() - find the group for --share
 * @arg: name or number of the group; NULL: the effective group of this process
 *
 * Exits with a usage error if the group does not exist or the user is not a member of it.
 */
gid_t share_group(const char *arg, struct argp_state *state);

/** children_parse() - parse the argument of --children; exits with a usage error if it is wrong */
void children_parse(struct record_options *o, const char *arg, struct argp_state *state);

/** transport_parse() - parse the argument of --transport; exits with a usage error if wrong */
void transport_parse(struct record_options *o, const char *arg, struct argp_state *state);

/** last_parse() - parse the argument of --last; exits with a usage error if it is wrong */
void last_parse(struct record_options *o, const char *arg, struct argp_state *state);
/**
 * last_check() - when all options are known: exit with a usage error if --last cannot be done
 *
 * With --last, rings are in shared memory.
 */
void last_check(struct record_options *o, struct argp_state *state);

/* ---- triggers.c, perf_events.c ---- */

/** trigger_parse() - parse the argument of --on-call, or --on-slow (@slow); exits if it is wrong */
void trigger_parse(struct record_options *o, bool slow, const char *arg,
		   struct argp_state *state);
/** perf_parse() - parse the argument of --on-perf; exits with a usage error if it is wrong */
void perf_parse(struct record_options *o, const char *arg, struct argp_state *state);
/** triggers_check() - when all options are known: exit if triggers are given without --last */
void triggers_check(struct record_options *o, struct argp_state *state);
/**
 * triggers_find() - find the triggers' functions in the symbol table of the command's file
 *
 * Return: 0, or -1 after a message.
 */
int triggers_find(struct record_options *o);

/**
 * engine_log_flags() - session flags for the environment variable DEP_LOG
 *
 * Exits with a usage error if DEP_LOG names an unknown area.
 */
uint32_t engine_log_flags(struct argp_state *state);
/**
 * engine_chaos_flags() - session flags for the environment variable DEP_CHAOS, and its seed
 *
 * Exits with a usage error if it names an unknown mode.
 */
uint32_t engine_chaos_flags(struct argp_state *state, uint32_t *seed);

struct client;

/** struct recorded - the results of a recording */
struct recorded {
	uint32_t processes, threads;
	uint64_t raw_bytes, stored_bytes, null_bytes;
	/* with --last: bytes dropped, and the time at the end of which nothing was dropped or 0 */
	uint64_t last_dropped, last_kept_ns;
	struct dep_loss loss;
	bool failed;		/* the store could not be written */
	bool stopped;		/* the store reached --max-size */
	bool removed;		/* the store was removed, see record_options.keep_if */
	int status;		/* wait() status of the command */
	int not_run;		/* EXIT_CANNOT_RUN or EXIT_NOT_FOUND; 0: the command was run */
};

/* Exit status as of env(1), if the command did not run: */
#define EXIT_CANNOT_RUN	126	/* the command exists, but cannot be executed or recorded */
#define EXIT_NOT_FOUND	127

/**
 * record_here() - record without depd, by a collector process (recorder.h)
 * @native: may be NULL with @o->pid
 *
 * Return: 0; 1: depctl could not start the command or attach to the process; -1: the store is not
 * complete, or a process could not be detached from.
 */
int record_here(const struct record_options *o, const struct dep_caller_state *native,
		struct recorded *out);
/** record_anywhere() - record through depd if it runs and @o allows it, or else without it */
int record_anywhere(const struct record_options *o, const struct dep_caller_state *native,
		    struct recorded *out);
#define RECORD_ELSEWHERE	2

/**
 * record_by_depd() - record through depd
 * @c: connection to depd
 *
 * Return: as record_here(); or RECORD_ELSEWHERE, after a message, if this depd cannot record the
 * command.
 */
int record_by_depd(const struct record_options *o, const struct dep_caller_state *native,
		   struct client *c, struct recorded *out);

/* ---- launch.c ---- */

/** struct record_launch - a command, and the session that it is launched into or attached to */
struct record_launch {
	struct adept_session *map;
	size_t size;
	struct dep_target target;
	struct dep_injected child;
	struct dep_attach_cost cost;	/* of an attach */
	struct dep_why native;	/* reason why the child runs natively, if it does */
	int not_run;		/* as in struct recorded */
};

/**
 * record_launch() - launch the command, or attach to the process that runs it
 * @fd: descriptor of the session file; is closed
 * @ring_fd: descriptor of the kernel module's rings, or -1; is closed
 * @ptracer: value for dep_target.ptracer
 *
 * After an attach the session stays mapped and @fd open until record_launch_end().
 *
 * Return: 0, or another value after a message.
 */
int record_launch(struct record_launch *l, const struct record_options *o,
		  const struct dep_caller_state *native, int fd, int ring_fd, pid_t ptracer);

void record_launch_end(struct record_launch *l);

/* ---- running.c ---- */

/** record_cwd() - get the working directory of process @pid, or of this one if @pid is 0 */
bool record_cwd(pid_t pid, char *cwd, size_t size);
/** record_aslr() - will the process to be recorded have, or has it, address space randomisation? */
bool record_aslr(const struct record_options *o);

/* ---- detach.c ---- */

/** report_detached() - print what a detach has done; @quiet: only what went wrong */
void report_detached(pid_t pid, const struct dep_detached *d, bool quiet);
/**
 * struct record_leaving - the state of a detach from all processes of a session; zeros at first
 * @waits: record_detach() must be called again later: threads of a process are too slow, or a pause
 *	of --burst has begun and waits for threads in system calls
 * @give_up: set by the caller: do not wait any longer for threads that are too slow
 * @until_ns: wait for them until this time, by the monotonic clock
 */
struct record_leaving {
	bool waits, give_up;
	uint64_t until_ns;
};

/**
 * record_detach() - after an attach, detach from all processes of the session
 *
 * Return: how many could not be detached from, after a message for each.
 */
int record_detach(const struct record_launch *l, const struct record_options *o,
		  struct record_leaving *leaving);

/* ---- summary.c ---- */

/** record_dir() - get the store's name: the argument of -o, or made from the command's name */
void record_dir(const struct record_options *o, char *dir, size_t size);
/** record_summary() - print the losses and, without --quiet, sizes and counts */
void record_summary(const struct record_options *o, const char *dir, const struct recorded *r);

/* ---- live_races.c ---- */

/** struct record_races - state of depctl record --races */
struct record_races {
	struct races_options *how;
	struct races_report *report;
	bool live;
	pid_t child;		/* process that searches for races during the recording, or 0 */
	int over;		/* socket to @child; a byte means that everything is recorded */
	int lock;		/* descriptor of the locked directory @tmp; -1: none */
	char tmp[PATH_MAX];	/* directory of the temporary store; "": none */
	char store[PATH_MAX + 16];
};

/**
 * record_races_begin() - prepare the search for races, before the command runs
 *
 * Without -o, sets o->dir to a temporary store.  Return: 0, or -1 after a message.
 */
int record_races_begin(struct record_races *r, struct record_options *o);
/**
 * record_races_tail() - fork the process that searches for races and prints them
 * @r: NULL: do nothing
 * @session: descriptor of the session file
 *
 * Call it when the store exists, before this process starts threads or the command.  If the fork
 * fails, record_races_report() searches for races after the recording.
 */
void record_races_tail(struct record_races *r, int session);
/**
 * record_races_report() - finish the search for races
 *
 * Return: depctl's exit status: that of --error-exitcode if it is set and races were found,
 * EXIT_FAILURE if the search failed and @status is 0, otherwise @status.
 */
int record_races_report(struct record_races *r, int status);
void record_races_end(struct record_races *r);

/* ---- signals.c ---- */

/**
 * signals_catch() - block all signals to depctl; signals_pass() passes them to the command
 *
 * Return: 0, or a negative errno after a message.
 */
int signals_catch(void);
/** signals_default() - undo signals_catch(): signals have their default effect on depctl again */
void signals_default(void);
/** signals_end() - stop passing signals to the command; they stay blocked */
void signals_end(void);
/** signals_fd() - get a descriptor to poll: readable when signals_pass() must be called */
int signals_fd(void);
/** signals_ignore() - ignore all signals from now on, and unblock them */
void signals_ignore(void);

/**
 * signals_pass() - pass signals on to the command; stop and continue together with it
 * @child: pid of the command; 0: it has ended
 *
 * Return: 1 if the command has ended and a signal asks depctl to end.
 */
int signals_pass(pid_t child);

/** signals_die() - kill depctl by @sig, the signal that killed the command; may return */
void signals_die(int sig);

#endif
