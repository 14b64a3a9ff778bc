/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pending processes: stopped at their first instruction until depd decides whether to record them.
 *
 * The BPF program adds an entry to a map and sends SIGSTOP; depd removes the entry.  If depd dies,
 * the watchdog (watchdog.c) resumes every process in the map.  If the watchdog dies as well, the
 * next depd finds the map pinned in bpffs and resumes them.
 */
#ifndef DEPD_PENDING_PENDING_H
#define DEPD_PENDING_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "kernel_rules.h"

/**
 * pending_resume() - resume processes that have been pending for at least @min_ms
 * @table: descriptor of the map
 *
 * A process that is not stopped yet keeps its entry, for up to a second.  Does not allocate memory.
 *
 * Return: number of entries left.
 */
size_t pending_resume(int table, u64 min_ms);
/** pending_resume_all() - resume pending processes until none is left, for 2 seconds at most */
void pending_resume_all(int table);
/** pending_count() - count the entries of the map */
size_t pending_count(int table);

/**
 * pending_pin() - pin the map in bpffs for the next depd
 * @path: receives the pin's path; "": error, for example because bpffs is not mounted
 */
void pending_pin(int table, char *path, size_t size);
/**
 * pending_recover() - resume the pending processes of dead depds, and remove their maps
 *
 * Return: number of maps found.
 */
unsigned int pending_recover(void);

#define WATCHDOG_NAME	"depd-guard"

/**
 * watchdog_start() - start the watchdog process
 * @table: descriptor of the map
 * @pin: path of the pinned map, which the watchdog removes when this process has died; or ""
 *
 * The watchdog resumes each process that has been pending for PENDING_MS, and all pending processes
 * when this process dies.  It executes /proc/self/exe with argv[0] = WATCHDOG_NAME.  main() must
 * then call watchdog_main() before it does anything else.
 *
 * Return: a descriptor for watchdog_end(), or a negative errno.
 */
int watchdog_start(int table, const char *pin);
/** watchdog_end() - end the watchdog, without resuming any process */
void watchdog_end(int fd);
/** watchdog_main() - main function of the watchdog process */
void watchdog_main(int argc, char **argv) __attribute__((noreturn));

#endif
