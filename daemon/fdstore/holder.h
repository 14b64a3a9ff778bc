/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The holder: a process that holds descriptors for depd, and how depd talks to it.
 *
 * Messages go over a SOCK_SEQPACKET socket, one descriptor with each at most.  The holder
 * sends a HELLO when somebody connects, then an answer to each request.
 */
#ifndef DEPD_FDSTORE_HOLDER_H
#define DEPD_FDSTORE_HOLDER_H

#include <stdint.h>

#include "fdstore.h"

#define HOLDER_NAME	"depd-holder"
#define HOLDER_SOCKET	"holder.sock"
#define HOLDER_VERSION	"depd-holder-1"	/* the name in a HELLO */
#define HOLDER_FDS_MAX	4096

enum holder_op {
	HOLDER_HELLO,		/* result: 0, -EBUSY: another depd is connected, -EPERM */
	HOLDER_PUT,		/* with a descriptor */
	HOLDER_REMOVE,
	HOLDER_FETCH		/* arg-th of all: its name, and a duplicate; -ENOENT: no more */
};

struct holder_msg {
	uint32_t op;
	int32_t result;		/* of an answer: 0 or a negative errno */
	uint32_t arg;
	char name[FDSTORE_NAME_MAX];
};

/** struct holder_limits - when it ends, what it holds at most; tests set others */
struct holder_limits {
	unsigned int start_ms;	/* for the first depd to connect */
	unsigned int idle_ms;	/* without a depd */
	uint32_t fds;
};
extern struct holder_limits holder_limits;

/**
 * holder_start() - start a holder that serves on @fd, a listening socket (duplicated)
 * @rundir: shown in its command line
 *
 * The holder executes /proc/self/exe with argv[0] = HOLDER_NAME: main() must call holder_main()
 * then, before anything else.
 */
int holder_start(int fd, const char *rundir);
/** holder_main() - run as the holder that holder_start() has executed: never returns */
void holder_main(int argc, char **argv) __attribute__((noreturn));
/** holder_serve() - what it does then: returns when nothing is left to do */
void holder_serve(int fd);

/** holder_send() - send a message; @fd: -1 = none */
int holder_send(int sock, const struct holder_msg *m, int fd);
/**
 * holder_receive() - receive one; *@fd: -1 = none, the caller's otherwise
 *
 * Return: 0; -EMFILE: it came without its descriptor; -EPIPE: the other side is gone;
 * -EPROTO: not a message of ours; -EAGAIN.
 */
int holder_receive(int sock, struct holder_msg *m, int *fd);
/** fdstore_peer_ok() - is the other side root, or the same user? */
int fdstore_peer_ok(int sock);

#endif
