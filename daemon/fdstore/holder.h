/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fd store's holder: a process that holds descriptors for depd, and its protocol.
 *
 * Messages are packets of a SOCK_SEQPACKET socket with at most one descriptor each.  The holder
 * sends a HELLO when depd connects, then one answer to each request.
 */
#ifndef DEPD_FDSTORE_HOLDER_H
#define DEPD_FDSTORE_HOLDER_H

#include <stdint.h>

#include "fdstore.h"

#define HOLDER_NAME	"depd-holder"
#define HOLDER_SOCKET	"holder.sock"
#define HOLDER_VERSION	"depd-holder-1"	/* protocol version, in the name of HOLDER_HELLO */
#define HOLDER_FDS_MAX	4096

enum holder_op {
	/* greeting of the holder; result: 0; -EBUSY: another depd is connected; -EPERM: refused */
	HOLDER_HELLO,
	HOLDER_PUT,		/* store the descriptor that comes with the message */
	HOLDER_REMOVE,
	HOLDER_FETCH		/* get name and duplicate of entry @arg; -ENOENT: no more */
};

struct holder_msg {
	uint32_t op;
	int32_t result;		/* in answers: 0 or a negative errno */
	uint32_t arg;
	char name[FDSTORE_NAME_MAX];
};

/** struct holder_limits - limits of the holder; tests change them */
struct holder_limits {
	unsigned int start_ms;	/* the holder ends if no depd connects after its start */
	unsigned int idle_ms;	/* the holder ends if no depd is connected for this time */
	uint32_t fds;		/* limit of stored descriptors */
};
extern struct holder_limits holder_limits;

/**
 * holder_start() - start a holder
 * @fd: listening socket; the holder gets a duplicate
 * @rundir: shown in its command line
 *
 * The holder executes /proc/self/exe with argv[0] = HOLDER_NAME.  main() must then call
 * holder_main() before it does anything else.
 */
int holder_start(int fd, const char *rundir);
/** holder_main() - main function of the holder process */
void holder_main(int argc, char **argv) __attribute__((noreturn));
/** holder_serve() - the holder's loop on a listening socket; returns when the holder must end */
void holder_serve(int fd);

/** holder_send() - send a message; @fd: descriptor to send with it, or -1 */
int holder_send(int sock, const struct holder_msg *m, int fd);
/**
 * holder_receive() - receive a message
 * @fd: receives a descriptor, which the caller closes, or -1
 *
 * Return: 0; -EMFILE: this process has no room for the message's descriptor; -EPIPE: the peer has
 * closed the connection; -EPROTO: not a valid message; -EAGAIN: no message before the timeout.
 */
int holder_receive(int sock, struct holder_msg *m, int *fd);
/** fdstore_peer_ok() - true if the peer is root or the same user */
int fdstore_peer_ok(int sock);

#endif
