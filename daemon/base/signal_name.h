/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPD_BASE_SIGNAL_NAME_H
#define DEPD_BASE_SIGNAL_NAME_H

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SIGNAL_NAME	24	/* bytes of a buffer for a signal's name */

/**
 * signal_name() - write the name of a signal, such as SIGSEGV or SIGRTMIN+3
 * @sig: its number
 * @buf: SIGNAL_NAME bytes
 *
 * Return: @buf.
 */
static inline const char *signal_name(int sig, char *buf)
{
	const char *name = sigabbrev_np(sig);

	if (name)
		snprintf(buf, SIGNAL_NAME, "SIG%s", name);
	else if (sig >= SIGRTMIN && sig <= SIGRTMAX)
		snprintf(buf, SIGNAL_NAME, "SIGRTMIN+%d", sig - SIGRTMIN);
	else
		snprintf(buf, SIGNAL_NAME, "SIG%d", sig);
	return buf;
}

#endif
