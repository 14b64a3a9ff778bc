/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telling systemd how depd is.  All of it does nothing where there is no systemd.
 */
#ifndef DEPD_BASE_SD_NOTIFY_H
#define DEPD_BASE_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/** notify_is_service() - did systemd start this process, and not one that it descends from? */
bool notify_is_service(void);
/** notify_ready() - started, or reloaded */
void notify_ready(void);
/** notify_status() - one line for systemctl status */
void notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** notify_reloading() - the configuration is being read; then notify_ready() */
void notify_reloading(void);
void notify_stopping(void);
/** notify_extend() - starting or stopping takes up to so much longer */
void notify_extend(uint64_t ns);
/** notify_watchdog_ns() - how often to call notify_alive(); 0: nobody watches */
uint64_t notify_watchdog_ns(void);
void notify_alive(void);

#endif
