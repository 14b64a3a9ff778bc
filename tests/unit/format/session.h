/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded session whose writer can be killed: two processes of one thread each, as a
 * list of what is written in turn.  Who goes on writes what the store does not have.
 */
#ifndef TESTS_UNIT_FORMAT_SESSION_H
#define TESTS_UNIT_FORMAT_SESSION_H

#include "libdep/format/write/resume.h"
#include "tests/unit/lib/stream.h"

#define SESSION_PROCESSES 2

enum step_kind {
	STEP_PROCESS, STEP_THREAD, STEP_DESC, STEP_SEGMENT, STEP_THREAD_END, STEP_PROCESS_END,
};

struct step {
	enum step_kind kind;
	u32 serial;		/* of the process and of its thread */
	size_t from, to;	/* bytes of descriptors */
	u32 seq;
};

struct session {
	struct stream stream[SESSION_PROCESSES];
	u8 *desc[SESSION_PROCESSES];
	size_t desc_size[SESSION_PROCESSES];
	struct step *step;
	size_t nsteps;
	char reference[128];	/* a store that was written at one go */
};

/** session_init() - @chunks: of each thread */
void session_init(struct session *s, u32 chunks);
void session_free(struct session *s);

/** session_write() - the first @n steps, but for those that @r (may be NULL) has */
void session_write(const struct session *s, struct dep_writer *w, const struct dep_resume *r,
		   size_t n);

/** session_go_on() - resume @dir, write the first @n steps and leave it without a close */
void session_go_on(const struct session *s, const char *dir, size_t n, u64 roll);

/** session_finish() - resume @dir, write the rest and close it; *@r may be NULL */
void session_finish(const struct session *s, const char *dir, u64 roll, struct dep_resume *r);

/**
 * session_check() - the closed store @dir has what the reference has, and is complete as that is
 * @bytes: its one file of segments also has the same bytes
 *
 * Return: how many notes there are.
 */
size_t session_check(const struct session *s, const char *dir, int bytes);

#endif
