/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options "triggers" and "trigger_file" of a request to record.  Untrusted input. */
#ifndef DEPD_CONTROL_REQUEST_TRIGGERS_H
#define DEPD_CONTROL_REQUEST_TRIGGERS_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "libdep/abi/session_file.h"

/**
 * request_take_triggers() - check the option "triggers" and write it to @t
 * @why: receives the error message, up to @size bytes
 *
 * The functions that it names are found in the recorded process and by the client, which knows
 * offsets in the command's file; depd reads no file.  Return: 0 or -EINVAL.
 */
int request_take_triggers(struct adept_triggers *t, const cJSON *v, char *why, size_t size);
/** request_take_trigger_file() - the same for "trigger_file": to which file the offsets belong */
int request_take_trigger_file(struct adept_triggers *t, const cJSON *v, char *why, size_t size);

#endif
