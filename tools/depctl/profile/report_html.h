/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl report --html. */
#ifndef DEPCTL_PROFILE_REPORT_HTML_H
#define DEPCTL_PROFILE_REPORT_HTML_H

#include "profile.h"

/**
 * report_html() - write the profile that @o selects as a page to the file @path
 * @source: with the text of source files; @paths: with paths
 *
 * Return: 0, or EXIT_FAILURE after a message or if segments could not be read.
 */
int report_html(const struct profile_options *o, const char *path, bool source, bool paths);

#endif
