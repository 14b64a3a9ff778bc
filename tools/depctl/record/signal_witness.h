/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPCTL_RECORD_SIGNAL_WITNESS_H
#define DEPCTL_RECORD_SIGNAL_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct witness - a process in the same process group that only collects signals
 *
 * A signal that was sent to the group is pending in the witness, too.  A signal that was sent to
 * this process alone is not.
 */
struct witness {
	pid_t pid;		/* 0: there is none */
	int sock;
};

/**
 * witness_begin() - fork the witness
 *
 * Call it with all signals blocked that will be passed to witness_saw().
 *
 * Return: 0 or a negative errno.
 */
int witness_begin(struct witness *w);
/** witness_saw() - true if @sig, which this process received, was sent to the group */
bool witness_saw(struct witness *w, int sig);
void witness_end(struct witness *w);

#endif
