/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper: a process that holds descriptors for depd, and how depd talks to it.
 *
 * Messages go over a SOCK_SEQPACKET socket, one descriptor with each at most.  The keeper
 * sends a HELLO when somebody connects, then an answer to each request.
 */
#ifndef DEPD_FDSTORE_HOLDER_H
#define DEPD_FDSTORE_HOLDER_H

#include <stdint.h>

#include "fdstore.h"

#define KEEPER_NAME	"depd-keeper"
#define KEEPER_SOCKET	"keeper.sock"
#define KEEPER_VERSION	"depd-keeper-1"	/* the name in a HELLO */
#define KEEPER_FDS_MAX	4096

enum keeper_op {
	KEEPER_HELLO,		/* result: 0, -EBUSY: another depd is connected, -EPERM */
	KEEPER_PUT,		/* with a descriptor */
	KEEPER_REMOVE,
	KEEPER_TAKE		/* arg-th of all: its name, and a duplicate; -ENOENT: no more */
};

struct keeper_msg {
	uint32_t op;
	int32_t result;		/* of an answer: 0 or a negative errno */
	uint32_t arg;
	char name[KEEP_NAME_MAX];
};

/** struct keeper_limits - when it ends, what it holds at most; tests set others */
struct keeper_limits {
	unsigned int start_ms;	/* for the first depd to connect */
	unsigned int idle_ms;	/* without a depd */
	uint32_t fds;
};
extern struct keeper_limits keeper_limits;

/**
 * keeper_start() - start a keeper that serves on @fd, a listening socket (duplicated)
 * @rundir: shown in its command line
 *
 * The keeper executes /proc/self/exe with argv[0] = KEEPER_NAME: main() must call keeper_main()
 * then, before anything else.
 */
int keeper_start(int fd, const char *rundir);
/** keeper_main() - run as the keeper that keeper_start() has executed: never returns */
void keeper_main(int argc, char **argv) __attribute__((noreturn));
/** keeper_serve() - what it does then: returns when nothing is left to do */
void keeper_serve(int fd);

/** keeper_send() - send a message; @fd: -1 = none */
int keeper_send(int sock, const struct keeper_msg *m, int fd);
/**
 * keeper_receive() - receive one; *@fd: -1 = none, the caller's otherwise
 *
 * Return: 0; -EMFILE: it came without its descriptor; -EPIPE: the other side is gone;
 * -EPROTO: not a message of ours; -EAGAIN.
 */
int keeper_receive(int sock, struct keeper_msg *m, int *fd);
/** keeper_trusts() - is the other side root, or the same user? */
int keeper_trusts(int sock);

#endif
