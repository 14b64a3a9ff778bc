/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sockets by which depctl snapshot reaches a collector of depctl, and their messages.
 *
 * A collector listens at two abstract addresses: one has the number of its session file, which
 * every recorded process maps, and one that of the store's directory. Anybody can connect to an
 * abstract address, and anybody can have bound it before. So each side checks the other's user: the
 * collector answers its own user and root, and depctl believes the user that it expects and root.
 *
 * The sockets are SOCK_SEQPACKET: a request, then a response when the snapshot is stored.
 */
#ifndef DEPCTL_RECORD_SNAPSHOT_SOCKET_H
#define DEPCTL_RECORD_SNAPSHOT_SOCKET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SNAPSHOT_MAGIC	0x53504544u	/* "DEPS" */

struct snapshot_request {
	uint32_t magic;
	uint32_t pad;
	char dir[PATH_MAX];	/* absolute path of the store to make; "": the collector chooses */
};

struct snapshot_response {
	int32_t err;		/* 0 or a negative errno */
	uint32_t threads;
	uint64_t raw_bytes, stored_bytes;
	uint64_t kept_ns;	/* nothing is missing in this time before the request; 0: at all */
	char error[256];
	char dir[PATH_MAX];	/* absolute path of the store */
};

/**
 * snapshot_listen() - make a listening socket, which raises SIGIO when someone connects
 * @what: "session" or "store"
 * @dev, @ino: of the session file, or of the directory
 *
 * Return: its descriptor or a negative errno.
 */
int snapshot_listen(const char *what, dev_t dev, ino_t ino);
/** snapshot_connect() - connect to such a socket; a descriptor or a negative errno */
int snapshot_connect(const char *what, dev_t dev, ino_t ino);
/** snapshot_peer_is() - is the other process one of user @uid or of root? */
bool snapshot_peer_is(int fd, uid_t uid);

#endif
