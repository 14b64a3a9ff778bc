/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Snapshot reader: reads from a session file which threads exist, and their records that are not
 * stored yet. It changes nothing and works in parallel with the collector. Sessions with rings of
 * the kernel module are not supported, since these rings are not in the session file.
 */
#ifndef ADEPT_COLLECT_SNAPSHOT_H
#define ADEPT_COLLECT_SNAPSHOT_H

#include <stdbool.h>

#include "libdep/abi/session_file.h"

struct dep_snapshot;

/**
 * dep_snapshot_open() - open a reader for the session file @fd, which the caller still owns
 *
 * Return: 0; -EOPNOTSUPP if the rings are those of the kernel module; -EBADMSG if the file is
 * invalid; or another error.
 */
int dep_snapshot_open(struct dep_snapshot **out, int fd);
void dep_snapshot_close(struct dep_snapshot *p);

/** struct dep_peeked - a thread that has a ring */
struct dep_peeked {
	u32 slot, serial;
	u64 before;		/* timestamp before its current system call; 0: in no call */
};

/**
 * dep_snapshot_threads() - list the threads
 * @now: receives a timestamp. A thread that is not in the list begins later, unless @making is true
 * @making: receives true if a thread is claiming a slot. A claim older than one second is ignored:
 *	its thread has been killed, most likely
 *
 * Return: the number of threads; *@out is valid until the next call.
 */
u32 dep_snapshot_threads(struct dep_snapshot *p, const struct dep_peeked **out, u64 *now,
			 bool *making);

/** struct dep_snapshot_chunk - copy of a thread's current chunk */
struct dep_snapshot_chunk {
	struct adept_chunk chunk;
	/* the system call in progress if call.before is not 0; @body has all records before it */
	struct adept_call call;
	const u8 *body;		/* copy of the records; valid until the next call */
	u32 size;		/* size of @body in bytes; bytes after the records are zero */
};

/**
 * dep_snapshot_chunk() - copy the current chunk of thread @serial
 *
 * Return: false if the current chunk does not have number @seq, or another one began meanwhile.
 */
bool dep_snapshot_chunk(struct dep_snapshot *p, u32 slot, u32 serial, u64 seq,
			struct dep_snapshot_chunk *out);

#endif
