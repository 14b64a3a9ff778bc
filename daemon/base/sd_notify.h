/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State notifications to systemd, sd_notify(3).  Without systemd these functions do nothing.
 */
#ifndef DEPD_BASE_SD_NOTIFY_H
#define DEPD_BASE_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/** notify_is_service() - true if systemd itself started this process as a service */
bool notify_is_service(void);
/** notify_ready() - report that starting, or reloading the configuration, is complete */
void notify_ready(void);
/** notify_status() - set the status text that `systemctl status` shows */
void notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** notify_reloading() - report that the configuration is being read; notify_ready() must follow */
void notify_reloading(void);
void notify_stopping(void);
/** notify_extend() - request @ns more time to start or stop */
void notify_extend(uint64_t ns);
/** notify_watchdog_ns() - interval for calls of notify_alive(); 0: systemd's watchdog is off */
uint64_t notify_watchdog_ns(void);
void notify_alive(void);

#endif
