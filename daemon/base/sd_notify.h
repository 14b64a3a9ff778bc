/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State notifications to systemd, sd_notify(3).  Without systemd these functions do nothing.
 */
#ifndef DEPD_BASE_SD_NOTIFY_H
#define DEPD_BASE_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/** notify_is_service() - true if systemd started this very process, not an ancestor of it */
bool notify_is_service(void);
/** notify_ready() - report that depd has started or reloaded */
void notify_ready(void);
/** notify_status() - set the status line of systemctl status */
void notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** notify_reloading() - report that the configuration is being read; notify_ready() must follow */
void notify_reloading(void);
void notify_stopping(void);
/** notify_extend() - request @ns more time to start or stop */
void notify_extend(uint64_t ns);
/** notify_watchdog_ns() - interval at which to call notify_alive(); 0: no systemd watchdog */
uint64_t notify_watchdog_ns(void);
void notify_alive(void);

#endif
