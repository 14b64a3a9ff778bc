/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests on the control socket: one JSON object per line, depd(8) has them all.
 * Everything here comes from outside.
 */
#ifndef DEPD_CONTROL_REQUEST_H
#define DEPD_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEPD_PROTOCOL	1
#define DEPD_LINE_MAX	(256u << 10)	/* bytes of a request, newline included */
#define REQUEST_ARGC_MAX 16384
#define REQUEST_WHY_MAX	1024		/* bytes of struct request's why */

enum request_op {
	REQUEST_STATUS,		/* all of depd */
	REQUEST_SESSIONS,	/* list, those the peer may see */
	REQUEST_RECORD,		/* make a session; answered with descriptors */
	REQUEST_LAUNCHED,	/* the client has put the first process into it */
	REQUEST_ENDED,		/* ..and waited for it */
	REQUEST_WATCH,		/* tell what becomes of it: events until it has ended */
	REQUEST_FOLLOW,		/* the same, and a descriptor to look at it by */
	REQUEST_STOP,		/* end recording; programs go on */
	REQUEST_POLICY,		/* rules and what they did */
	REQUEST_RELOAD,		/* read the configuration again */
	REQUEST_USERS,		/* accounts, of root's */
	REQUEST_OPS
};

enum request_transport { REQUEST_AUTO, REQUEST_KMOD, REQUEST_SHM };

/** struct request - one, checked for form; texts belong to it */
struct request {
	enum request_op op;
	uint32_t session;	/* LAUNCHED, ENDED, WATCH, FOLLOW, STOP */
	/* RECORD */
	char **argv;
	int argc;
	char *cwd;		/* absolute */
	char *store;		/* absolute, NULL: nothing is kept (no_record, or null) */
	uint32_t flags;		/* ADEPT_S_NO_RECORD, _NULL, _DROP, _SELF_CHECK, _STRICT,
				 * _NO_FOLLOW */
	uint64_t ring_size, max_size;	/* 0 = default, none */
	int level;		/* 0 = default */
	bool aslr;		/* true unless refused */
	enum request_transport transport;
	bool shared;		/* @group may read the store, too */
	uint32_t group;
	/* LAUNCHED */
	pid_t pid;
	bool privileged;	/* for privileges that it has.. */
	bool native;		/* ..the first image runs unrecorded, because of.. */
	char *why;		/* a sentence, NULL unless native */
	/* ENDED */
	int status;		/* as wait() gives it */
};

/**
 * request_parse() - @line of @size bytes without its newline
 * @why: of @why_size bytes; receives a sentence if it is refused
 *
 * Strings are bytes without NUL: those that are no UTF-8 stay as they are.
 *
 * Return: 0, -EPROTO (no JSON object, or another version), -EMSGSIZE, -EINVAL (a field that
 * is missing, unknown, there twice, or has an impossible value), -ENOMEM.  *r needs no
 * request_free() if it is not 0.
 */
int request_parse(struct request *r, const char *line, size_t size, char *why, size_t why_size);
void request_free(struct request *r);
const char *request_op_name(enum request_op op);

#endif
