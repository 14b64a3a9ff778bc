/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of test_inject.
 */
#ifndef TESTS_UNIT_INJECT_TEST_INJECT_H
#define TESTS_UNIT_INJECT_TEST_INJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "libdep/inject/inject.h"

#define OUTPUT_MAX 65536

extern struct dep_caller_state native;
extern struct dep_target target;
extern struct dep_why why;

const char *built(const char *name);
void capture_begin(void);
void capture_end(char *out);
int end_of(pid_t pid);
struct adept_proc *slot(u32 i);
void remove_engine(char *out, const struct adept_boot *b);

int test_inject_follow(void);
int test_inject_take(void);

#endif
