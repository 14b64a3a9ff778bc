/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors that outlive depd: the session files, until the next depd asks for them.
 *
 * Under systemd its file-descriptor store keeps them.  Elsewhere a holder does: a small
 * process of depd's own that holds descriptors with a name each and does nothing else; it
 * ends when it has been without a depd and without a live session for some time.
 */
#ifndef DEPD_FDSTORE_FDSTORE_H
#define DEPD_FDSTORE_FDSTORE_H

#include <stdbool.h>
#include <stddef.h>

struct fdstore;

#define FDSTORE_NAME_MAX	64

/** struct fdstore_entry - a descriptor that an earlier depd left */
struct fdstore_entry {
	char name[FDSTORE_NAME_MAX];
	int fd;			/* the caller's from now on */
};

/**
 * fdstore_open() - find what is kept
 * @rundir: where the holder's socket is
 * @kept: receives an array from malloc()
 *
 * Listening sockets that systemd passes are not among them: see fdstore_listen().
 * Return: 0 or a negative errno with a sentence in @why.
 */
int fdstore_open(struct fdstore **k, const char *rundir, struct fdstore_entry **kept, size_t *n,
		 char *why, size_t why_size);
/**
 * fdstore_put() - keep a duplicate of @fd as @name; waits for the holder, not for long
 * @name: letters, digits, '.', '_', '-'
 *
 * Return: 0; -EINVAL, -EEXIST: the name; -ENOSPC, -EMFILE: too many are; -ETIMEDOUT, -EPIPE: the
 * holder does not answer, or is gone: fdstore_open() makes a new one, which has nothing.
 */
int fdstore_put(struct fdstore *k, const char *name, int fd);
/** fdstore_remove() - -ENOENT: it is not kept */
int fdstore_remove(struct fdstore *k, const char *name);
/** fdstore_lost() - the holder is gone, or did not answer: nothing can be kept */
bool fdstore_lost(const struct fdstore *k);
/**
 * fdstore_retry() - find or make a holder when the last one is lost
 *
 * All that is to be kept must be put again; a holder that did not answer may still have some of it:
 * -EEXIST.  Return: as fdstore_open().
 */
int fdstore_retry(struct fdstore *k, const char *rundir, char *why, size_t why_size);
/**
 * fdstore_listen_only() - for who keeps nothing itself: what systemd passes for fdstore_listen()
 */
int fdstore_listen_only(struct fdstore **k);
/** keep_fd() - readable when the holder is gone; -1: there is none */
int keep_fd(const struct fdstore *k);
/** fdstore_listen() - a listening socket, non-blocking, that systemd passed as @name; -ENOENT */
int fdstore_listen(struct fdstore *k, const char *name);
/** fdstore_close() - what is kept stays kept */
void fdstore_close(struct fdstore *k);

#endif
