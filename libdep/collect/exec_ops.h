/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that follow execve with the injector (libdep/inject), for the collector's loop. */
#ifndef ADEPT_COLLECT_EXEC_OPS_H
#define ADEPT_COLLECT_EXEC_OPS_H

#include "libdep/inject/inject.h"
#include "collect.h"

/** struct dep_exec - execves in progress, at most one for each process slot */
struct dep_exec {
	const struct dep_target *target;
	struct dep_follow follow[ADEPT_MAX_PROCS];
	/** @native: NULL, or called for each image that runs natively, with the reason */
	void (*native)(void *arg, pid_t pid, const char *why);
	void *arg;
};

/** dep_exec_poll() - call dep_follow_exec_poll() and convert its result for dep_exec_ops.poll */
enum dep_exec_outcome dep_exec_poll(struct dep_follow *f, const struct dep_target *t,
				    struct dep_injected *out, struct dep_why *why);

/** dep_exec_ops() - functions for dep_collector_create(); @e must outlive the collector */
struct dep_exec_ops dep_exec_ops(struct dep_exec *e);

#endif
