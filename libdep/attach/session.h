/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session by which a running process is recorded, found from outside. */
#ifndef ADEPT_ATTACH_SESSION_H
#define ADEPT_ATTACH_SESSION_H

#include "attach.h"

/**
 * struct dep_found - a process that is recorded, and its session
 * @target:	as for dep_detach()
 * @slot:	the process's slot
 */
struct dep_found {
	struct dep_target target;
	u32 slot;
	size_t size;		/* private: bytes mapped */
};

/**
 * dep_session_find() - find the session that records a process, and map it
 *
 * Root can always do so; other users only while the recorder lives and is theirs.
 *
 * Return: 0, or a negative errno with the reason in @why.  End with dep_session_close().
 */
int dep_session_find(struct dep_found *f, pid_t pid, struct dep_why *why);
/** dep_session_number() - get device and inode of the session file that process @pid maps */
int dep_session_number(pid_t pid, dev_t *dev, ino_t *ino, struct dep_why *why);
/**
 * dep_session_use_file() - map the session file @fd, which the recorder has sent
 *
 * Takes @fd.  Return: as dep_session_find().  Call dep_session_process() before dep_detach().
 */
int dep_session_use_file(struct dep_found *f, int fd, struct dep_why *why);
/**
 * dep_session_process() - find process @pid in the session; sets @f->slot
 *
 * Return: 0; -ESRCH: it is not recorded by this session.
 */
int dep_session_process(struct dep_found *f, pid_t pid, struct dep_why *why);
/** dep_session_each() - pid of the process in slot @i; 0: none; -1: there are no more slots */
pid_t dep_session_each(const struct dep_found *f, u32 i);
/** dep_session_left() - has the process left the engine, or ended, after dep_detach()? */
bool dep_session_left(const struct dep_found *f, pid_t pid);
void dep_session_close(struct dep_found *f);

#endif
