/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's test of depd's rules: what policy.c and policy_record.c share. */
#ifndef ADEPT_TEST_VM_POLICY_H
#define ADEPT_TEST_VM_POLICY_H

#include <stdbool.h>
#include <sys/types.h>

void pass(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define check(cond, ...) ((cond) ? pass(__VA_ARGS__) : fail(__VA_ARGS__))

/**
 * record_held() - dep_attach() @pid and record it into a new store @dir until it has ended
 * @taken: called when it runs
 */
int record_held(pid_t pid, const char *dir, void (*taken)(pid_t pid), char *why, size_t size);

#endif
