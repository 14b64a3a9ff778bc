/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the session file among the mappings of a recorded program. */
#ifndef TESTS_SESSION_MAP_H
#define TESTS_SESSION_MAP_H

#include <stdbool.h>
#include <string.h>

/*
 * The fields before the name contain no slash.  The whole name is compared: a file in a folder
 * called adept is not the session.
 */
static inline bool is_session_map(const char *line)
{
	const char *name = strchr(line, '/');

	return name && !strcmp(name, "/memfd:adept-session (deleted)\n");
}

#endif
