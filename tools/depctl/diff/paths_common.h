/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depctl query paths --table=common: paths that two recordings have in common. */
#ifndef DEPCTL_DIFF_PATHS_COMMON_H
#define DEPCTL_DIFF_PATHS_COMMON_H

#include <dep/path_profile.h>

#include "tools/depctl/functions/functions.h"

/** struct common_side - an open store and its profiles, all of which belong to the caller */
struct common_side {
	struct dep_store *store;
	struct dep_symbols *symbols;
	struct dep_fragments *code;
	struct dep_profile *profile;
	struct functions *functions;
	const struct dep_path_profile *paths;
};

/** struct common_sums - whole paths of a store, or those of them that the other one has, too */
struct common_sums {
	uint64_t paths, executions, insns;
};

/**
 * struct common_paths - what two stores have in common
 * @functions: that executed whole paths in one of the stores
 * @of_both: of these, in both
 * @changed: of these, with other code
 */
struct common_paths {
	struct common_sums all[2], common[2];
	uint64_t functions, of_both, changed;
};

/**
 * paths_common() - compare the paths of two stores
 *
 * Functions are matched as depctl diff does.  Paths are the same if they begin, branch and end at
 * the same places of matching functions; where it is not known that the code is the same, its bytes
 * must be.
 *
 * Return: 0, or 1 after a message.
 */
int paths_common(const struct common_side side[2], struct common_paths *out);

#endif
