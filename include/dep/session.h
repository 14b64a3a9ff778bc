/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of a recording, and the ways in which a process image can begin. */
#ifndef DEP_SESSION_H
#define DEP_SESSION_H

/*
 * Options of a recording: struct dep_meta.session_flags.  Bits from 0x10000 on select areas of the
 * engine's log, see dep(5).
 */
#define ADEPT_S_NO_RECORD	0x01u	/* translate code only: record nothing */
#define ADEPT_S_NULL		0x02u	/* dry run: record and count bytes, store nothing */
#define ADEPT_S_DROP		0x04u	/* if a ring is full, drop a chunk and count the loss */
#define ADEPT_S_SELF_CHECK	0x08u	/* check recovery: also store registers that it computes */
#define ADEPT_S_STRICT		0x10u	/* translated calls change no byte below rsp (slower) */
#define ADEPT_S_NO_FOLLOW	0x20u	/* images started by execve run natively */
#define ADEPT_S_MODULE		0x40u	/* the rings belong to adept.ko */
#define ADEPT_S_NO_FUNCTIONS	0x80u	/* no function hooks (functions.h) */
#define ADEPT_S_KEEP_TRANSLATIONS 0x100u /* also store the translated code of fragments */
#define ADEPT_S_NO_CHILDREN	0x200u	/* children of recorded processes are not recorded */

/* Chaos modes, for tests: the engine does often what is rare. */
#define ADEPT_S_CHAOS_SHORT	0x01000000u	/* each fragment has one instruction */
#define ADEPT_S_CHAOS_VERSIONS	0x02000000u	/* fragments have one version, which knows rsp */
#define ADEPT_S_CHAOS_MISS	0x04000000u	/* no lookup of an indirect branch succeeds */
#define ADEPT_S_CHAOS_FLUSH	0x08000000u	/* fragments are removed at random */
#define ADEPT_S_CHAOS_STOP	0x10000000u	/* threads come to a safe point at random */
#define ADEPT_S_CHAOS_ALL	0x1f000000u

/*
 * How a process image began: struct dep_process.cause.
 *
 * A child that shares its parent's memory (vfork, posix_spawn) counts as a thread of the parent,
 * not as a separate process.  If the child calls execve, the new image is a process with cause
 * ADEPT_BY_EXEC and the child's pid; the parent's image continues.
 */
enum adept_cause {
	ADEPT_BY_LAUNCH,	/* the recorder started the process */
	ADEPT_BY_FORK,
	ADEPT_BY_EXEC,
	ADEPT_BY_ATTACH,	/* recording began while the process was already running */
};

/* What an open descriptor is: struct dep_open_file.kind. */
enum dep_file_kind {
	DEP_FILE_OTHER,		/* no file: an eventfd, for example; see the path */
	DEP_FILE_REGULAR,
	DEP_FILE_DIRECTORY,
	DEP_FILE_DEVICE,
	DEP_FILE_PIPE,
	DEP_FILE_SOCKET,
	DEP_FILE_KINDS
};

#endif
