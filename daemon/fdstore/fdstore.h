/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fd store: keeps session files open until the next depd takes them.
 *
 * A user's depd under systemd uses systemd's file descriptor store.  Otherwise a holder process
 * (holder.h) keeps the descriptors, each with a name.  When depd disconnects, the holder ends at
 * once if it has no descriptor, else after ten minutes unless a depd connects.
 */
#ifndef DEPD_FDSTORE_FDSTORE_H
#define DEPD_FDSTORE_FDSTORE_H

#include <stdbool.h>
#include <stddef.h>

struct fdstore;

#define FDSTORE_NAME_MAX	64

/** struct fdstore_entry - a stored descriptor */
struct fdstore_entry {
	char name[FDSTORE_NAME_MAX];
	int fd;			/* descriptor, which the caller closes */
};

/**
 * fdstore_open() - connect to the fd store and get all stored descriptors
 * @rundir: directory of the holder's socket
 * @kept: receives an array of @n entries, which the caller frees
 *
 * Starts a holder if one is needed and none runs.  Listening sockets that systemd passes are not
 * in @kept: see fdstore_listen().
 * Return: 0 or a negative errno with an error message in @why.
 */
int fdstore_open(struct fdstore **k, const char *rundir, struct fdstore_entry **kept, size_t *n,
		 char *why, size_t why_size);
/**
 * fdstore_put() - store a duplicate of @fd as @name
 * @name: letters, digits, '.', '_', '-'
 *
 * Waits for the holder, at most 2 seconds for each send and receive.
 * Return: 0; -EINVAL: invalid name; -EEXIST: the name is in use; -ENOSPC, -EMFILE: too many
 * descriptors; -ETIMEDOUT, -EPIPE: the holder does not answer or has ended: call fdstore_retry().
 */
int fdstore_put(struct fdstore *k, const char *name, int fd);
/** fdstore_remove() - remove a stored descriptor.  Return: 0; -ENOENT: none has this name */
int fdstore_remove(struct fdstore *k, const char *name);
/** fdstore_lost() - true if the holder has ended or did not answer */
bool fdstore_lost(const struct fdstore *k);
/**
 * fdstore_retry() - find or start a holder after the last one was lost
 *
 * The caller must store its descriptors again.  A holder that did not answer in time can still
 * have some of them: fdstore_put() then returns -EEXIST.
 * Return: 0 or a negative errno with an error message in @why.
 */
int fdstore_retry(struct fdstore *k, const char *rundir, char *why, size_t why_size);
/** fdstore_listen_only() - open the fd store for fdstore_listen() only, without a holder */
int fdstore_listen_only(struct fdstore **k);
/** fdstore_fd() - descriptor that is readable when the holder has ended; -1: no holder */
int fdstore_fd(const struct fdstore *k);
/** fdstore_listen() - take the listening socket that systemd passed as @name, or -ENOENT */
int fdstore_listen(struct fdstore *k, const char *name);
/** fdstore_close() - disconnect; stored descriptors stay stored */
void fdstore_close(struct fdstore *k);

#endif
