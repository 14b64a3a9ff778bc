/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recording by rules: sessions for processes that a rule matches and that are stopped at exec. */
#ifndef DEPD_CORE_AUTO_RECORD_H
#define DEPD_CORE_AUTO_RECORD_H

#include "daemon/sessions/session.h"

/** struct rules_config - a process stopped at exec, and the parameters of its session */
struct rules_config {
	pid_t pid;
	uid_t uid;		/* real uid of the process */
	uint64_t start_ns;	/* start time as in struct pending_exec; detects a reused pid */
	const char *rule, *comm, *path, *dir;	/* @dir: directory of the store */
	uint32_t seq;		/* number of the front's request, for the answer; 0: no front */
	uint32_t flags;
	uint64_t ring_size, max_size, last_bytes, last_ns;
	bool last_on_disk;
	enum dep_keep_if keep_if;
	int level;
	enum request_transport transport;
	bool shared;		/* @group gets read access to the store */
	gid_t group;
};

/**
 * rules_attach() - create a session and make the tracer attach to the process
 * @why: CONTROL_WHY bytes; receives the error message
 *
 * Return: 0: rules_attached() will be called with the result; or a negative errno.
 */
int rules_attach(struct depd *d, const struct rules_config *w, char *why);

/** policy_start() - start the BPF programs if there are rules; errors go to d->policy_error */
void policy_start(struct depd *d);
void policy_stop(struct depd *d);
/** rules_folders() - create the directory for stores; warn if a rule's group cannot access it */
void rules_folders(struct depd *d);
/**
 * rules_attached() - handle the result of tracer_attach()
 * @ret: 0, a negative errno, or -EPIPE: the tracer ended before it answered
 */
void rules_attached(struct session *s, int ret, const char *why);

#endif
