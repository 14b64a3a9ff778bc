/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A getrandom() that returns the same numbers again after a reset.
 *
 * Every store has a random id, which seeds all of its checksums, so two stores never have equal
 * bytes.  A test that compares the bytes of two stores links fixed_random.c, whose getrandom()
 * takes precedence over libc's, and resets it before each dep_writer_create().
 */
#ifndef TESTS_UNIT_LIB_FIXED_RANDOM_H
#define TESTS_UNIT_LIB_FIXED_RANDOM_H

/** fixed_random_reset() - begin the sequence anew; the same in every process that does so */
void fixed_random_reset(void);

#endif
