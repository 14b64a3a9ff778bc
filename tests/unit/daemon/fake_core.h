/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A replacement of depd's core for tests of the control socket: sessions that exist only in a
 * table.  All functions are called in the loop's thread.
 */
#ifndef TESTS_UNIT_DAEMON_FAKE_CORE_H
#define TESTS_UNIT_DAEMON_FAKE_CORE_H

#include "daemon/control/control.h"

#define FAKE_SESSIONS	64

/** struct fake_core - the table, and the requests received */
struct fake_core {
	struct control *control;	/* notified when a session changes, unless NULL */
	struct session_info session[FAKE_SESSIONS];
	size_t nsessions;
	char command[64];	/* of all sessions */
	char error[64];
	int descriptor[2];	/* that record passes */
	unsigned int reloads, gone, launched, ended;
	uint32_t last_gone;
	int last_status;
	uid_t last_uid;
	char last_argv[64], last_cwd[64], last_store[64], last_why[64];
	uint32_t last_flags;
};

void fake_core_init(struct fake_core *f);
void fake_core_free(struct fake_core *f);
/** fake_core_ops() - the operations of @f */
struct control_ops fake_core_ops(struct fake_core *f);
/** fake_core_session() - add a session of @uid that is recording */
uint32_t fake_core_session(struct fake_core *f, uid_t uid);
/** fake_core_change() - change a session and notify the control socket */
void fake_core_change(struct fake_core *f, uint32_t id, enum session_state state,
		      enum dep_close_cause cause, const char *error);
/** fake_core_listen() - a listening socket at @path, or -1 */
int fake_core_listen(const char *path);

#endif
