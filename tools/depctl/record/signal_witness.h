/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPCTL_RECORD_SIGNAL_WITNESS_H
#define DEPCTL_RECORD_SIGNAL_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct witness - a process in the same process group that only collects signals
 *
 * A signal sent to the process group is also pending in the witness; a signal sent to depctl alone
 * is not.
 */
struct witness {
	pid_t pid;		/* pid of the witness; 0: there is none */
	int sock;		/* socket to the witness */
};

/**
 * witness_begin() - fork the witness
 *
 * All signals for which witness_saw() will be called must be blocked.
 *
 * Return: 0 or a negative errno.
 */
int witness_begin(struct witness *w);
/** witness_saw() - true if the signal @sig that depctl received was sent to its process group */
bool witness_saw(struct witness *w, int sig);
void witness_end(struct witness *w);

#endif
