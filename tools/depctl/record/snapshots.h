/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots in a collector of depctl: who asks for them, their names, one after the other. */
#ifndef DEPCTL_RECORD_SNAPSHOTS_H
#define DEPCTL_RECORD_SNAPSHOTS_H

#include "libdep/collect/collect.h"
#include "libdep/collect/trigger_queue.h"
#include "record.h"
#include "snapshot_socket.h"

#define SNAPSHOT_CLIENTS 16u

/** struct snapshots - state of the snapshots of a collector */
struct snapshots {
	const struct record_options *o;
	const char *dir;		/* the store of the recording */
	const struct dep_meta *meta;
	struct dep_collector *collector;
	int listening[2];		/* at the address of the session, and of the store; or -1 */
	/* accepted connections; @asked: a request has come, which waits or is being served */
	struct {
		int fd;
		bool asked;
		struct snapshot_request request;
	} client[SNAPSHOT_CLIENTS];
	uint32_t nclients;
	struct dep_trigger_queue triggers;
	bool busy;			/* a snapshot is being made, as follows */
	int for_client;			/* descriptor of the client that waits for it; -1: none */
	struct dep_kept kept;
	char path[PATH_MAX];
	uint32_t number;		/* next number of a name */
	uint64_t looked_ns;
};

/**
 * snapshots_begin() - let others ask for snapshots of a recording with --last
 *
 * @s has @o, @dir, @meta and @collector. Messages say what is not possible.
 */
void snapshots_begin(struct snapshots *s, const struct dep_session *session);
/** snapshots_trigger() - a trigger asks for a snapshot */
void snapshots_trigger(struct snapshots *s, const struct dep_kept *kept);
/** snapshots_tick() - in each pass of the loop: serve requests and triggers */
void snapshots_tick(struct snapshots *s);
/** snapshots_end() - make those that wait, before the recording ends */
void snapshots_end(struct snapshots *s);

#endif
