/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions, threads and processes in exported profiles. */
#ifndef DEPCTL_EXPORT_NAMES_H
#define DEPCTL_EXPORT_NAMES_H

#include "export.h"

/** export_name() - name of function @f or "[unknown]"; @stub: "@plt" if it is one, else "" */
const char *export_name(const struct export *x, uint32_t f, const char **stub);

/**
 * export_title() - name of function @f with "@plt" if it is one
 * @room: memory for it, which is used if there is a suffix
 */
const char *export_title(const struct export *x, uint32_t f, char *room, size_t size);

/** export_program() - name of the program of a process */
const char *export_program(const struct export *x, uint32_t process);

#define EXPORT_TITLE	2048u	/* bytes of room for export_title(); a longer name is cut */

/* At most this many frames of a stack are written; those in the middle are left out. */
#define EXPORT_FRAMES	1000u
#define EXPORT_LEFT_OUT	"[frames left out]"

#endif
