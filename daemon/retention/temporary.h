/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Temporary stores of `depctl record --races' whose depctl was killed.
 *
 * depctl makes a folder (libdep/format/file/tmpdir.h), depd writes the store in it, and depctl
 * removes both.  If depctl is killed, nobody does until its user runs another one.  So depd
 * remembers where it wrote such stores, and has them looked for: by a process with the rights of
 * the session's user and no others, since the place is that user's choice.
 */
#ifndef DEPD_RETENTION_TEMPORARY_H
#define DEPD_RETENTION_TEMPORARY_H

#include "daemon/sessions/session.h"

/*
 * The process executes /proc/self/exe with this as argv[0]: main() must call temporary_main() then.
 */
#define TEMPORARY_NAME	"depd-sweep"

/** temporary_session() - remember the place of its store, if that is a temporary one */
void temporary_session(struct session *s);
/** temporary_session_ended() - look for it soon, if its store is a temporary one */
void temporary_session_ended(struct session *s);
void temporary_main(int argc, char **argv) __attribute__((noreturn));

#endif
