/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPCTL_RECORD_SIGNAL_WITNESS_H
#define DEPCTL_RECORD_SIGNAL_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct witness - a process of this process's group that only collects signals
 *
 * A signal that was sent to the whole group is pending in the witness as well.  One that was
 * sent to this process alone is not.
 */
struct witness {
	pid_t pid;		/* 0: there is none */
	int sock;
};

/**
 * witness_begin() - fork the witness
 *
 * To be called with all signals blocked that witness_saw() will be asked about.
 *
 * Return: 0 or a negative errno.
 */
int witness_begin(struct witness *w);
/** witness_saw() - did @sig, which has reached this process, reach the whole group? */
bool witness_saw(struct witness *w, int sig);
void witness_end(struct witness *w);

#endif
