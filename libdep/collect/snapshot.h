/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A look at a session file from outside: which threads there are, and what they have in hand
 * that is in no store yet.  Nothing is taken, and nobody notices; the collector goes on beside
 * it.  Not for sessions of the kernel module, whose rings are elsewhere.
 */
#ifndef ADEPT_COLLECT_SNAPSHOT_H
#define ADEPT_COLLECT_SNAPSHOT_H

#include <stdbool.h>

#include "libdep/abi/session_file.h"

struct dep_snapshot;

/**
 * dep_snapshot_open() - look at the session file @fd, which stays the caller's
 *
 * Return: 0, -EOPNOTSUPP for one of the kernel module, -EBADMSG or another error.
 */
int dep_snapshot_open(struct dep_snapshot **out, int fd);
void dep_snapshot_close(struct dep_snapshot *p);

/** struct dep_peeked - a thread that has a ring */
struct dep_peeked {
	u32 slot, serial;
	u64 before;		/* of the system call that it is in, or 0 */
};

/**
 * dep_snapshot_threads() - who there is
 * @now: receives a timestamp: who is not among them begins later, unless..
 * @making: ..somebody is just being entered; who takes longer than a second has been killed, as
 *	a rule, and is not waited for
 *
 * Return: how many; *@out is valid until the next call.
 */
u32 dep_snapshot_threads(struct dep_snapshot *p, const struct dep_peeked **out, u64 *now,
			 bool *making);

/** struct dep_snapshot_chunk - what a thread has written into the chunk that it fills */
struct dep_snapshot_chunk {
	struct adept_chunk chunk;
	struct adept_call call;	/* before: 0, or @body is all that comes before this call */
	const u8 *body;		/* until the next call */
	u32 size;		/* more than the records: the rest is zero */
};

/**
 * dep_snapshot_chunk() - copy it, if it is number @seq of thread @serial
 *
 * Return: whether it is.
 */
bool dep_snapshot_chunk(struct dep_snapshot *p, u32 slot, u32 serial, u64 seq,
			struct dep_snapshot_chunk *out);

#endif
