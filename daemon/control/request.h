/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests on the control socket: one JSON object per line, see depd(8).  Untrusted input.
 */
#ifndef DEPD_CONTROL_REQUEST_H
#define DEPD_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libdep/abi/session_file.h"
#include "libdep/collect/keep_if.h"

#define DEPD_PROTOCOL	1
#define DEPD_LINE_MAX	(256u << 10)	/* limit of a request in bytes, with newline */
#define REQUEST_ARGC_MAX 16384
#define REQUEST_WHY_MAX	1024		/* limit of request.why in bytes, with NUL */
#define REQUEST_LAST	(256ull << 20)	/* request.last_bytes if only last_ns is given */
#define REQUEST_EVENT_MAX	64u	/* limit of request.event in bytes, with NUL */
/* request.snapshots: limit, and the number if none is given */
#define REQUEST_SNAPSHOTS_MAX	1000000u
#define REQUEST_SNAPSHOTS	10u

enum request_op {
	REQUEST_STATUS,		/* status of depd */
	REQUEST_SESSIONS,	/* list the sessions that the peer has permission to see */
	REQUEST_RECORD,		/* create a session; the response has descriptors */
	REQUEST_LAUNCHED,	/* the client has started the session's first process */
	REQUEST_ENDED,		/* the client reports the first process's exit status */
	REQUEST_WATCH,		/* send events about a session until it has ended */
	REQUEST_FOLLOW,		/* as WATCH, and send the session file as a read-only descriptor */
	REQUEST_OPEN,		/* send the session file, so that the client can detach */
	REQUEST_STOP,		/* stop recording; the programs continue */
	REQUEST_SNAPSHOT,	/* store what a session with last_bytes has; it goes on */
	REQUEST_TRIGGER,	/* the same for an event that the client has counted */
	REQUEST_POLICY,		/* list the rules and their counters */
	REQUEST_RELOAD,		/* read the configuration again */
	REQUEST_USERS,		/* list the accounts of users; root's depd only */
	REQUEST_OPS
};

enum request_transport { REQUEST_AUTO, REQUEST_KMOD, REQUEST_SHM };

/** struct request - a parsed and checked request; owns its strings */
struct request {
	enum request_op op;
	/*
	 * session id, for LAUNCHED, ENDED, WATCH, FOLLOW, STOP, TRIGGER, and for OPEN and SNAPSHOT
	 * if @pid is 0
	 */
	uint32_t session;
	/* RECORD */
	char **argv;
	int argc;
	char *cwd;		/* working directory, absolute */
	/* absolute path; NULL: nothing is stored (no_record or null); also for SNAPSHOT */
	char *store;
	uint32_t flags;		/* ADEPT_S_..: flags of the session, from the options */
	/* size of a ring, limit of the store's size; bytes; 0: default, no limit */
	uint64_t ring_size, max_size;
	/* keep only the newest part of this size, and of this age if not 0; 0: keep all */
	uint64_t last_bytes, last_ns;
	bool last_on_disk;	/* with @last_bytes: in files of the store, not in depd's memory */
	/* with @last_bytes: functions whose calls make snapshots; most snapshots for triggers */
	struct adept_triggers triggers;
	uint32_t snapshots;
	enum dep_keep_if keep_if;	/* how the first process must end for the store to stay */
	int level;		/* compression level; 0: default */
	bool aslr;		/* keep address space randomisation enabled */
	enum request_transport transport;
	bool shared;		/* @group gets read access to the store */
	uint32_t group;
	bool attach;		/* the first process runs already */
	/* LAUNCHED, OPEN, SNAPSHOT */
	pid_t pid;
	/* LAUNCHED */
	bool privileged;	/* @native is true because the program raises privileges */
	bool native;		/* the first program runs unrecorded */
	char *why;		/* why the program runs unrecorded, or NULL */
	/* cost of an attach: how many threads were stopped, and for how long */
	uint64_t stop_ns;
	uint32_t threads;
	/* ENDED */
	int status;		/* exit status as from wait(2) */
	/* TRIGGER */
	char *event;		/* name of what was counted */
	uint64_t count;
};

/**
 * request_parse() - parse and check a request line
 * @r: to be freed with request_free() if the return value is 0
 * @line: @size bytes without the newline
 * @why: receives the error message, up to @why_size bytes
 *
 * Strings are bytes without NUL; they need not be valid UTF-8 and are not changed.
 *
 * Return: 0; -EPROTO: not a JSON object, or another protocol version; -EMSGSIZE: too long; -EINVAL:
 * a field is missing, unknown or duplicate, or has an invalid value; -ENOMEM.
 */
int request_parse(struct request *r, const char *line, size_t size, char *why, size_t why_size);
void request_free(struct request *r);
const char *request_op_name(enum request_op op);

#endif
