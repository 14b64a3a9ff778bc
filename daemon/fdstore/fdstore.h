/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors that outlive depd: the session files, until the next depd asks for them.
 *
 * Under systemd its file-descriptor store keeps them.  Elsewhere a keeper does: a small
 * process of depd's own that holds descriptors with a name each and does nothing else; it
 * ends when it has been without a depd and without a live session for some time.
 */
#ifndef DEPD_FDSTORE_FDSTORE_H
#define DEPD_FDSTORE_FDSTORE_H

#include <stdbool.h>
#include <stddef.h>

struct keep;

#define KEEP_NAME_MAX	64

/** struct kept - a descriptor that an earlier depd left */
struct kept {
	char name[KEEP_NAME_MAX];
	int fd;			/* the caller's from now on */
};

/**
 * keep_open() - find what is kept
 * @rundir: where the keeper's socket is
 * @kept: receives an array from malloc()
 *
 * Listening sockets that systemd passes are not among them: see keep_listen().
 * Return: 0 or a negative errno with a sentence in @why.
 */
int keep_open(struct keep **k, const char *rundir, struct kept **kept, size_t *n, char *why,
	      size_t why_size);
/**
 * keep_put() - keep a duplicate of @fd as @name; waits for the keeper, not for long
 * @name: letters, digits, '.', '_', '-'
 *
 * Return: 0; -EINVAL, -EEXIST: the name; -ENOSPC, -EMFILE: too many are; -ETIMEDOUT, -EPIPE: the
 * keeper does not answer, or is gone: keep_open() makes a new one, which has nothing.
 */
int keep_put(struct keep *k, const char *name, int fd);
/** keep_remove() - -ENOENT: it is not kept */
int keep_remove(struct keep *k, const char *name);
/** keep_lost() - the keeper is gone, or did not answer: nothing can be kept */
bool keep_lost(const struct keep *k);
/**
 * keep_again() - find or make a keeper when the last one is lost
 *
 * All that is to be kept must be put again; a keeper that did not answer may still have some of it:
 * -EEXIST.  Return: as keep_open().
 */
int keep_again(struct keep *k, const char *rundir, char *why, size_t why_size);
/** keep_listen_only() - for who keeps nothing itself: what systemd passes for keep_listen() */
int keep_listen_only(struct keep **k);
/** keep_fd() - readable when the keeper is gone; -1: there is none */
int keep_fd(const struct keep *k);
/** keep_listen() - a listening socket, non-blocking, that systemd passed as @name; -ENOENT */
int keep_listen(struct keep *k, const char *name);
/** keep_close() - what is kept stays kept */
void keep_close(struct keep *k);

#endif
