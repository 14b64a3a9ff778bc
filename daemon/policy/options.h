/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depd's command line. */
#ifndef DEPD_POLICY_OPTIONS_H
#define DEPD_POLICY_OPTIONS_H

#include <sys/types.h>

#include "daemon/policy/policy.h"

/* Exit status of a depd that leaves its sessions to the next depd; makes systemd restart depd. */
#define EXIT_HAND_OVER	75

/* Options that override the key of the same name in section [depd] of the configuration. */
enum option_key { OPTION_STORE, OPTION_MAX_STORE, OPTION_MAX_AGE, OPTION_WORKERS, OPTION_GIVE_UP,
		  OPTION_RACES, OPTION_KEYS };

/* Options of --attach that can be given several times: most in all, which depctl checks further */
#define OPTIONS_TRIGGERS	16u

struct options {
	const char *config_path, *rundir, *socket, *metrics;
	pid_t attach;				/* --attach: the process; 0: not given */
	const char *output;			/* -o: its store; NULL: named after the process */
	const char *children;			/* --children: yes or no; NULL: yes */
	const char *transport;			/* --transport; NULL: auto */
	const char *last;			/* --last, which depctl checks; NULL: not given */
	bool last_on_disk;			/* with @last */
	struct {
		const char *option, *value;
	} trigger[OPTIONS_TRIGGERS];		/* --on-call, --on-slow, --on-perf, --snapshots */
	unsigned int ntriggers;
	bool config_given;			/* config_path is from the command line */
	const char *value[OPTION_KEYS];		/* text of each option; NULL: not given */
};

/** options_parse() - parse the command line; exits with a message if it is invalid */
void options_parse(struct options *o, int argc, char **argv);
/**
 * options_load() - read the configuration file and apply the options that override it
 * @why: receives the error message, up to @size bytes
 */
int options_load(struct depd_config *c, const struct options *o, char *why, size_t size);

#endif
