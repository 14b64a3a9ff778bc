/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between depd and its tracer, one per packet.  Neither side waits for the other: packets
 * that do not fit into the socket wait in a queue.
 */
#ifndef DEPD_INJECTOR_TRACER_MSG_H
#define DEPD_INJECTOR_TRACER_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "libdep/inject/inject.h"

enum tracer_op {
	/* From depd; @NAME: members of struct tracer_msg that the message uses */
	/* register @session with @layout and @base; descriptors: session file, module rings */
	TRACER_ADD,
	TRACER_REMOVE,	/* unregister @session; the tracer finishes execs that it follows */
	TRACER_BEGIN,	/* @session, @slot: follow the execve of the process in @slot */
	TRACER_ATTACH,	/* attach to @pid; also @session, @has_uid, @uid, @start_ns, @cause */
	TRACER_HEARTBEAT,	/* the tracer sends the same message back */
	/* From the tracer */
	TRACER_HELLO,	/* sent once, when all earlier tracers have ended */
	TRACER_OUTCOME,	/* @session, @slot, @outcome, @pid, @why: result of TRACER_BEGIN */
	/* @session, @result, @pid, @slot, @serial, @base, @why: result of TRACER_ATTACH */
	TRACER_ATTACHED,
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

/** struct tracer_line - one end of the socket, with a queue of packets to send */
struct tracer_line {
	int sock;		/* -1: not connected */
	struct tracer_packet *first, *last;
};

/**
 * tracer_line_send() - send a message now, or queue it until there is room
 * @fds: @n descriptors; duplicated if the message is queued
 *
 * Return: 0; -EPIPE: the peer has ended; -ENOMEM, -EMFILE.
 */
int tracer_line_send(struct tracer_line *l, const struct tracer_msg *m, const int *fds, int n);
/** tracer_line_flush() - send queued messages while the socket has room; call it on POLLOUT */
void tracer_line_flush(struct tracer_line *l);
/**
 * tracer_line_receive() - receive the next message, without waiting
 * @fds: receives TRACER_FDS descriptors; -1: none
 *
 * Return: 0; -EAGAIN: no message; -EPIPE: the peer has ended.
 */
int tracer_line_receive(struct tracer_line *l, struct tracer_msg *m, int *fds);
/** tracer_line_close() - close the socket and drop queued messages */
void tracer_line_close(struct tracer_line *l);

static inline bool tracer_line_waits(const struct tracer_line *l)
{
	return l->first;
}

#endif
