/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl record: its options, and the signals that pass through it. */
#ifndef DEPCTL_RECORD_H
#define DEPCTL_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dep_collector;

/** struct record_options - the command line of depctl record */
struct record_options {
	const char *dir;	/* NULL: named after the command */
	uint64_t ring_size, max_size;
	uint32_t flags;		/* ADEPT_S_* */
	int level;
	enum transport { TRANSPORT_AUTO, TRANSPORT_KMOD, TRANSPORT_SHM } transport;
	bool no_aslr, quiet;
	char **argv;		/* the command */
	int argc;
};

void record_options_parse(struct record_options *o, int argc, char **argv);

/* ---- signals.c ---- */

/** signals_catch() - from here on signals to depctl are the recorded command's */
void signals_catch(void);

/**
 * signals_pass() - hand on what arrived; stop and continue together with the command
 * @child: 0 when it has ended
 *
 * Return: 1 if the user wants depctl itself to end, since the command already has.
 */
int signals_pass(struct dep_collector *c, pid_t child);

/** signals_die() - end by the signal that the command ended by; returns if it cannot */
void signals_die(int sig);

#endif
