/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depd and its tracer tell each other: a message per packet.  Neither waits for the other;
 * what does not fit into the socket waits in a line.
 */
#ifndef DEPD_INJECTOR_TRACER_MSG_H
#define DEPD_INJECTOR_TRACER_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "libdep/inject/inject.h"

enum tracer_op {
	/* depd's */
	TRACER_ADD,	/* @session: @layout, @base, and descriptors: the session file, the rings */
	TRACER_REMOVE,	/* @session; what is under way in it is finished */
	TRACER_BEGIN,	/* @session, @slot: follow its execve */
	TRACER_ATTACH,	/* @session, @pid, @has_uid, @uid, @start_ns, @cause: dep_attach() */
	TRACER_HEARTBEAT,	/* to be answered by the same */
	/* the tracer's */
	TRACER_HELLO,	/* no other tracer is left */
	TRACER_OUTCOME,	/* @session, @slot, @outcome, @pid, @why: of TRACER_BEGIN */
	TRACER_ATTACHED,	/* @session, @result, @pid, @slot, @serial, @base, @why */
};

#define TRACER_FDS 2

struct tracer_msg {
	uint32_t op;
	uint32_t session;
	uint32_t slot, serial;
	int32_t pid;
	int32_t result;
	uint32_t cause;
	uint32_t outcome;	/* enum dep_exec_outcome */
	uint32_t has_uid, uid;
	uint64_t start_ns;
	struct dep_base base;
	union {
		struct adept_session layout;
		struct dep_why why;
	};
};

struct tracer_packet;

/** struct tracer_line - an end of the socket, and what waits for room in it */
struct tracer_line {
	int sock;		/* -1: there is none */
	struct tracer_packet *first, *last;
};

/**
 * tracer_line_send() - send it now, or when there is room
 * @fds: of @n; duplicated if they have to wait
 *
 * Return: 0, -EPIPE: the other side is gone; -ENOMEM, -EMFILE.
 */
int tracer_line_send(struct tracer_line *l, const struct tracer_msg *m, const int *fds, int n);
/** tracer_line_flush() - send what waits, as far as there is room; to be called on POLLOUT */
void tracer_line_flush(struct tracer_line *l);
/**
 * tracer_line_receive() - the next message; does not wait
 * @fds: receives TRACER_FDS descriptors, -1: there is none
 *
 * Return: 0, -EAGAIN: there is none; -EPIPE: nor will there be.
 */
int tracer_line_receive(struct tracer_line *l, struct tracer_msg *m, int *fds);
/** tracer_line_close() - and forget what waits */
void tracer_line_close(struct tracer_line *l);

static inline bool tracer_line_waits(const struct tracer_line *l)
{
	return l->first;
}

#endif
