/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depd's command line. */
#ifndef DEPD_OPTIONS_H
#define DEPD_OPTIONS_H

#include "daemon/policy/policy.h"

/* How depd ends for another one to go on at once; systemd takes it for a failure. */
#define EXIT_HAND_OVER	75

/* What is the same as a key of section [depd], and overrides it. */
enum option_key { OPTION_STORE, OPTION_MAX_STORE, OPTION_MAX_AGE, OPTION_WORKERS, OPTION_GIVE_UP,
		  OPTION_RACES, OPTION_KEYS };

struct options {
	const char *config_path, *rundir, *socket, *metrics;
	bool config_given;			/* config_path is from the command line */
	const char *value[OPTION_KEYS];		/* NULL: not given */
};

/** options_parse() - exits with a message if they make no sense */
void options_parse(struct options *o, int argc, char **argv);
/**
 * options_load() - the configuration: the file, and what the command line says instead
 * @why: of @size bytes; receives a sentence if it fails
 */
int options_load(struct depd_config *c, const struct options *o, char *why, size_t size);

#endif
