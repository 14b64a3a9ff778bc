/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl report: what its files share.  Other folders use profile_report() alone. */
#ifndef DEPCTL_PROFILE_REPORT_H
#define DEPCTL_PROFILE_REPORT_H

#include <stddef.h>

/**
 * profile_report() - print the report of the store @path
 * @fd: descriptor to print to
 *
 * Return: 0, or EXIT_FAILURE after a message or if recorded data is missing.
 */
int profile_report(const char *path, int fd);

#endif
