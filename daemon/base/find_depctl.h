/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPD_BASE_FIND_DEPCTL_H
#define DEPD_BASE_FIND_DEPCTL_H

#include <stdbool.h>
#include <stddef.h>

/** find_depctl() - find depctl in the directory of depd's executable, or in ../bin next to it */
bool find_depctl(char *path, size_t size);

#endif
