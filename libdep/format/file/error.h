/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_FORMAT_FILE_ERROR_H
#define ADEPT_FORMAT_FILE_ERROR_H

/**
 * dep_fail() - set the message of dep_error() and return @err
 * @err: negative errno.  strerror() is appended to the message, except for -EBADMSG, -EUCLEAN,
 *	-EBUSY, -EALREADY and -EPROTONOSUPPORT, which stand for a state of the store.
 */
int dep_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));

/** dep_fail_again() - set the message to @why, which dep_error() said before, and return @err */
int dep_fail_again(int err, const char *why);

#endif
