/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions, threads and processes in exported profiles. */
#ifndef DEPCTL_EXPORT_NAMES_H
#define DEPCTL_EXPORT_NAMES_H

#include "export.h"

/** export_name() - name of function @f or "[unknown]"; @stub: "@plt" if it is one, else "" */
const char *export_name(const struct export *x, uint32_t f, const char **stub);

/** export_program() - name of the program of a process */
const char *export_program(const struct export *x, uint32_t process);

/* At most this many frames of a stack are written; those in the middle are left out. */
#define EXPORT_FRAMES	1000u
#define EXPORT_LEFT_OUT	"[frames left out]"

#endif
