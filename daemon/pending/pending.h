/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that are held at their first instruction, and that none stays so.
 *
 * The kernel keeps a table of them.  depd takes them out one by one.  If it dies, the guard
 * (watchdog.c) does; if that was killed, too, the table is still to be found in bpffs, and the
 * next depd does.
 */
#ifndef DEPD_PENDING_PENDING_H
#define DEPD_PENDING_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/policy/kernel_rules.h"

/**
 * pending_resume() - let all go that are held for @min_ms at least
 * @table: descriptor of the map
 *
 * Who is in the table and not stopped yet stays there for a while.  Does not allocate.
 *
 * Return: how many are left in the table.
 */
size_t pending_resume(int table, u64 min_ms);
/** pending_resume_all() - release pending processes until none is left, for 2 seconds at most */
void pending_resume_all(int table);
size_t pending_pidfd(int table);

/**
 * pending_pin() - leave the table where the next depd finds it
 * @path: receives where; "" if there is no bpffs
 */
void pending_pin(int table, char *path, size_t size);
/** pending_recover() - let go whom a depd held that is dead; return: how many tables there were */
unsigned int pending_recover(void);

#define WATCHDOG_NAME	"depd-guard"

/**
 * watchdog_start() - have somebody let all go when this process dies, and each after some time
 * @pin: to be removed then
 *
 * The guard executes /proc/self/exe with argv[0] = WATCHDOG_NAME: main() must call watchdog_main()
 * then, before anything else.
 *
 * Return: a descriptor for watchdog_end(), or a negative errno.
 */
int watchdog_start(int table, const char *pin);
void watchdog_end(int fd);
/** watchdog_main() - run as the guard that watchdog_start() has executed: never returns */
void watchdog_main(int argc, char **argv) __attribute__((noreturn));

#endif
