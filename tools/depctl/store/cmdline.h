/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of a recorded process. */
#ifndef DEPCTL_STORE_CMDLINE_H
#define DEPCTL_STORE_CMDLINE_H

#include <dep/store.h>

#include "tools/depctl/common/output.h"

/** cmdline_text() - as a shell reads it; the path of the executable if that is all that is known */
void cmdline_text(struct out *o, const struct dep_process *p);
/** cmdline_json() - member "argv" of the object that is open; null: not known */
void cmdline_json(struct json *j, const struct dep_process *p);

#endif
