/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run directory: sockets and state files of depd, and the lock that allows one depd per directory.
 */
#ifndef DEPD_BASE_RUNDIR_H
#define DEPD_BASE_RUNDIR_H

#include <stddef.h>
#include <sys/types.h>

/**
 * rundir_open() - choose, create and lock the run directory
 * @path: receives its name
 * @wish: directory to use; NULL: $ADEPT_RUNDIR if set, else /run/adept for root and
 *	$XDG_RUNTIME_DIR/adept for other users
 * @why: receives the error message
 *
 * Waits two seconds for another depd to end, and five for the children of one that was killed.
 *
 * Return: a descriptor that holds the lock until it is closed; -EBUSY: another depd has it;
 * -EPERM, -ELOOP, -ENOTDIR: the directory belongs to another user, is a symbolic link, or is no
 * directory.
 */
int rundir_open(char *path, size_t size, const char *wish, char *why, size_t why_size);

/**
 * rundir_own() - lock the existing directory @path, which must belong to this user
 * @patience_ms: how long to wait if another process has the lock; as above if that is dead
 *
 * Return: as rundir_open().
 */
int rundir_own(const char *path, unsigned int patience_ms, char *why, size_t why_size);
/**
 * rundir_show() - set the name that command lines of helper processes show instead of @path
 *
 * The caller must not free the strings.  Used by instances, whose run directory has the path ".".
 */
void rundir_show(const char *path, const char *shown);
/** rundir_shown() - get the name to show for @path: that of rundir_show(), if set, else @path */
const char *rundir_shown(const char *path);

/**
 * rundir_listen() - listen on a SOCK_STREAM socket @name in @dir
 *
 * Replaces a socket file on which no process listens.  Changes the process's umask for a moment, so
 * no other thread may create files at the same time.
 * Return: the socket; -EADDRINUSE: a process listens on it; -EEXIST: @name is not a socket.
 */
int rundir_listen(const char *dir, const char *name, mode_t mode);
/** rundir_socket() - as rundir_listen(), for a socket of type @type, such as SOCK_SEQPACKET */
int rundir_socket(const char *dir, const char *name, int type, mode_t mode);
/** rundir_connect() - connect to socket @name; @timeout_ms limits connect, send and receive */
int rundir_connect(const char *dir, const char *name, int type, unsigned int timeout_ms);

#endif
