/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removal of temporary stores of `depctl record --races' whose depctl was killed.
 *
 * depctl creates a directory (libdep/format/file/tmpdir.h), depd writes the store into it, and
 * depctl removes both.  If depctl is killed they are left.  So depd remembers in which directories
 * temporary stores were made, and starts a process that looks for such leftovers.  The user chooses
 * the directory, so that process has the rights of the session's user and no others.
 */
#ifndef DEPD_RETENTION_TEMPORARY_H
#define DEPD_RETENTION_TEMPORARY_H

#include "daemon/sessions/session.h"

/*
 * The process executes /proc/self/exe with this argv[0]; main() must call temporary_main() then.
 */
#define TEMPORARY_NAME	"depd-sweep"

/** temporary_session() - remember the parent directory of a temporary store */
void temporary_session(struct session *s);
/** temporary_session_ended() - look soon whether a temporary store was left */
void temporary_session_ended(struct session *s);
void temporary_main(int argc, char **argv) __attribute__((noreturn));

#endif
