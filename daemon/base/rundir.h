/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * depd's directory of sockets, and that there is one depd only.
 */
#ifndef DEPD_BASE_RUNDIR_H
#define DEPD_BASE_RUNDIR_H

#include <stddef.h>
#include <sys/types.h>

/**
 * rundir_open() - choose and make the directory, and be the only depd that uses it
 * @path: receives its name
 * @wish: this one; NULL: $ADEPT_RUNDIR if it is set, else /run/adept for root and
 *	$XDG_RUNTIME_DIR/adept for others
 * @why: receives a sentence if it fails
 *
 * Return: a descriptor that holds the lock until it is closed; -EBUSY: another depd has it;
 * -EPERM, -ELOOP, -ENOTDIR: it is not one to be trusted.
 */
int rundir_open(char *path, size_t size, const char *wish, char *why, size_t why_size);

/**
 * rundir_own() - use @path, which somebody has made for this user, alone
 * @patience_ms: for another one that uses it to end
 *
 * Return: as rundir_open().
 */
int rundir_own(const char *path, unsigned int patience_ms, char *why, size_t why_size);
/** rundir_show() - what command lines of helpers have for @path; @shown stays the caller's */
void rundir_show(const char *path, const char *shown);
/** rundir_shown() - that, or @path itself */
const char *rundir_shown(const char *path);

/**
 * rundir_listen() - listen on a SOCK_STREAM socket @name in @dir
 *
 * Takes the place of a socket that nobody listens on any more.  Not for when other threads
 * make files: it sets the umask for a moment.
 * Return: the socket; -EADDRINUSE: somebody listens; -EEXIST: something else has the name.
 */
int rundir_listen(const char *dir, const char *name, mode_t mode);
/** rundir_socket() - the same with another type of socket */
int rundir_socket(const char *dir, const char *name, int type, mode_t mode);
/** rundir_connect() - connect to such a socket; @timeout_ms for each send and receive */
int rundir_connect(const char *dir, const char *name, int type, unsigned int timeout_ms);

#endif
