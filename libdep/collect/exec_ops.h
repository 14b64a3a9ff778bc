/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Following execve with the injector, as the collector's loop wants it. */
#ifndef ADEPT_COLLECT_EXEC_OPS_H
#define ADEPT_COLLECT_EXEC_OPS_H

#include "libdep/inject/inject.h"
#include "collect.h"

/** struct dep_exec - the execves under way, one per process slot at most */
struct dep_exec {
	const struct dep_target *target;
	struct dep_follow follow[ADEPT_MAX_PROCS];
	/**
	 * @native: may be NULL; an image that runs natively, and why
	 */
	void (*native)(void *arg, pid_t pid, const char *why);
	void *arg;
};

/** dep_exec_poll() - dep_follow_exec_poll() as the collector wants to hear it */
enum dep_exec_outcome dep_exec_poll(struct dep_follow *f, const struct dep_target *t,
				    struct dep_injected *out, struct dep_why *why);

/** dep_exec_ops() - the functions for dep_collector_create(); @e must outlive it */
struct dep_exec_ops dep_exec_ops(struct dep_exec *e);

#endif
