/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of a recorded process. */
#ifndef DEPCTL_STORE_CMDLINE_H
#define DEPCTL_STORE_CMDLINE_H

#include <dep/store.h>

#include "tools/depctl/common/output.h"

/** cmdline_text() - print the command line in shell syntax; if unknown, the executable's path */
void cmdline_text(struct out *o, const struct dep_process *p);
/** cmdline_json() - write the command line as JSON member "argv"; null if it is not known */
void cmdline_json(struct json *j, const struct dep_process *p);

#endif
