/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why a recording with --last is stored, as of now (struct dep_kept). */
#ifndef ADEPT_COLLECT_KEPT_NOW_H
#define ADEPT_COLLECT_KEPT_NOW_H

#include <dep/store.h>

/** dep_kept_now() - @reason (enum dep_keep), with the present times */
struct dep_kept dep_kept_now(uint32_t reason);
/** dep_kept_ended() - the end of the command with @status, from wait(2); -1: of the recording */
struct dep_kept dep_kept_ended(int status);

#endif
