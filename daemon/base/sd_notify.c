// SPDX-License-Identifier: GPL-2.0-or-later
/* Notify systemd of state changes, by sd_notify(3). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "sd_notify.h"

bool notify_is_service(void)
{
	const char *pid = getenv("SYSTEMD_EXEC_PID");

	return pid && atol(pid) == getpid();
}

void notify_ready(void)
{
	sd_notify(0, "READY=1");
}

void notify_status(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sd_notifyf(0, "STATUS=%s", text);
}

void notify_reloading(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		   t.tv_sec * UINT64_C(1000000) + t.tv_nsec / 1000);
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void notify_extend(uint64_t ns)
{
	sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, ns / 1000);
}

uint64_t notify_watchdog_ns(void)
{
	uint64_t us;

	/* Half of the watchdog's timeout, so that one notification can be late. */
	return sd_watchdog_enabled(0, &us) > 0 ? us * 1000 / 2 : 0;
}

void notify_alive(void)
{
	sd_notify(0, "WATCHDOG=1");
}
