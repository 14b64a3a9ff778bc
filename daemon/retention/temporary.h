/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removal of temporary stores of `depctl record --races' whose depctl was killed.
 *
 * depctl creates a directory (libdep/format/file/tmpdir.h), depd writes the store into it, and
 * depctl removes both.  If depctl is killed, they are left.  So depd remembers in which directories
 * temporary stores were made, and starts a process that searches these directories for abandoned
 * stores.  Since users choose the directories, the process has only its user's permissions.
 */
#ifndef DEPD_RETENTION_TEMPORARY_H
#define DEPD_RETENTION_TEMPORARY_H

#include "daemon/sessions/session.h"

/*
 * argv[0] of the cleanup process, which executes /proc/self/exe; main() must then call
 * temporary_main().
 */
#define TEMPORARY_NAME	"depd-sweep"

/** temporary_session() - remember the parent directory of a temporary store */
void temporary_session(struct session *s);
/** temporary_session_ended() - search soon for a temporary store that was left */
void temporary_session_ended(struct session *s);
void temporary_main(int argc, char **argv) __attribute__((noreturn));

#endif
