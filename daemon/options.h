/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depd's command line. */
#ifndef DEPD_OPTIONS_H
#define DEPD_OPTIONS_H

#include "policy.h"

/* What is the same as a key of section [depd], and overrides it. */
enum option_key { OPTION_STORE, OPTION_MAX_STORE, OPTION_MAX_AGE, OPTION_WORKERS, OPTION_GIVE_UP,
		  OPTION_RACES, OPTION_KEYS };

struct options {
	const char *config_path, *rundir, *socket, *metrics;
	const char *value[OPTION_KEYS];		/* NULL: not given */
};

/** options_parse() - exits with a message if they make no sense */
void options_parse(struct options *o, int argc, char **argv);
/** options_override() - put what was given on the command line into @c; 0 or -ENOMEM */
int options_override(struct depd_config *c, const struct options *o);

#endif
