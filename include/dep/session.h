/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of a recording, and how its processes began. */
#ifndef DEP_SESSION_H
#define DEP_SESSION_H

/*
 * Options of a recording: struct dep_meta.session_flags.  Its bits from 0x10000 on are the areas of
 * the engine's log, see dep(5).
 */
#define ADEPT_S_NO_RECORD	0x01u	/* engine alone: no stores, no descriptors */
#define ADEPT_S_NULL		0x02u	/* dry run: record and count bytes, store nothing */
#define ADEPT_S_DROP		0x04u	/* full ring: drop a chunk and count it */
#define ADEPT_S_SELF_CHECK	0x08u	/* also store address registers that are known */
#define ADEPT_S_STRICT		0x10u	/* no native call/ret pairing */
#define ADEPT_S_NO_FOLLOW	0x20u	/* images started by execve run natively */
#define ADEPT_S_MODULE		0x40u	/* the rings belong to adept.ko */
#define ADEPT_S_NO_FUNCTIONS	0x80u	/* no function hooks (functions.h) */
#define ADEPT_S_KEEP_TRANSLATIONS 0x100u /* also describe the translated code of fragments */

/*
 * How a process image began: struct dep_process.cause.
 *
 * A child that shares memory with its parent (vfork, posix_spawn) is no process of its own: it
 * counts as a thread of the parent.  If it calls execve, the image that it executes is a process
 * with cause ADEPT_BY_EXEC and the child's pid, and the parent goes on.
 */
enum adept_cause {
	ADEPT_BY_LAUNCH,	/* the recorder started it */
	ADEPT_BY_FORK,
	ADEPT_BY_EXEC,
	ADEPT_BY_ATTACH,	/* taken while it already ran */
};

#endif
